"""One record to one clean document, step by step. The first step that says no ends it.

decode      was it decoded rightly? mojibake is repaired where the round trip proves it
(map)       the user's function
extract     a web page to its text
normalize   one way of writing; Chinese in one script, if asked for
language    which language, and is it wanted?
rules       parts that are no text are cut out, the rest is judged; sensitive words
pii         personal data is counted or masked
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mspt.core.text.decoding import mojibake
from mspt.core.text.decoding.decode import Decoded
from mspt.core.text.form import Form, detect_form
from mspt.core.text.html.extract import Mode, Page, extract
from mspt.core.text.html.leftovers import Rules
from mspt.core.text.language import identify as language
from mspt.core.text.language.identify import Language
from mspt.core.text.marks import is_mark, mark, places
from mspt.core.text.normal.normalize import Pages, Switches, normalize
from mspt.core.text.normal.pdf_text import detect_profile
from mspt.core.text.normal.script_conversion import Target, convert
from mspt.core.text.outcomes import Document, Part, Rejection
from mspt.core.text.privacy import privacy
from mspt.core.text.privacy.sensitive_words import SensitiveWords
from mspt.core.text.readers.record import Record, meta_json
from mspt.core.text.rules import document_rules as rules
from mspt.core.text.rules.line_rules import cut_lines
from mspt.core.text.script import code_points, num_controls
from mspt.core.text.spans import Edit, Span, edit, sort_spans

# read and group: containers, records and their entities, before `clean` sees anything; exclude: taken down by the user, after everything else
FUNNEL = ("read", "group", "decode", "map", "extract", "normalize", "language", "rules", "pii", "exclude")
Step = Literal["decode", "extract", "normalize", "language", "rules", "pii"]
STEPS: tuple[Step, ...] = ("decode", "extract", "normalize", "language", "rules", "pii")
MAX_CONTROL_RATIO = 0.02  # compressed data read as a single-byte encoding has .10; text has none
MIN_VERBATIM_SHARE = 0.5  # of a page that is code
UNKNOWN = Language("und", 0.0)
REMOVED = "removed-"  # names of marks where parts were left out
READ_ON_PAGES = frozenset({"prose", "verse"})  # forms of which it is asked whether they came from a PDF file or OCR


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What `clean` does.

    steps: those that are done; what a step that is left out would have found stays unknown (language `und`) or as it was (a page keeps its markup).
    pages: what texts came from, by the user's word (its steps are among the switches); empty: nobody said, so it is detected and counted.
    leftovers: line rules for articles (None: the shipped ones). languages: BCP 47 tags or their first parts that are kept ("zh" covers zh-Hans); empty:
    all. change: the user's function (`--map`).
    """

    steps: tuple[Step, ...] = STEPS
    mode: Mode = "article"
    leftovers: Rules | None = None
    switches: Switches = field(default_factory=Switches)
    pages: tuple[Pages, ...] = ()
    script: Target | None = None
    profile: rules.Profile = rules.DEFAULT
    max_lost: float = 0.01
    languages: tuple[str, ...] = ()
    min_confidence: float = 0.0
    words: SensitiveWords | None = None
    pii: Literal["off", "flag", "redact"] = "off"
    change: Callable[[Record], Record | Rejection] | None = None


