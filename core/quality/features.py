"""A text as one line of tokens for fastText.

Tokens: each Han, Kana, Thai, ... character, each word of other scripts (case folded, digits as 0), each punctuation mark or symbol, and at the end of each
line of the text one for its layout: `¶`, a letter for its length in tokens (a 1, b 2-3, c 4-7, ... g 64 and more) and `.` or `x`: whether it ends as sentences
do. fastText makes n-grams of consecutive tokens itself, so Chinese text is seen as character 1-3-grams and alphabetic text as word 1-3-grams.

With a vocabulary, a token outside it is replaced by its shape: `¤H` a Han character, `¤C` one of another script without blanks, `¤S` a mark, and for a word
of 2^N to 2^(N+1)-1 characters `¤lN` (one that can be spoken, as far as Latin letters say), `¤qN` (one that cannot), `¤0N` (begins with a digit). So rare words
count by where they stand, which holds in other domains and languages too.

No token can be a line break, a NUL, `</s>` or start with fastText's `__label__`: `_` and `<` are tokens of their own, and so are `¶` and `¤` in a text.

    "我用Python 3.11写\\n代码"    ->    "我 用 python 0 . 00 写 ¶dx 代 码 ¶bx"
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.dedup.folding import CHARACTER, CODE_MASK, KIND_SHIFT, WORD, Folded, batches, fold
from mspt.core.kernel import kernel

_BATCH_BYTES = 4 << 20
_LINE_END, _BLANK, _ZERO, _NINE, _UNDERSCORE, _DOT, _X, _A = 0x0A, 0x20, 0x30, 0x39, 0x5F, 0x2E, 0x78, 0x61
# Folded forms of what ends a sentence: full stops, question and exclamation marks, the ellipsis, closing quotes and brackets, colons before a list.
_ENDS = np.array(sorted(ord(c) for c in "。.!?…”’」』\"')）:;"), np.int64)
_LAYOUT, _SHAPE = 0xB6, 0xA4  # ¶ and ¤
_MAX_LENGTH = 6  # the letter g
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_WORD_UNDERSCORE = np.uint32(WORD << KIND_SHIFT | 0x5F)
_0, _1 = np.uint64(0), np.uint64(1)
_NOTHING = np.zeros(0, np.uint64)
# What shuffling moves: a word, or one character of a script without blanks; the rest (blanks, punctuation, line breaks) stays in place.
UNIT = re.compile(r"[\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\W_\u2e80-\u9fff\uf900-\ufaff]+")
_LETTER = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Vocabulary:
    """Tokens that stay as they are, as an open-addressed table of their 64-bit FNV-1a hashes over code points (0: free), at most half full."""

    table: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, tokens: Iterable[str]) -> Vocabulary:
        hashes = [_fnv(token) for token in tokens]
        table = np.zeros(1 << (2 * len(hashes) + 2).bit_length(), np.uint64)
        for value in hashes:
            place = value % len(table)
            while table[place] not in (0, value):
                place = (place + 1) % len(table)
            table[place] = value
        return cls(table)


def count_tokens(lines: Iterable[str]) -> Counter[str]:
    """How often each token of a text occurs; those for layout left out, they need no vocabulary."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line.split(" "))
    return Counter({token: number for token, number in counts.items() if token and not (len(token) > 1 and token[0] == "¶")})


def most_frequent(counts: Counter[str], size: int) -> list[str]:
    """The `size` most frequent tokens, equal ones in the order of their code points."""
    return sorted(counts, key=lambda token: (-counts[token], token))[:size]


def token_lines(texts: pa.Array | pa.ChunkedArray, max_characters: int, vocabulary: Vocabulary | None = None) -> list[str]:
    """One line of tokens for each text, made from its first `max_characters` code points."""
    return [line[:-1].decode("utf-8") for line in encoded_lines(texts, max_characters, vocabulary)]


