"""One way of writing: composed characters, plain line ends, nothing invisible, half-width letters and digits; code keeps its blanks.

Most text needs nothing. So a first pass looks up each character's class in a table (4 ns a character), and only the steps whose class occurs
run. A step is a function from the text to a list of edits; `spans.edit` applies them, so spans follow whatever a step does.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.form import fenced_blocks
from mspt.core.text.script import PRIVATE_RANGES, code_points
from mspt.core.text.spans import Edit, Span, edit


@dataclass(frozen=True, kw_only=True)
class Switches:
    """What `normalize` does; each can be turned off."""

    compose: bool = True  # NFC (not NFKC)
    line_ends: bool = True  # CR LF, CR, NEL, LS, PS, VT, FF to LF
    invisible: bool = True  # control, zero-width, bidi, soft hyphen, tags; joiners and selectors stay where a script needs them
    private_use: bool = True  # private-use characters removed
    meta_space: bool = True  # U+2581, which SentencePiece cannot round-trip, to "_"
    half_width: bool = True  # full-width Latin letters and digits, never Chinese punctuation; not in code
    blanks: bool = True  # exotic blanks to " ", runs inside prose lines to one; not in code
    trailing: bool = True  # blanks at line ends
    blank_lines: bool = True  # at most two blank lines in a row; none at the start and end


DEFAULT = Switches()


class Normalized(NamedTuple):
    """Text, moved spans, and how many characters each switch changed or removed (only switches that did something, in their order)."""

    text: str
    spans: tuple[Span, ...]
    counts: Mapping[str, int]


PROSE_FORMS = frozenset({"prose", "markup"})
VERBATIM_TAGS = frozenset({"pre", "code"})

# Bits of the class table; a character may have several.
LINE_END, INVISIBLE, PRIVATE_USE, META_SPACE, FULL_WIDTH, EXOTIC_BLANK, MAY_COMPOSE = (1 << bit for bit in range(7))

LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
META_SPACES = "\u2581"
EXOTIC_BLANKS = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
BLANK_RUNS = re.compile(f"[ \\t{EXOTIC_BLANKS}]{{2,}}|[{EXOTIC_BLANKS}]")
# What shows nothing: C0 and C1 controls, soft hyphen, Arabic letter mark, Hangul fillers, Khmer inherent vowels, Mongolian selectors, zero width
# space to right-to-left mark, bidi embeddings and isolates, word joiner and invisible operators, variation selectors, byte order mark,
# interlinear annotation and object placeholder, noncharacters, musical beams, tags; lone surrogates, which no encoding can hold.
INVISIBLES = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# U+FF10-FF19 digits, FF21-FF3A and FF41-FF5A letters. U+FF01-FF5E as a whole would turn every Chinese comma into ASCII.
FULL_WIDTHS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
HALF_WIDTH_DISTANCE = 0xFEE0

# Blocks in which no character changes under NFC, alone or beside its neighbours: ASCII and Latin-1, CJK punctuation, kana without the voicing
# marks U+3099/309A, unified Han, Hangul syllables, full-width forms. Everything else asks unicodedata.is_normalized.
NEVER_COMPOSED = ((0x00, 0x2FF), (0x2010, 0x2027), (0x2030, 0x205E), (0x3000, 0x3029), (0x3030, 0x3098), (0x309B, 0x4DBF), (0x4E00, 0x9FFF),
                  (0xAC00, 0xD7A3), (0xFF01, 0xFFEE))  # fmt: skip

# Scripts whose letters join: Arabic to Samaritan and Arabic Extended, Indic, Tibetan, Myanmar, Khmer, Mongolian, Javanese and Meetei, Arabic
# presentation forms, Brahmic scripts of the supplementary plane. There ZWNJ and ZWJ choose the letter's form.
JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua980-\uabff\ufb50-\ufdff\ufe70-\ufefe\U00010a00-\U00011fff]")
HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
MONGOLIAN = re.compile("[\u1820-\u18aa]")
EMOJI = re.compile("[\xa9\xae\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]")

INDENTS = ("    ", "\t")  # of lines that may be code
# The characters of ASCII that have a class. Deleting them is the fastest way to see whether there are any (1 ns a character).
ASCII_WITH_CLASS = bytes([*range(0x00, 0x09), *range(0x0B, 0x20), 0x7F])
# Runs of plain blanks. The first, for text without tabs, has a literal prefix that the search can skip to; the second stops at every blank between words.
TWO_BLANKS, BLANKS_AND_TABS = re.compile("  +"), re.compile("[ \t]{2,}")


def normalize(text: str, spans: Sequence[Span] = (), *, form: str = "prose", switches: Switches = DEFAULT) -> Normalized:
    """`text` in mspt's one way of writing, with `spans` moved along.

    form: prose and markup have blanks collapsed inside lines (not in pre/code spans, fenced blocks, or lines indented by four blanks or a
    tab); code, table and verse keep every blank before the line's end. pre/code spans keep those at line ends too. Idempotent.
    """
    found = classes_in(text)
    document = Document(text, tuple(spans), form)
    counts: dict[str, int] = {}
    for switch, step in STEPS.items():
        if getattr(switches, switch):
            edits = list(step(document, found))
            if edits:
                counts[switch] = sum(max(1, one.end - one.start - len(one.replacement)) for one in edits)
                document = Document(*edit(document.text, document.spans, edits), form)
    return Normalized(document.text, document.spans, counts)


def classes_in(text: str) -> int:
    """The bits of all classes that occur in `text`: LINE_END | INVISIBLE | ..."""
    if text.isascii() and len(text.encode().translate(None, ASCII_WITH_CLASS)) == len(text):
        return 0
    return int(np.bitwise_or.reduce(_class_table().take(code_points(text)), initial=0))


@cache
def _class_table() -> NDArray[np.uint8]:
    """[0x110000]: the class bits of each code point."""
    table = np.full(0x110000, MAY_COMPOSE, dtype=np.uint8)
    for first, last in NEVER_COMPOSED:
        table[first : last + 1] = 0
    classes = {LINE_END: LINE_ENDS, INVISIBLE: INVISIBLES, FULL_WIDTH: FULL_WIDTHS, EXOTIC_BLANK: EXOTIC_BLANKS, META_SPACE: META_SPACES}
    for bit, charset in classes.items():
        for match in re.finditer("(.)(?:-(.))?", charset, re.DOTALL):
            table[ord(match[1]) : ord(match[2] or match[1]) + 1] |= bit
    for first, last in PRIVATE_RANGES:
        table[first : last + 1] |= PRIVATE_USE
    return table


class Document(NamedTuple):
    """What a step looks at."""

    text: str
    spans: tuple[Span, ...]
    form: str

    def outside_elements(self, edits: Iterator[Edit]) -> Iterator[Edit]:
        """Those edits that change something and touch no pre or code element."""
        return _outside(self._real(edits), self._elements)

    def outside_code(self, edits: Iterator[Edit]) -> Iterator[Edit]:
        """Those edits that change something and touch no code: no pre or code element, no fenced block, nothing where all is code."""
        if self.form == "code":
            return iter(())
        return _outside(self._real(edits), lambda: sorted(self._elements() + self._fenced()))

    def outside_indented(self, edits: Iterator[Edit]) -> Iterator[Edit]:
        """Those of `outside_code`, each within a line, whose line is not indented by four blanks or a tab, which may be code too."""
        line = position = 0  # where the line of the edit begins; up to where line ends have been looked for
        for one in self.outside_code(edits):
            line = self.text.rfind("\n", position, one.start) + 1 or line
            position = one.start
            if not self.text.startswith(INDENTS, line):
                yield one

    def _real(self, edits: Iterator[Edit]) -> Iterator[Edit]:
        return (one for one in edits if self.text[one.start : one.end] != one.replacement)

    def _fenced(self) -> list[tuple[int, int]]:
        return fenced_blocks(self.text) if "```" in self.text or "~~~" in self.text else []

    def _elements(self) -> list[tuple[int, int]]:
        return [(start, end) for tag, start, end in self.spans if tag in VERBATIM_TAGS]


def _outside(edits: Iterator[Edit], regions: Callable[[], list[tuple[int, int]]]) -> Iterator[Edit]:
    """Edits that overlap none of the regions, which are sorted by start and may lie in one another; regions are asked for when needed."""
    first = next(edits, None)
    if first is None:
        return
    found = regions()
    starts = [start for start, _ in found]
    reach = list(accumulate((end for _, end in found), max))  # how far the first k + 1 regions reach
    for one in chain((first,), edits):
        before = bisect_left(starts, one.end)  # regions that start before the edit's end
        if not before or reach[before - 1] <= one.start:
            yield one


def _line_ends(document: Document, found: int) -> Iterator[Edit]:
    if found & LINE_END:
        for match in re.finditer(f"\r\n|[{LINE_ENDS}]", document.text):
            yield Edit(match.start(), match.end(), "\n")


def _invisible(document: Document, found: int) -> Iterator[Edit]:
    if not found & INVISIBLE:
        return
    text = document.text
    for run in re.finditer(f"[{INVISIBLES}]+", text):
        before = text[run.start() - 1 : run.start()]
        for position in range(*run.span()):
            if _is_needed(text[position], before, text[position + 1 : position + 2]):
                before = text[position]
            else:
                yield Edit(position, position + 1, "")


def _is_needed(character: str, before: str, after: str) -> bool:
    """Whether an invisible character means something between `before` (the last one kept) and `after`."""
    if character == "\u200c":
        return bool(JOINING.match(before) and JOINING.match(after))
    if character == "\u200d":
        emoji = (EMOJI.match(before) or before == "\ufe0f") and EMOJI.match(after)
        return bool(JOINING.match(before) or emoji)
    if "\ufe00" <= character <= "\ufe0f":  # digits, # and * take them in keycaps
        return bool(HAN.match(before) or EMOJI.match(before) or JOINING.match(before) or (before in set("0123456789#*") and after == "\u20e3"))
    if "\U000e0100" <= character <= "\U000e01ef":  # ideographic variation sequences
        return bool(HAN.match(before))
    if "\U000e0020" <= character <= "\U000e007f":  # flags of regions are a black flag and tags
        return before == "\U0001f3f4" or "\U000e0020" <= before <= "\U000e007e"
    return "\u180b" <= character <= "\u180f" and bool(MONGOLIAN.match(before))


def _private_use(document: Document, found: int) -> Iterator[Edit]:
    if found & PRIVATE_USE:
        charset = "".join(f"{chr(first)}-{chr(last)}" for first, last in PRIVATE_RANGES)
        for match in re.finditer(f"[{charset}]+", document.text):
            yield Edit(match.start(), match.end(), "")


def _meta_space(document: Document, found: int) -> Iterator[Edit]:
    if found & META_SPACE:
        for match in re.finditer(META_SPACES, document.text):
            yield Edit(match.start(), match.end(), "_")


def _half_width(document: Document, found: int) -> Iterator[Edit]:
    if found & FULL_WIDTH:
        matches = re.finditer(f"[{FULL_WIDTHS}]", document.text)
        yield from document.outside_code(Edit(one.start(), one.end(), chr(ord(one[0]) - HALF_WIDTH_DISTANCE)) for one in matches)


def _compose(document: Document, found: int) -> Iterator[Edit]:
    # Half-width letters may have met a mark; the class of the mark is MAY_COMPOSE, so the raw text's classes suffice.
    if found & MAY_COMPOSE and not unicodedata.is_normalized("NFC", document.text):
        for start, end in _clusters(document.text):
            composed = unicodedata.normalize("NFC", document.text[start:end])
            if composed != document.text[start:end]:
                yield Edit(start, end, composed)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Stretches outside of which NFC changes nothing: each a starter and the marks behind it, or what may change by itself."""
    may_compose = np.flatnonzero(_class_table().take(code_points(text)) & MAY_COMPOSE).tolist()
    start, end = 0, 0
    for position in may_compose:
        if _joins_backwards(text[position]):
            if position != end:
                yield start, end
                start = max(0, position - 1)
        else:
            yield start, end
            start = position
        end = position + 1
    yield start, end


