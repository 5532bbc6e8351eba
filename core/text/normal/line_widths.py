"""What the lines of a text are as lines of wrapped prose: where their words begin and end, how wide they are, whether they may be prose at all. One
compiled pass."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.classes import set_bits
from mspt.core.text.script import code_points

MAX_WIDTH = 110  # columns that a line of wrapped prose may have; a Han character takes two
LONGEST_WORD = 30
SLACK = 2  # columns by which a line of Han may fall short: for an odd letter, or a mark that may not begin a line

HAN = "\u3005\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
MARKS = "\u2018-\u201d\u2026\u3001\u3002\u3008-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"

# Bits of characters.
_HAN, _MARK, _WIDE, _BLANK, _LETTER, _DRAWN, _END, _CLOSER = (1 << bit for bit in range(8))
_BITS = {
    _HAN: HAN,
    _MARK: MARKS,
    _WIDE: f"{HAN}{MARKS}\u2014\u2e80-\u3000\uff01-\uff60\uac00-\ud7a3",
    _BLANK: "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",  # as str.strip has it
    _LETTER: "A-Za-z",
    _DRAWN: "\u2500-\u257f",
    _END: ".!?。！？…:：;；",
    _CLOSER: "\"'”’)）」』]",
}
# Bits of lines.
PROSE, SENTENCE, FINISHED, PLAIN = (1 << bit for bit in range(4))


class Lines(NamedTuple):
    """Of each line between newlines: text[start:end] without the blanks at both ends; indent, blanks before it; columns, with the indent; limit: the largest
    width in which its first word does not fit on the line before, 0 where one of the two is blank; flags: PROSE, it may be; SENTENCE, it has words enough for
    one; FINISHED, it ends one; PLAIN, it begins with a plain word. All [lines]."""

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    indents: NDArray[np.int32]
    columns: NDArray[np.int32]
    limits: NDArray[np.int32]
    flags: NDArray[np.int32]


def measure_lines(text: str, most_overlong: float = 1.0) -> Lines | None:
    """The lines of `text`; None where more of it than this share stands in lines of prose longer than MAX_WIDTH, which is told early."""
    measured = np.empty((6, text.count("\n") + 1), dtype=np.int32)
    codes = code_points(text)
    return Lines(*measured) if _measure(codes, _table(), text.isascii(), int(most_overlong * codes.size), measured) else None


@cache
def _table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, dtype=np.uint8)
    for bit, charset in _BITS.items():
        set_bits(table, charset, bit)
    return table


@kernel
def _measure(codes: NDArray[np.uint32], table: NDArray[np.uint8], is_ascii: bool, most_overlong: int, measured: NDArray[np.int32]) -> bool:
    """Fills `measured`, [6, lines]; False as soon as more characters than `most_overlong` stand in lines of prose that are too long."""
    has_han = False
    for place in range(0 if is_ascii else codes.size):
        if table[codes[place]] & _HAN:
            has_han = True
            break
    begin = overlong = 0
    for line in range(measured.shape[1]):
        stop = begin
        while stop < codes.size and codes[stop] != 10:
            stop += 1
        start, end = begin, stop
        while start < end and table[codes[start]] & _BLANK:
            start += 1
        while end > start and table[codes[end - 1]] & _BLANK:
            end -= 1
        measured[0, line], measured[1, line], measured[2, line] = start, end, start - begin
        measured[3, line] = measured[4, line] = measured[5, line] = 0
        if start < end:
            _measure_words(codes, table, begin, has_han, measured[:, line])
            if measured[3, line] > MAX_WIDTH and measured[5, line] & PROSE:
                overlong += end - start
                if overlong > most_overlong:
                    return False
            if line and measured[3, line - 1]:
                ends_in_han = has_han and table[codes[measured[1, line - 1] - 1]] & _HAN
                measured[4, line] = measured[3, line - 1] + _first_word(codes[start:end], table, has_han, ends_in_han)
        else:
            measured[0, line], measured[1, line], measured[2, line] = begin, begin, 0
        begin = stop + 1
    return True


@kernel
def _measure_words(codes: NDArray[np.uint32], table: NDArray[np.uint8], begin: int, has_han: bool, measured: NDArray[np.int32]) -> None:
    """The columns and flags of a line that is not blank."""
    start, end = measured[0], measured[1]
    blanks = wide = han = pipes = same = spaced = 0  # same: the how manieth of equal signs; spaced: as many of "- - -"
    is_prose = codes[begin] != 9 and codes[end - 1] not in (92, 123, 125)  # a tab; \ { }
    before = np.uint32(0)
    for place in range(start, end):
        code = codes[place]
        bits = table[code]
        blanks += code == 32
        pipes += code == 124
        wide += (bits & _WIDE) != 0
        han += (bits & _HAN) != 0
        if code == before:
            same += 1
            if (same >= 3 and code == 32) or (same >= 4 and code in (46, 45, 61, 95, 42)):  # . - = _ *
                is_prose = False
        else:
            same = 1
        if code in (45, 42):
            spaced = spaced + 1 if spaced and place >= start + 2 and before == 32 and codes[place - 2] == code else 1
            if spaced >= 3:
                is_prose = False
        elif code != 32 or before not in (45, 42):
            spaced = 0
        if code == 9 or bits & _DRAWN:
            is_prose = False
        before = code
    columns = end - begin
    measured[3] = columns + wide if has_han and han and columns <= MAX_WIDTH else columns
    closers = end - 1
    while closers > start and closers > end - 4 and table[codes[closers]] & _CLOSER:
        closers -= 1
    word = start
    while word < end and table[codes[word]] & _LETTER:
        word += 1
    is_plain = start < word < end - 1 and codes[word] == 32 and codes[word + 1] != 61
    flags = PROSE if is_prose and pipes <= 1 else 0
    flags |= SENTENCE if blanks >= 2 or (has_han and han) else 0
    flags |= FINISHED if table[codes[closers]] & _END else 0
    measured[5] = flags | (PLAIN if is_plain else 0)


@kernel
def _first_word(words: NDArray[np.uint32], table: NDArray[np.uint8], has_han: bool, ends_in_han: bool) -> int:
    """The columns that the first word would take on the line before; lines may be broken beside Han characters."""
    if has_han and table[words[0]] & (_HAN | _MARK):
        return 1 + SLACK
    length = 0
    while length < min(words.size, LONGEST_WORD) and words[length] != 32 and not (has_han and table[words[length]] & _HAN):
        length += 1
    return length - 1 if ends_in_han else length
