"""What a tokenizer does to text it has not seen, and the gate it must pass.

With byte fallback nothing is ever unknown, so a limit on <unk> cannot fail; what goes wrong instead is a language falling apart into bytes
(trained on Chinese novels alone: <unk> .00000 everywhere while 86 % of English documentation becomes byte pieces). The gate therefore counts
held-out *characters that have no piece of their own*: at most 0.1 % per language, all its sources together, judged only where at least
100,000 held-out characters were seen and otherwise reported. A document that does not come back as it was also fails the gate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import CheckFailed
from mspt.core.tokens.pieces import SPACE, is_byte_piece
from mspt.core.tokens.tokenizer import Ids, Tokenizer
from mspt.core.tokens.training import code_points

# REQUIREMENTS: coverage 1.0 leaves .04-.10 % of held-out Chinese without a piece, .9995 leaves .27-.42 %.
MAX_WITHOUT_PIECE = 0.001
# Below this a handful of rare characters decides.
MIN_GATE_CHARACTERS = 100_000
_BATCH = 256
MAX_EXAMPLES = 20
DIGITS = frozenset("0123456789０１２３４５６７８９")
_DIGIT_BYTES = [*b"0123456789", 0xEF]  # the first byte of full-width ones
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_HAN}]|[^\\W{_HAN}]+")


@dataclass(frozen=True)
class HeldOutText:
    """A document that the tokenizer was not trained on."""

    source: str
    language: str
    text: str


@dataclass
class Measure:
    """Counts over the held-out text of one language and source; ratios are what the report shows."""

    documents: int = 0
    characters: int = 0
    without_piece: int = 0  # characters that have no piece of their own
    num_bytes: int = 0
    tokens: int = 0
    byte_pieces: int = 0
    unk: int = 0
    round_trip_losses: int = 0  # documents that do not come back as they were (U+2581 counts as a blank)
    words: int = 0  # runs of letters, digits and _, every Han character for itself
    digits: int = 0  # 0-9, also of full width, that lie in pieces
    digit_tokens: int = 0  # tokens that hold one or more of them

    def add(self, other: Measure) -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def report(self) -> dict[str, float]:
        tokens, characters = max(self.tokens, 1), max(self.characters, 1)
        return asdict(self) | {
            "without_piece_ratio": self.without_piece / characters,
            "characters_per_token": self.characters / tokens,
            "bytes_per_token": self.num_bytes / tokens,
            "byte_piece_ratio": self.byte_pieces / tokens,
            "unk_ratio": self.unk / tokens,
            "fertility": self.tokens / max(self.words, 1),
            "digits_per_token": self.digits / max(self.digit_tokens, 1),
        }


@dataclass(frozen=True)
class Verdict:
    """One language at the gate: `judged` where there was text enough."""

    language: str
    characters: int
    without_piece_ratio: float
    judged: bool
    passed: bool

    def report(self) -> dict[str, Any]:
        """`passed` is None where nothing was judged: that holds nothing up, and proves nothing."""
        return asdict(self) | {"passed": self.passed if self.judged else None}


@dataclass
class GateReport:
    """Measures by (language, source), and the verdicts on the gate's languages."""

    measures: dict[tuple[str, str], Measure] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    absent: tuple[str, ...] = ()  # languages of the gate without any held-out text

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts) and not self.round_trip_losses

    @property
    def round_trip_losses(self) -> int:
        return sum(measure.round_trip_losses for measure in self.measures.values())

    def by_language(self) -> dict[str, Measure]:
        return self._grouped(0)

    def by_source(self) -> dict[str, Measure]:
        return self._grouped(1)

    def report(self) -> dict[str, Any]:
        """JSON for `mspt show`."""
        pairs = sorted((source, language) for language, source in self.measures)
        return {
            "passed": self.passed,
            "limit": MAX_WITHOUT_PIECE,
            "verdicts": [verdict.report() for verdict in self.verdicts],
            "languages_without_text": list(self.absent),
            "languages": {name: measure.report() for name, measure in self.by_language().items()},
            "sources": {name: measure.report() for name, measure in self.by_source().items()},
            "sources_and_languages": [{"source": source, "language": language} | self.measures[language, source].report() for source, language in pairs],
        }

    def _grouped(self, part: int) -> dict[str, Measure]:
        groups: dict[str, Measure] = {}
        for key in sorted(self.measures):
            groups.setdefault(key[part], Measure()).add(self.measures[key])
        return groups


