"""A text as the rules read it: links, characters by class, units, lines; compiled loops that look at each character a few times.

- *Links*: `scheme://...`, `www....` and the target of a Markdown link. Their characters have a class of their own and are no units.
- *Units*: a character of a script without blanks between words, or a word (a run of letters, marks and digits) of any other; A-Z count as a-z.
- *Lines*: those that hold a unit, a link or inline code. Blank lines, drawn rules and table borders are nobody's duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import fmix64, kernel
from mspt.core.text.rules.characters import (
    BLANK,
    BULLET,
    CHARACTER,
    CLASS_BITS,
    CLOSES,
    CODE,
    DIGIT,
    DRAWN,
    ENDS,
    HAN,
    HANGUL,
    HIDDEN,
    INLINE,
    KANA,
    LINE_END,
    LINK,
    LINK_TEXT,
    NUM_CLASSES,
    STOP,
    character_table,
)
from mspt.core.text.rules.links import mark_inline_code, mark_links
from mspt.core.text.rules.stop_words import LONGEST, WORD_PRIME, WORD_START, is_stop_word, stop_table
from mspt.core.text.script import code_points

MAX_PARTS = 2**20  # units, and lines, that are listed, so that memory is bounded: the repetition of longer texts is that of their first so many
# What one Han character says takes about three letters of an alphabet (Universal Declaration of Human Rights, lid_udhr: 8,675 letters in English, 2,675 Han
# characters in Chinese).
LETTERS_PER_HAN = 3
PATH_PART = 30  # characters between two slashes of a path; base64 has 64
FIRST_WIDE = 0x2E80  # CJK radicals: from here on characters stand without blanks, and end a token
DRAWN_RUN = 4  # as many of one drawing mark are a line, which counts as one mark

# What is counted beside the classes of characters.py, in places behind them.
# WORDS are those with a letter that are no part of a name; ENDED, ELLIPSIS, BULLET, LINKED and SHORT count LINES that end a sentence, end with an ellipsis,
# open with a bullet, hold nothing beside links, are short, end no sentence and hold fewer than two function words.
(STOP_CHARACTERS, STOP_WORDS, ALL_WORDS, WORDS, WORD_LETTERS, SENTENCES, ELLIPSES, HASHES, TOKEN_START, TOKEN_END,
 LINES, ENDED_LINES, ELLIPSIS_LINES, BULLET_LINES, LINKED_LINES, SHORT_LINES) = range(NUM_CLASSES, NUM_CLASSES + 16)  # fmt: skip
NUM_COUNTS = NUM_CLASSES + 16
SHORT_WIDTH = 30  # letters of a short line: FineWeb (Penedo et al. 2024, 3.6); 10 Han characters

_CHARACTER_SALT = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: a character is not the word of one letter


@dataclass(frozen=True)
class Units:
    """The units of a text in reading order; bounds are code points of the text, [start, end)."""

    hashes: NDArray[np.uint64]
    bounds: NDArray[np.int32]  # [units, 2]
    is_character: NDArray[np.bool_]  # or a word


@dataclass(frozen=True)
class Lines:
    """The lines of a text that hold a unit or a link."""

    hashes: NDArray[np.uint64]
    bounds: NDArray[np.int32]  # [lines, 2] without the blanks at both ends
    paragraphs: NDArray[np.int32]  # its number: lines with no blank line between them are one


@dataclass(frozen=True)
class Scan:
    """What is found in a text. counts: [NUM_COUNTS]."""

    counts: NDArray[np.int64]
    units: Units
    lines: Lines


def scan(text: str, code: Sequence[tuple[int, int]] = (), *, inline_code: bool = True) -> Scan:
    """Read `text`. code: where it is code, [start, end), and what stands between backticks too when `inline_code`: this counts as CODE, and holds neither
    units nor lines."""
    codes = code_points(text)
    entries = character_table().take(codes)
    for start, end in code:
        entries[start:end] = np.where(entries[start:end] & CLASS_BITS <= LINE_END, entries[start:end], CODE)
    if any(sign in text for sign in ("://", "](", "www.", "WWW.")):
        mark_links(codes, entries)
    if inline_code and "`" in text:
        mark_inline_code(codes, entries)
    counts = np.zeros(NUM_COUNTS, np.int64)
    _count(codes, entries, counts)
    size = min(len(codes), MAX_PARTS)
    units = Units(np.empty(size, np.uint64), np.empty((size, 2), np.int32), np.empty(size, np.bool_))
    num = _find_units(codes, entries, stop_table(), counts, units.hashes, units.bounds, units.is_character)
    units = Units(units.hashes[:num], units.bounds[:num], units.is_character[:num])
    size = min(len(codes) // 2 + 1, MAX_PARTS)  # a line takes two characters
    lines = Lines(np.empty(size, np.uint64), np.empty((size, 2), np.int32), np.empty(size, np.int32))
    num = _find_lines(codes, entries, counts, lines.hashes, lines.bounds, lines.paragraphs)
    return Scan(counts, units, Lines(lines.hashes[:num], lines.bounds[:num], lines.paragraphs[:num]))


def paragraphs(lines: Lines) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """The hash of each paragraph, and where it lies, [paragraphs, 2]."""
    number = int(lines.paragraphs[-1]) + 1 if len(lines.paragraphs) else 0
    hashes, bounds = np.zeros(number, np.uint64), np.zeros((number, 2), np.int32)
    _join_lines(lines.hashes, lines.bounds, lines.paragraphs, hashes, bounds)
    return hashes, bounds


@kernel
def _join_lines(
    line_hashes: NDArray[np.uint64],
    line_bounds: NDArray[np.int32],
    numbers: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int32],
) -> None:
    for i in range(len(numbers)):
        k = numbers[i]
        if i == 0 or numbers[i - 1] != k:
            bounds[k, 0] = line_bounds[i, 0]
        bounds[k, 1] = line_bounds[i, 1]
        hashes[k] = fmix64(hashes[k] ^ line_hashes[i])


@kernel
def _count(codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: NDArray[np.int64]) -> None:
    """Characters by class, ends of sentences, ellipses, number signs, the longest token."""
    n = len(codes)
    same, before = 0, np.uint32(0)
    token_start, slashes, alphanumeric = 0, 0, False
    for i in range(n + 1):
        code = codes[i] if i < n else np.uint32(0x0A)
        entry = entries[i] if i < n else np.uint16(LINE_END)
        kind = entry & CLASS_BITS
        same = same + 1 if code == before else 1
        before = code
        if kind <= LINE_END or kind == CHARACTER or kind >= LINK or code >= FIRST_WIDE:
            is_path = slashes * PATH_PART > i - token_start
            if i - token_start > counts[TOKEN_END] - counts[TOKEN_START] and alphanumeric and not is_path:
                counts[TOKEN_START], counts[TOKEN_END] = token_start, i
            token_start, slashes, alphanumeric = i + 1, 0, False
        elif code == 0x2F or code == 0x5C:
            slashes += 1
        elif HAN <= kind <= DIGIT:
            alphanumeric = True
        if i == n:
            break
        if not (entry & DRAWN and same >= DRAWN_RUN):
            counts[kind] += 1
        elif same == DRAWN_RUN:
            counts[kind] -= DRAWN_RUN - 2  # the first stays
        if kind == HAN and entry & STOP:
            counts[STOP_CHARACTERS] += 1
        elif entry & ENDS and kind < LINK:
            following = entries[i + 1] if i + 1 < n else np.uint16(LINE_END)
            if not following & ENDS and (code != 0x2E or following & CLASS_BITS <= LINE_END or following & CLOSES):
                counts[SENTENCES] += 1
            counts[ELLIPSES] += _is_ellipsis(code, same) and (same == 1 or same == 3)
        elif code == 0x23 and kind < LINK:
            counts[HASHES] += 1


@kernel
def _is_ellipsis(code: np.uint32, same: int) -> bool:
    """Whether the mark makes an ellipsis, being the `same`-th in a row: ... 。。。 ．．． …"""
    return bool(code == 0x2026 or code == 0x22EF or (same >= 3 and (code == 0x2E or code == 0x3002 or code == 0xFF0E)))


@kernel
def _find_units(
    codes: NDArray[np.uint32],
    entries: NDArray[np.uint16],
    stop_table: NDArray[np.uint64],
    counts: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int32],
    is_character: NDArray[np.bool_],
) -> int:
    """The number of units that are listed, at most as many as there is room for.

    Counted on the way: words, of these those with a letter that are no parts of names (a_b, a.b, a/b, a:b), their letters, and the function words
    among them, whose first letter gets the flag STOP.
    """
    n, num, i = len(codes), 0, 0
    while i < n:
        kind = entries[i] & CLASS_BITS
        if HAN <= kind <= CHARACTER:
            if num < len(hashes):
                hashes[num] = fmix64(np.uint64(codes[i]) ^ _CHARACTER_SALT)
                bounds[num, 0], bounds[num, 1] = i, i + 1
                is_character[num] = True
                num += 1
        elif HANGUL <= kind <= DIGIT:
            start, value, letters = i, WORD_START, 0
            while i < n and HANGUL <= entries[i] & CLASS_BITS <= DIGIT:
                code = codes[i] | np.uint32(0x20) if 0x41 <= codes[i] <= 0x5A else codes[i]
                value = (value ^ np.uint64(code)) * WORD_PRIME
                letters += entries[i] & CLASS_BITS != DIGIT
                i += 1
            if num < len(hashes):
                hashes[num] = fmix64(value)
                bounds[num, 0], bounds[num, 1] = start, i
                is_character[num] = False
                num += 1
            counts[ALL_WORDS] += 1
            if letters and not (_joins(codes, start - 1, start - 2) or _joins(codes, i, i + 1)):
                counts[WORDS] += 1
                counts[WORD_LETTERS] += i - start
                if i - start <= LONGEST and is_stop_word(value, stop_table):
                    counts[STOP_WORDS] += 1
                    entries[start] |= np.uint16(STOP)
            continue
        i += 1
    return num


@kernel
def _joins(codes: NDArray[np.uint32], i: int, beyond: int) -> bool:
    """Whether the character at `i` joins a word to the letter, digit or underscore at `beyond`, as in names of files, functions and commands."""
    if not (0 <= i < len(codes) and 0 <= beyond < len(codes)):
        return False
    code, other = codes[i], codes[beyond]
    joint = code == 0x5F or code == 0x2E or code == 0x2F or code == 0x3A or code == 0x5C or code == 0x3D or code == 0x40  # _ . / : \ = @
    return bool(joint and (0x30 <= other <= 0x39 or 0x41 <= other <= 0x5A or 0x61 <= other <= 0x7A or other == 0x5F or other == 0x3A))


@kernel
def _find_lines(
    codes: NDArray[np.uint32],
    entries: NDArray[np.uint16],
    counts: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int32],
    paragraphs: NDArray[np.int32],
) -> int:
    """The number of lines that are listed, at most as many as there is room for; all are counted by what they are."""
    n, num, paragraph, i = len(codes), 0, 0, 0
    in_paragraph = False
    while i < n:
        while i < n and entries[i] & CLASS_BITS == BLANK:
            i += 1
        start, end, width = i, i, 0  # width: visible characters, a Han character and a kana as LETTERS_PER_HAN
        here = value = WORD_START
        has_unit = has_link = has_plain_unit = ends = ellipsis = False
        stops = 0
        same, before = 0, np.uint32(0)
        while i < n and codes[i] != 0x0A:
            entry = entries[i]
            kind = entry & CLASS_BITS
            same = same + 1 if codes[i] == before else 1
            before = codes[i]
            here = (here ^ np.uint64(before)) * WORD_PRIME
            i += 1
            if kind == BLANK:
                continue
            end, value = i, here
            if kind == LINK:
                has_link = True
            elif HAN <= kind <= DIGIT or entry & INLINE:
                has_unit = True
                has_plain_unit |= not entry & LINK_TEXT
                stops += entry & STOP != 0
            width += LETTERS_PER_HAN if HAN <= kind <= KANA else kind != HIDDEN
            if not entry & CLOSES:
                ends = entry & ENDS != 0
                ellipsis = _is_ellipsis(before, same)
        if has_unit or has_link:
            if num < len(hashes):
                hashes[num] = value
                bounds[num, 0], bounds[num, 1] = start, end
                paragraphs[num] = paragraph
                num += 1
            in_paragraph = True
            counts[LINES] += 1
            counts[ENDED_LINES] += ends
            counts[ELLIPSIS_LINES] += ellipsis
            counts[BULLET_LINES] += _is_bullet(codes, entries, start)
            counts[LINKED_LINES] += has_link and not has_plain_unit
            counts[SHORT_LINES] += width <= SHORT_WIDTH and not ends and stops < 2
        elif end == start:
            paragraph += in_paragraph
            in_paragraph = False
        i += 1
    return num


@kernel
def _is_bullet(codes: NDArray[np.uint32], entries: NDArray[np.uint16], i: int) -> bool:
    """Whether a line that starts at `i` is an item: a bullet, or - * + and a dash with a blank behind."""
    code = codes[i]
    is_dash = code == 0x2D or code == 0x2A or code == 0x2B or code == 0x2013 or code == 0x2014
    return bool(entries[i] & BULLET) or (is_dash and i + 1 < len(codes) and entries[i + 1] & CLASS_BITS == BLANK)
