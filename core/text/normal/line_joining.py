"""Prose that was broken into lines of one width, as in mail, RFCs and old e-books, joined to paragraphs again.

A line is broken where the next word did not fit. So each break says in which widths it would be one: at least the line, less than the line and that word. In
wrapped prose most breaks agree on one width, hardly a line exceeds it, and most of these breaks fall inside a sentence; in verse, lists, and one sentence a
line they do not. Only breaks that the width explains are joined: last lines of paragraphs, headings, signatures and turns of dialogue are shorter.

Measured (share of the breaks that agree on the best width): .80 to .99 in 61 of 61 wrapped documents of ../shared en_public_domain but the King James
Genesis (.61, every verse a paragraph); at most .35 in its verse and in all of zh_poetry; of zh_novels and zh_wiki no document has five such breaks in
sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.form import HEAD_CHARACTERS
from mspt.core.text.marks import is_mark
from mspt.core.text.normal.classes import EXOTIC_BLANK
from mspt.core.text.normal.document import Document
from mspt.core.text.normal.line_widths import FINISHED, HAN, MARKS, MAX_WIDTH, PLAIN, PROSE, SENTENCE, Lines, measure_lines
from mspt.core.text.normal.settling import settled
from mspt.core.text.normal.verbatim import verbatim
from mspt.core.text.spans import Edit

MAX_AVERAGE = 110  # characters a line of the whole text: longer ones are paragraphs
MIN_WIDTH = 40
MIN_AGREEING, SPARE = 0.5, 2  # share of all breaks between lines of prose, and so many more: chance makes 4 of 8 agree, but not 40 of 80
MIN_BREAKS = 5
MIN_UNFINISHED = 0.6  # of the breaks that agree: inside a sentence. .9 and more in wrapped prose
MAX_OVERLONG = 0.1  # of the characters, in lines that are longer
MIN_MARKED = 0.8  # of the lines that end short: with a blank or an indented line behind them. Else any sentence at the end of a line may end a paragraph
MAX_INDENT = 8  # blanks by which a first line, or all but the first of an item, may be indented

FIRST_WIDE, OF_BOTH = "\u2018", "\u2018\u2019\u201c\u201d\u2026"  # of both below; quotes and ellipses, which Western text has too
IS_HAN, IS_MARK = re.compile(f"[{HAN}]"), re.compile(f"[{MARKS}]")
FIRST_WITHOUT = "\u0e00"
NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\uac00-\ud7ff]")  # Thai to Khmer; Hangul, which breaks inside words too

FINISHES = re.compile(r"[.!?。！？…:：;；][\"'”’)）」』\]]*\Z")
ITEM = r"(?:[-*+•●·◦▪■□◆※]|\[?\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]:](?=\s|\Z)|[（(]?[一二三四五六七八九十]{1,3}[)）、.．]|[①-⑳])"
# Headings, quotations, fields, dates, requests of roff.
OTHER = (
    r"[>|#=~_^`%&@<\\—:]|--|\$(?!\d)|\.\.(?=\s|\Z)|[.'][A-Z]{2}|[\w-]++(?:\.\w++)*+(?:: |::| ?= )|[\w-]++[:=]\w|\d+[-/.]\d|/"
    r"|第[一二三四五六七八九十百零〇\d]{1,6}[章回节節條条卷部篇]"
)
IS_ITEM, OPENS = re.compile(ITEM), re.compile(f"{ITEM}|{OTHER}")
# Lines of a program in which comments and long lists look like prose.
STATEMENT = re.compile(
    r"[#%;]|//|/\*|\*/|(?:from [\w.]+ )?import [\w.]+|assert\b|(?:def|class|function|static|const|public|private|elif|else:|end|set\() ?\w*\("
)
PROGRAM_SIGN, MIN_FOR_SIGN = re.compile(r"[(){}\[\]=;<>_\\$`]"), 10  # characters for each of these in prose
QUOTE_OPENS, QUOTE_CLOSES = re.compile(r"[\"“「『‘]"), re.compile(r"[\"”」』’.!?。！？…]\Z")
HALF_WORD = re.compile(r"(?<![\s-])(?:-|--|[—–/])\Z")  # or a dash without blanks, of which nobody knows
SPACED, UNSPACED = re.compile(f"[{HAN}] [A-Za-z0-9]|[A-Za-z0-9] [{HAN}]"), re.compile(f"[{HAN}][A-Za-z0-9]|[A-Za-z0-9][{HAN}]")


class Wrapping(NamedTuple):
    """How a document is broken.

    indent: of most lines. is_marked: blank or indented lines mark its paragraphs. is_spaced: between Han and Latin is a blank.
    """

    width: int
    indent: int
    is_marked: bool
    is_spaced: bool


def join_lines(document: Document, found: int) -> Iterator[Edit]:
    """Line ends inside paragraphs to one blank, to nothing between Han characters. Nothing where structure is known (spans). `found` is not asked."""
    if document.form == "prose" and all(map(is_mark, document.spans)) and _may_be_wrapped(document.text):
        yield from settled(document, _edits)  # where two widths are mixed, a second run would find the other one


def join_indented(document: Document, found: int) -> Iterator[Edit]:
    """As join_lines, of text that may have ideographic blanks before its paragraphs, which `normalize` takes away."""
    if found & EXOTIC_BLANK and "\u3000" in document.text:
        yield from join_lines(document, found)


def _may_be_wrapped(text: str) -> bool:
    line_ends = text.count("\n")
    return line_ends >= MIN_BREAKS and (line_ends + 1) * MAX_AVERAGE >= len(text)


def _edits(document: Document) -> list[Edit]:
    text = document.text
    wrapping = find_wrapping(text) if _may_be_wrapped(text) else None
    if wrapping is None:
        return []
    lines = measure_lines(text)
    assert lines is not None
    edits = [_join(text, end, start, wrapping) for end, start in _joined(text, lines, wrapping)]
    regions = verbatim(document, addresses=False)
    return [one for one in edits if not regions.touch(one.start, one.end)]


def find_wrapping(text: str) -> Wrapping | None:
    """How `text` was broken into lines, judged by its first 64 Ki characters; None where it was not."""
    head = text[:HEAD_CHARACTERS]
    lines = measure_lines(head, MAX_OVERLONG)
    if lines is None:
        return None
    breaks = _breaks(head, lines)
    width, agreeing = _vote(lines, breaks)
    if agreeing < max(MIN_BREAKS, MIN_AGREEING * len(breaks) + SPARE) or _is_overlong(lines, width):
        return None
    explained = breaks[(lines.columns[breaks - 1] <= width) & (width <= lines.limits[breaks])]
    unfinished = np.count_nonzero(lines.flags[explained - 1] & FINISHED == 0)
    if unfinished < MIN_UNFINISHED * agreeing:
        return None
    indent = int(np.bincount(lines.indents[explained]).argmax())
    before, behind = lines.columns[:-1], lines.columns[1:]
    ends = np.flatnonzero((before > 0) & (before < width) & (lines.limits[1:] < width)) + 1  # of paragraphs: the lines behind their last ones
    marked = np.count_nonzero((behind[ends - 1] == 0) | (lines.indents[ends] > indent))
    is_spaced = not head.isascii() and IS_HAN.search(head) is not None and len(SPACED.findall(head)) > len(UNSPACED.findall(head))
    return Wrapping(width, indent, bool(marked >= MIN_MARKED * len(ends)), is_spaced)


def _is_overlong(lines: Lines, width: int) -> bool:
    """Whether too much of a text stands in lines of prose that are longer than the width."""
    lengths = lines.ends - lines.starts
    overlong = lengths[(lines.columns > width) & (lines.flags & PROSE != 0)].sum()
    return bool(overlong > MAX_OVERLONG * lengths.sum())


def _breaks(text: str, lines: Lines) -> NDArray[np.int64]:
    """The numbers of the lines that may go on with the paragraph of the line before, by what both are; a last word needs no more to be one."""
    one, two = lines.flags[:-1], lines.flags[1:]
    may = (one & PROSE != 0) & (two & PROSE != 0) & (one & SENTENCE != 0) & ((two & SENTENCE != 0) | (one & FINISHED == 0))
    unasked = may & (two & PLAIN != 0)
    for number in np.flatnonzero(may & ~unasked).tolist():
        unasked[number] = OPENS.match(text, lines.starts[number + 1], lines.ends[number + 1]) is None
    return np.flatnonzero(unasked) + 1


def _vote(lines: Lines, breaks: NDArray[np.int64]) -> tuple[int, int]:
    """The width that most breaks agree on, the largest of several, and how many they are."""
    first, last = np.maximum(MIN_WIDTH, lines.columns[breaks - 1]), np.minimum(MAX_WIDTH, lines.limits[breaks])
    possible = first <= last
    agreeing = np.cumsum(np.bincount(first[possible], minlength=MAX_WIDTH + 2) - np.bincount(last[possible] + 1, minlength=MAX_WIDTH + 2))
    most = int(agreeing.max())
    return int(np.flatnonzero(agreeing == most)[-1]), most


def _joined(text: str, lines: Lines, wrapping: Wrapping) -> Iterator[tuple[int, int]]:
    """The ends of lines, and the starts of those that follow in the same paragraph."""
    breaks = _breaks(text, lines)
    starts, ends, indents = lines.starts.tolist(), lines.ends.tolist(), lines.indents.tolist()
    joined, in_item = -1, False  # the last line that was joined to the one before; whether its paragraph is an item
    for number in breaks[lines.limits[breaks] >= wrapping.width].tolist():
        start, end = starts[number - 1], ends[number - 1]
        is_first = joined != number - 1
        in_item = IS_ITEM.match(text, start, end) is not None if is_first else in_item
        before, indent = indents[number - 1], indents[number]
        if indent > wrapping.indent and not in_item:  # quotations, verse, programs
            continue
        if not _is_indented_as(before, indent, is_first, in_item):
            continue
        if _go_on(text[start:end], text[starts[number] : ends[number]], wrapping):
            joined = number
            yield end, starts[number]


def _is_indented_as(before: int, indent: int, is_first: bool, in_item: bool) -> bool:
    """Whether the indents of two lines are those of one paragraph, of which the first line may have another, or of one item."""
    if is_first:
        return 0 <= indent - before <= MAX_INDENT if in_item else 0 <= before - indent <= MAX_INDENT
    return indent == before


def _go_on(one: str, two: str, wrapping: Wrapping) -> bool:
    """Whether the second line goes on where the first, which the width explains, was broken."""
    last, first = one[-1], two[0]
    if _is_program(one) or _is_program(two):
        return False
    if (last in "-—–/" and HALF_WORD.search(one[-4:])) or one.isupper() != two.isupper():
        return False
    if max(last, first) >= FIRST_WITHOUT and (NO_BLANKS.match(last) or NO_BLANKS.match(first)):
        return False
    if QUOTE_OPENS.match(first) and QUOTE_CLOSES.search(last):
        return False
    return wrapping.is_marked or first.islower() or not FINISHES.search(one[-4:])


@lru_cache(maxsize=2)  # the second line of a pair is often the first of the next
def _is_program(line: str) -> bool:
    return bool(STATEMENT.match(line)) or len(PROGRAM_SIGN.findall(line)) * MIN_FOR_SIGN > len(line)


def _join(text: str, end: int, start: int, wrapping: Wrapping) -> Edit:
    last, first = text[end - 1], text[start]
    if last < FIRST_WIDE and first < FIRST_WIDE:
        return Edit(end, start, " ")
    before, behind = _is_wide(text, end - 1, -1), _is_wide(text, start, 1)
    has_mark = (before and IS_MARK.match(last)) or (behind and IS_MARK.match(first))
    is_closed = (before and behind) or ((before or behind) and (has_mark or not wrapping.is_spaced))
    return Edit(end, start, "" if is_closed else " ")


def _is_wide(text: str, place: int, step: int) -> bool:
    """Whether a Han character or a mark of Chinese stands there; curly quotes and ellipses are what stands on their other side."""
    character = text[place]
    if character in OF_BOTH:
        place += step
        character = text[place] if 0 <= place < len(text) else ""
    return bool(IS_HAN.match(character) or (IS_MARK.match(character) and character not in OF_BOTH))
