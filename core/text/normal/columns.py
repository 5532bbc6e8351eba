"""Which runs of blanks in prose line up columns: of tables, of listings of options, of a calendar. They are what tells the cells apart, and stay.

A block is a run of lines that have gaps of two blanks or more, one line without any between them allowed (a rule, a row whose cells are full). It is a table
if it has three such lines and most of its gaps begin or end where one of a neighbouring line does. Text that was justified with blanks has gaps anywhere:
with five in lines of 72 columns, 28 % meet one by chance. Tables whose cells stand between bars need no columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.line_widths import BLANK as SPACING
from mspt.core.text.normal.line_widths import DRAWN, LETTER, PIPE, RULE, WIDE, character_table
from mspt.core.text.normal.rows import END, START, Rows
from mspt.core.text.script import Codes

MIN_ROWS = 3
MIN_ALIGNED = 0.7  # of the gaps of a table
MAX_COLUMNS = 400  # no line of a table is longer
BARS = PIPE | DRAWN
LINE_END, BLANK, ZERO, NINE = 0x0A, 0x20, 0x30, 0x39
FROM, TO, LINE = range(3)  # a gap: its columns [from, to), and its line


def outside_tables(codes: Codes, rows: Rows) -> Rows:
    """The edits, of runs of blanks, that touch no columns."""
    return rows[~_in_tables(codes, rows, character_table())] if len(rows) >= MIN_ROWS else rows


@kernel
def _in_tables(codes: Codes, rows: Rows, table: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """[edits]: whether each is on a line of a table. Where another blank than a plain one stands there too, which cannot stay, it is none."""
    found = np.zeros(len(rows), np.bool_)
    lines, gaps = _gaps(codes, rows, table)
    first = 0
    for i in range(1, len(gaps) + 1):
        if i < len(gaps) and gaps[i, LINE] - gaps[i - 1, LINE] <= 2:
            continue
        if _is_table(gaps[first:i]):
            begin, end = np.searchsorted(lines, gaps[first, LINE]), np.searchsorted(lines, gaps[i - 1, LINE] + 1)
            found[begin:end] = _are_plain(codes, rows[begin:end])
        first = i
    return found


@kernel
def _are_plain(codes: Codes, rows: Rows) -> bool:
    """Whether all edits are of plain blanks."""
    are_plain = True
    for row in range(len(rows)):
        for i in range(rows[row, START], rows[row, END]):
            are_plain &= codes[i] == BLANK
    return are_plain


@kernel
def _gaps(codes: Codes, rows: Rows, table: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[edits]: the line of each, numbered so that a blank one counts three; [gaps, 3]: those that are plain blanks between words."""
    lines, gaps = np.empty(len(rows), np.int64), np.empty((len(rows), 3), np.int64)
    number = place = column = line = 0
    has_words = False
    for row in range(len(rows)):
        start, end = rows[row, START], rows[row, END]
        before = column
        while place < end:
            before = column if place == start else before
            code = codes[place]
            if code == LINE_END:
                line += 1 if has_words else 3
                column, has_words = 0, False
            else:
                column, has_words = column + 1 + (table[code] & WIDE != 0), has_words or not table[code] & SPACING
            place += 1
        lines[row] = line
        if column <= MAX_COLUMNS and _is_between_cells(codes, table, start, end):
            gaps[number, FROM], gaps[number, TO], gaps[number, LINE] = before, column, line
            number += 1
    return lines, gaps[:number]


@kernel
def _is_between_cells(codes: Codes, table: NDArray[np.uint32], start: int, end: int) -> bool:
    """Whether an edit is of plain blanks with words or a rule before them, not only the sign of a comment, a quotation or an item, and no bar beside them."""
    if end == len(codes) or codes[end] == LINE_END or start == 0 or table[codes[start - 1]] & BARS or table[codes[end]] & BARS:
        return False
    for i in range(start, end):
        if codes[i] != BLANK:
            return False
    place = start - 1
    while place >= 0 and codes[place] != LINE_END:
        code = codes[place]
        is_rule = place + 1 < start and table[code] & RULE and codes[place + 1] == code
        if is_rule or ZERO <= code <= NINE or code >= 0x80 or table[code] & LETTER:
            return True
        place -= 1
    return False


@kernel
def _is_table(gaps: NDArray[np.int64]) -> bool:
    num_lines = 1
    aligned = previous = first = 0  # where the line before this one begins among the gaps, and where this one does
    for i in range(1, len(gaps) + 1):
        if i < len(gaps) and gaps[i, LINE] == gaps[i - 1, LINE]:
            continue
        num_lines += i < len(gaps)
        behind = i
        while behind < len(gaps) and gaps[behind, LINE] == gaps[i, LINE]:
            behind += 1
        for gap in range(first, i):
            aligned += _meets(gaps, gap, previous, first) or _meets(gaps, gap, i, behind)
        previous, first = first, i
    return num_lines >= MIN_ROWS and aligned >= MIN_ALIGNED * len(gaps)


@kernel
def _meets(gaps: NDArray[np.int64], gap: int, first: int, last: int) -> bool:
    """Whether one of those gaps begins or ends in the column where this one does."""
    has_met = False
    for one in range(first, last):
        has_met |= gaps[one, FROM] == gaps[gap, FROM] or gaps[one, TO] == gaps[gap, TO]
    return has_met
