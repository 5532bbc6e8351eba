"""One way of writing: composed characters, plain line ends, nothing invisible, half-width letters and digits, no residues of escapes and tags, paragraphs in
one piece; code keeps its blanks.

Most text needs nothing. So a first pass looks up each character's class in a table, and only the steps whose class occurs run; the others look for a sign
without which they have nothing to do. A step is a function from the document to a list of edits; `spans.edit` applies them, so spans follow whatever a step
does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal, NamedTuple

from mspt.core.text.marks import MARK, mark, places
from mspt.core.text.normal import blanks, characters, pdf_text, punctuation, tag_residues, web_escapes
from mspt.core.text.normal.classes import classes_in
from mspt.core.text.normal.document import Document
from mspt.core.text.normal.escapes import backslashes
from mspt.core.text.normal.line_joining import join_indented, join_lines
from mspt.core.text.normal.running_lines import drop_running_lines, left_out
from mspt.core.text.spans import Edit, Span, edit, sort_spans

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


Step = Callable[[Document, int], Iterator[Edit]]

Steps = Sequence[tuple[str, Step]]

# In this order. Pages are told by form feeds, soft hyphens and wide gaps, paragraphs by wide blanks before them, which later steps take away. A selector has a
# use behind U+2581 but not behind its stand-in, what is removed may leave neighbours that compose, half-width letters may meet a mark, emptied lines are blank.
OF_RAW_PAGES: Steps = (
    ("running_lines", drop_running_lines), ("cut_words", pdf_text.join_cut_words), ("ligatures", pdf_text.drop_ligatures), ("han_blanks", pdf_text.han_blanks),
)  # fmt: skip
PLAIN: Steps = (
    ("line_ends", characters.line_ends), ("meta_space", characters.meta_space), ("invisible", characters.invisible), ("private_use", characters.private_use),
    ("half_width", characters.half_width), ("compose", characters.compose),
    ("blanks", blanks.blanks), ("trailing", blanks.trailing), ("blank_lines", blanks.blank_lines),
)  # fmt: skip
BY_EVIDENCE: Steps = (
    ("escapes", backslashes), ("percents", web_escapes.percents), ("entities", web_escapes.entities), ("tags", tag_residues.html_tags),
    ("bbcode", tag_residues.bbcode), ("wrapped_lines", join_lines), ("punctuation", punctuation.unify),
)  # fmt: skip
STEPS: Steps = (*OF_RAW_PAGES, ("wrapped_lines", join_indented), *PLAIN, *BY_EVIDENCE)
NAMES = tuple(dict(STEPS))
PLAIN_NAMES = frozenset(dict(PLAIN))
LINE = "line-"  # names of marks where running lines were
MAX_ROUNDS = 20  # tags inside tags inside tags: what is still there then is hostile, and stays


def normalize(text: str, spans: Sequence[Span] = (), *, form: str = "prose", switches: Switches = DEFAULT) -> Normalized:
    """`text` in mspt's one way of writing, with `spans` moved along.

    form: prose and markup have blanks collapsed inside lines (not in pre/code/math spans, fenced blocks, or lines indented by four blanks or a
    tab); code, table and verse keep every blank before the line's end. pre/code/math spans keep those at line ends too. Residues are sought in prose
    and verse, wrapped lines in prose without spans. Idempotent.
    """
    work = _Work(Document(text, tuple(spans), form))
    of_pages, steps = _enabled(switches)
    for _ in range(MAX_ROUNDS):
        done = work.do(steps, classes_in(work.document.text))
        # What a step leaves may be evidence for another: an entity was the bracket of a tag, an exotic blank stood between Han.
        if done <= PLAIN_NAMES and not (done and work.do(of_pages, 0)):
            break
    return work.result()


@cache
def _enabled(switches: Switches) -> tuple[Steps, Steps]:
    """The steps for raw pages, and all."""
    return tuple(one for one in OF_RAW_PAGES if getattr(switches, one[0])), tuple(one for one in STEPS if getattr(switches, one[0]))


class _Work:
    """A document while it is normalised. Where its removed lines were is marked by spans."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.counts = Counter[str]()
        self.removed: list[tuple[str, str]] = []

    def do(self, steps: Steps, found: int) -> set[str]:
        """Does the steps once, in a text in which the classes `found` occur; those that changed something."""
        done = set()
        for name, step in steps:
            edits = list(step(self.document, found))
            if edits:
                done.add(name)
                self.counts[name] += sum(max(1, one.end - one.start - len(one.replacement)) for one in edits)
                before = self.document.text
                self.document = Document(*edit(before, self.document.spans, edits), self.document.form)
                if name == "running_lines":
                    self._note(left_out(before, edits))
        return done

    def _note(self, lines: Sequence[tuple[str, str, int]]) -> None:
        """Notes (rule, words, place in the text as it is now) of lines that are not in it any more."""
        text, spans, form = self.document
        marks = [mark(f"{LINE}{number}", place, text) for number, (*_, place) in enumerate(lines, len(self.removed))] if text else []
        self.document = Document(text, sort_spans([*spans, *marks]), form)
        self.removed += [(rule, words) for rule, words, _ in lines]

    def result(self) -> Normalized:
        text, spans, _ = self.document
        counts = {name: self.counts[name] for name in NAMES if name in self.counts} if self.counts else {}
        if not self.removed:
            return Normalized(text, spans, counts)
        where = places(spans, [f"{LINE}{number}" for number in range(len(self.removed))], len(text))
        removed = (Removed(*line, place) for line, place in zip(self.removed, where, strict=True))
        return Normalized(text, tuple(span for span in spans if not span.tag.startswith(MARK + LINE)), counts, tuple(removed))
