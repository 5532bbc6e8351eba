"""What an n-gram model of a reference text says of documents: perplexity by language and script, its buckets, and the limits that drop documents.

A reference is a directory of two files: `ngrams.bin` (ngram_model.py) and `reference.json` (what it was trained on). Perplexity is of units (alphabet.py): a
character of Han, a word of letters. It compares within a language only; of a language that the reference hardly has, it is not measured (null).

Buckets: CCNet (Wenzek et al. 2020, 3.2, and its code, perplexity.py) cuts each language at percentiles 30 and 60 of its documents' perplexities into head,
middle and tail.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.errors import InputError, MsptError
from mspt.core.quality.ngram_model import Model, Score, perplexity
from mspt.core.quality.weights import percentile

MODEL, DESCRIPTION = "ngrams.bin", "reference.json"
MIN_CHARACTERS = 10_000  # of a language in the reference, for its documents to be measured
MIN_PARAGRAPH = 20  # units: the perplexity of fewer says little
HEAD, MIDDLE, TAIL = "head", "middle", "tail"
HEAD_SHARE, TAIL_SHARE = 0.3, 0.6
HIGH_RULE, LOW_RULE, RELATIVE_RULE = "high-perplexity", "low-perplexity", "high-relative-perplexity"


class Measured(NamedTuple):
    """perplexity: of the document; worst_paragraph: the highest of its paragraphs (lines) of MIN_PARAGRAPH units and more; relative: of the document, beside
    that of its words one by one; None where there is none."""

    perplexity: float | None
    worst_paragraph: float | None
    relative: float | None


NOT_MEASURED = Measured(None, None, None)


@dataclass(frozen=True)
class Description:
    """What a reference was trained on. languages: {"characters", "documents"} of each, and "held_out" quantiles of perplexity where any was held out."""

    order: int
    min_count: int
    languages: dict[str, dict[str, Any]] = field(default_factory=dict)
    format: int = 1

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Reference:
    model: Model
    description: Description

    @classmethod
    def load(cls, directory: Path) -> Reference:
        """Raises InputError where the files are no reference or one of another format."""
        try:
            description = Description(**json.loads((directory / DESCRIPTION).read_text(encoding="utf-8")))
        except (OSError, TypeError, ValueError) as error:
            raise InputError(f"{directory} holds no reference that this version can read: {error}", "train it again: mspt train-perplexity") from None
        if description.format != Description.format:
            raise InputError(f"{directory} is a reference of format {description.format}", "train it again: mspt train-perplexity")
        return cls(Model.load(directory / MODEL), description)

    def knows(self, lang: str | None) -> bool:
        return int(self.description.languages.get(lang or "", {}).get("characters", 0)) >= MIN_CHARACTERS

    def measure(self, text: str, lang: str | None) -> Measured:
        if not self.knows(lang):
            return NOT_MEASURED
        score = self.model.score(text)
        return Measured(score.perplexity, max((p for p in _of_paragraphs(score) if p is not None), default=None), score.relative)

    def paragraphs(self, text: str, lang: str | None) -> list[float | None]:
        """Of each paragraph that holds a symbol; None of one that is too short, or of a language that is not measured."""
        score = self.model.score(text)
        return _of_paragraphs(score) if self.knows(lang) else [None] * len(score.lines)


def _of_paragraphs(score: Score) -> list[float | None]:
    return [perplexity(log, units) if units >= MIN_PARAGRAPH else None for log, units in score.lines]


# --- by language -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByLanguage:
    """A number for each language, or one for all (`every`)."""

    every: float | None = None
    languages: tuple[tuple[str, float], ...] = ()

    def of(self, lang: str | None) -> float | None:
        return dict(self.languages).get(lang or "", self.every)

    @property
    def empty(self) -> bool:
        return self.every is None and not self.languages


def parse_by_language(name: str, values: Sequence[str]) -> ByLanguage:
    """("2000",) or ("en=2000", "zh-Hans=800"), or both. MsptError where it is neither."""
    every, languages = None, {}
    for value in values:
        lang, found, number = value.rpartition("=")
        try:
            parsed = float(number)
        except ValueError:
            parsed = -1.0
        if not parsed > 0 or (found and not lang.strip()):
            raise MsptError(f"{name}: {value!r} is neither a number nor LANG=NUMBER", f'for example {name} = ["en=2000", "zh-Hans=800"]')
        if found:
            languages[lang.strip()] = parsed
        else:
            every = parsed
    return ByLanguage(every, tuple(sorted(languages.items())))


def percentiles(by_language: Mapping[str, Sequence[float] | NDArray[np.floating[Any]]], share: float) -> ByLanguage:
    """The nearest-rank percentile of each language's perplexities."""
    return ByLanguage(None, tuple((lang, float(percentile(np.sort(values), share))) for lang, values in sorted(by_language.items()) if len(values)))


@dataclass(frozen=True)
class Buckets:
    """Where the buckets of each language end."""

    head: ByLanguage
    middle: ByLanguage

    @classmethod
    def of(cls, by_language: Mapping[str, Sequence[float] | NDArray[np.floating[Any]]], head: float = HEAD_SHARE, middle: float = TAIL_SHARE) -> Buckets:
        return cls(percentiles(by_language, head), percentiles(by_language, middle))

    def name(self, value: float | None, lang: str | None) -> str | None:
        head, middle = self.head.of(lang), self.middle.of(lang)
        if value is None or head is None or middle is None:
            return None
        return HEAD if value <= head else MIDDLE if value <= middle else TAIL


@dataclass(frozen=True)
class Violation:
    """Why a document is dropped."""

    rule: str
    value: float
    threshold: float
    detail: str = ""


@dataclass(frozen=True)
class Limits:
    """Perplexities beyond which a document is dropped: what a person set, and a percentile of each language's documents. relative: most relative perplexity."""

    most: ByLanguage = ByLanguage()
    most_by_percentile: ByLanguage = ByLanguage()
    least: ByLanguage = ByLanguage()
    percentile: float | None = None  # that most_by_percentile is of, 0 to 100
    relative: ByLanguage = ByLanguage()

    @property
    def empty(self) -> bool:
        return self.most.empty and self.most_by_percentile.empty and self.least.empty and self.relative.empty

    def judge(self, value: float | None, lang: str | None, relative: float | None = None) -> Violation | None:
        """The first rule that a document of this perplexity, and of this relative one, breaks. One that was not measured breaks none; paragraphs have no
        relative perplexity."""
        if value is None:
            return None
        most, ranked, least = self.most.of(lang), self.most_by_percentile.of(lang), self.least.of(lang)
        if most is not None and value > most:
            return Violation(HIGH_RULE, value, most)
        if ranked is not None and value > ranked:
            return Violation(HIGH_RULE, value, ranked, f"percentile {self.percentile:g} of {lang}")
        if least is not None and value < least:
            return Violation(LOW_RULE, value, least)
        disordered = self.relative.of(lang)
        if disordered is not None and relative is not None and relative > disordered:
            return Violation(RELATIVE_RULE, relative, disordered)
        return None