def encoded_lines(texts: pa.Array | pa.ChunkedArray, max_characters: int, vocabulary: Vocabulary | None = None) -> list[bytes]:
    """The same as UTF-8 with a line end, as fastText's own code takes them."""
    lines: list[bytes] = []
    for batch in batches(pc.utf8_slice_codeunits(pc.fill_null(texts, ""), 0, max_characters), _BATCH_BYTES):
        split = pc.split_pattern(batch, "\n")
        bounds = np.asarray(split.offsets, np.int64) - split.offsets[0].as_py()
        lines.extend(_lines(fold(split.flatten()), bounds, vocabulary.table if vocabulary else _NOTHING))
    return lines


def windows(text: str, characters: int, limit: int) -> list[str]:
    """Up to `limit` non-overlapping stretches of `characters` code points, spread evenly over the text; a short text whole."""
    whole = max(1, len(text) // characters)
    count = min(whole, limit)
    starts = [characters * (i * whole // count) for i in range(count)]
    return [text[start : start + characters] for start in starts]


def shuffle_words(text: str, chooser: random.Random) -> str:
    """The words (Han and Kana: characters) of `text` in random order, everything between them in place."""
    return _shuffle(UNIT, text, chooser)


def shuffle_characters(text: str, chooser: random.Random) -> str:
    """The letters, digits and characters of `text` in random order, everything between them in place."""
    return _shuffle(_LETTER, text, chooser)


def _shuffle(unit: re.Pattern[str], text: str, chooser: random.Random) -> str:
    units = unit.findall(text)
    chooser.shuffle(units)
    replacement = iter(units)
    return unit.sub(lambda _: next(replacement), text)


def _lines(folded: Folded, bounds: npt.NDArray[np.int64], table: npt.NDArray[np.uint64]) -> list[bytes]:
    """bounds [texts + 1]: which lines of `folded` make up each text; table: of a vocabulary, empty where every token is known."""
    # At most four bytes and a blank on either side of each code point, a token for each line, and the line ends.
    out = np.empty(6 * len(folded.codes) + 5 * len(folded.offsets) + len(bounds) + 8, np.uint8)
    offsets = np.zeros(len(bounds), np.int64)
    size = _write_tokens(folded.codes, folded.offsets, bounds, table, out, offsets)
    raw, ends = out[:size].tobytes(), offsets.tolist()
    return [raw[start:end] for start, end in itertools.pairwise(ends)]


def _fnv(token: str) -> int:
    value = int(_FNV_OFFSET)
    for character in token:
        value = (value ^ ord(character)) * int(_FNV_PRIME) % 2**64
    return value or 1


@kernel
def _is_known(table: npt.NDArray[np.uint64], value: np.uint64) -> bool:
    mask = np.uint64(len(table) - 1)
    place = value & mask
    while table[place] != _0:
        if table[place] == value:
            return True
        place = (place + _1) & mask
    return False


@kernel
def _write_tokens(
    codes: npt.NDArray[np.uint32],
    line_offsets: npt.NDArray[np.int64],
    bounds: npt.NDArray[np.int64],
    table: npt.NDArray[np.uint64],
    out: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
) -> int:
    size = 0
    for text in range(len(bounds) - 1):
        start = size
        for line in range(bounds[text], bounds[text + 1]):
            i, end = line_offsets[line], line_offsets[line + 1]
            tokens, last = 0, np.int64(0)
            while i < end:
                first = i
                code = _digits_as_zero(np.int64(codes[i] & CODE_MASK))
                kind = codes[i] >> KIND_SHIFT
                i += 1
                if code == _BLANK:
                    continue
                if size > start:
                    out[size] = _BLANK
                    size += 1
                token = size
                size = _encode(code, out, size)
                value = (_FNV_OFFSET ^ np.uint64(code)) * _FNV_PRIME
                if kind == WORD and code != _UNDERSCORE:
                    while i < end:
                        entry = codes[i]
                        if entry >> KIND_SHIFT != WORD or entry == _WORD_UNDERSCORE:
                            break
                        code = np.int64(entry & CODE_MASK)
                        if code < 0x80:  # most of what is written in letters
                            code = np.int64(_ZERO) if code <= _NINE else code
                            out[size] = code
                            size += 1
                        else:
                            size = _encode(code, out, size)
                        value = (value ^ np.uint64(code)) * _FNV_PRIME
                        i += 1
                last = code
                tokens += 1
                if len(table) and not _is_known(table, value):
                    size = _write_shape(codes, first, i, out, token)
            if tokens:
                size = _write_layout(tokens, last, out, size)
        out[size] = _LINE_END
        size += 1
        offsets[text + 1] = size
    return size


@kernel
def _digits_as_zero(code: np.int64) -> np.int64:
    return np.int64(_ZERO) if _ZERO <= code <= _NINE else code


@kernel
def _write_shape(codes: npt.NDArray[np.uint32], first: int, end: int, out: npt.NDArray[np.uint8], size: int) -> int:
    """The token for one that is not in the vocabulary: the folded characters from `first` to `end`."""
    code, kind = np.int64(codes[first] & CODE_MASK), codes[first] >> KIND_SHIFT
    size = _encode(np.int64(_SHAPE), out, size)
    if kind == CHARACTER:
        out[size] = 0x48 if 0x3400 <= code < 0xA000 or code >= 0x20000 else 0x43  # H, C
        return size + 1
    if kind != WORD or code == _UNDERSCORE:
        out[size] = 0x53  # S
        return size + 1
    out[size] = _ZERO if code <= _NINE else 0x6C if _can_be_spoken(codes, first, end) else 0x71  # 0, l, q
    out[size + 1] = _ZERO + _log2(end - first)
    return size + 2


@kernel
def _can_be_spoken(codes: npt.NDArray[np.uint32], first: int, end: int) -> bool:
    """Whether a word of Latin letters has no run of four consonants or three vowels; other letters count as either."""
    consonants, vowels = 0, 0
    for i in range(first, end):
        code = np.int64(codes[i] & CODE_MASK)
        accented = code >= 0x80
        vowel = code == 0x61 or code == 0x65 or code == 0x69 or code == 0x6F or code == 0x75 or code == 0x79  # aeiouy
        vowels = vowels + 1 if vowel and not accented else 0
        consonants = 0 if vowel or accented else consonants + 1
        if consonants >= 4 or vowels >= 3:
            return False
    return True


@kernel
def _write_layout(tokens: int, last: np.int64, out: npt.NDArray[np.uint8], size: int) -> int:
    out[size] = _BLANK
    size = _encode(np.int64(_LAYOUT), out, size + 1)
    out[size] = _A + _log2(tokens)
    ends = False
    for code in _ENDS:
        ends |= code == last
    out[size + 1] = _DOT if ends else _X
    return size + 2


@kernel
def _log2(number: int) -> int:
    """Whole binary logarithm, at most _MAX_LENGTH."""
    power = 0
    while power < _MAX_LENGTH and number > 1:
        number >>= 1
        power += 1
    return power


@kernel
def _encode(code: np.int64, out: npt.NDArray[np.uint8], size: int) -> int:
    """Write a code point in UTF-8 at `size`; returns the position after it."""
    if code < 0x80:
        out[size] = code
        return size + 1
    if code < 0x800:
        out[size] = 0xC0 | code >> 6
        out[size + 1] = 0x80 | code & 0x3F
        return size + 2
    if code < 0x10000:
        out[size] = 0xE0 | code >> 12
        out[size + 1] = 0x80 | code >> 6 & 0x3F
        out[size + 2] = 0x80 | code & 0x3F
        return size + 3
    out[size] = 0xF0 | code >> 18
    out[size + 1] = 0x80 | code >> 12 & 0x3F
    out[size + 2] = 0x80 | code >> 6 & 0x3F
    out[size + 3] = 0x80 | code & 0x3F
    return size + 4
