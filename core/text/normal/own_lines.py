"""Which blocks of a wrapped text consist of lines of their own, whose length is that of its paragraphs by chance: verse, bibliographies, logs.

A block lies between blank lines and other indents. Its lines are their own where they all begin alike, where most of its line ends are none that the width
explains, or where nearly all begin with a capital or digit, or end with a mark, and hardly a paragraph of this document would do so by chance.

Measured on the 2,409 blocks of three lines and more of ../shared en_public_domain: 18 % of the lines of paragraphs begin so and 10 % end so; three blocks are
taken for what they are not, and stay wrapped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.line_widths import CAPITAL, END, MARK, STARTS_SMALL, Lines
from mspt.core.text.script import Codes

MIN_ENDS = 3  # line ends inside a block of which anything is told
OWN_SHARE = 0.8  # of the lines that begin large, or of those that end with a mark
MOST_BY_CHANCE = 0.01
LEAST_CHANCE, MOST_CHANCE = 0.2, 0.5  # that a line of a paragraph does, where the document's own lines say less or more. Of German .45 begin large
SAME = 4  # characters with which all lines of a block begin
FIRST_OTHER, LAST_CASED = 0x80, 0x530  # beyond ASCII: Latin, Greek, Cyrillic
ZERO, NINE, COMMA = 0x30, 0x39, 0x2C


@kernel
def own_lines(codes: Codes, table: NDArray[np.uint32], lines: Lines, breaks: NDArray[np.uint8], width: int, is_marked: bool) -> NDArray[np.bool_]:
    """[lines]: whether each is one of such a block. Of `possible_breaks` and `agree`, for the width of the text; table: the bits of characters."""
    owns = np.zeros(len(breaks), np.bool_)
    is_asked = (breaks != 0) & (lines.limits >= width)  # the breaks that the width may explain
    begins, closes = _signs(codes, table, lines, is_asked)
    chance, chance_of_mark = _chance(begins, is_asked), _chance(closes, is_asked)
    first = 0
    for line in range(1, len(breaks) + 1):
        if line < len(breaks) and _is_of_block(lines, first, line):
            continue
        size = line - first - 1
        unexplained = np.count_nonzero(lines.limits[first + 1 : line] < width)
        is_own = is_marked and unexplained >= 2 and 2 * unexplained >= size
        if size >= MIN_ENDS and not is_own:
            asked = np.count_nonzero(is_asked[first + 1 : line])
            is_own = _begin_alike(codes, lines.starts[first:line])
            if asked >= max(MIN_ENDS, OWN_SHARE * (size - unexplained)):
                is_own |= _is_no_chance(np.count_nonzero(begins[first + 1 : line]), asked, chance)
                is_own |= _is_no_chance(np.count_nonzero(closes[first + 1 : line]), asked, chance_of_mark)
        owns[first:line] = is_own
        first = line
    return owns


@kernel
def _is_of_block(lines: Lines, first: int, line: int) -> bool:
    """Whether a line is of the block of the line before: none of them blank, and indented alike, but for the block's first."""
    if lines.ends[line] == lines.starts[line] or lines.ends[line - 1] == lines.starts[line - 1]:
        return False
    return bool(line == first + 1 or lines.indents[line] == lines.indents[line - 1])


@kernel
def _signs(codes: Codes, table: NDArray[np.uint32], lines: Lines, is_asked: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of each break that is asked whether the line behind it begins with a capital or a digit, and whether the one before ends with a mark. [lines]"""
    starts, ends, flags = lines.starts, lines.ends, lines.flags
    begins, closes = np.zeros(len(starts), np.bool_), np.zeros(len(starts), np.bool_)
    for line in np.flatnonzero(is_asked):
        code, last = codes[starts[line]], codes[ends[line - 1] - 1]
        is_foreign = FIRST_OTHER <= code < LAST_CASED and flags[line] & STARTS_SMALL == 0
        begins[line] = is_foreign or ZERO <= code <= NINE or table[code] & CAPITAL != 0
        closes[line] = last == COMMA or table[last] & (END | MARK) != 0
    return begins, closes


@kernel
def _chance(signs: NDArray[np.bool_], is_asked: NDArray[np.bool_]) -> float:
    """The chance of a sign at a break, by all breaks of the document."""
    return float(min(MOST_CHANCE, max(LEAST_CHANCE, np.count_nonzero(signs) / max(1, np.count_nonzero(is_asked)))))


@kernel
def _is_no_chance(times: int, of: int, chance: float) -> bool:
    """Whether hardly any paragraph of so many breaks has a sign so often: the chance that any `times` of them do is at most their sum."""
    likely = 1.0
    for one in range(times):
        likely *= chance * (of - one) / (one + 1)
    return times >= OWN_SHARE * of and likely <= MOST_BY_CHANCE


@kernel
def _begin_alike(codes: Codes, starts: NDArray[np.int32]) -> bool:
    for line in range(1, len(starts)):
        for place in range(SAME):
            if starts[line] + place >= len(codes) or codes[starts[line] + place] != codes[starts[0] + place]:
                return False
    return True
