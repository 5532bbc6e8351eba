"""What only text from PDF files and OCR has much of, counted in one compiled pass: most text has too little of it to be asked any more."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.classes import set_bits
from mspt.core.text.script import Codes

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
MAX_NUMBER_LINE, MAX_NUMBER_LETTERS = 40, 8  # of a line with the number of a page: - Page 12 of 345 -, 第 12 页
MIN_PAIRS = 10  # spaced Han characters
MIN_LIGATURES = 3
MIN_CUT_WORDS = 5
MAX_SCATTERED = 10  # characters a line where many hold one
MIN_PAGES = 3  # with the same head; a chapter's may have few
MIN_REPEATED, MIN_LINES = 4, 15  # heads where there are no form feeds, and lines of a page
LAST_DIGIT = 0x1FBF9  # of Unicode
_HAN, _LIGATURE, _LETTER, _DIGIT = (1 << bit for bit in range(4))


class PageSigns(NamedTuple):
    """blanks: U+0020. cut_words: hyphens and soft hyphens before line ends. number_lines: lines, but for the first and last, that may hold the number of a page
    and little else; page_words: "Page ". adjacent, spaced: pairs of Han characters side by side, and with blanks between them. ligatures: fi, fl, ...
    """

    line_ends: int
    blanks: int
    form_feeds: int
    cut_words: int
    number_lines: int
    page_words: int
    adjacent: int
    spaced: int
    ligatures: int


def page_signs(codes: Codes) -> PageSigns | None:
    """Count them; None where there is too little of all of them. Of number_lines not all may be what they look like."""
    counts = np.empty(len(PageSigns._fields), np.int64)
    return PageSigns(*counts.tolist()) if _count(codes, _table(), counts) else None


@cache
def _table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, dtype=np.uint8)
    digits = "".join(filter(str.isdecimal, map(chr, range(LAST_DIGIT + 1))))
    for bit, charset in ((_HAN, HAN), (_LIGATURE, "\ufb00-\ufb06"), (_LETTER, f"A-Za-z{HAN}"), (_DIGIT, digits)):
        set_bits(table, charset, bit)
    return table


@kernel
def _count(codes: Codes, table: NDArray[np.uint8], counts: NDArray[np.int64]) -> bool:
    """Fill `counts`; whether there is enough of anything."""
    line_ends = blanks = form_feeds = cut_words = number_lines = page_words = adjacent = spaced = ligatures = 0
    start = letters = digits = 0  # of the line
    last_han = -1  # the last Han character behind which there was nothing but blanks
    for i in range(len(codes)):
        code = codes[i]
        bits = int(np.int64(table[code]))
        letters += bits & _LETTER
        digits |= bits & _DIGIT
        blanks += code == 0x20
        if code >= 0x80:
            if bits & _HAN:
                adjacent += last_han == i - 1 and i > 0
                spaced += 0 <= last_han < i - 1
                last_han = i
                continue
            ligatures += (bits & _LIGATURE) != 0
        elif code == 0x0A:
            if i > 0 and (codes[i - 1] == 0x2D or codes[i - 1] == 0xAD):
                cut_words += 1
            number_lines += line_ends > 0 and digits and i - start <= MAX_NUMBER_LINE and letters <= MAX_NUMBER_LETTERS * _LETTER
            line_ends += 1
            start, letters, digits = i + 1, 0, 0
        elif code == 0x0C:
            form_feeds += 1
        elif code == 0x50 and i + 4 < len(codes) and codes[i + 1] == 0x61 and codes[i + 2] == 0x67 and codes[i + 3] == 0x65 and codes[i + 4] == 0x20:
            page_words += 1
        last_han = last_han if code == 0x20 else -1
    counts[0], counts[1], counts[2], counts[3], counts[4] = line_ends, blanks, form_feeds, cut_words, number_lines
    counts[5], counts[6], counts[7], counts[8] = page_words, adjacent, spaced, ligatures
    is_numbered = line_ends >= MIN_REPEATED * MIN_LINES and (number_lines >= MIN_REPEATED or page_words >= MIN_REPEATED)
    is_of_pages = is_numbered or form_feeds >= MIN_PAGES - 1 or cut_words >= MIN_CUT_WORDS or ligatures >= MIN_LIGATURES
    return is_of_pages or spaced >= MIN_PAIRS or line_ends * MAX_SCATTERED > len(codes)
