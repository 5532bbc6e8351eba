"""Blanks and blank lines: one blank between words, none at line ends, at most two blank lines; code keeps its own. Steps of `normalize`."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.normal.classes import EXOTIC_BLANKS
from mspt.core.text.normal.columns import outside_tables
from mspt.core.text.normal.document import Document
from mspt.core.text.normal.rows import NO_ROWS, Rows, find_rows, put
from mspt.core.text.script import Codes

PROSE_FORMS = frozenset({"prose", "markup"})
OTHER_BLANK = re.compile(f"[{EXOTIC_BLANKS}]")
LINE_END, TAB, BLANK, BEYOND_ASCII, BEHIND = (np.uint32(code) for code in (0x0A, 0x09, 0x20, 0x80, 0x3001))  # the last: behind all blanks
NONE, PLAIN, EXOTIC, IDEOGRAPHIC = range(4)  # kinds of blanks; a run is of the highest among them
MAX_LINE_ENDS = 3  # in a row: two blank lines


def blanks(document: Document) -> Rows:
    """Runs of blanks inside lines to one blank, or to a tab where there was one (cells of a row). At a line's start indentation stays, of plain blanks, but the
    ideographic one, which is mere layout. Lines indented by four blanks or a tab, which may be code, stay,
    and so do columns."""
    if document.form not in PROSE_FORMS:
        return NO_ROWS
    return document.outside_elements(outside_tables(document.codes, find_rows(_find_runs, document.codes, _kinds(), document.fences)))


@cache
def _kinds() -> NDArray[np.uint8]:
    """[0x3002]: the kind of each blank; the last one is that of all characters behind."""
    kinds = np.zeros(BEHIND + 1, dtype=np.uint8)
    kinds[[ord(blank) for blank in " \t"]] = PLAIN
    kinds[[code for code in range(0x80, 0x3001) if OTHER_BLANK.match(chr(code))]] = EXOTIC
    kinds[0x3000] = IDEOGRAPHIC
    return kinds


@kernel
def _find_runs(rows: Rows, codes: Codes, kinds: NDArray[np.uint8], fences: NDArray[np.int64]) -> int:
    """Two or more blanks, or one exotic one. None of plain blanks at the beginning of a line, none in lines that begin with four blanks or a tab, none in
    fenced blocks, which consist of whole lines."""
    number = line = before = fence = 0  # before: the kind of the character before
    i = _behind_fence(fences, fence, 0)
    while i < len(codes):
        code = codes[i]
        if BLANK < code < BEYOND_ASCII or code >= BEHIND:  # nearly all
            i, before = i + 1, NONE
            continue
        kind = int(np.int64(kinds[code]))  # int alone would be unsigned
        if kind <= PLAIN and (kind == NONE) | (before == NONE):
            i, before = i + 1, kind
            if code == LINE_END:
                line = i
                fence += fence < len(fences) and fences[fence, 0] < line
                i = _behind_fence(fences, fence, line)
            continue
        start, kind, has_tab = i if before == NONE else i - 1, before, False
        i = start
        while i < len(codes) and kinds[min(codes[i], BEHIND)]:
            kind, has_tab = max(kind, int(np.int64(kinds[min(codes[i], BEHIND)]))), has_tab or codes[i] == TAB
            i += 1
        before = NONE
        if not (kind > PLAIN or start > line) or _is_indented(codes, line):
            continue
        if start > line or kind == IDEOGRAPHIC or not has_tab:
            number = put(rows, number, start, i, TAB if has_tab and start > line else BLANK, _times(start, i, line, kind))
            continue
        for j in range(start, i):  # an indentation with tabs in it keeps them
            if kinds[min(codes[j], BEHIND)] == EXOTIC:
                number = put(rows, number, j, j + 1, BLANK, 1)
    return number


@part
def _behind_fence(fences: NDArray[np.int64], fence: int, line: int) -> int:
    """Where the fenced block ends that begins with the line; where the line begins if none does."""
    return int(fences[fence, 1]) if fence < len(fences) and fences[fence, 0] == line else line


@part
def _times(start: int, end: int, line: int, kind: int) -> int:
    """How many blanks stand for a run."""
    return 1 if start > line else 0 if kind == IDEOGRAPHIC else end - start


@part
def _is_indented(codes: Codes, line: int) -> bool:
    """Whether a line begins with a tab or four blanks."""
    place = line
    while place < min(line + 4, len(codes)) and codes[place] == BLANK:
        place += 1
    return place == line + 4 or (line < len(codes) and codes[line] == TAB)


def trailing(document: Document) -> Rows:
    """Blanks and tabs at line ends."""
    return document.outside_elements(find_rows(_find_tails, document.codes))


@kernel
def _find_tails(rows: Rows, codes: Codes) -> int:
    number = 0
    for i in range(len(codes) + 1):
        if i < len(codes) and codes[i] != LINE_END:
            continue
        start = i
        while start > 0 and (codes[start - 1] == BLANK or codes[start - 1] == TAB):
            start -= 1
        if start < i:
            number = put(rows, number, start, i, BLANK, 0)
    return number


def blank_lines(document: Document) -> Rows:
    """Blank lines at the start, line ends at the end, and runs of more than MAX_LINE_ENDS line ends."""
    return document.outside_elements(find_rows(_find_blank_lines, document.codes))


@kernel
def _find_blank_lines(rows: Rows, codes: Codes) -> int:
    number = 0
    head = i = 0  # head: where the first line begins that is not blank
    while i < len(codes) and (codes[i] == BLANK or codes[i] == TAB or codes[i] == LINE_END):
        i += 1
        if codes[i - 1] == LINE_END:
            head = i
    tail = len(codes)
    while tail > head and codes[tail - 1] == LINE_END:
        tail -= 1
    if head > 0:
        number = put(rows, number, 0, head, LINE_END, 0)
    i = head
    while i < tail:
        if codes[i] != LINE_END:
            i += 1
            continue
        start = i
        while i < tail and codes[i] == LINE_END:
            i += 1
        if i - start > MAX_LINE_ENDS:
            number = put(rows, number, start, i, LINE_END, MAX_LINE_ENDS)
    if tail < len(codes):
        number = put(rows, number, tail, len(codes), LINE_END, 0)
    return number
