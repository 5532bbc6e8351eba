"""One record to one clean document, step by step: decode, extract, normalize, language, rules. The first step that says no ends it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mspt.core.text.decode import Decoded
from mspt.core.text.form import Form, detect_form
from mspt.core.text.html import Mode, Page, extract
from mspt.core.text.language import Language, identify
from mspt.core.text.mojibake import lost_ratio, repair
from mspt.core.text.normalize import Switches, normalize
from mspt.core.text.records import Record, meta_json
from mspt.core.text.rules import Thresholds, Verdict, judge
from mspt.core.text.spans import Span

STEPS = ("read", "decode", "extract", "normalize", "language", "rules")  # read: containers and records, before `clean` sees anything
CONTROL = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f]")
MAX_CONTROL_RATIO = 0.02  # compressed data read as a single-byte encoding has .10; text has none


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What `clean` does. languages: BCP 47 tags or their first parts that are kept ("zh" covers zh-Hans); empty: all."""

    mode: Mode = "article"
    switches: Switches = field(default_factory=Switches)
    thresholds: Thresholds = field(default_factory=Thresholds)
    max_lost: float = 0.01
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A part of a document that was left out although the document stays: what, and where it would stand in the text."""

    rule: str
    detail: str
    start: int
    end: int


@dataclass(frozen=True)
class Document:
    """A kept document, the columns of docs; what was changed in it (characters by switch of normalize), and what was left out of it."""

    text: str
    url: str
    title: str
    encoding: str
    language: Language
    form: Form
    spans: tuple[Span, ...]
    meta: str
    changed: Mapping[str, int] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()  # faults of mojibake that were undone
    left_out: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Rejection:
    """Why a record gives no document: the step and rule that said no, what was measured, and the text as it was then."""

    step: str
    rule: str
    value: float = 0.0
    threshold: float = 0.0
    detail: str = ""
    start: int = 0
    end: int = 0
    text: str = ""


def clean(record: Record, recipe: Recipe = Recipe()) -> Document | Rejection:
    """The document of a record, or why there is none. Raises nothing for what the record is."""
    if (bad := check_decoded(record.decoded, recipe.max_lost)) is not None:
        return bad
    mended = repair(record.decoded.text)
    text = mended.text if mended else record.decoded.text
    page = extract(text, mode=recipe.mode) if record.markup else Page(text)
    if record.markup and not page.text.strip():
        detail = page.problem or f"no {'main text' if recipe.mode == 'article' else 'visible text'} found"
        return Rejection("extract", "no-content", detail=detail, text=text)
    form = detect_form(page.text, name=_name(record.ref))
    written = normalize(page.text, page.spans, form=form.form, switches=recipe.switches)
    language = identify(written.text, form.form)
    if recipe.languages and not _is_wanted(language.tag, recipe.languages):
        return Rejection("language", "language", language.confidence, detail=language.tag, text=written.text)
    verdict = judge(written.text, form=form.form, private_use=written.counts.get("private_use", 0), thresholds=recipe.thresholds)
    if not verdict.keep:
        return _by_rule(verdict, written.text)
    end = len(written.text)
    return Document(
        text=written.text,
        url=record.url or page.url,
        title=record.title or page.title,
        encoding=record.decoded.encoding,
        language=language,
        form=form,
        spans=written.spans,
        meta=meta_json(record.meta),
        changed=written.counts,
        repaired=mended.faults if mended else (),
        left_out=(Part("unread-rest", page.problem, end, end),) if page.problem else (),
    )


def check_decoded(decoded: Decoded, max_lost: float) -> Rejection | None:
    """Whether decoding went wrong or the bytes were no text: undecodable, mojibake, binary."""
    if decoded.replaced_ratio > max_lost:
        return Rejection("decode", "undecodable", decoded.replaced_ratio, max_lost, f"U+FFFD after decoding as {decoded.encoding}", text=decoded.text)
    if (lost := lost_ratio(decoded.text)) > max_lost:
        return Rejection("decode", "mojibake", lost, max_lost, "characters lost by an earlier wrong decoding", text=decoded.text)
    controls = len(CONTROL.findall(decoded.text)) / max(1, len(decoded.text))
    if controls > MAX_CONTROL_RATIO:
        return Rejection("decode", "binary", controls, MAX_CONTROL_RATIO, "control characters", text=decoded.text)
    return None


def _by_rule(verdict: Verdict, text: str) -> Rejection:
    return Rejection("rules", verdict.rule, verdict.value, verdict.threshold, verdict.detail, verdict.start, verdict.end, text)


def _is_wanted(tag: str, languages: tuple[str, ...]) -> bool:
    return any(tag == wanted or tag.startswith(wanted + "-") for wanted in languages)


def _name(ref: str) -> str:
    """The file's name in a ref, which may hint at a programming language."""
    return ref.rsplit("#", 1)[0].rsplit("/", 1)[-1]