def _joins_backwards(character: str) -> bool:
    """Whether NFC may join a character to the one before it: marks, and vowels and finals of Hangul (all second halves of Unicode 14)."""
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"


def _blanks(document: Document, found: int) -> Iterator[Edit]:
    text = document.text
    if document.form not in PROSE_FORMS or not (found & EXOTIC_BLANK or "  " in text or "\t" in text):
        return iter(())
    return document.outside_indented(_exotic_runs(text) if found & EXOTIC_BLANK else _plain_runs(text))


def _exotic_runs(text: str) -> Iterator[Edit]:
    return (Edit(one.start(), one.end(), _one_blank(one)) for one in BLANK_RUNS.finditer(text))


def _plain_runs(text: str) -> Iterator[Edit]:
    """Runs of blanks and tabs inside lines; those at a line's start are indentation, which stays."""
    for run in (BLANKS_AND_TABS if "\t" in text else TWO_BLANKS).finditer(text):
        start, end = run.span()
        if start and text[start - 1] != "\n":
            yield Edit(start, end, "\t" if "\t" in run[0] else " ")


def _one_blank(run: re.Match[str]) -> str:
    """What a run of blanks becomes. At a line's start indentation stays, but the ideographic one, which is mere layout; inside a line one
    blank, or a tab where there was one (cells of a row)."""
    blanks = run[0]
    if run.start() == 0 or run.string[run.start() - 1] == "\n":
        if "\u3000" in blanks:
            return ""
        return blanks if blanks.isascii() else re.sub(f"[{EXOTIC_BLANKS}]", " ", blanks)
    return "\t" if "\t" in blanks else " "


