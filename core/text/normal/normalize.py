"""One way of writing: composed characters, plain line ends, nothing invisible, half-width letters and digits, no residues of escapes and tags, paragraphs in
one piece; code keeps its blanks.

Most text needs nothing. So one compiled pass looks at each character and says which steps may have something to do (`classes.look`); only those run. A step is
a function from the document to its edits; `Document.edited` applies them, and spans follow whatever a step does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, reduce
from operator import or_
from typing import Literal, NamedTuple

from mspt.core.text.marks import MARK, mark, places
from mspt.core.text.normal import blanks, characters, pdf_text, punctuation, tag_residues, web_escapes
from mspt.core.text.normal.classes import (
    ALWAYS,
    BBCODE,
    BLANK_LINES,
    ENTITIES,
    ESCAPES,
    EXOTIC_BLANK,
    FULL_WIDTH,
    GAPS,
    INVISIBLE,
    LINE_END,
    MAY_COMPOSE,
    META_SPACE,
    PERCENTS,
    PRIVATE_USE,
    TAGS,
    TAILS,
    WRAPPED,
    look,
)  # fmt: skip
from mspt.core.text.normal.document import Document, Edits, as_edits, num_changed
from mspt.core.text.normal.escapes import backslashes
from mspt.core.text.normal.line_joining import join_indented, join_lines
from mspt.core.text.normal.running_lines import drop_running_lines, left_out
from mspt.core.text.script import code_points
from mspt.core.text.spans import Span, sort_spans

Pages = Literal["pdf-text", "ocr"]
OF_PAGES: Mapping[Pages, tuple[str, ...]] = {
    "pdf-text": ("running_lines", "cut_words", "ligatures", "han_blanks"),
    "ocr": ("running_lines", "cut_words", "han_blanks"),
}


@dataclass(frozen=True, kw_only=True)
class Switches:
    """What `normalize` does; each can be turned off, and what is off by default turned on."""

    compose: bool = True  # NFC (not NFKC)
    line_ends: bool = True  # CR LF, CR, NEL, LS, PS, VT, FF to LF
    invisible: bool = True  # control, zero-width, bidi, soft hyphen, tags; joiners and selectors stay where a script needs them
    private_use: bool = True  # private-use characters removed
    meta_space: bool = True  # U+2581, which SentencePiece cannot round-trip, to "_"
    half_width: bool = True  # full-width Latin letters and digits, never Chinese punctuation; not in code
    escapes: bool = True  # backslash escapes that nobody read back: \n, \u4e2d, \"
    percents: bool = True  # percent-encoded UTF-8 outside addresses: %E4%B8%AD
    entities: bool = True  # &amp;nbsp; &#8217;
    tags: bool = True  # tags of HTML in text that is no HTML
    bbcode: bool = True  # [b]bold[/b]
    wrapped_lines: bool = True  # lines of prose that were broken at one width joined to paragraphs
    blanks: bool = True  # exotic blanks to " ", runs inside prose lines to one; not in code
    trailing: bool = True  # blanks at line ends
    blank_lines: bool = True  # at most two blank lines in a row; none at the start and end
    # For those who ask.
    punctuation: bool = False  # half-width marks of Chinese sentences to full width
    running_lines: bool = False  # heads, feet and numbers of pages removed
    cut_words: bool = False  # words that line ends cut made whole
    ligatures: bool = False  # to their letters
    han_blanks: bool = False  # blanks between Han characters removed

    @classmethod
    def chosen(cls, leave: Collection[str] = (), pages: Collection[Pages] = (), *, unify: bool = False) -> Switches:
        """The default's, those for text that came from `pages`, and punctuation if it is to be unified; none that is to be left."""
        wanted = {name for one in pages for name in OF_PAGES[one]} | ({"punctuation"} if unify else set())
        return cls(**{field.name: (field.default or field.name in wanted) and field.name not in leave for field in fields(cls)})

    @cache  # noqa: B019 -- of a few
    def of_layout(self) -> Switches:
        """Those of them that are of blanks and blank lines."""
        return Switches(**{field.name: field.name in LAYOUT_NAMES and getattr(self, field.name) for field in fields(self)})


DEFAULT = Switches()


class Removed(NamedTuple):
    """A line that was removed: by which rule, what it said, and where in the text it would stand."""

    rule: str
    text: str
    place: int


class Normalized(NamedTuple):
    """Text, moved spans, how many characters each switch changed or removed (only switches that did something, in the order of NAMES), and what is gone
    with running lines."""

    text: str
    spans: tuple[Span, ...]
    counts: Mapping[str, int]
    removed: tuple[Removed, ...] = ()


class Step(NamedTuple):
    """A switch, the step that it switches, and the bits of `look` of which a text must have one for the step to have anything to do."""

    name: str
    find: Callable[[Document], Edits]
    needs: int


class Group(NamedTuple):
    """Steps that are done one after the other, and the bits of which a text must have one for any of them."""

    steps: tuple[Step, ...]
    needs: int


Steps = tuple[Step, ...]

