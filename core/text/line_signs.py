"""What the lines of a text could be, told by their first and last characters in one compiled pass: only lines that could be code, a comment or markup need be
asked with patterns (form.py), and of prose most need not."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.script import code_points

MAX_LINE = 500  # characters of a line that are looked at
VERSE_LINES = 200  # lines that are looked at for verse

# Words and signs that a statement begins with.
STATEMENT_WORDS = """
    async def from import class if elif for while with except try else finally return raise yield assert del pass break continue @ #
    public private protected static final const let var func fn function package namespace using struct enum interface impl pub
    fi done then esac end do $ export echo elseif local my our val puts print require require_relative use module attr_reader attr_writer attr_accessor
    data newtype instance type deriving | ) ] } select insert update delete create alter drop where join left inner group order values
"""
FIRST_WORDS = frozenset(STATEMENT_WORDS.split())
MARKUP_STARTS = frozenset("<\\%.'")

PLAIN, MAY_BE_CODE, MAY_BE_COMMENT = b"\0\1\2"  # marks of lines
_BLANK, _BREAK, _WORD, _MARKUP, _SIGN, _SIGN_LAST, _KEY_LAST, _SEPARATOR = 1, 2, 4, 8, 16, 32, 64, 128  # bits of characters
_BITS = (
    (_BLANK, "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"),
    (_BREAK, "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"),  # as str.splitlines has it
    (_WORD, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
    (_MARKUP, "".join(sorted(MARKUP_STARTS))),
    (_SIGN, "@#$|)]}"),  # alone they are in FIRST_WORDS
    (_SIGN_LAST, ";>|%"),
    (_KEY_LAST, ",[{("),
    (_SEPARATOR, ",|;"),  # of columns, beside the tab
)
_START, _PRIME, _MASK = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(1023)  # FNV-1a; slots of the table of words


class Lines(NamedTuple):
    """Of the lines, as str.splitlines has them, that are not blank: how many there are, how many could be markup; the length of the longest, and of the
    longest of the first VERSE_LINES; how many lines more have the same number of a separator, at least two, than have another number: at least so many."""

    number: int
    markup: int
    longest: int
    longest_of_first: int
    agreeing: int


class Marks(NamedTuple):
    """Of the lines between newlines that are not blank: marks, what each could be; bounds: where it lies, [lines, 2], without the blanks at its end and at
    most MAX_LINE characters."""

    marks: bytes
    bounds: NDArray[np.int32]


def read_lines(text: str) -> Lines:
    """Count the lines of `text` by what is seen at once."""
    counts = np.zeros(5, np.int64)
    _read(code_points(text), _bits(), counts)
    return Lines(*counts.tolist())


def mark_lines(text: str) -> Marks:
    """What each line of `text` could be: a line that is PLAIN is no statement of form.py and no comment."""
    size = text.count("\n") + 1
    marks, bounds = np.empty(size, np.uint8), np.empty((size, 2), np.int32)
    num = _mark(code_points(text), _bits(), _words(), marks, bounds)
    return Marks(marks[:num].tobytes(), bounds)


@cache
def _bits() -> NDArray[np.uint8]:
    """[0x3001]: bits of characters; those behind are letters and marks that no pattern names."""
    table = np.zeros(0x3001, np.uint8)
    for bit, characters in _BITS:
        table[[ord(character) for character in characters]] |= bit
    return table


@cache
def _words() -> NDArray[np.uint64]:
    """[1024]: an open hash table of FIRST_WORDS; 0 for an empty slot."""
    table = np.zeros(int(_MASK) + 1, np.uint64)
    for word in sorted(FIRST_WORDS):
        value = int(_START)
        for code in map(ord, word):
            value = (value ^ code) * int(_PRIME) & (1 << 64) - 1
        slot = value & int(_MASK)
        while table[slot]:
            slot = (slot + 1) & int(_MASK)
        table[slot] = value
    return table


@kernel
def _read(codes: NDArray[np.uint32], bits: NDArray[np.uint8], counts: NDArray[np.int64]) -> None:
    """Fill `counts`, in the order of Lines.

    agreeing: by the vote of Boyer and Moore (1981): each line votes for its number of a separator or against the one that leads; what a number gets from a
    majority it cannot lose to the rest.
    """
    start, last, number, longest, longest_of_first = 0, -1, 0, 0, 0
    tabs, open_tabs = 0, 0  # in the line before its last character that is not blank, and so far
    seen, leading, votes = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(4, np.int64)
    n = len(codes)
    for i in range(n + 1):
        code = codes[i] if i < n else np.uint32(0x0A)
        kind = bits[code] if code < len(bits) else np.uint8(0)
        if not kind & _BLANK:
            if last < 0:
                counts[1] += (kind & _MARKUP) != 0
            last, tabs = i, open_tabs
            if kind & _SEPARATOR:
                seen[1 if code == 0x2C else 2 if code == 0x7C else 3] += 1
        elif kind & _BREAK:
            if last >= 0:
                longest = max(longest, last + 1 - start)
                number += 1
                longest_of_first = longest if number <= VERSE_LINES else longest_of_first
                seen[0] = tabs
                for k in range(4):
                    if votes[k] == 0:
                        leading[k] = seen[k]
                    votes[k] += 1 if leading[k] == seen[k] else -1
            start, last, tabs, open_tabs = i + 1, -1, 0, 0
            seen[:] = 0
        elif code == 0x09:
            open_tabs += 1
    counts[0], counts[2], counts[3] = number, longest, longest_of_first
    for k in range(4):
        if leading[k] >= 2:
            counts[4] = max(counts[4], votes[k])


@kernel
def _mark(codes: NDArray[np.uint32], bits: NDArray[np.uint8], words: NDArray[np.uint64], marks: NDArray[np.uint8], bounds: NDArray[np.int32]) -> int:
    """Fill `marks` and `bounds`; the number of lines that are not blank."""
    n, num, start = len(codes), 0, 0
    while start < n:
        end = start
        while end < n and codes[end] != 0x0A:
            end += 1
        following = end + 1
        while end > start and _is_blank(codes[end - 1], bits):
            end -= 1
        if end > start:
            first = start
            while _is_blank(codes[first], bits):
                first += 1
            end = min(end, start + MAX_LINE)
            bounds[num, 0], bounds[num, 1] = start, end
            if _may_be_comment(codes, first):
                marks[num] = 2
            else:
                marks[num] = first >= end or _may_be_code(codes, bits, words, first, end)
            num += 1
        start = following
    return num


@part
def _is_blank(code: np.uint32, bits: NDArray[np.uint8]) -> bool:
    return bool(code < len(bits) and bits[code] & _BLANK)


@part
def _may_be_comment(codes: NDArray[np.uint32], i: int) -> bool:
    """# or // or -- at `i`."""
    code = codes[i]
    return bool(code == 0x23 or ((code == 0x2F or code == 0x2D) and i + 1 < len(codes) and codes[i + 1] == code))


