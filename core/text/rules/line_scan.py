"""The lines of a text, as rules read them: compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import fmix64, part
from mspt.core.text.rules.characters import BLANK, BULLET, CLASS_BITS, CLOSES, ENDS
from mspt.core.text.rules.counts import BULLET_LINES, ELLIPSIS_LINES, ENDED_LINES, LINES, LINKED_LINES, SHORT_LINES, is_ellipsis
from mspt.core.text.rules.stop_words import WORD_PRIME, WORD_START

# What one Han character says takes about three letters of an alphabet (Universal Declaration of Human Rights, lid_udhr: 8,675 letters in English, 2,675 Han
# characters in Chinese).
LETTERS_PER_HAN = 3
SHORT_WIDTH = 30  # letters of a short line: FineWeb (Penedo et al. 2024, 3.6); 10 Han characters
HAS_LINK, HAS_UNIT, HAS_PLAIN_UNIT = 1, 2, 4  # bits of lines; a plain unit is no text of a link


@part
def end_line(
    codes: NDArray[np.uint32],
    entries: NDArray[np.uint16],
    counts: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int32],
    paragraphs: NDArray[np.int32],
    start: int,
    end: int,
    width: int,
    stops: int,
    holds: int,
    row: int,
    paragraph: int,
    is_apart: bool,
) -> tuple[int, int, bool]:
    """Count the line [start, end) by what it is, and list it in `row` if there is room; the next row, the paragraph, and whether what follows is apart from it.

    width: visible characters, a Han character and a kana as LETTERS_PER_HAN; stops: function words; holds: what is in it, as bits. is_apart: a blank line was
    between it and the paragraph.
    """
    while start < end and entries[start] & CLASS_BITS == BLANK:
        start += 1
    if start == end or not holds:
        return row, paragraph, is_apart or start == end
    while entries[end - 1] & CLASS_BITS == BLANK:
        end -= 1
    paragraph += is_apart
    if row < len(hashes):
        hashes[row] = _hash(codes, start, end)
        bounds[row, 0], bounds[row, 1] = start, end
        paragraphs[row] = paragraph
        row += 1
    ends, ellipsis = _line_end(codes, entries, start, end)
    counts[LINES] += 1
    counts[ENDED_LINES] += ends
    counts[ELLIPSIS_LINES] += ellipsis
    counts[BULLET_LINES] += _is_bullet(codes, entries, start)
    counts[LINKED_LINES] += holds & (HAS_LINK | HAS_PLAIN_UNIT) == HAS_LINK
    counts[SHORT_LINES] += width <= SHORT_WIDTH and not ends and stops < 2
    return row, paragraph, False


@part
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


@part
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


@part
def _is_bullet(codes: NDArray[np.uint32], entries: NDArray[np.uint16], i: int) -> bool:
    """Whether a line that starts at `i` is an item: a bullet, or - * + and a dash with a blank behind."""
    code = codes[i]
    is_dash = code == 0x2D or code == 0x2A or code == 0x2B or code == 0x2013 or code == 0x2014
    return bool(entries[i] & BULLET) or (is_dash and i + 1 < len(codes) and entries[i + 1] & CLASS_BITS == BLANK)
