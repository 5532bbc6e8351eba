"""What a mixture would come to, before any token exists: tokens by source estimated from characters, their shares, and the epochs that a target asks for.

Characters per token are measured where a tokenizer is at hand, else these: a BPE of 32,000 pieces trained on nine tenths of ../shared/data zh_wiki_*,
zh_techdocs, en_* and a fifth of zh_novels, on the other tenth: Chinese 1.28 (zh_novels) to 1.35 (zh_wiki_hant), with much code and English in it 2.91
(zh_techdocs); English 3.84 (en_wikitext2) to 4.40 (en_public_domain).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mspt.core.errors import MsptError

CHARACTERS_PER_TOKEN = {"zh": 1.33, "en": 4.1}
OTHER_CHARACTERS_PER_TOKEN = 3.0  # a guess, between the two
TEXTS_TO_MEASURE = 200  # of each language: how many characters a token has
MAX_EPOCHS = 4.0  # beyond which repeated tokens are worth less (Muennighoff et al. 2023): the default of pack-mindrecord


@dataclass(frozen=True)
class Size:
    """Live documents of one source and language."""

    documents: int
    characters: int


@dataclass(frozen=True)
class SourceForecast:
    """tokens: available; share: of the mixture; wanted: tokens of the target; epochs: wanted / available."""

    source: str
    documents: int
    tokens: int
    share: float
    wanted: int
    epochs: float


def add_sizes(parts: Iterable[Mapping[str, Mapping[str, Sequence[int]]]]) -> dict[tuple[str, str], Size]:
    """Sizes of shards ({source: {language: [documents, characters]}}, judging.py: tally) together."""
    found: dict[tuple[str, str], Size] = {}
    for part in parts:
        for source, languages in part.items():
            for lang, (documents, characters) in languages.items():
                before = found.get((source, lang), Size(0, 0))
                found[source, lang] = Size(before.documents + documents, before.characters + characters)
    return found


def measure_characters(texts: Iterable[tuple[str, str]], languages: Iterable[str], count_tokens: Callable[[str], int]) -> dict[str, float]:
    """Characters per token of each language, of its first TEXTS_TO_MEASURE of `texts` (text, language)."""
    counts: dict[str, list[int]] = {lang: [0, 0, 0] for lang in languages}
    wanted = len(counts)
    for text, lang in texts:
        count = counts.get(lang)
        if count is not None and text and count[0] < TEXTS_TO_MEASURE:
            count[0], count[1], count[2] = count[0] + 1, count[1] + len(text), count[2] + count_tokens(text)
            wanted -= count[0] == TEXTS_TO_MEASURE
        if not wanted:
            break
    return {lang: characters / tokens for lang, (_, characters, tokens) in counts.items() if tokens}


def characters_per_token(lang: str, measured: Mapping[str, float] | None = None) -> float:
    """Of a language, by its own measured number or that of its primary tag's constant."""
    if measured and lang in measured:
        return measured[lang]
    return CHARACTERS_PER_TOKEN.get(lang.split("-")[0], OTHER_CHARACTERS_PER_TOKEN)


def forecast(
    sizes: Mapping[tuple[str, str], Size],
    *,
    measured: Mapping[str, float] | None = None,
    target_tokens: int | None = None,
    shares: Mapping[str, float] | None = None,
) -> list[SourceForecast]:
    """By source, in order of name. sizes: by (source, language). shares: of some sources; the others divide the rest by their size, as pack-mindrecord does."""
    tokens: dict[str, float] = {}
    documents: dict[str, int] = {}
    for (source, lang), size in sorted(sizes.items()):
        tokens[source] = tokens.get(source, 0.0) + size.characters / characters_per_token(lang, measured)
        documents[source] = documents.get(source, 0) + size.documents
    named = dict(shares or {})
    unknown = sorted(named.keys() - tokens.keys())
    if unknown:
        raise MsptError(f"shares: there is no source `{unknown[0]}`", f"sources: {', '.join(tokens)}")
    left = max(0.0, 1.0 - sum(named.values()))
    others = sum(n for source, n in tokens.items() if source not in named)
    total = target_tokens if target_tokens is not None else sum(tokens.values())
    found = []
    for source, available in tokens.items():
        share = named.get(source, left * available / others if others else 0.0)
        wanted = total * share
        found.append(SourceForecast(source, documents[source], round(available), share, round(wanted), wanted / available if available else 0.0))
    return found


def parse_shares(values: Sequence[str]) -> dict[str, float]:
    """("web=0.6", "books=0.4") by source. MsptError where one is not NAME=SHARE, or all are more than 1."""
    shares = {}
    for value in values:
        source, _, number = value.rpartition("=")
        try:
            shares[source.strip()] = float(number)
        except ValueError:
            raise MsptError(f"shares: {value!r} is not NAME=SHARE", 'for example shares = ["web=0.6"]') from None
    if any(not 0 <= share <= 1 for share in shares.values()) or sum(shares.values()) > 1 + 1e-6 or "" in shares:
        raise MsptError(f"shares: {', '.join(values)}: shares are from 0 to 1, by source, and sum to 1 at most", 'for example shares = ["web=0.6"]')
    return shares


def as_table(rows: Sequence[SourceForecast], max_epochs: float = MAX_EPOCHS) -> list[str]:
    """The forecast as lines of the [pack-mindrecord] table of mspt.toml, with remarks; more epochs than `max_epochs` are marked."""
    total = sum(row.wanted for row in rows)
    pairs = ", ".join(f'"{row.source}={row.share:.4f}"' for row in rows)
    lines = ["[pack-mindrecord]", f"target_tokens = {total}", f"shares = [{pairs}]"]
    for row in rows:
        mark = f"  over max_epochs = {max_epochs:g}" if row.epochs > max_epochs else ""
        lines.append(f"# {row.source}: {row.documents:,} documents, about {row.tokens:,} tokens, share {row.share:.1%}, {row.epochs:.2f} epochs{mark}")
    return lines