# In this order. Pages are told by form feeds, soft hyphens and wide gaps, paragraphs by wide blanks before them, which later steps take away. A selector has a
# use behind U+2581 but not behind its stand-in, what is removed may leave neighbours that compose, half-width letters may meet a mark (which is MAY_COMPOSE),
# emptied lines are blank.
OF_RAW_PAGES: Steps = (
    Step("running_lines", drop_running_lines, ALWAYS), Step("cut_words", pdf_text.join_cut_words, ALWAYS),
    Step("ligatures", pdf_text.drop_ligatures, ALWAYS), Step("han_blanks", pdf_text.han_blanks, ALWAYS),
)  # fmt: skip
OF_CHARACTERS: Steps = (
    Step("line_ends", characters.line_ends, LINE_END), Step("meta_space", characters.meta_space, META_SPACE),
    Step("invisible", characters.invisible, INVISIBLE), Step("private_use", characters.private_use, PRIVATE_USE),
    Step("half_width", characters.half_width, FULL_WIDTH), Step("compose", characters.compose, MAY_COMPOSE),
)  # fmt: skip
LAYOUT: Steps = (
    Step("blanks", blanks.blanks, GAPS | EXOTIC_BLANK), Step("trailing", blanks.trailing, TAILS), Step("blank_lines", blanks.blank_lines, BLANK_LINES),
)  # fmt: skip
BY_EVIDENCE: Steps = (
    Step("escapes", backslashes, ESCAPES), Step("percents", web_escapes.percents, PERCENTS), Step("entities", web_escapes.entities, ENTITIES),
    Step("tags", tag_residues.html_tags, TAGS), Step("bbcode", tag_residues.bbcode, BBCODE),
    Step("wrapped_lines", join_lines, WRAPPED), Step("punctuation", punctuation.unify, ALWAYS),
)  # fmt: skip
# Before each group the text is looked at again, if another one than LAYOUT changed it: layout leaves true what `look` said.
GROUPS: tuple[Steps, ...] = (OF_RAW_PAGES, (Step("wrapped_lines", join_indented, EXOTIC_BLANK),), OF_CHARACTERS, LAYOUT, *((step,) for step in BY_EVIDENCE))
NAMES = tuple(dict.fromkeys(step.name for group in GROUPS for step in group))
LAYOUT_NAMES = frozenset(step.name for step in LAYOUT)
PLAIN_NAMES = frozenset(step.name for step in OF_CHARACTERS) | LAYOUT_NAMES
LINE = "line-"  # names of marks where running lines were
MAX_ROUNDS = 20  # tags inside tags inside tags: what is still there then is hostile, and stays


def normalize(text: str, spans: Sequence[Span] = (), *, form: str = "prose", switches: Switches = DEFAULT) -> Normalized:
    """`text` in mspt's one way of writing, with `spans` moved along.

    form: prose and markup have blanks collapsed inside lines (not in pre/code/math spans, fenced blocks, or lines indented by four blanks or a
    tab); code, table and verse keep every blank before the line's end. pre/code/math spans keep those at line ends too. Residues are sought in prose
    and verse, wrapped lines in prose without spans. Idempotent.
    """
    of_pages, groups, needs = _enabled(switches)
    seen = look(code_points(text))
    if not seen & needs:
        return Normalized(text, tuple(spans), {})
    work = _Work(Document(text, spans, form), seen)
    for _ in range(MAX_ROUNDS):
        done = {name for group in groups for name in work.do(group)}
        # What a step leaves may be evidence for another: an entity was the bracket of a tag, an exotic blank stood between Han.
        if done <= PLAIN_NAMES and not (done and work.do(of_pages)):
            break
    return work.result()


@cache
def _enabled(switches: Switches) -> tuple[Group, tuple[Group, ...], int]:
    """The steps for raw pages, all steps by group, and the bits of which a text must have one for any of them."""
    groups = [group for some in GROUPS if (group := _group(step for step in some if getattr(switches, step.name))).steps]
    of_pages = _group(step for step in OF_RAW_PAGES if getattr(switches, step.name))
    return of_pages, tuple(groups), reduce(or_, (group.needs for group in groups), 0)


def _group(steps: Iterable[Step]) -> Group:
    found = tuple(steps)
    return Group(found, reduce(or_, (step.needs for step in found), 0))


class _Work:
    """A document while it is normalised, and what `look` sees in it. Where its removed lines were is marked by spans."""

    def __init__(self, document: Document, seen: int) -> None:
        self.document = document
        self.seen = seen
        self.is_stale = False  # `seen` is of an earlier text
        self.counts: dict[str, int] = {}
        self.removed: list[tuple[str, str]] = []

    def do(self, group: Group) -> list[str]:
        """Does the steps of a group once; those that changed something."""
        if self.is_stale:
            self.seen, self.is_stale = look(self.document.codes), False
        done: list[str] = []
        for name, find, needs in group.steps if self.seen & group.needs else ():
            if self.seen & needs and len(edits := find(self.document)):
                done.append(name)
                self.counts[name] = self.counts.get(name, 0) + num_changed(edits)
                before, self.document = self.document, self.document.edited(edits)
                self.is_stale |= name not in LAYOUT_NAMES
                if name == "running_lines":
                    self._note(left_out(before.text, as_edits(edits)))
        return done

    def _note(self, lines: Sequence[tuple[str, str, int]]) -> None:
        """Notes (rule, words, place in the text as it is now) of lines that are not in it any more."""
        text = self.document.text
        marks = [mark(f"{LINE}{number}", place, text) for number, (*_, place) in enumerate(lines, len(self.removed))] if text else []
        self.document = Document(text, sort_spans([*self.document.spans, *marks]), self.document.form)
        self.removed += [(rule, words) for rule, words, _ in lines]

    def result(self) -> Normalized:
        text, spans = self.document.text, self.document.spans
        counts = {name: self.counts[name] for name in NAMES if name in self.counts} if self.counts else {}
        if not self.removed:
            return Normalized(text, spans, counts)
        where = places(spans, [f"{LINE}{number}" for number in range(len(self.removed))], len(text))
        removed = (Removed(*line, place) for line, place in zip(self.removed, where, strict=True))
        return Normalized(text, tuple(span for span in spans if not span.tag.startswith(MARK + LINE)), counts, tuple(removed))
