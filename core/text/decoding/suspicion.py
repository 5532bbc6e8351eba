"""Which lines may be mojibake: a screening of a few nanoseconds a character, so that sound text costs next to nothing.

Each character is looked up in a table. Lines of East Asian characters are suspicious that are improbable as a whole; other lines that have characters side
by side which no word has: Ã©, ä½, РџСЂ, ╨Я, r谩pido.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.decoding.likelihood import HALF_KANA, costs_of, least_costs
from mspt.core.text.decoding.lost import REMAINS_BEGIN
from mspt.core.text.script import code_points

# What bytes 0x80-0x9F become in cp1252; Latin-1 leaves them as C1 controls. Both may stand in one text.
CP1252_SPECIALS = {bytes([byte]).decode("cp1252"): chr(byte) for byte in range(0x80, 0xA0) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}

# How much a character of a sound line may cost on the average (bits). Chinese, Japanese and Korean lines of ../shared cost 8 to 11 and at most 13.8, mangled
# ones 14 to 18. MIN_EXCESS: how much more the whole line must cost; so a rare character or two do not make a title suspicious.
ALLOWED, ALLOWED_HANGUL, ALLOWED_HALF_KANA, MAX_CREDIT, MIN_EXCESS = 12.5, 11.0, 4.0, -4.0, 10
STEPS = 4  # of the table, in a bit
ALLOWED_KANJI, MIN_KANJI = 13.5, 2  # of the kanji of a line of Japanese 11.2 at the median, 14.5 of one in a hundred; read from EUC-JP as GBK 16.9

HIGH_LATIN, CONTINUATION, LATIN_AS_HAN, CYRILLIC, GREEK, HIRAGANA, KATAKANA, BOPOMOFO, BOX, EAST_ASIAN, REMAINS, SMALL, LEAD, LINE_END = (
    1 << bit for bit in range(14)
)
CLASSES, EXCESS_SHIFT = 0xFFFF, 16  # of the table: classes below, excess above
LOOKED_AT = HIGH_LATIN | CONTINUATION | LATIN_AS_HAN | LINE_END
# Reasons to look at a line: accented letters that may be the bytes of another encoding; a Han character that is the UTF-8 of an accented letter or a quote
# behind a small Latin letter, or opening a Latin word, or some in a row (if the whole line is UTF-8); East Asian text that is improbable; many scripts.
LATIN, AS_HAN, IMPROBABLE, MIXED = (1 << bit for bit in range(4))
# What the most frequent Big5 characters are when they are read as GBK, one script for each lead byte; so many of them are in no sound line.
SCRIPTS, MIN_SCRIPTS = CYRILLIC | GREEK | HIRAGANA | KATAKANA | BOPOMOFO | BOX, 3
FIRST_LEAD, LAST_LEAD = 0xC2, 0xF4  # of UTF-8 sequences
HIGH_RUN = 4  # characters of Latin-1's upper half in a row: GBK or Big5 read as Latin-1; or what the UTF-8 of such characters is in GBK

# UTF-8 read as cp1251: its lead bytes D0, D1 and E2 to EF, and what the continuation bytes 0x80-0xBF are there, but for what words go on with
# (Ukrainian letters).
IN_CP1251 = "ЂЃѓ†‡€‰Љ‹ЊЌЋЏђ•™љ›њќћџЎўЈ¤¦§©¬\xad®°±µ¶·ЅѕЇ"
# A capital behind a small letter (KOI8-R read as cp1251, and the reverse); UTF-8 read as cp1251, cp866, KOI8-R; boxes that touch letters; a line of capitals
# (KOI8-R of a line of small letters).
CYRILLIC_SUSPECT = re.compile(
    f"[а-яё][А-ЯЁ]|[РС][{IN_CP1251}\xa0‚„…–—“”‘’ІіґёєјїЁЄЈ№»«]|[в-п][{IN_CP1251}][{IN_CP1251}]|[╨╤пя][\u2219-\u25a0°²·÷]"
    "|[╨╤][а-пА-П]|[\u2550-\u256c][а-я]|[А-ЯЁ]{2}[А-ЯЁ ,.-]{10}"
)

Codes = NDArray[np.uint32]
Table = NDArray[np.int32]


class Screening:
    """The classes of the characters of a text, and its suspicious lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found, self._lines, self._reasons = _screen(code_points(text), _table(), MIN_EXCESS * STEPS)  # classes, one bit each

    def lines(self) -> list[int]:
        """Numbers of the suspicious lines."""
        suspicious = set() if not self.found & CYRILLIC else self._cyrillic()
        wanted = LATIN | (IMPROBABLE | MIXED if self.found & EAST_ASIAN else 0)
        for (number, start, end), reason in zip(self._lines.tolist(), self._reasons.tolist(), strict=True):
            if reason & wanted or (reason & AS_HAN and _is_utf8_as_gbk(self.text[start:end])):
                suspicious.add(number)
        return sorted(suspicious)

    def _cyrillic(self) -> set[int]:
        numbers, number, reached = set(), 0, 0
        for match in CYRILLIC_SUSPECT.finditer(self.text):
            number += self.text.count("\n", reached, match.start())
            reached = match.start()
            numbers.add(number)
        return numbers

    def odd_japanese(self) -> list[int]:
        """Numbers of lines whose Han are improbable between kana, which GBK has where EUC-JP has them; and of a few sound ones."""
        if not self.found & HIRAGANA:
            return []
        codes = code_points(self.text)
        han, kana = (codes >= 0x4E00) & (codes <= 0x9FFF), (codes >= 0x3041) & (codes <= 0x30FE)
        lines = np.cumsum(codes == 0x0A)
        size = int(lines[-1]) + 1
        num_han, num_kana = np.bincount(lines[han], minlength=size), np.bincount(lines[kana], minlength=size)
        costs = np.bincount(lines[han], costs_of(self.text, "ja")[han], minlength=size)
        is_japanese = (2 * num_kana >= num_han) & (num_han >= MIN_KANJI)
        odd: list[int] = np.flatnonzero(is_japanese & (costs > ALLOWED_KANJI * num_han)).tolist()
        return odd


