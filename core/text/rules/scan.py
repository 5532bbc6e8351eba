"""A text as the rules read it: links, characters by class, units, lines; compiled loops that look at each character a few times.

- *Links*: `scheme://...`, `www....` and the target of a Markdown link. Their characters have a class of their own and are no units.
- *Units*: a character of a script without blanks between words, or a word (a run of letters, marks and digits) of any other; A-Z count as a-z.
- *Lines*: those that hold a unit, a link or inline code. Blank lines, drawn rules and table borders are nobody's duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import fmix64, kernel, part
from mspt.core.text.rules.characters import (
    CHARACTER,
    CLASS_BITS,
    CODE,
    DIGIT,
    DRAWN,
    ENDS,
    HAN,
    HANGUL,
    HIDDEN,
    INLINE,
    JOINT,
    KANA,
    LINE_END,
    LINK,
    LINK_TEXT,
    LINKS,
    STOP,
    character_table,
)
from mspt.core.text.rules.counts import ALL_WORDS, NUM_COUNTS, STOP_WORDS, WORD_LETTERS, WORDS, count_classes, count_mark, end_token
from mspt.core.text.rules.line_scan import HAS_LINK, HAS_PLAIN_UNIT, HAS_UNIT, LETTERS_PER_HAN, end_line
from mspt.core.text.rules.links import mark_inline_code, mark_links
from mspt.core.text.rules.stop_words import LONGEST, WORD_PRIME, WORD_START, is_stop_word, stop_table
from mspt.core.text.script import code_points

MAX_PARTS = 2**20  # units, and lines, that are listed, so that memory is bounded: the repetition of longer texts is that of their first so many
NO_REGIONS = np.empty((0, 2), np.int64)
FIRST_WIDE = 0x2E80  # CJK radicals: from here on characters stand without blanks, and end a token
_CHARACTER_SALT = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: a character is not the word of one letter


class Units(NamedTuple):
    """The units of a text in reading order; bounds are code points of the text, [start, end)."""

    hashes: NDArray[np.uint64]
    bounds: NDArray[np.int32]  # [units, 2]
    is_character: NDArray[np.bool_]  # or a word


class Lines(NamedTuple):
    """The lines of a text that hold a unit or a link."""

    hashes: NDArray[np.uint64]
    bounds: NDArray[np.int32]  # [lines, 2] without the blanks at both ends
    paragraphs: NDArray[np.int32]  # its number: lines with no blank line between them are one


class Scan(NamedTuple):
    """What is found in a text. counts: NUM_COUNTS numbers."""

    counts: list[int]
    units: Units
    lines: Lines


def scan(text: str, code: Sequence[tuple[int, int]] = (), *, inline_code: bool = True) -> Scan:
    """Read `text`. code: where it is code, [start, end), and what stands between backticks too when `inline_code`: this counts as CODE, and holds neither
    units nor lines."""
    counts = np.zeros(NUM_COUNTS + 2, np.int64)
    size, num_lines = min(len(text), MAX_PARTS), min(text.count("\n") + 1, MAX_PARTS)
    hashes, bounds, is_character = np.empty(size, np.uint64), np.empty((size, 2), np.int32), np.empty(size, np.bool_)
    line_hashes, line_bounds, paragraphs = np.empty(num_lines, np.uint64), np.empty((num_lines, 2), np.int32), np.empty(num_lines, np.int32)
    regions = np.array(code, np.int64).reshape(-1, 2) if code else NO_REGIONS
    _scan(code_points(text), regions, inline_code, character_table(), stop_table(), counts,
          hashes, bounds, is_character, line_hashes, line_bounds, paragraphs)  # fmt: skip
    *numbers, num, num_lines = counts.tolist()
    lines = Lines(line_hashes[:num_lines], line_bounds[:num_lines], paragraphs[:num_lines])
    return Scan(numbers, Units(hashes[:num], bounds[:num], is_character[:num]), lines)


@kernel
def _scan(
    codes: NDArray[np.uint32],
    regions: NDArray[np.int64],
    inline_code: bool,
    table: NDArray[np.uint16],
    stop_table: NDArray[np.uint64],
    counts: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int32],
    is_character: NDArray[np.bool_],
    line_hashes: NDArray[np.uint64],
    line_bounds: NDArray[np.int32],
    paragraphs: NDArray[np.int32],
) -> None:
    """All of `scan`; the numbers of units and lines stand behind `counts`."""
    n = len(codes)
    entries = np.empty(n, np.uint16)
    for i in range(n):
        entries[i] = table[codes[i]]
    for k in range(len(regions)):
        for i in range(regions[k, 0], min(n, regions[k, 1])):
            if entries[i] & CLASS_BITS > LINE_END:
                entries[i] = np.uint16(entries[i] & (JOINT | LINKS) | CODE)
    mark_links(codes, entries)
    if inline_code:
        mark_inline_code(codes, entries)
    count_classes(entries, counts)
    num, num_lines = _read(codes, entries, stop_table, counts, hashes, bounds, is_character, line_hashes, line_bounds, paragraphs)
    counts[NUM_COUNTS], counts[NUM_COUNTS + 1] = num, num_lines


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
def _read(
    codes: NDArray[np.uint32],
    entries: NDArray[np.uint16],
    stop_table: NDArray[np.uint64],
    counts: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int32],
    is_character: NDArray[np.bool_],
    line_hashes: NDArray[np.uint64],
    line_bounds: NDArray[np.int32],
    paragraphs: NDArray[np.int32],
) -> tuple[int, int]:
    """The numbers of units and lines that are listed, at most as many as there is room for.

    Counted on the way: words, of these those with a letter that are no parts of names (a_b, a.b, a/b, a:b), their letters, and the function words
    among them; marks, the longest token, lines.
    """
    n, i, num, row, paragraph, is_apart = len(codes), 0, 0, 0, -1, True
    token = longest = 0  # where the token begins, characters of the longest so far
    line = width = stops = holds = 0  # of the line
    while i < n:
        entry = int(np.int64(entries[i]))
        kind = entry & CLASS_BITS
        start = i
        if HANGUL <= kind <= DIGIT:
            value, letters, highest = WORD_START, 0, np.uint32(0)
            while i < n and HANGUL <= entries[i] & CLASS_BITS <= DIGIT:
                code = codes[i]
                highest = max(highest, code)
                value = (value ^ np.uint64(code | np.uint32(0x20) if 0x41 <= code <= 0x5A else code)) * WORD_PRIME
                letters += entries[i] & CLASS_BITS != DIGIT
                i += 1
            if num < len(hashes):
                hashes[num], bounds[num, 0], bounds[num, 1], is_character[num] = fmix64(value), start, i, False
                num += 1
            counts[ALL_WORDS] += 1
            is_joined = bool(start > 1 and entries[start - 1] & JOINT and _is_of_name(codes[start - 2]))
            is_joined |= bool(i + 1 < n and entries[i] & JOINT and _is_of_name(codes[i + 1]))
            if letters and not is_joined:
                counts[WORDS] += 1
                counts[WORD_LETTERS] += i - start
                if i - start <= LONGEST and is_stop_word(value, stop_table):
                    counts[STOP_WORDS] += 1
                    stops += 1
            width += i - start
            holds |= HAS_UNIT if entry & LINK_TEXT else HAS_UNIT | HAS_PLAIN_UNIT
            if highest >= FIRST_WIDE:
                token, longest = _end_tokens(codes, entries, counts, token, longest, start, i)
            continue
        i += 1
        if HAN <= kind <= CHARACTER:
            if num < len(hashes):
                hashes[num], bounds[num, 0], bounds[num, 1], is_character[num] = fmix64(np.uint64(codes[start]) ^ _CHARACTER_SALT), start, i, True
                num += 1
            width += LETTERS_PER_HAN if kind <= KANA else 1
            stops += entry & STOP != 0
            holds |= HAS_UNIT if entry & LINK_TEXT else HAS_UNIT | HAS_PLAIN_UNIT
        elif kind > CHARACTER or kind == HIDDEN:
            width += kind != HIDDEN
            holds |= HAS_LINK if kind == LINK else 0
            if entry & INLINE:
                holds |= HAS_UNIT if entry & LINK_TEXT else HAS_UNIT | HAS_PLAIN_UNIT
            if entry & (DRAWN | ENDS):
                count_mark(codes, entries, counts, start)
            if kind < LINK and codes[start] < FIRST_WIDE:
                continue
        if start - token > longest:  # what stands here ends a token
            longest = end_token(codes, entries, counts, token, start)
        token = i
        if kind == LINE_END:
            row, paragraph, is_apart = end_line(
                codes, entries, counts, line_hashes, line_bounds, paragraphs, line, start, width, stops, holds, row, paragraph, is_apart
            )
            line, width, stops, holds = i, 0, 0, 0
    if n - token > longest:
        end_token(codes, entries, counts, token, n)
    row, _, _ = end_line(codes, entries, counts, line_hashes, line_bounds, paragraphs, line, n, width, stops, holds, row, paragraph, is_apart)
    return num, row


@part
def _end_tokens(
    codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: NDArray[np.int64], token: int, longest: int, start: int, end: int
) -> tuple[int, int]:
    """Where the token begins that goes on behind the word [start, end), some letters of which stand alone as Hangul does; characters of the longest."""
    for i in range(start, end):
        if codes[i] >= FIRST_WIDE:
            if i - token > longest:
                longest = end_token(codes, entries, counts, token, i)
            token = i + 1
    return token, longest


@part
def _is_of_name(code: np.uint32) -> bool:
    """Whether what stands beyond a joint is joined by it: a letter, digit, underscore or colon."""
    return bool(0x61 <= code | np.uint32(0x20) <= 0x7A or 0x30 <= code <= 0x39 or code == 0x5F or code == 0x3A)
