"""Which characters `normalize` looks at: a table of the class of each code point, so that text in which none occurs is passed by (1 to 4 ns a character)."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.script import PRIVATE_RANGES, code_points

# Bits of the class table; a character may have several.
LINE_END, INVISIBLE, PRIVATE_USE, META_SPACE, FULL_WIDTH, EXOTIC_BLANK, MAY_COMPOSE = (1 << bit for bit in range(7))

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

# Blocks in which no character changes under NFC, alone or beside its neighbours: ASCII and Latin-1, CJK punctuation, kana without the voicing
# marks U+3099/309A, unified Han, Hangul syllables, full-width forms. Everything else asks unicodedata.is_normalized.
NEVER_COMPOSED = ((0x00, 0x2FF), (0x2010, 0x2027), (0x2030, 0x205E), (0x3000, 0x3029), (0x3030, 0x3098), (0x309B, 0x4DBF), (0x4E00, 0x9FFF),
                  (0xAC00, 0xD7A3), (0xFF01, 0xFFEE))  # fmt: skip

# The characters of ASCII that have a class. Deleting them is the fastest way to see whether there are any (1 ns a character).
ASCII_WITH_CLASS = bytes([*range(0x00, 0x09), *range(0x0B, 0x20), 0x7F])


def classes_in(text: str) -> int:
    """The bits of all classes that occur in `text`: LINE_END | INVISIBLE | ..."""
    if text.isascii() and len(text.encode().translate(None, ASCII_WITH_CLASS)) == len(text):
        return 0
    return int(np.bitwise_or.reduce(class_table().take(code_points(text)), initial=0))


@cache
def class_table() -> NDArray[np.uint8]:
    """[0x110000]: the class bits of each code point."""
    table = np.full(0x110000, MAY_COMPOSE, dtype=np.uint8)
    for first, last in NEVER_COMPOSED:
        table[first : last + 1] = 0
    classes = {LINE_END: LINE_ENDS, INVISIBLE: INVISIBLES, FULL_WIDTH: FULL_WIDTHS, EXOTIC_BLANK: EXOTIC_BLANKS, META_SPACE: META_SPACES}
    for bit, charset in classes.items():
        set_bits(table, charset, bit)
    for first, last in PRIVATE_RANGES:
        table[first : last + 1] |= PRIVATE_USE
    return table


def set_bits(table: NDArray[np.uint8], charset: str, bit: int) -> None:
    """Sets `bit` for the characters of `charset`, which may have ranges: a-z."""
    for match in re.finditer("(.)(?:-(.))?", charset, re.DOTALL):
        table[ord(match[1]) : ord(match[2] or match[1]) + 1] |= bit
