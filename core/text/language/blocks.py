"""The lines of a text in blocks that are long enough for their language to be told, each written in letters of one kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.form import fenced_blocks
from mspt.core.text.language.lid import KANA_IN_JAPANESE, LETTERS_PER_HAN
from mspt.core.text.script import HAN, HANGUL, KANA, LATIN, OTHER, class_table, code_points

BLOCK_LETTERS = 200  # paragraphs are judged together up to here; one Han character counts as LETTERS_PER_HAN
PARAGRAPH_LETTERS = 60  # a blank line ends a block from here on
KINDS = ("", "han", "kana", "hangul", "other", "code")
NONE_, HAN_, KANA_, HANGUL_, OTHER_, CODE_ = range(len(KINDS))
START, END, KIND, LETTERS = range(4)  # columns


class Block(NamedTuple):
    """Lines [start, end) written in the same letters: kind is han, kana, hangul, other, code, or "" for no letters at all."""

    start: int
    end: int
    kind: str
    letters: int


def find_blocks(text: str) -> list[Block]:
    """The lines of `text` in blocks to be judged as one; lines without letters go with those before them."""
    if not text:
        return []
    fences = np.array(fenced_blocks(text), np.int64).reshape(-1, 2)
    found = np.empty((text.count("\n") + 1, 4), np.int64)
    num = _find(code_points(text), class_table(), fences, found)
    return [Block(start, end, KINDS[kind], letters) for start, end, kind, letters in found[:num].tolist()]


@kernel
def _find(codes: NDArray[np.uint32], classes: NDArray[np.uint8], fences: NDArray[np.int64], found: NDArray[np.int64]) -> int:
    """Fill `found`, [lines, START to LETTERS]; the number of blocks."""
    n, num, fence = len(codes), 0, 0
    start, kind, letters, blank, line = 0, NONE_, 0, False, 0
    while line < n:
        while fence < len(fences) and fences[fence, 1] <= line:
            fence += 1
        end, line_kind, line_letters = _read_line(codes, classes, line)
        if fence < len(fences) and fences[fence, 0] <= line:
            line_kind, line_letters = CODE_, 0
        full = letters >= (PARAGRAPH_LETTERS if blank else BLOCK_LETTERS)
        if line_kind != NONE_ and kind != NONE_ and (full or line_kind != kind):
            found[num, START], found[num, END], found[num, KIND], found[num, LETTERS] = start, line, kind, letters
            num += 1
            start, letters = line, 0
        kind = line_kind if line_kind != NONE_ else kind
        letters, blank, line = letters + line_letters, line_kind == NONE_, end
    found[num, START], found[num, END], found[num, KIND], found[num, LETTERS] = start, n, kind, letters
    return num + 1


@kernel
def _read_line(codes: NDArray[np.uint32], classes: NDArray[np.uint8], i: int) -> tuple[int, int, int]:
    """Where the line that starts at `i` ends, its kind, and its letters."""
    counts = np.zeros(OTHER + 1, np.int64)
    while i < len(codes):
        value = classes[codes[i]]
        i += 1
        if value <= OTHER:
            counts[value] += 1
        elif codes[i - 1] == 0x0A:
            break
    han, kana, hangul = counts[HAN], counts[KANA], counts[HANGUL]
    east_asian, alphabetic = LETTERS_PER_HAN * (han + kana + hangul), counts[LATIN] + counts[OTHER]
    if east_asian + alphabetic == 0:
        kind = NONE_
    elif east_asian <= alphabetic:
        kind = OTHER_
    elif 2 * hangul > han + kana + hangul:
        kind = HANGUL_
    else:
        kind = KANA_ if kana >= KANA_IN_JAPANESE * (han + kana) else HAN_
    return i, kind, east_asian + alphabetic