def _is_utf8_as_gbk(line: str) -> bool:
    try:
        line.encode("gb18030").decode("utf-8")
    except UnicodeError:
        return False
    return True


@kernel
def _screen(codes: Codes, table: Table, too_much: int) -> tuple[int, NDArray[np.int64], NDArray[np.uint8]]:
    """The classes that occur; of each line with a reason to look at it [lines, 3]: its number, where it starts and ends; and the reasons [lines]."""
    places, reasons, size = np.empty((4, 3), np.int64), np.empty(4, np.uint8), 0
    found, number, start = 0, 0, 0
    of_line, cost, reason, run, last = 0, 0, 0, 0, -1  # run: of accented letters up to `last`, or of what they are in GBK
    for i in range(len(codes) + 1):
        own = table[codes[i]] if i < len(codes) else LINE_END
        of_line |= own
        cost += own >> EXCESS_SHIFT
        if not own & LOOKED_AT:
            continue
        if own & (HIGH_LATIN | LATIN_AS_HAN):
            run = run + 1 if last == i - 1 else 1
            last = i
        if (own & HIGH_LATIN and run == HIGH_RUN) or (own & CONTINUATION and i > 0 and table[codes[i - 1]] & LEAD):
            reason |= LATIN
        if own & LATIN_AS_HAN and (run == HIGH_RUN or _is_in_latin_word(codes, table, i)):
            reason |= AS_HAN
        if own & LINE_END:
            if cost >= too_much:
                reason |= IMPROBABLE
            if _count_bits(of_line & SCRIPTS) >= MIN_SCRIPTS:
                reason |= MIXED
            if reason:
                if size == len(reasons):
                    places, reasons = np.concatenate((places, places)), np.concatenate((reasons, reasons))
                places[size, 0], places[size, 1], places[size, 2], reasons[size] = number, start, i, reason
                size += 1
            found |= of_line
            number, start, of_line, cost, reason = number + 1, i + 1, 0, 0, 0
    return found & CLASSES, places[:size], reasons[:size]


@kernel
def _is_in_latin_word(codes: Codes, table: Table, i: int) -> bool:
    """Whether a small Latin letter stands before, or a blank behind a word and before another or a blank."""
    if i < 1:
        return False
    if table[codes[i - 1]] & SMALL:
        return True
    if i < 2 or i + 1 == len(codes) or codes[i - 1] != 0x20 or not table[codes[i - 2]] & SMALL:
        return False
    return codes[i + 1] == 0x20 or bool(table[codes[i + 1]] & SMALL)


@kernel
def _count_bits(bits: int) -> int:
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


@cache
def _table() -> Table:
    """[0x110000]: the classes of each character, and above EXCESS_SHIFT what it costs beyond what it may."""
    excess = _excess().astype(np.int32)
    table = np.zeros(0x110000, dtype=np.int32)
    table[0x0A] = LINE_END
    table[ord("a") : ord("z") + 1] |= SMALL
    table[0xA1:0xFF] |= HIGH_LATIN
    table[FIRST_LEAD : LAST_LEAD + 1] |= LEAD
    table[0x80:0xC0] |= CONTINUATION
    table[[ord(special) for special in CP1252_SPECIALS]] |= CONTINUATION
    for first, last, bit in (
        *((0x0391, 0x03C9, GREEK), (0x0401, 0x045F, CYRILLIC), (0x2500, 0x25A0, BOX), (0x3041, 0x3093, HIRAGANA), (0x30A1, 0x30F6, KATAKANA)),
        *((0x3105, 0x3129, BOPOMOFO), (0xFE30, 0xFE44, BOPOMOFO)),  # the latter, vertical marks, are beside the former in GBK
    ):
        table[first : last + 1] |= bit
    table[excess != 0] |= EAST_ASIAN
    table[[ord(sign) for sign in REMAINS_BEGIN]] |= REMAINS
    pairs = (bytes([lead, trail]).decode("gbk") for lead in range(0xC2, 0xC6) for trail in range(0x80, 0xC0))
    table[[ord(han) for han in (*pairs, "鈥")]] |= LATIN_AS_HAN  # the last is E2 80, by which quotes and dashes begin
    return table + (excess << EXCESS_SHIFT)


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
