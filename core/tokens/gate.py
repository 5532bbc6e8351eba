"""What a tokenizer does to text it has not seen, and the gate it must pass.

With byte fallback nothing is ever unknown, so a limit on <unk> cannot fail; what goes wrong instead is a language falling apart into bytes
(trained on Chinese novels alone: <unk> .00000 everywhere while 86 % of English documentation becomes byte pieces). The gate therefore counts
held-out *characters that have no piece of their own*: at most 0.1 % per language, all its sources together, judged only where at least
100,000 held-out characters were seen and otherwise reported. A document that does not come back as it was also fails the gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import CheckFailed
from mspt.core.tokens.tokenizer import Ids, Tokenizer, is_byte_piece
from mspt.core.tokens.training import code_points
from mspt.core.tokens.words import SPACE

# REQUIREMENTS: coverage 1.0 leaves .04-.10 % of held-out Chinese without a piece, .9995 leaves .27-.42 %.
MAX_WITHOUT_PIECE = 0.001
# Below this a handful of rare characters decides.
MIN_GATE_CHARACTERS = 100_000
_BATCH = 256


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
        return {
            "passed": self.passed,
            "limit": MAX_WITHOUT_PIECE,
            "verdicts": [verdict.report() for verdict in self.verdicts],
            "languages": {name: measure.report() for name, measure in self.by_language().items()},
            "sources": {name: measure.report() for name, measure in self.by_source().items()},
        }

    def _grouped(self, part: int) -> dict[str, Measure]:
        groups: dict[str, Measure] = {}
        for key in sorted(self.measures):
            groups.setdefault(key[part], Measure()).add(self.measures[key])
        return groups


def measure(tokenizer: Tokenizer, held_out: Iterable[HeldOutText], languages: Sequence[str]) -> GateReport:
    """Tokenise `held_out` and judge `languages` (BCP 47 tags; "zh" stands for zh-Hans and zh-Hant too, each judged alone)."""
    report = GateReport()
    own = _characters_with_piece(tokenizer)
    byte_piece = np.array([is_byte_piece(piece) for piece in tokenizer.pieces])
    for batch in _batches(held_out):
        for document, ids in zip(batch, tokenizer.encode_batch([d.text for d in batch]), strict=True):
            total = report.measures.setdefault((document.language, document.source), Measure())
            total.add(_measure_one(tokenizer, document.text, ids, own, byte_piece))
    report.verdicts = tuple(
        _judge(language, total)
        for language, total in report.by_language().items()
        if any(language == wanted or language.startswith(f"{wanted}-") for wanted in languages)
    )
    return report


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


def _characters_with_piece(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """[0x110000]: which code points are a piece by themselves, the pieces of byte fallback left out."""
    own = np.zeros(0x110000, dtype=np.bool_)
    for piece, surface in zip(tokenizer.pieces, tokenizer.surfaces, strict=True):
        character = surface.decode("utf-8", "ignore")
        if len(character) == 1 and len(character.encode()) == len(surface) and not is_byte_piece(piece):
            own[ord(character)] = True
    return own


def _measure_one(tokenizer: Tokenizer, text: str, ids: Ids, own: npt.NDArray[np.bool_], byte_piece: npt.NDArray[np.bool_]) -> Measure:
    characters = code_points(text)
    return Measure(
        documents=1,
        characters=len(characters),
        without_piece=int((~own[characters]).sum()),
        num_bytes=len(text.encode("utf-8")),
        tokens=len(ids),
        byte_pieces=int(byte_piece[ids].sum()),
        unk=int((ids == tokenizer.special.unk).sum()) if tokenizer.special.unk is not None else 0,
        round_trip_losses=int(tokenizer.decode(ids) != text.replace(SPACE, " ")),
    )


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