def _trailing(document: Document, found: int) -> Iterator[Edit]:
    if " \n" in document.text or "\t\n" in document.text or document.text[-1:] in (" ", "\t"):
        return document.outside_elements(_line_tails(document.text))
    return iter(())


def _line_tails(text: str) -> Iterator[Edit]:
    end = -1
    for line in text.split("\n"):
        end += 1 + len(line)
        if line[-1:] in (" ", "\t"):
            yield Edit(end - len(line) + len(line.rstrip(" \t")), end, "")


def _blank_lines(document: Document, found: int) -> Iterator[Edit]:
    text = document.text
    edges = [Edit(0, head.end(), "")] if (head := re.match(r"(?:[ \t]*+\n)+", text)) else []
    body_end = len(text.rstrip("\n"))
    inner = re.finditer(r"\n{4,}", text) if "\n\n\n\n" in text else ()
    edges += [Edit(*run.span(), "\n\n\n") for run in inner if (head is None or run.start() >= head.end()) and run.end() <= body_end]
    if body_end < len(text) and (head is None or head.end() < len(text)):
        edges.append(Edit(body_end, len(text), ""))
    return document.outside_elements(iter(edges))


# In this order: a selector has a use behind U+2581 but not behind its stand-in, what is removed may leave neighbours that compose, half-width
# letters may meet a mark, emptied lines are blank lines.
STEPS: Mapping[str, Callable[[Document, int], Iterator[Edit]]] = {
    "line_ends": _line_ends, "meta_space": _meta_space, "invisible": _invisible, "private_use": _private_use, "half_width": _half_width,
    "compose": _compose, "blanks": _blanks, "trailing": _trailing, "blank_lines": _blank_lines,
}  # fmt: skip