class Gauge:
    """What is looked up for every token of a tokenizer, and how often each was seen: int64 [V]."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.own = characters_with_piece(tokenizer)
        self.byte_piece = np.array([is_byte_piece(piece) for piece in tokenizer.pieces])
        surfaces = (surface.decode("utf-8", "ignore") if any(c in surface for c in _DIGIT_BYTES) else "" for surface in tokenizer.surfaces)
        self.digits = np.array([sum(c in DIGITS for c in surface) for surface in surfaces], dtype=np.int64)
        self.usage = np.zeros(tokenizer.vocab_size, dtype=np.int64)

    def use(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of the texts; they count as usage."""
        encoded = self.tokenizer.encode_batch(texts)
        if encoded:
            self.usage += np.bincount(np.concatenate(encoded), minlength=len(self.usage))
        return encoded

    def measure(self, text: str, ids: Ids) -> Measure:
        characters = code_points(text)
        unk = self.tokenizer.special.unk
        return Measure(
            documents=1,
            characters=len(characters),
            without_piece=int((~self.own[characters]).sum()),
            num_bytes=len(text.encode("utf-8")),
            tokens=len(ids),
            byte_pieces=int(self.byte_piece[ids].sum()),
            unk=int((ids == unk).sum()) if unk is not None else 0,
            round_trip_losses=int(self.tokenizer.decode(ids) != text.replace(SPACE, " ")),
            words=sum(1 for _ in _WORD.finditer(text)),
            digits=int(self.digits[ids].sum()),
            digit_tokens=int((self.digits[ids] > 0).sum()),
        )


def measure(gauge: Gauge, held_out: Iterable[HeldOutText], languages: Sequence[str]) -> GateReport:
    """Tokenise `held_out` and judge `languages` (BCP 47 tags; "zh" stands for zh-Hans and zh-Hant too, each judged alone)."""
    report = GateReport()
    for batch in _batches(held_out):
        for document, ids in zip(batch, gauge.use([d.text for d in batch]), strict=True):
            report.measures.setdefault((document.language, document.source), Measure()).add(gauge.measure(document.text, ids))
    found = report.by_language()
    report.verdicts = tuple(_judge(name, total) for name, total in found.items() if any(_stands_for(wanted, name) for wanted in languages))
    report.absent = tuple(wanted for wanted in dict.fromkeys(languages) if not any(_stands_for(wanted, name) for name in found))
    return report


def _stands_for(wanted: str, language: str) -> bool:
    return language == wanted or language.startswith(f"{wanted}-")


def check(report: GateReport) -> None:
    """Raise CheckFailed unless the gate is passed; the message names the language and its figure."""
    for verdict in report.verdicts:
        if not verdict.passed:
            raise CheckFailed(
                f"{verdict.language}: {verdict.without_piece_ratio:.2%} of {verdict.characters:,} held-out characters have no piece of"
                f" their own, {MAX_WITHOUT_PIECE:.1%} are allowed",
                "train on more text of that language, with a larger --vocab-size or --character-coverage 1.0; --force publishes it anyway",
            )
    if report.round_trip_losses:
        sources = [name for name, total in report.by_source().items() if total.round_trip_losses]
        raise CheckFailed(
            f"{report.round_trip_losses} held-out documents do not come back as they were (sources: {', '.join(sources)})",
            "look at them with `mspt sample`; --force publishes the tokenizer anyway",
        )


def characters_with_piece(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """[0x110000]: which code points are a piece by themselves, the pieces of byte fallback left out."""
    own = np.zeros(0x110000, dtype=np.bool_)
    for piece, surface in zip(tokenizer.pieces, tokenizer.surfaces, strict=True):
        character = surface.decode("utf-8", "ignore") if len(surface) <= 4 else ""
        if len(character) == 1 and len(character.encode()) == len(surface) and not is_byte_piece(piece):
            own[ord(character)] = True
    return own


def unused(gauge: Gauge) -> dict[str, Any]:
    """Learnt pieces that nothing seen so far has used. Single characters are there for texts to come and do not count."""
    tokenizer = gauge.tokenizer
    learnt = [i for i, surface in enumerate(tokenizer.surfaces) if surface and not gauge.byte_piece[i] and len(surface.decode("utf-8", "replace")) > 1]
    idle = [i for i in learnt if not gauge.usage[i]]
    longest = sorted(idle, key=lambda i: (-len(tokenizer.surfaces[i]), i))
    return {
        "tokens_seen": int(gauge.usage.sum()),
        "pieces": len(learnt),
        "unused": len(idle),
        "unused_ratio": round(len(idle) / max(len(learnt), 1), 6),
        "longest_unused": [tokenizer.pieces[i] for i in longest[:MAX_EXAMPLES]],
    }


def _judge(language: str, total: Measure) -> Verdict:
    ratio = total.without_piece / max(total.characters, 1)
    judged = total.characters >= MIN_GATE_CHARACTERS
    return Verdict(language, total.characters, ratio, judged, not judged or ratio <= MAX_WITHOUT_PIECE)


def _batches(documents: Iterable[HeldOutText]) -> Iterable[list[HeldOutText]]:
    batch: list[HeldOutText] = []
    for document in documents:
        batch.append(document)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
