"""What becomes of a record: a document with what was left out of it, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mspt.core.text.form import Form
from mspt.core.text.language.identify import Language
from mspt.core.text.spans import Span


@dataclass(frozen=True)
class Part:
    """A part that was left out of a document that stays: by which rule, what it said, and where in the text it would stand."""

    rule: str
    text: str
    start: int
    end: int
    detail: str = ""


@dataclass(frozen=True)
class Document:
    """A kept document: the columns of docs, what was changed in it, and what was left out of it.

    encoding_unsure: another encoding is hardly less likely; in_field: it was a page in a field; changed: characters by switch of normalize; seems: pdf-text
    or ocr, where it looks as if it came from there and nobody said so; repaired: faults of mojibake that were undone; personal, words: how many of each kind
    of personal data and of each sensitive word; flow: characters that were left after each step, those before the first under "read".
    """

    text: str
    url: str
    title: str
    date: str
    encoding: str
    language: Language
    form: Form
    spans: tuple[Span, ...]
    meta: str
    encoding_unsure: bool = False
    in_field: bool = False
    changed: Mapping[str, int] = field(default_factory=dict)
    seems: str = ""
    repaired: tuple[str, ...] = ()
    left_out: tuple[Part, ...] = ()
    personal: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)
    flow: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Rejection:
    """Why a record gives no document: the step and rule that said no, what was measured, and the text as it was then; url and meta of the record; flow as
    of a document, up to the step before."""

    step: str
    rule: str
    value: float = 0.0
    threshold: float = 0.0
    detail: str = ""
    start: int = 0
    end: int = 0
    text: str = ""
    url: str = ""
    meta: str = ""
    flow: Mapping[str, int] = field(default_factory=dict)