@dataclass
class Draft:
    """A record on its way to a document."""

    record: Record
    text: str
    spans: tuple[Span, ...] = ()
    page: Page | None = None
    form: Form = field(default_factory=lambda: Form("prose", ""))
    language: Language = UNKNOWN
    changed: dict[str, int] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    parts: list[Part] = field(default_factory=list)  # left out; their places are marked
    personal: Mapping[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    flow: dict[str, int] = field(default_factory=dict)  # characters left after each step
    private_use: int = 0
    seems: str = ""  # from a PDF file or OCR

    def leave_out(self, parts: Sequence[tuple[str, str, int]]) -> None:
        """Notes (rule, text, place in the text as it is now) of parts that are not in it any more."""
        if parts and self.text:
            marks = (mark(f"{REMOVED}{number}", place, self.text) for number, (*_, place) in enumerate(parts, len(self.parts)))
            self.spans = sort_spans([*self.spans, *marks])
        self.parts += [Part(rule, text, place, place) for rule, text, place in parts]

    def settled(self) -> tuple[tuple[Span, ...], tuple[Part, ...]]:
        """The spans without the marks, and the parts at their places in the text as it is now."""
        if not self.parts:
            return self.spans, ()
        where = places(self.spans, [f"{REMOVED}{number}" for number in range(len(self.parts))], len(self.text))
        parts = (replace(part, start=place, end=place) for part, place in zip(self.parts, where, strict=True))
        return tuple(span for span in self.spans if not is_mark(span)), tuple(parts)


def clean(record: Record, recipe: Recipe = Recipe(), spans: tuple[Span, ...] = ()) -> Document | Rejection:
    """The document of a record, or why there is none. Raises nothing for what the record is.

    spans: of the text, where it is that of a document which is cleaned again.
    """
    draft = Draft(record, record.decoded.text, spans)
    draft.flow["read"] = len(draft.text)
    for name, step, is_switched in _STEPS:
        if (not is_switched or name in recipe.steps) and (rejection := step(draft, recipe)) is not None:
            return refused(draft.record, rejection, draft.flow)
        draft.flow[name] = len(draft.text)
    return _document(draft)


def refused(record: Record, rejection: Rejection, flow: Mapping[str, int] | None = None) -> Rejection:
    """The rejection with what the record says of itself."""
    return replace(rejection, url=record.url, meta=meta_json(record.meta), flow=flow or {"read": len(record.decoded.text)})


def _decode(draft: Draft, recipe: Recipe) -> Rejection | None:
    decoded = draft.record.decoded
    if (bad := check_decoded(decoded, recipe.max_lost)) is not None:
        return bad
    found = mojibake.judge(decoded.text)
    if found is None:
        return None
    if found.lost_ratio > recipe.max_lost:
        return Rejection("decode", "mojibake", found.lost_ratio, recipe.max_lost, "characters lost by an earlier wrong decoding", text=decoded.text)
    draft.text, draft.repaired = found.text, found.faults
    draft.record = replace(draft.record, decoded=replace(decoded, text=found.text))
    return None


def _change(draft: Draft, recipe: Recipe) -> Rejection | None:
    if recipe.change is None:
        return None
    changed = recipe.change(draft.record)
    if isinstance(changed, Rejection):
        return changed
    draft.record, draft.text = changed, changed.decoded.text
    return None


def _extract(draft: Draft, recipe: Recipe) -> Rejection | None:
    if not draft.record.markup:
        return None
    page = extract(draft.text, mode=recipe.mode, rules=recipe.leftovers)
    if not page.text.strip():
        detail = page.problem or f"no {'main text' if recipe.mode == 'article' else 'visible text'} found"
        return Rejection("extract", "no-content", detail=detail, text=draft.text)
    draft.page, draft.text, draft.spans = page, page.text, page.spans
    draft.leave_out([(part.rule, part.text, part.position) for part in page.removed])
    if page.problem:
        draft.leave_out([("unread-rest", page.problem, len(page.text))])
    return None


def _tell_form(draft: Draft, recipe: Recipe) -> None:
    draft.form = detect_form(draft.text, name=_name(draft.record.ref))
    if draft.page is not None and draft.form.form == "code" and _verbatim_share(draft) < MIN_VERBATIM_SHARE:
        draft.form = Form("prose")  # a list of names with numbers in brackets reads like calls; code on a page stands in pre


def _verbatim_share(draft: Draft) -> float:
    return sum(span.end - span.start for span in draft.spans if span.tag == "pre") / max(1, len(draft.text))


def _normalize(draft: Draft, recipe: Recipe) -> None:
    if not recipe.pages and draft.page is None and draft.form.form in READ_ON_PAGES:
        draft.seems = detect_profile(draft.text)
    _write(draft, recipe.switches)


def _write(draft: Draft, switches: Switches) -> None:
    """The text in the one way of writing."""
    written = normalize(draft.text, draft.spans, form=draft.form.form, switches=switches)
    draft.text, draft.spans = written.text, written.spans
    draft.leave_out(written.removed)
    for name, number in written.counts.items():
        draft.changed[name] = draft.changed.get(name, 0) + number
    draft.private_use += written.counts.get("private_use", 0)


def _identify(draft: Draft, recipe: Recipe) -> Rejection | None:
    draft.language = language.identify(draft.text, draft.form.form)
    tag, confidence = draft.language.tag, draft.language.confidence
    if recipe.languages and not _is_wanted(tag, recipe.languages):
        return Rejection("language", "language", confidence, detail=tag, text=draft.text)
    if confidence < recipe.min_confidence:
        return Rejection("language", "language-confidence", confidence, recipe.min_confidence, tag, text=draft.text)
    return None


def _convert(draft: Draft, recipe: Recipe) -> None:
    if recipe.script is None:
        return
    if draft.language == UNKNOWN:  # the step `language` is left out
        draft.language = language.identify(draft.text, draft.form.form)
    converted = convert(draft.text, draft.spans, recipe.script, draft.language.tag)
    draft.text, draft.spans = converted.text, converted.spans
    draft.language = replace(draft.language, tag=converted.tag)
    if converted.changed:
        draft.changed["script"] = converted.changed


def _cut(draft: Draft, recipe: Recipe) -> None:
    """Parts that are no text are cut out. The blanks and blank lines that they leave behind, as where the text begins now, go as all others do: cleaning the
    document again changes nothing."""
    cuts = cut_lines(draft.text, form=draft.form.form)
    if not cuts:
        return
    before = draft.text
    draft.text, draft.spans = edit(before, draft.spans, [Edit(cut.start, cut.end, "") for cut in cuts])
    gone, parts = 0, []
    for cut in cuts:
        parts.append((cut.rule, before[cut.start : cut.end], cut.start - gone))
        gone += cut.end - cut.start
    draft.leave_out(parts)
    if "normalize" in recipe.steps:
        _write(draft, recipe.switches.of_layout())


def _judge(draft: Draft, recipe: Recipe) -> Rejection | None:
    _cut(draft, recipe)
    tag = "" if draft.language == UNKNOWN else draft.language.tag
    name = draft.record.ref.rsplit("#", 1)[0]
    found = rules.judge(draft.text, form=draft.form.form, language=tag, private_use=draft.private_use, name=name, profile=recipe.profile)
    if not found.keep:
        return Rejection("rules", found.rule, found.value, found.threshold, found.detail, found.start, found.end, draft.text)
    return _find_words(draft, recipe.words)


def _find_words(draft: Draft, words: SensitiveWords | None) -> Rejection | None:
    for hit in words.find(draft.text) if words is not None else ():
        if hit.entry.level == "drop":
            start, end = hit.positions[0]
            return Rejection("rules", "sensitive-words", hit.occurrences, 0, hit.entry.text, start, end, draft.text)
        draft.words[hit.entry.text] = hit.occurrences
    return None


def _mask(draft: Draft, recipe: Recipe) -> None:
    if recipe.pii == "flag":
        draft.personal = privacy.count(privacy.find(draft.text))
    elif recipe.pii == "redact":
        draft.text, draft.spans, draft.personal = privacy.mask(draft.text, draft.spans)
        record, title = draft.record, draft.record.title or (draft.page.title if draft.page else "")
        draft.record = replace(record, title=privacy.redact(title), meta=privacy.redact_fields(record.meta))


# The step of the funnel, what it does, and whether the recipe may leave it out; what it leaves out in part is decided inside.
_STEPS: tuple[tuple[str, Callable[[Draft, Recipe], Rejection | None], bool], ...] = (
    ("decode", _decode, True), ("map", _change, False), ("extract", _extract, True), ("extract", _tell_form, False), ("normalize", _normalize, True),
    ("language", _identify, True), ("normalize", _convert, True), ("rules", _judge, True), ("pii", _mask, True),
)  # fmt: skip


def _document(draft: Draft) -> Document:
    record, page = draft.record, draft.page or Page("")
    spans, left_out = draft.settled()
    return Document(
        text=draft.text,
        url=record.url or page.url,
        title=record.title or page.title,
        date=page.date,
        encoding=record.decoded.encoding,
        encoding_unsure=record.decoded.low_confidence,
        in_field=record.in_field,
        language=draft.language,
        form=draft.form,
        spans=spans,
        meta=meta_json(_meta(draft, page)),
        changed=draft.changed,
        seems=draft.seems,
        repaired=draft.repaired,
        left_out=left_out,
        personal=draft.personal,
        words=draft.words,
        flow=draft.flow,
    )


def _meta(draft: Draft, page: Page) -> dict[str, Any]:
    """The record's own, and what was found: how it was decoded where that is in doubt, the language that a page declares, personal data, sensitive words."""
    decoded = draft.record.decoded
    found = {"encoding_unsure": decoded.low_confidence, "bad_lines": decoded.bad_lines, "repaired": list(draft.repaired)}
    found |= {"declared_lang": page.lang, "pii": dict(draft.personal), "sensitive_words": draft.words}
    return {**draft.record.meta, **{name: value for name, value in found.items() if value}}


def check_decoded(decoded: Decoded, max_lost: float) -> Rejection | None:
    """Whether decoding went wrong or the bytes were no text: undecodable, binary."""
    if decoded.replaced_ratio > max_lost:
        return Rejection("decode", "undecodable", decoded.replaced_ratio, max_lost, f"U+FFFD after decoding as {decoded.encoding}", text=decoded.text)
    controls = num_controls(code_points(decoded.text)) / max(1, len(decoded.text))
    if controls > MAX_CONTROL_RATIO:
        return Rejection("decode", "binary", controls, MAX_CONTROL_RATIO, "control characters", text=decoded.text)
    return None


def _is_wanted(tag: str, languages: tuple[str, ...]) -> bool:
    return any(tag == wanted or tag.startswith(wanted + "-") for wanted in languages)


def _name(ref: str) -> str:
    """The file's name in a ref, which may hint at a programming language."""
    return ref.rsplit("#", 1)[0].rsplit("/", 1)[-1]
