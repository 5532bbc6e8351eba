"""What only text from PDF files and OCR has much of, counted in one compiled pass: most text has too little of it to be asked any more."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.normal.classes import set_bits
from mspt.core.text.script import Codes

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
MAX_AROUND, MAX_DIGITS = 9, 4  # marks on both sides of the number of a page, and its digits: - Page 12 of 345 -, 第 12 页
MAX_NUMBER_LINE = 2 * (MAX_AROUND + MAX_DIGITS) + len("Page  页 of ")
MIN_PAIRS = 10  # spaced Han characters
MIN_LIGATURES = 3
MIN_CUT_WORDS = 5
MAX_SCATTERED = 10  # characters a line where many hold one
MIN_PAGES = 3  # with the same head; a chapter's may have few
MIN_REPEATED, MIN_LINES = 4, 15  # heads where there are no form feeds, and lines of a page
LAST_DIGIT = 0x1FBF9  # of Unicode
_HAN, _LIGATURE, _LETTER, _DIGIT = (1 << bit for bit in range(4))


class PageSigns(NamedTuple):
    """blanks: U+0020. cut_words: hyphens and soft hyphens before line ends. number_lines: lines, but for the first and last, that hold the number of a page and
    little else, or letters that are not in the table; page_words: "Page ". adjacent, spaced: pairs of Han characters side by side, and with blanks between
    them. ligatures: fi, fl, ...
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
    start = digits = 0  # of the line
    last_han = -1  # the last Han character behind which there was nothing but blanks
    for i in range(len(codes)):
        code = codes[i]
        bits = int(np.int64(table[code]))
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
            if digits and line_ends > 0 and i - start <= MAX_NUMBER_LINE:
                number_lines += _is_page_number(codes, table, start, i)
            line_ends += 1
            start, digits = i + 1, 0
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


@part
def _is_page_number(codes: Codes, table: NDArray[np.uint8], i: int, end: int) -> bool:
    """Whether the line [i, end) is what PAGE_NUMBER of running_lines.py matches, letters that are not in the table being marks."""
    i = _behind_marks(codes, table, i, end)
    if i + 4 < end and codes[i] | 0x20 == 0x70 and codes[i + 1] == 0x61 and codes[i + 2] == 0x67 and codes[i + 3] == 0x65 and codes[i + 4] == 0x20:  # Page
        i += 5
    elif i < end and codes[i] == 0x7B2C:  # 第
        i += 2 if i + 1 < end and codes[i + 1] == 0x20 else 1
    number, i = i, _behind_digits(codes, table, i, end)
    if i == number:
        return False
    page = i + 1 if i < end and codes[i] == 0x20 else i
    if page < end and (codes[page] == 0x9875 or codes[page] == 0x9801):  # 页, 頁
        i = page + 1
    total = i + 1 if i < end and codes[i] == 0x20 else i
    if total < end and codes[total] == 0x2F:  # /
        total += 2 if total + 1 < end and codes[total + 1] == 0x20 else 1
    elif total == i + 1 and total + 2 < end and codes[total] == 0x6F and codes[total + 1] == 0x66 and codes[total + 2] == 0x20:  # of
        total += 3
    else:
        total = end
    behind = _behind_digits(codes, table, total, end)
    return _behind_marks(codes, table, behind if behind > total else i, end) == end


@part
def _behind_marks(codes: Codes, table: NDArray[np.uint8], i: int, end: int) -> int:
    """Where what is no letter and digit, at most MAX_AROUND of it, ends that begins at `i`."""
    last = min(end, i + MAX_AROUND)
    while i < last and not table[codes[i]] & (_LETTER | _DIGIT) and codes[i] != 0x5F:
        i += 1
    return i


@part
def _behind_digits(codes: Codes, table: NDArray[np.uint8], i: int, end: int) -> int:
    """Where digits, at most MAX_DIGITS of them, end that begin at `i`."""
    last = min(end, i + MAX_DIGITS)
    while i < last and table[codes[i]] & _DIGIT:
        i += 1
    return i
