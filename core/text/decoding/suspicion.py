"""Which lines may be mojibake: a screening of a few nanoseconds a character, so that sound text costs next to nothing.

Each character is looked up in a table. Lines of East Asian characters are suspicious that are improbable as a whole; other lines that have characters side
by side which no word has: Ã©, ä½, РџСЂ, ╨Я, r谩pido.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.decoding.likelihood import HALF_KANA, least_costs
from mspt.core.text.decoding.lost import REMAINS_BEGIN
from mspt.core.text.script import code_points

# What bytes 0x80-0x9F become in cp1252; Latin-1 leaves them as C1 controls. Both may stand in one text.
CP1252_SPECIALS = {bytes([byte]).decode("cp1252"): chr(byte) for byte in range(0x80, 0xA0) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}

# How much a character of a sound line may cost on the average (bits). Chinese, Japanese and Korean lines of ../shared cost 8 to 11 and at most 13.8, mangled
# ones 14 to 18. MIN_EXCESS: how much more the whole line must cost; so a rare character or two do not make a title suspicious.
ALLOWED, ALLOWED_HANGUL, ALLOWED_HALF_KANA, MAX_CREDIT, MIN_EXCESS = 12.5, 11.0, 4.0, -4.0, 10.0
STEPS = 4  # of the table, in a bit

HIGH_LATIN, CONTINUATION, LATIN_AS_HAN, CYRILLIC, GREEK, HIRAGANA, KATAKANA, BOPOMOFO, BOX, EAST_ASIAN, REMAINS, SMALL = (1 << bit for bit in range(12))
# What the most frequent Big5 characters are when they are read as GBK, one script for each lead byte; so many of them are in no sound line.
SCRIPTS, MIN_SCRIPTS = CYRILLIC | GREEK | HIRAGANA | KATAKANA | BOPOMOFO | BOX, 3
FIRST_LEAD, LAST_LEAD = 0xC2, 0xF4  # of UTF-8 sequences
HIGH_RUN = 4  # characters of Latin-1's upper half in a row: GBK or Big5 read as Latin-1

# UTF-8 read as cp1251: its lead bytes D0, D1 and E2 to EF, and what the continuation bytes 0x80-0xBF are there, but for what words go on with
# (Ukrainian letters).
IN_CP1251 = "ЂЃѓ†‡€‰Љ‹ЊЌЋЏђ•™љ›њќћџЎўЈ¤¦§©¬\xad®°±µ¶·ЅѕЇ"
# A capital behind a small letter (KOI8-R read as cp1251, and the reverse); UTF-8 read as cp1251, cp866, KOI8-R; boxes that touch letters; a line of capitals
# (KOI8-R of a line of small letters).
CYRILLIC_SUSPECT = re.compile(
    f"[а-яё][А-ЯЁ]|[РС][{IN_CP1251}\xa0‚„…–—“”‘’ІіґёєјїЁЄЈ№»«]|[в-п][{IN_CP1251}][{IN_CP1251}]|[╨╤пя][\u2219-\u25a0°²·÷]"
    "|[╨╤][а-пА-П]|[\u2550-\u256c][а-я]|[А-ЯЁ]{2}[А-ЯЁ ,.-]{10}"
)


class Screening:
    """The classes of the characters of a text, and its suspicious lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.codes = code_points(text)
        self.classes = _classes().take(self.codes)
        self.found = int(np.bitwise_or.reduce(self.classes, initial=0))

    def lines(self) -> list[int]:
        """Numbers of the suspicious lines."""
        places = [found for found in (self._latin(), self._latin_as_han(), self._cyrillic()) if len(found)]
        east_asian = self.found & EAST_ASIAN
        if not places and not east_asian:
            return []
        starts = np.concatenate(([0], np.flatnonzero(self.codes == 0x0A) + 1))
        numbers = [np.searchsorted(starts, positions, side="right") - 1 for positions in places]
        if east_asian:
            numbers += [self._improbable(starts), self._mixed(starts)]
        return sorted({number for some in numbers for number in some.tolist()})

    def _improbable(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.flatnonzero(_by_line(np.add, _excess().take(self.codes), starts) >= MIN_EXCESS * STEPS)

    def _mixed(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lines of many scripts."""
        if (self.found & SCRIPTS).bit_count() < MIN_SCRIPTS:
            return NOWHERE
        return np.flatnonzero(_bit_counts().take(_by_line(np.bitwise_or, self.classes, starts) & SCRIPTS) >= MIN_SCRIPTS)

    def _latin(self) -> NDArray[np.int64]:
        """Where accented letters stand that may be the bytes of another encoding."""
        if not self.found & HIGH_LATIN:
            return NOWHERE
        high = np.flatnonzero(self.classes & HIGH_LATIN)
        lead = high[(self.codes[high] >= FIRST_LEAD) & (self.codes[high] <= LAST_LEAD) & (high + 1 < len(self.codes))]
        runs = high[: 1 - HIGH_RUN][high[HIGH_RUN - 1 :] - high[: 1 - HIGH_RUN] == HIGH_RUN - 1]
        return np.concatenate((lead[(self.classes[lead + 1] & CONTINUATION) != 0], runs))

    def _latin_as_han(self) -> NDArray[np.int64]:
        """Where a Han character that is the UTF-8 of an accented letter or a quote stands behind a small Latin letter, or opens a Latin word,
        and its line is UTF-8 as a whole."""
        if not self.found & LATIN_AS_HAN or not self.found & SMALL:
            return NOWHERE
        han = np.flatnonzero(self.classes & LATIN_AS_HAN)
        before, after = self.codes[np.maximum(han, 1) - 1], self.codes[np.minimum(han + 1, len(self.codes) - 1)]
        alone = (before == ord(" ")) & ((after == ord(" ")) | _is_small(after)) & _is_small(self.codes[np.maximum(han, 2) - 2])
        end, found = -1, []  # of the line that was looked at last
        for position in han[_is_small(before) | alone].tolist():
            if position > end:
                start, end = self.text.rfind("\n", 0, position) + 1, self.text.find("\n", position) % (len(self.text) + 1)
                if _is_utf8_as_gbk(self.text[start:end]):
                    found.append(position)
        return np.array(found, dtype=np.int64)

    def _cyrillic(self) -> NDArray[np.int64]:
        if not self.found & CYRILLIC:
            return NOWHERE
        return np.array([match.start() for match in CYRILLIC_SUSPECT.finditer(self.text)], dtype=np.int64)


def _is_utf8_as_gbk(line: str) -> bool:
    try:
        line.encode("gb18030").decode("utf-8")
    except UnicodeError:
        return False
    return True


def _by_line(combine: np.ufunc, values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """`values` of each line combined; a last line without characters is left out."""
    combined: NDArray[np.int32] = combine.reduceat(values, starts if starts[-1] < len(values) else starts[:-1], dtype=np.int32)
    return combined


def _is_small(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    return (codes >= ord("a")) & (codes <= ord("z"))


NOWHERE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


@cache
def _bit_counts() -> NDArray[np.uint8]:
    return np.array([number.bit_count() for number in range(BOX << 1)], dtype=np.uint8)


@cache
def _classes() -> NDArray[np.uint16]:
    """[0x110000]: bits of each character."""
    table = np.zeros(0x110000, dtype=np.uint16)
    table[ord("a") : ord("z") + 1] |= SMALL
    table[0xA1:0xFF] |= HIGH_LATIN
    table[0x80:0xC0] |= CONTINUATION
    table[[ord(special) for special in CP1252_SPECIALS]] |= CONTINUATION
    for first, last, bit in (
        *((0x0391, 0x03C9, GREEK), (0x0401, 0x045F, CYRILLIC), (0x2500, 0x25A0, BOX), (0x3041, 0x3093, HIRAGANA), (0x30A1, 0x30F6, KATAKANA)),
        *((0x3105, 0x3129, BOPOMOFO), (0xFE30, 0xFE44, BOPOMOFO)),  # the latter, vertical marks, are beside the former in GBK
    ):
        table[first : last + 1] |= bit
    table[_excess() != 0] |= EAST_ASIAN
    table[[ord(sign) for sign in REMAINS_BEGIN]] |= REMAINS
    pairs = (bytes([lead, trail]).decode("gbk") for lead in range(0xC2, 0xC6) for trail in range(0x80, 0xC0))
    table[[ord(han) for han in (*pairs, "鈥")]] |= LATIN_AS_HAN  # the last is E2 80, by which quotes and dashes begin
    return table


@cache
def _excess() -> NDArray[np.int8]:
    """[0x110000]: what each East Asian character costs beyond what it may, in steps; 0 for what says nothing."""
    costs = least_costs()
    table = np.zeros(0x110000, dtype=np.int8)
    for first, last, allowed in (
        *((0x3001, 0x3002, ALLOWED), (0x3041, 0x30FF, ALLOWED), (0x4E00, 0x9FFF, ALLOWED), (0xAC00, 0xD7A3, ALLOWED_HANGUL), (0xE000, 0xF8FF, ALLOWED)),
        (0xFF01, 0xFF1F, ALLOWED),
    ):
        table[first : last + 1] = STEPS * np.maximum(costs[first : last + 1] - allowed, MAX_CREDIT)
    table[0xFF61:0xFFA0] = STEPS * (HALF_KANA - ALLOWED_HALF_KANA)
    return table