@part
def _may_be_code(codes: NDArray[np.uint32], bits: NDArray[np.uint8], words: NDArray[np.uint64], i: int, end: int) -> bool:
    """Whether any pattern of form.py could match the line from its first character at `i`."""
    first, last = codes[i], codes[end - 1]
    first_bits = bits[first] if first < len(bits) else np.uint8(0)
    last_bits = bits[last] if last < len(bits) else np.uint8(0)
    if first_bits & _SIGN or last_bits & _SIGN_LAST or (first_bits & _WORD and _begins_statement(codes, bits, words, i, end)):
        return True
    is_quoted = first == 0x22 or first == 0x27
    has_brace = has_colon = has_slash = has_blank = False
    is_name = True  # as long as nothing but letters, digits and dots have been seen
    for k in range(i, end):
        code = codes[k]
        if code >= 0x80 or bits[code] & _WORD or code == 0x2E:
            continue
        if code == 0x20 or code == 0x09:
            has_blank, is_name = True, False
            continue
        before = codes[k - 1] if k > i else np.uint32(0)
        if code == 0x3D or (code == 0x28 and is_name and k > i) or (code == 0x3A and before == 0x3A) or (code == 0x2D and before == 0x3C):
            return True  # = and call( and :: and <-
        is_name = False
        has_brace |= code == 0x7B or code == 0x7D or code == 0x5C
        has_colon |= code == 0x3A
        has_slash |= code == 0x2F
    if has_brace and (has_slash or last_bits & _BLANK or last == 0x7B or last == 0x7D or last == 0x5C):
        return True
    if is_quoted and (last == 0x2B or last == 0x2C or has_colon):
        return True
    return bool(has_colon and (last_bits & _KEY_LAST or (last == 0x3A and not has_blank)))


@part
def _begins_statement(codes: NDArray[np.uint32], bits: NDArray[np.uint8], words: NDArray[np.uint64], i: int, end: int) -> bool:
    """Whether the word at `i`, in small letters, is one of FIRST_WORDS."""
    value = _START
    while i < end and codes[i] < 0x80 and bits[codes[i]] & _WORD:
        code = codes[i] | np.uint32(0x20) if 0x41 <= codes[i] <= 0x5A else codes[i]
        value = (value ^ np.uint64(code)) * _PRIME
        i += 1
    slot = value & _MASK
    while words[slot] != 0:
        if words[slot] == value:
            return True
        slot = (slot + np.uint64(1)) & _MASK
    return False
