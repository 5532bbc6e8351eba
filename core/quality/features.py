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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.folding import batches, fold_table, utf8_buffers
from mspt.core.quality.token_kernel import FNV_OFFSET, FNV_PRIME, MOST_BYTES, write_tokens

_BATCH_BYTES = 4 << 20
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


class Tokens(NamedTuple):
    """Of a batch of texts. raw: the lines of all, UTF-8 with a line end, that of text i from line_ends[i] to line_ends[i + 1]; shapes: of all tokens
    (token_kernel.py), those of text i from ends[i] to ends[i + 1]; strange: how many words of each text are outside the vocabulary, though they can be
    spoken."""

    raw: npt.NDArray[np.uint8]
    line_ends: npt.NDArray[np.int64]
    shapes: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    strange: npt.NDArray[np.int64]

    @property
    def lines(self) -> list[bytes]:
        raw = self.raw.tobytes()
        return [raw[start:end] for start, end in itertools.pairwise(self.line_ends.tolist())]


def token_lines(texts: pa.Array | pa.ChunkedArray, max_characters: int, vocabulary: Vocabulary | None = None) -> list[str]:
    """One line of tokens for each text, made from its first `max_characters` code points."""
    return [line[:-1].decode("utf-8") for line in encoded_lines(texts, max_characters, vocabulary)]


def encoded_lines(texts: pa.Array | pa.ChunkedArray, max_characters: int, vocabulary: Vocabulary | None = None) -> list[bytes]:
    """The same as UTF-8 with a line end, as fastText's own code takes them."""
    return [line for tokens in read_tokens(texts, max_characters, vocabulary) for line in tokens.lines]


def read_tokens(texts: pa.Array | pa.ChunkedArray, max_characters: int, vocabulary: Vocabulary | None = None) -> Iterator[Tokens]:
    """The tokens of texts, a batch of texts at once."""
    for batch in batches(texts, _BATCH_BYTES):
        data, offsets = utf8_buffers(batch)
        size = int(offsets[-1] - offsets[0])
        out, shapes = np.empty(MOST_BYTES * (size + len(offsets)), np.uint8), np.empty(2 * size, np.uint8)
        line_ends, ends, strange = (np.zeros(num, np.int64) for num in (len(offsets), len(offsets), len(offsets) - 1))
        table = vocabulary.table if vocabulary else _NOTHING
        write_tokens(data, offsets, max_characters, fold_table(), table, out, line_ends, shapes, ends, strange)
        yield Tokens(out[: line_ends[-1]], line_ends, shapes[: ends[-1]], ends, strange)


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


def _fnv(token: str) -> int:
    value = int(FNV_OFFSET)
    for character in token:
        value = (value ^ ord(character)) * int(FNV_PRIME) % 2**64
    return value or 1
