"""What a text is written in: counts of characters by class, and simplified against traditional Chinese.

Characters are looked up in tables over all of Unicode, so that a census costs a few nanoseconds a character whatever the text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

HAN, KANA, HANGUL, LATIN, OTHER, DIGIT, BLANK, PUNCTUATION, SYMBOL, REPLACEMENT, PRIVATE, CONTROL = range(12)
SIMPLIFIED, TRADITIONAL, JAPANESE, NOT_JAPANESE, COMMON = 1, 2, 4, 8, 16  # bits

# Blocks of ideographs (Unicode 14, Blocks.txt), with 〇 and 々 that Chinese words are written with.
HAN_RANGES = (
    (0x3005, 0x3005), (0x3007, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3134F),
)  # fmt: skip
KANA_RANGES = ((0x3041, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))
HANGUL_RANGES = ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7FB), (0xFFA0, 0xFFDC))
LATIN_RANGES = ((0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F), (0x1E00, 0x1EFF))
PRIVATE_RANGES = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
CATEGORY_CLASS = {"L": OTHER, "M": OTHER, "N": DIGIT, "Z": BLANK, "P": PUNCTUATION, "S": SYMBOL, "C": CONTROL}

# Sound text holds characters of the other script in names, quotations and because the sets of 1980 and 1984 are not quite the two scripts:
# the minority is under .08 of the evidence in 99 % of ../shared zh_wiki_*, under .13 in 99 % of zh_poetry_*.
MAX_OTHER_SCRIPT = 0.3


@dataclass(frozen=True)
class Census:
    """How many characters of each class a text holds. Every character is in exactly one class; `total` is their sum."""

    total: int
    han: int
    kana: int
    hangul: int
    latin: int
    other_letters: int  # letters and marks of all other scripts
    digits: int
    blanks: int  # space, tab, line end and their kin
    punctuation: int  # Unicode P*
    symbols: int  # Unicode S*
    replacement: int  # U+FFFD
    private_use: int
    controls: int  # Cc (but blanks), Cf, Cs, Cn

    @property
    def letters(self) -> int:
        """Letters of all scripts."""
        return self.han + self.kana + self.hangul + self.latin + self.other_letters

    @property
    def visible(self) -> int:
        """All but blanks and controls."""
        return self.total - self.blanks - self.controls


def code_points(text: str) -> NDArray[np.uint32]:
    """The characters of `text` as numbers, [len(text)]; lone surrogates pass."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def census(text: str) -> Census:
    """Count the characters of `text` by class, in one pass."""
    classes = _classes().take(code_points(text))
    return Census(len(text), *(int(np.count_nonzero(classes == value)) for value in range(12)))


def chinese_script(text: str) -> str:
    """The script, "Hans" or "Hant", that `text` is written in; "" where no character says, or where both say so in earnest.

    A character speaks for one script when the character set of that side (GB 2312: mainland 1980; Big5: Taiwan 1984) holds it and the other
    does not. Characters that both sets hold, and rare ones in neither, say nothing.
    """
    simplified, traditional = script_evidence(text)
    if not simplified + traditional or min(simplified, traditional) > MAX_OTHER_SCRIPT * (simplified + traditional):
        return ""
    return "Hans" if simplified > traditional else "Hant"


def script_evidence(text: str) -> tuple[int, int]:
    """How many characters of `text` only simplified and only traditional Chinese has."""
    sides = _sides().take(code_points(text))
    return int(np.count_nonzero(sides & SIMPLIFIED)), int(np.count_nonzero(sides & TRADITIONAL))


def has_japanese_forms(text: str) -> bool:
    """Whether the Han characters of `text` are Japanese: at least two of forms that only Japan writes, like 発 and 栄, at least one in 20, and
    more than there are characters that Japan does not write."""
    sides = _sides().take(code_points(text))
    japanese = np.count_nonzero(sides & JAPANESE)
    return bool(japanese >= max(2, np.count_nonzero(sides) / 20) and japanese > np.count_nonzero(sides & NOT_JAPANESE))


@cache
def _classes() -> NDArray[np.uint8]:
    """[0x110000]: the class of each code point."""
    table = np.array([CATEGORY_CLASS[unicodedata.category(chr(code))[0]] for code in range(0x110000)], dtype=np.uint8)
    for ranges, value in ((KANA_RANGES, KANA), (HANGUL_RANGES, HANGUL), (LATIN_RANGES, LATIN), (HAN_RANGES, HAN), (PRIVATE_RANGES, PRIVATE)):
        for first, last in ranges:
            table[first : last + 1] = value
    table[[0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85]] = BLANK
    table[0xFFFD] = REPLACEMENT
    return table


@cache
def _sides() -> NDArray[np.uint8]:
    """[0x110000]: bits of each unified Han character, by the national character sets that hold it (SIMPLIFIED: GB 2312 and not Big5; TRADITIONAL:
    the reverse; JAPANESE: JIS X 0208 alone, KS X 1001 being a fourth; NOT_JAPANESE: not in it; COMMON: any); 0 for all others."""
    table = np.zeros(0x110000, dtype=np.uint8)
    for code in range(0x4E00, 0xA000):
        mainland, taiwan, japan, korea = (_encodable(chr(code), charset) for charset in ("gb2312", "big5", "shift_jis", "euc_kr"))
        table[code] = COMMON
        if mainland != taiwan:
            table[code] |= SIMPLIFIED if mainland else TRADITIONAL
        if not japan:
            table[code] |= NOT_JAPANESE
        elif not (mainland or taiwan or korea):
            table[code] |= JAPANESE
    return table


def _encodable(character: str, charset: str) -> bool:
    try:
        character.encode(charset)
    except UnicodeEncodeError:
        return False
    return True
