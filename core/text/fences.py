"""Fenced code blocks of Markdown, as one compiled pass finds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.script import Codes

MAX_INDENT = 12  # blanks before a fence: in items of lists
NUM_MARKS = 3
LINE_END, RETURN, TAB, BLANK, BACKTICK, TILDE = (np.uint32(ord(character)) for character in "\n\r\t `~")


_last: tuple[Codes, NDArray[np.int64]] | None = None  # what was asked about last: several steps ask about the same


def find_fences(codes: Codes) -> NDArray[np.int64]:
    """[blocks, 2]: from the opening fence to the end of the closing one, which has the same mark and nothing behind it; an unclosed fence opens no block."""
    global _last
    if _last is None or _last[0] is not codes:
        _last = codes, _found(codes)
    return _last[1]


def _found(codes: Codes) -> NDArray[np.int64]:
    blocks = np.empty((16, 2), np.int64)
    number = _find(codes, blocks)
    if number > len(blocks):
        blocks = np.empty((number, 2), np.int64)
        _find(codes, blocks)
    return blocks[:number]


@kernel
def _find(codes: Codes, blocks: NDArray[np.int64]) -> int:
    """Fill `blocks` as far as there is room; how many there are."""
    n, number, opened, opening, line = len(codes), 0, -1, BLANK, 0
    while line < n:
        mark, i = _fence_mark(codes, line)
        has_words = False  # behind the marks
        while mark != BLANK and i < n and codes[i] != LINE_END:
            has_words |= codes[i] != BLANK and codes[i] != TAB and codes[i] != RETURN
            i += 1
        while i < n and codes[i] != LINE_END:
            i += 1
        if mark != BLANK and opened < 0:
            opened, opening = line, mark
        elif mark != BLANK and mark == opening and not has_words:
            if number < len(blocks):
                blocks[number, 0], blocks[number, 1] = opened, i
            number, opened = number + 1, -1
        line = i + 1
    return number


@part
def _fence_mark(codes: Codes, i: int) -> tuple[np.uint32, int]:
    """The mark of the fence on the line that begins at `i`, a blank where there is none, and where its marks end."""
    n, start = len(codes), i
    while i < n and i - start < MAX_INDENT and codes[i] == BLANK:
        i += 1
    if i + NUM_MARKS > n or (codes[i] != BACKTICK and codes[i] != TILDE) or codes[i + 1] != codes[i] or codes[i + 2] != codes[i]:
        return BLANK, i
    mark = codes[i]
    while i < n and (codes[i] == BACKTICK or codes[i] == TILDE):
        i += 1
    return mark, i
