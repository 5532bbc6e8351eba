"""Which characters `normalize` looks at: a table of the class of each code point, and one compiled pass that says which steps may have something to do."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.script import PRIVATE_RANGES

# Bits of the class table; a character may have several.
LINE_END, INVISIBLE, PRIVATE_USE, META_SPACE, FULL_WIDTH, EXOTIC_BLANK, MAY_COMPOSE, VISIBLE, BLANK, NEWLINE, SIGN = (1 << bit for bit in range(11))
# Bits beside them that `look` gives to a text. Of its layout: runs of blanks inside lines, blanks at line ends, blank lines that are too many or stand at its
# start or end. Then: signs of residues, and lines that may be wrapped.
GAPS, TAILS, BLANK_LINES, ESCAPES, ENTITIES, PERCENTS, TAGS, BBCODE, WRAPPED, ALWAYS = (1 << bit for bit in range(11, 21))

LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
META_SPACES = "\u2581"
EXOTIC_BLANKS = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
# What shows nothing: C0 and C1 controls, soft hyphen, Arabic letter mark, Hangul fillers, Khmer inherent vowels, Mongolian selectors, zero width
# space to right-to-left mark, bidi embeddings and isolates, word joiner and invisible operators, variation selectors, byte order mark,
# interlinear annotation and object placeholder, noncharacters, musical beams, tags; lone surrogates, which no encoding can hold.
INVISIBLES = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# U+FF10-FF19 digits, FF21-FF3A and FF41-FF5A letters. U+FF01-FF5E as a whole would turn every Chinese comma into ASCII.
FULL_WIDTHS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
SIGNS = "\\&%<["  # that residues begin with

Table = NDArray[np.uint16]

# Blocks in which no character changes under NFC, alone or beside its neighbours: ASCII and Latin-1, CJK punctuation, kana without the voicing
# marks U+3099/309A, unified Han, Hangul syllables, full-width forms. Everything else asks unicodedata.is_normalized.
NEVER_COMPOSED = ((0x00, 0x2FF), (0x2010, 0x2027), (0x2030, 0x205E), (0x3000, 0x3029), (0x3030, 0x3098), (0x309B, 0x4DBF), (0x4E00, 0x9FFF),
                  (0xAC00, 0xD7A3), (0xFF01, 0xFFEE))  # fmt: skip

# From so many of its signs on a step may find a residue, from so many line ends on a text may be wrapped. The steps themselves ask for more.
MIN_ESCAPES, MIN_ENTITIES, MIN_PERCENTS, MIN_TAGS, MIN_LINE_ENDS, MAX_LINE = 3, 3, 6, 2, 5, 110
MANY_BLANK_LINES = 3  # in a row; two may stay


def look(codes: NDArray[np.uint32]) -> int:
    """The bits of all classes that occur, and those that say of the steps of `normalize` which may have something to do; ALWAYS is set.

    Bits of residues and of the layout stay true for what blanks, trailing and blank_lines make of the text: they may be set in vain, but not missing.
    """
    return int(_look(codes, class_table()))


@cache
def class_table() -> NDArray[np.uint16]:
    """[0x110000]: the class bits of each code point."""
    table = np.full(0x110000, MAY_COMPOSE, dtype=np.uint16)
    for first, last in NEVER_COMPOSED:
        table[first : last + 1] = 0
    table |= VISIBLE
    classes = {
        LINE_END: LINE_ENDS, INVISIBLE: INVISIBLES, FULL_WIDTH: FULL_WIDTHS, EXOTIC_BLANK: EXOTIC_BLANKS, META_SPACE: META_SPACES,
        BLANK: f" \t{EXOTIC_BLANKS}", NEWLINE: "\n", SIGN: SIGNS,
    }  # fmt: skip
    for bit, charset in classes.items():
        set_bits(table, charset, bit)
    table[table & (BLANK | NEWLINE) != 0] &= ~np.uint16(VISIBLE)
    for first, last in PRIVATE_RANGES:
        table[first : last + 1] |= PRIVATE_USE
    return table


def set_bits(table: NDArray[np.unsignedinteger[Any]], charset: str, bit: int) -> None:
    """Sets `bit` for the characters of `charset`, which may have ranges: a-z."""
    for match in re.finditer("(.)(?:-(.))?", charset, re.DOTALL):
        table[ord(match[1]) : ord(match[2] or match[1]) + 1] |= bit


@kernel
def _look(codes: NDArray[np.uint32], table: NDArray[np.uint16]) -> int:
    n, found, gaps, blanks, before = len(codes), 0, 0, 0, 0
    filled = 0  # VISIBLE as soon as the line holds something
    line_ends = empty = escapes = entities = percents = octets = tags = 0  # empty: lines in a row that hold nothing
    for i in range(n):
        own = int(np.int64(table[codes[i]]))  # int alone would be unsigned
        found |= own
        gaps |= own & before & filled << 1  # blanks are told without a branch: words end at any place
        filled |= own & VISIBLE
        blanks += own & BLANK
        if own >= NEWLINE:
            code = codes[i]
            following = codes[i + 1] if i + 1 < n else np.uint32(0)
            if code == 0x0A:
                if filled == 0:
                    empty += 1
                    found |= BLANK_LINES if empty == MANY_BLANK_LINES or line_ends == 0 else 0
                else:
                    filled = empty = 0
                found |= TAILS if before & BLANK else 0
                line_ends += 1
            elif code == 0x5C:
                escapes += _is_escape(codes, i + 1)
            elif code == 0x26:
                entities += following == 0x23 or _is_letter(following)
            elif code == 0x25:
                percents += 1
                octets += _are_hexadecimal(codes, i + 1, 2)
            elif code == 0x3C:
                tags += following == 0x2F or _is_letter(following)
            elif following == 0x2F:
                found |= BBCODE
        before = own
    found |= GAPS if gaps & BLANK else 0
    found |= TAILS if before & BLANK else 0
    found |= BLANK_LINES if filled == 0 and line_ends > 0 else 0
    found |= ESCAPES if escapes >= MIN_ESCAPES else 0
    found |= ENTITIES if entities >= MIN_ENTITIES else 0
    found |= PERCENTS if octets > 0 and percents >= MIN_PERCENTS else 0
    found |= TAGS if tags >= MIN_TAGS else 0
    found |= WRAPPED if line_ends >= MIN_LINE_ENDS and (line_ends + 1) * MAX_LINE >= n - line_ends - blanks // BLANK else 0
    return found | ALWAYS


@kernel
def _is_letter(code: np.uint32) -> bool:
    return bool(0x61 <= code | np.uint32(0x20) <= 0x7A)


@kernel
def _are_hexadecimal(codes: NDArray[np.uint32], start: int, number: int) -> bool:
    """Whether so many hexadecimal digits stand from `start` on."""
    i = start
    while i < min(start + number, len(codes)) and (0x30 <= codes[i] <= 0x39 or 0x61 <= codes[i] | np.uint32(0x20) <= 0x66):
        i += 1
    return i == start + number


@kernel
def _is_escape(codes: NDArray[np.uint32], i: int) -> bool:
    """Whether what stands behind a backslash makes it an escape: one of ntr"'/, uXXXX, xXX."""
    if i >= len(codes):
        return False
    code = codes[i]
    if code == 0x75:
        return _are_hexadecimal(codes, i + 1, 4)
    if code == 0x78:
        return _are_hexadecimal(codes, i + 1, 2)
    return bool(code == 0x6E or code == 0x74 or code == 0x72 or code == 0x22 or code == 0x27 or code == 0x2F)
