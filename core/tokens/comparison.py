"""One tokenizer beside others on the same held-out text: another one (--compare), or the same training with other vocabulary sizes (--sweep)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mspt.core.tokens.gate import GateReport

# (name, hidden size, layers) of usual decoders; 12 L h^2 parameters beside the embedding (Kaplan et al. 2020, section 2.1), which is shared with the output.
SHAPES = (("0.3B", 1024, 24), ("1.2B", 2048, 24), ("6.4B", 4096, 32))


def compare(ours: GateReport, theirs: GateReport) -> dict[str, dict[str, float]]:
    """By language: characters a token and characters without a piece of both, and our tokens for one of theirs (below 1: ours is shorter)."""
    other = theirs.by_language()
    return {
        language: {
            "characters": total.characters,
            "characters_per_token": total.characters / max(total.tokens, 1),
            "other_characters_per_token": other[language].characters / max(other[language].tokens, 1),
            "tokens_ratio": total.tokens / max(other[language].tokens, 1),
            "without_piece_ratio": total.without_piece / max(total.characters, 1),
            "other_without_piece_ratio": other[language].without_piece / max(other[language].characters, 1),
        }
        for language, total in ours.by_language().items()
    }


@dataclass(frozen=True)
class Size:
    """What one vocabulary size did on the held-out text."""

    vocab_size: int
    report: GateReport

    @property
    def tokens(self) -> int:
        return sum(total.tokens for total in self.report.measures.values())


def sweep_table(sizes: Sequence[Size]) -> list[dict[str, Any]]:
    """A record for each size, smallest first: characters a token by language, tokens saved against the smallest, share of the embedding in usual models."""
    ordered = sorted(sizes, key=lambda size: size.vocab_size)
    return [
        {
            "vocab_size": size.vocab_size,
            "tokens": size.tokens,
            "tokens_saved": round(1 - size.tokens / max(ordered[0].tokens, 1), 6),
            "characters_per_token": {name: round(total.characters / max(total.tokens, 1), 4) for name, total in size.report.by_language().items()},
            "embedding_share": {name: round(embedding_share(size.vocab_size, hidden, layers), 4) for name, hidden, layers in SHAPES},
        }
        for size in ordered
    ]


def embedding_share(vocab_size: int, hidden: int, layers: int) -> float:
    """Part of a decoder's parameters that its embedding takes."""
    return vocab_size * hidden / (vocab_size * hidden + 12 * layers * hidden * hidden)
