"""What a character is for the rules: one entry of a table over all of Unicode, so that a compiled loop reads a text once.

An entry is a class, and flags beside it. Letters are of two kinds: *characters* of scripts written without blanks between words (Han, kana, Thai, Lao,
Khmer, Myanmar), each of which is a unit, and letters of all other scripts, whose runs are words and one unit together.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.rules.stop_words import FUNCTION_CHARACTERS
from mspt.core.text.script import HAN_RANGES, HANGUL_RANGES, KANA_RANGES, LATIN_RANGES, PRIVATE_RANGES

# LINK and CODE are in no table: the scan gives them to the characters of addresses, and of code in prose.
BLANK, LINE_END, HIDDEN, HAN, KANA, CHARACTER, HANGUL, LATIN, LETTER, DIGIT, MARK, SYMBOL, REPLACEMENT, PRIVATE_USE, LINK, CODE = range(16)
NUM_CLASSES = 16
CLASS_BITS = 0x0F
STOP = 0x10  # a Han character that is a function word
DRAWN = 0x20  # lines and borders are drawn with it
BULLET = 0x40  # opens an item of a list
ENDS = 0x80  # ends a sentence
CLOSES = 0x100  # a closing quote or bracket, which may stand behind the end of a sentence
LINK_TEXT = 0x200  # between the brackets of a Markdown link; in no table, like
INLINE = 0x400  # code inside a line
LINKS = 0x800  # links are told by it
JOINT = 0x1000  # joins the parts of a name: names of files, functions and commands

# Marks that end a sentence in Chinese, Japanese, Western, Arabic, Indic, Ethiopic, Armenian, Burmese and Khmer writing, ellipses with them.
SENTENCE_ENDS = "。！？．｡…⋯.!?‼⁇⁈⁉؟۔।॥።፧։။៕"
CLOSERS = "\"'”’»›」』】〗》〉）〕］｝)]}"
BULLETS = "•‣⁃◦●○◎■□▪▫◆◇★☆►▶▸➢➤✓✔※·・"
LINK_SIGNS = "[]:.\n"
JOINTS = "_./:\\=@"
DRAWING = "-=*_.~#+—─━═│┃|·"

SOUTH_EAST_ASIAN = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))  # Thai and Lao, Myanmar, Khmer
BOPOMOFO = ((0x3105, 0x312F), (0x31A0, 0x31BF))
CATEGORY_CLASS = {"L": LETTER, "M": LETTER, "N": DIGIT, "Z": BLANK, "P": MARK, "S": SYMBOL, "C": HIDDEN}
# Code points looked at one by one; all others are Han, Hangul syllables, private use or unassigned, which ranges say.
LISTED = ((0, 0x3400), (0x4DC0, 0x4E00), (0xA000, 0xAC00), (0xD7B0, 0xD800), (0xF900, 0x20000), (0xE0000, 0xE0200))


@cache
def character_table() -> NDArray[np.uint16]:
    """[0x110000]: class and flags of each code point (Unicode 14, the version of Python 3.11)."""
    table = np.full(0x110000, HIDDEN, dtype=np.uint16)
    for first, last in LISTED:
        table[first:last] = [CATEGORY_CLASS[unicodedata.category(chr(code))[0]] for code in range(first, last)]
    _keep_selectors_hidden(table)
    for ranges, value in ((KANA_RANGES, KANA), (HANGUL_RANGES, HANGUL), (LATIN_RANGES, LATIN), (HAN_RANGES, HAN), (PRIVATE_RANGES, PRIVATE_USE)):
        for first, last in ranges:
            table[first : last + 1] = value
    for first, last in (*SOUTH_EAST_ASIAN, *BOPOMOFO):
        part = table[first : last + 1]
        part[part == LETTER] = CHARACTER
    table[[0x09, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x1F, 0x85]] = BLANK  # as str.isspace has it
    table[0x0A] = LINE_END
    table[0xFFFD] = REPLACEMENT
    flags = {STOP: FUNCTION_CHARACTERS, DRAWN: DRAWING, BULLET: BULLETS, ENDS: SENTENCE_ENDS, CLOSES: CLOSERS, LINKS: LINK_SIGNS, JOINT: JOINTS}
    for flag, characters in flags.items():
        table[[ord(character) for character in characters]] |= flag
    table.flags.writeable = False
    return table


def _keep_selectors_hidden(table: NDArray[np.uint16]) -> None:
    """Variation selectors are marks that show nothing: they neither end a word nor belong to one."""
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF)):
        table[first : last + 1] = HIDDEN
