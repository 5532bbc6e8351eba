"""Which line ends of a text are breaks inside paragraphs: compiled loops over what `line_widths` measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.line_widths import (
    ENDS_QUOTE,
    ENDS_UNSPACED,
    FINISHED,
    HALF_WORD,
    HAN,
    MARK,
    MAX_WIDTH,
    OF_BOTH,
    PLAIN,
    PROGRAM,
    PROSE,
    SENTENCE,
    STARTS_QUOTE,
    STARTS_SMALL,
    STARTS_UNSPACED,
    UPPER,
    Lines,
    character_table,
)
from mspt.core.text.normal.own_lines import own_lines
from mspt.core.text.normal.rows import Rows, put
from mspt.core.text.script import Codes

MIN_WIDTH = 40
MIN_AGREEING, SPARE = 0.5, 2  # share of all breaks between lines of prose, and so many more: chance makes 4 of 8 agree, but not 40 of 80
MIN_BREAKS = 5
MIN_UNFINISHED = 0.6  # of the breaks that agree: inside a sentence. .9 and more in wrapped prose
MAX_OVERLONG = 0.1  # of the characters, in lines that are longer
MIN_MARKED = 0.8  # of the lines that end short: with a blank or an indented line behind them. Else any sentence at the end of a line may end a paragraph
MAX_INDENT = 8  # blanks by which a first line, or all but the first of an item, may be indented
FIRST_WIDE = 0x2018  # of Han and the marks beside them

NO_BREAK, BREAK, ASK = range(3)
ITEM = 1 << 20  # a bit of lines, beside those of line_widths: it begins as one of a list does
NO_WIDTH = -1


class Breaks(NamedTuple):
    """How a document is broken. indent: of most lines; is_marked: blank or indented lines mark its paragraphs."""

    width: int
    indent: int
    is_marked: bool


def possible_breaks(lines: Lines) -> NDArray[np.uint8]:
    """Of each line whether it may go on with the paragraph of the line before, by what both are: ASK, if it does not open an item or a heading. A last word
    needs no more to be one."""
    breaks = np.empty(len(lines.flags), np.uint8)
    _possible(lines.flags, breaks)
    return breaks


def agree(lines: Lines, breaks: NDArray[np.uint8]) -> Breaks | None:
    """The width that most breaks agree on; None where too few do, or too much of the text says that it was not broken there."""
    width, indent, is_marked = _agree(lines, breaks)
    return Breaks(width, indent, is_marked) if width != NO_WIDTH else None


@kernel
def _possible(flags: NDArray[np.int32], breaks: NDArray[np.uint8]) -> None:
    breaks[0] = NO_BREAK
    for line in range(1, len(flags)):
        one, two = flags[line - 1], flags[line]
        may = one & PROSE and two & PROSE and one & SENTENCE and (two & SENTENCE or not one & FINISHED)
        breaks[line] = NO_BREAK if not may else BREAK if two & PLAIN else ASK


@kernel
def _agree(lines: Lines, breaks: NDArray[np.uint8]) -> tuple[int, int, bool]:
    """All of `agree`; NO_WIDTH for None."""
    flags, columns, limits, indents, starts, ends = lines.flags, lines.columns, lines.limits, lines.indents, lines.starts, lines.ends
    width, agreeing, number = _vote(columns, limits, breaks)
    if agreeing < max(MIN_BREAKS, MIN_AGREEING * number + SPARE):
        return NO_WIDTH, 0, False
    length = overlong = unfinished = deepest = 0
    for line in range(len(flags)):
        length += ends[line] - starts[line]
        if columns[line] > width and flags[line] & PROSE:
            overlong += ends[line] - starts[line]
        if _explains(columns, limits, breaks, width, line):
            unfinished += flags[line - 1] & FINISHED == 0
            deepest = max(deepest, indents[line])
    if overlong > MAX_OVERLONG * length or unfinished < MIN_UNFINISHED * agreeing:
        return NO_WIDTH, 0, False
    times = np.zeros(deepest + 1, np.int64)
    for line in range(len(flags)):
        if _explains(columns, limits, breaks, width, line):
            times[indents[line]] += 1
    indent = int(times.argmax())
    paragraphs = marked = 0
    for line in range(1, len(flags)):  # those behind the last lines of paragraphs
        if 0 < columns[line - 1] < width and limits[line] < width:
            paragraphs += 1
            marked += columns[line] == 0 or indents[line] > indent
    return width, indent, marked >= MIN_MARKED * paragraphs


@kernel
def _vote(columns: NDArray[np.int32], limits: NDArray[np.int32], breaks: NDArray[np.uint8]) -> tuple[int, int, int]:
    """The width that most breaks agree on, the largest of several, how many do, and how many breaks there are."""
    change = np.zeros(MAX_WIDTH + 2, np.int64)
    number = agreeing = most = width = 0
    for line in range(1, len(breaks)):
        if breaks[line]:
            number += 1
            first, last = max(MIN_WIDTH, columns[line - 1]), min(MAX_WIDTH, limits[line])
            if first <= last:
                change[first] += 1
                change[last + 1] -= 1
    for one in range(len(change)):
        agreeing += change[one]
        if agreeing >= most:
            most, width = agreeing, one
    return width, most, number


@kernel
def _explains(columns: NDArray[np.int32], limits: NDArray[np.int32], breaks: NDArray[np.uint8], width: int, line: int) -> bool:
    """Whether there is a break before `line` that the width explains."""
    return bool(breaks[line] and columns[line - 1] <= width <= limits[line])


def inside_paragraphs(codes: Codes, lines: Lines, breaks: NDArray[np.uint8], found: Breaks, is_spaced: bool) -> Rows:
    """The breaks to be joined, to a blank or, beside Han characters, to nothing. is_spaced: between Han and Latin is a blank."""
    rows = np.empty((np.count_nonzero(breaks), 4), np.int64)
    return rows[: _join(rows, codes, character_table(), lines, breaks, found, is_spaced)]


@kernel
def _join(rows: Rows, codes: Codes, table: NDArray[np.uint32], lines: Lines, breaks: NDArray[np.uint8], found: Breaks, is_spaced: bool) -> int:
    starts, ends, indents, limits, flags = lines.starts, lines.ends, lines.indents, lines.limits, lines.flags
    owns = own_lines(codes, table, lines, breaks, found.width, found.is_marked)
    number, joined, in_item = 0, -1, False  # the last line that was joined to the one before; whether its paragraph is an item
    for line in range(1, len(breaks)):
        if not breaks[line] or limits[line] < found.width or owns[line]:
            continue
        is_first = joined != line - 1
        in_item = flags[line - 1] & ITEM != 0 if is_first else in_item
        before, indent = indents[line - 1], indents[line]
        if indent > found.indent and not in_item:  # quotations, verse, programs
            continue
        if _is_indented_as(before, indent, is_first, in_item) and _goes_on(flags[line - 1], flags[line], found.is_marked):
            joined = line
            has_blank = not _is_closed(codes, table, ends[line - 1] - 1, starts[line], is_spaced)
            number = put(rows, number, ends[line - 1], starts[line], 0x20, 1 if has_blank else 0)
    return number


@kernel
def _is_indented_as(before: int, indent: int, is_first: bool, in_item: bool) -> bool:
    """Whether the indents of two lines are those of one paragraph, of which the first line may have another, or of one item."""
    if is_first:
        return 0 <= indent - before <= MAX_INDENT if in_item else 0 <= before - indent <= MAX_INDENT
    return indent == before


@kernel
def _goes_on(one: int, two: int, is_marked: bool) -> bool:
    """Whether the second line goes on where the first, which the width explains, was broken."""
    if (one | two) & PROGRAM or one & HALF_WORD or (one ^ two) & UPPER:
        return False
    if one & ENDS_UNSPACED or two & STARTS_UNSPACED or (two & STARTS_QUOTE and one & ENDS_QUOTE):
        return False
    return bool(is_marked or two & STARTS_SMALL or not one & FINISHED)


@kernel
def _is_closed(codes: Codes, table: NDArray[np.uint32], last: int, first: int, is_spaced: bool) -> bool:
    """Whether no blank stands between the last character of a line and the first of the next."""
    if codes[last] < FIRST_WIDE and codes[first] < FIRST_WIDE:
        return False
    before, behind = _is_wide(codes, table, last, -1), _is_wide(codes, table, first, 1)
    has_mark = (before and table[codes[last]] & MARK) or (behind and table[codes[first]] & MARK)
    return bool((before and behind) or ((before or behind) and (has_mark or not is_spaced)))


@kernel
def _is_wide(codes: Codes, table: NDArray[np.uint32], place: int, step: int) -> bool:
    """Whether a Han character or a mark of Chinese stands there; curly quotes and ellipses are what stands on their other side."""
    if table[codes[place]] & OF_BOTH:
        place += step
        if not 0 <= place < len(codes):
            return False
    bits = table[codes[place]]
    return bool(bits & HAN or (bits & MARK and not bits & OF_BOTH))
