"""The lines of a text, as rules read them: compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import fmix64, kernel
from mspt.core.text.rules.characters import BLANK, BULLET, CLASS_BITS, CLOSES, DIGIT, ENDS, HAN, HIDDEN, INLINE, KANA, LINK, LINK_TEXT, STOP
from mspt.core.text.rules.counts import BULLET_LINES, ELLIPSIS_LINES, ENDED_LINES, LINES, LINKED_LINES, SHORT_LINES, is_ellipsis
from mspt.core.text.rules.stop_words import WORD_PRIME, WORD_START

# What one Han character says takes about three letters of an alphabet (Universal Declaration of Human Rights, lid_udhr: 8,675 letters in English, 2,675 Han
# characters in Chinese).
LETTERS_PER_HAN = 3
SHORT_WIDTH = 30  # letters of a short line: FineWeb (Penedo et al. 2024, 3.6); 10 Han characters


@kernel
def find_lines(
    codes: NDArray[np.uint32],
    entries: NDArray[np.uint16],
    counts: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int32],
    paragraphs: NDArray[np.int32],
) -> int:
    """The number of lines that are listed, at most as many as there is room for; all are counted by what they are."""
    n, num, paragraph, i = len(codes), 0, 0, 0
    in_paragraph = False
    while i < n:
        while i < n and entries[i] & CLASS_BITS == BLANK:
            i += 1
        start, width, stops = i, 0, 0  # width: visible characters, a Han character and a kana as LETTERS_PER_HAN
        has_unit = has_link = has_plain_unit = False
        while i < n and codes[i] != 0x0A and not (width > SHORT_WIDTH and has_plain_unit):  # then what follows changes nothing but the end
            entry = entries[i]
            kind = entry & CLASS_BITS
            i += 1
            if kind == BLANK:
                continue
            if kind == LINK:
                has_link = True
            elif HAN <= kind <= DIGIT or entry & INLINE:
                has_unit = True
                has_plain_unit |= not entry & LINK_TEXT
                stops += entry & STOP != 0
            width += LETTERS_PER_HAN if HAN <= kind <= KANA else kind != HIDDEN
        while i < n and codes[i] != 0x0A:
            i += 1
        end = i
        while end > start and entries[end - 1] & CLASS_BITS == BLANK:
            end -= 1
        if has_unit or has_link:
            if num < len(hashes):
                hashes[num] = _hash(codes, start, end)
                bounds[num, 0], bounds[num, 1] = start, end
                paragraphs[num] = paragraph
                num += 1
            in_paragraph = True
            ends, ellipsis = _line_end(codes, entries, start, end)
            counts[LINES] += 1
            counts[ENDED_LINES] += ends
            counts[ELLIPSIS_LINES] += ellipsis
            counts[BULLET_LINES] += _is_bullet(codes, entries, start)
            counts[LINKED_LINES] += has_link and not has_plain_unit
            counts[SHORT_LINES] += width <= SHORT_WIDTH and not ends and stops < 2
        elif end == start:
            paragraph += in_paragraph
            in_paragraph = False
        i += 1
    return num


@kernel
def _line_end(codes: NDArray[np.uint32], entries: NDArray[np.uint16], start: int, end: int) -> tuple[bool, bool]:
    """Whether a line ends a sentence, and with an ellipsis; closing quotes and brackets may stand behind."""
    last = end - 1
    while last >= start and (entries[last] & CLOSES or entries[last] & CLASS_BITS == BLANK):
        last -= 1
    if last < start:
        return False, False
    same = 1
    while same < 3 and last - same >= start and codes[last - same] == codes[last]:
        same += 1
    return entries[last] & ENDS != 0, is_ellipsis(codes[last], same)


@kernel
def _hash(codes: NDArray[np.uint32], start: int, end: int) -> np.uint64:
    """The hash of codes[start:end]: FNV-1a in four lanes, so that no multiplication waits for the one before."""
    first = second = third = fourth = WORD_START
    i = start
    while i + 4 <= end:
        first = (first ^ np.uint64(codes[i])) * WORD_PRIME
        second = (second ^ np.uint64(codes[i + 1])) * WORD_PRIME
        third = (third ^ np.uint64(codes[i + 2])) * WORD_PRIME
        fourth = (fourth ^ np.uint64(codes[i + 3])) * WORD_PRIME
        i += 4
    while i < end:
        first = (first ^ np.uint64(codes[i])) * WORD_PRIME
        i += 1
    return fmix64(fmix64(fmix64(fmix64(first ^ np.uint64(end - start)) ^ second) ^ third) ^ fourth)


@kernel
def _is_bullet(codes: NDArray[np.uint32], entries: NDArray[np.uint16], i: int) -> bool:
    """Whether a line that starts at `i` is an item: a bullet, or - * + and a dash with a blank behind."""
    code = codes[i]
    is_dash = code == 0x2D or code == 0x2A or code == 0x2B or code == 0x2013 or code == 0x2014
    return bool(entries[i] & BULLET) or (is_dash and i + 1 < len(codes) and entries[i + 1] & CLASS_BITS == BLANK)
