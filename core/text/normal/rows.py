"""Edits as rows of numbers: what compiled steps find and put in the place of what they found, without an object for each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.script import Codes
from mspt.core.text.spans import Edit

START, END, CHARACTER, TIMES = range(4)
Rows = NDArray[np.int64]  # [edits, 4]: codes[start:end] becomes a character so many times, which may be none; sorted, without overlaps
NO_ROWS: Rows = np.empty((0, 4), np.int64)
CHARACTERS_PER_ROW = 16  # that is made room for first


def find_rows(find: Callable[..., int], codes: Codes, *others: object) -> Rows:
    """The edits that a kernel finds. It takes rows to write them to, the code points, and others; it returns how many there are, whether there was room or
    not."""
    rows = np.empty((8 + len(codes) // CHARACTERS_PER_ROW, 4), np.int64)
    number = find(rows, codes, *others)
    if number > len(rows):
        rows = np.empty((number, 4), np.int64)
        find(rows, codes, *others)
    return rows[:number]


def apply_rows(codes: Codes, rows: Rows) -> Codes:
    """`codes` with the edits applied."""
    found = _apply(codes, rows)
    found.flags.writeable = False  # as code_points has them: kernels are compiled for one kind of arrays
    return found


def as_edits(rows: Rows) -> list[Edit]:
    """The same edits, one object each."""
    return [Edit(start, end, chr(character) * times) for start, end, character, times in rows.tolist()]


def num_changed(rows: Rows) -> int:
    """Characters that the edits remove, and one for each edit that removes none."""
    return _num_changed(rows)


@kernel
def _num_changed(rows: Rows) -> int:
    number = 0
    for row in range(len(rows)):
        number += max(1, rows[row, 1] - rows[row, 0] - rows[row, 3])
    return number


@kernel
def put(rows: Rows, number: int, start: int, end: int, character: int | np.uint32, times: int) -> int:
    """Writes edit `number`, if there is room for it; the number of the next."""
    if number < len(rows):
        rows[number, 0], rows[number, 1], rows[number, 2], rows[number, 3] = start, end, character, times
    return number + 1


@kernel
def _apply(codes: Codes, rows: Rows) -> Codes:
    size = len(codes)
    for row in range(len(rows)):
        size += rows[row, 3] - (rows[row, 1] - rows[row, 0])
    found = np.empty(size, np.uint32)
    i = k = 0  # read and written so far
    for row in range(len(rows)):
        length = rows[row, 0] - i
        found[k : k + length] = codes[i : i + length]
        k += length
        for j in range(rows[row, 3]):
            found[k + j] = rows[row, 2]
        i, k = rows[row, 1], k + rows[row, 3]
    found[k:] = codes[i:]
    return found
