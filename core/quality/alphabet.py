"""Texts as symbols for a language model.

A character of a script without blanks between words (Han, Kana, Hangul) is a symbol, so is a mark, a run of digits, and a word of letters that the reference
text has often; other words are spelled, a symbol for each letter. Letters count as small ones (as in CCNet, Wenzek et al. 2020). Blanks and line ends are
no symbols: layout does not matter. What is not in the alphabet is UNKNOWN; a document begins behind BOUNDARY.

Perplexity is counted by *units*: a word is one whether it is spelled or not, else what is unheard-of would come in cheap small steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import fmix64, kernel
from mspt.core.text.rules.stop_words import WORD_PRIME, WORD_START
from mspt.core.text.script import BLANK, DIGIT, LATIN, OTHER, class_table, code_points

BOUNDARY, UNKNOWN, FIRST = np.uint16(0), np.uint16(1), 2
MAX_SYMBOLS = 2**16 - FIRST
LONG_WORD = 24  # letters: what is longer counts as a word for each so many
CASED = 0x1E944  # behind the last letter that has two cases (Adlam)
LINE_END = np.uint32(0x0A)
LETTER, NUMBER, SPACE, SINGLE = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3)
WHOLE, INITIAL, FURTHER = np.uint8(0), np.uint8(1), np.uint8(2)  # what a symbol is of: the first and the other letters of a spelled word, or something whole
_BUCKET_BITS = 16  # of the words' hashes: one word in a bucket at most, on average


class Symbols(NamedTuple):
    """A document as a model reads it. values: BOUNDARY and what follows, uint16; parts: WHOLE, INITIAL or FURTHER for each; for each line that holds something
    where it ends in them, and its units."""

    values: NDArray[np.uint16]
    parts: NDArray[np.uint8]
    line_ends: NDArray[np.int64]
    line_units: NDArray[np.int64]


class Alphabet:
    """characters: code points after folding, ascending, the symbols FIRST and on; words: hashes, ascending, the symbols behind them."""

    def __init__(self, characters: NDArray[np.uint32], words: NDArray[np.uint64]) -> None:
        self.characters, self.words = characters, words
        known = np.full(0x110000, UNKNOWN, np.uint16)
        known[characters] = np.arange(FIRST, FIRST + len(characters), dtype=np.uint16)
        self._table = known[folding()]
        self._buckets = np.searchsorted(words >> np.uint64(64 - _BUCKET_BITS), np.arange(2**_BUCKET_BITS + 1, dtype=np.uint64)).astype(np.uint32)

    def __len__(self) -> int:
        """Number of symbols, BOUNDARY and UNKNOWN included."""
        return FIRST + len(self.characters) + len(self.words)

    def read(self, text: str) -> Symbols:
        codes = code_points(text)
        values, parts = np.empty(len(codes) + 1, np.uint16), np.zeros(len(codes) + 1, np.uint8)
        ends, units = np.empty(len(codes) + 1, np.int64), np.zeros(len(codes) + 1, np.int64)
        first_word = FIRST + len(self.characters)
        num, lines = _read(codes, folding(), kinds(), self._table, self.words, self._buckets, first_word, values, parts, ends, units)
        return Symbols(values[:num], parts[:num], ends[:lines], units[:lines])


def choose_alphabet(texts: Iterable[str], min_count: int) -> Alphabet:
    """Of the characters and words that occur at least `min_count` times; beyond MAX_SYMBOLS the rarest words (of equals, the highest hashes) are left out, then
    characters. What is left out is what the model learns about spelled words and unknown characters from."""
    counts, words = np.zeros(0x110000, np.int64), [np.zeros(0, np.uint64)]
    for text in texts:
        codes = code_points(text)
        hashes = np.empty(len(codes), np.uint64)
        words.append(hashes[: _count(codes, folding(), kinds(), counts, hashes)])
    hashes, numbers = np.unique(np.concatenate(words), return_counts=True)
    characters = _most_frequent(np.arange(0x110000, dtype=np.uint32), counts, min_count, MAX_SYMBOLS)
    return Alphabet(characters, _most_frequent(hashes, numbers, min_count, MAX_SYMBOLS - len(characters)))


def _most_frequent(values: NDArray[Any], counts: NDArray[np.int64], least: int, most: int) -> NDArray[Any]:
    """Those of `values` (ascending) that occur `least` times, the `most` most frequent, ascending."""
    found = np.flatnonzero(counts >= max(1, least))
    found = found[np.argsort(-counts[found], kind="stable")][:most]
    return values[np.sort(found)]


@cache
def folding() -> NDArray[np.uint32]:
    """[0x110000]: what each code point counts as."""
    table = np.arange(0x110000, dtype=np.uint32)
    for code in range(CASED):
        lower = chr(code).lower()
        if len(lower) == 1:
            table[code] = ord(lower)
    table[class_table() == DIGIT] = ord("0")
    return table


@cache
def kinds() -> NDArray[np.uint8]:
    """[0x110000]: LETTER of a script with words, NUMBER, SPACE, or SINGLE."""
    table, classes = np.full(0x110000, SINGLE, np.uint8), class_table()
    for kind, members in ((LETTER, (LATIN, OTHER)), (NUMBER, (DIGIT,)), (SPACE, (BLANK,))):
        table[np.isin(classes, members)] = kind
    return table


def holds_symbols(text: str) -> bool:
    """Whether there is more in it than blanks."""
    return bool((kinds()[code_points(text)] != SPACE).any())


# --- compiled ----------------------------------------------------------------------------------------------------------


@kernel
def _word(codes: NDArray[np.uint32], start: int, folded: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> tuple[int, np.uint64]:
    """Where the word that begins at `start` ends, and its hash."""
    value, end = WORD_START, start
    while end < len(codes) and kinds[codes[end]] == LETTER:
        value = (value ^ np.uint64(folded[codes[end]])) * WORD_PRIME
        end += 1
    return end, fmix64(value)


@kernel
def _count(codes: NDArray[np.uint32], folded: NDArray[np.uint32], kinds: NDArray[np.uint8], counts: NDArray[np.int64], hashes: NDArray[np.uint64]) -> int:
    """Add the characters to `counts`, lay down the hashes of the words; how many."""
    num, i = 0, 0
    for code in codes:
        counts[folded[code]] += kinds[code] != SPACE
    while i < len(codes):
        if kinds[codes[i]] == LETTER:
            i, hashes[num] = _word(codes, i, folded, kinds)
            num += 1
        else:
            i += 1
    return num


@kernel
def _read(
    codes: NDArray[np.uint32],
    folded: NDArray[np.uint32],
    kinds: NDArray[np.uint8],
    table: NDArray[np.uint16],
    words: NDArray[np.uint64],
    buckets: NDArray[np.uint32],
    first_word: int,
    values: NDArray[np.uint16],
    parts: NDArray[np.uint8],
    line_ends: NDArray[np.int64],
    line_units: NDArray[np.int64],
) -> tuple[int, int]:
    """Fill the arrays (parts: zeros), say how many symbols and lines there are."""
    values[0] = BOUNDARY
    num, lines, line_start, i, n = 1, 0, 1, 0, len(codes)
    while i < n:
        code = codes[i]
        kind = kinds[code]
        if kind == SPACE:
            if code == LINE_END and num > line_start:
                line_ends[lines] = num
                lines, line_start = lines + 1, num
            i += 1
        elif kind == LETTER:
            end, value = _word(codes, i, folded, kinds)
            line_units[lines] += 1 + (end - i - 1) // LONG_WORD
            bucket = np.int64(value >> np.uint64(64 - _BUCKET_BITS))
            known = False
            for place in range(np.int64(buckets[bucket]), np.int64(buckets[bucket + 1])):
                if words[place] == value:
                    values[num] = first_word + place
                    num, known = num + 1, True
            if not known:
                for k in range(i, end):
                    values[num], parts[num] = table[codes[k]], INITIAL if k == i else FURTHER
                    num += 1
            i = end
        else:
            values[num] = table[code]
            num += 1
            line_units[lines] += 1
            i += 1
            while kind == NUMBER and i < n and kinds[codes[i]] == NUMBER:
                i += 1
    if num > line_start:
        line_ends[lines] = num
        lines += 1
    return num, lines
