"""A text as one line of tokens for fastText, and the shuffled texts that a bootstrapped scorer learns to tell apart from real ones.

Tokens: each Han, Kana, Thai, ... character, each word of other scripts (case folded, digits as 0), each punctuation mark or symbol. fastText makes
n-grams of consecutive tokens itself, so Chinese text is seen as character 1-3-grams and alphabetic text as word 1-3-grams with its punctuation.
No token can be a line break, a NUL, `</s>` or start with fastText's `__label__`: `_` and `<` are tokens of their own.

    "我用Python 3.11写\\n代码"    ->    "我 用 python 0 . 00 写 代 码"
"""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.dedup.folding import CODE_MASK, KIND_SHIFT, WORD, Folded, batches, fold
from mspt.core.kernel import kernel

_BATCH_BYTES = 4 << 20
_BLANK, _ZERO, _NINE, _UNDERSCORE = 0x20, 0x30, 0x39, 0x5F
# What shuffling moves: a word, or one character of a script without blanks; the rest (blanks, punctuation, line breaks) stays in place.
_UNIT = re.compile(r"[\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\W_\u2e80-\u9fff\uf900-\ufaff]+")
_LETTER = re.compile(r"[^\W_]")


def token_lines(texts: pa.Array | pa.ChunkedArray, max_characters: int) -> list[str]:
    """One line of tokens for each text, made from its first `max_characters` code points."""
    lines: list[str] = []
    for batch in batches(pc.utf8_slice_codeunits(texts, 0, max_characters), _BATCH_BYTES):
        lines.extend(_lines(fold(batch)))
    return lines


def windows(text: str, characters: int, limit: int) -> list[str]:
    """Up to `limit` non-overlapping stretches of `characters` code points, spread evenly over the text; a short text whole."""
    whole = max(1, len(text) // characters)
    count = min(whole, limit)
    starts = [characters * (i * whole // count) for i in range(count)]
    return [text[start : start + characters] for start in starts]


def shuffle_words(text: str, chooser: random.Random) -> str:
    """The words (Han and Kana: characters) of `text` in random order, everything between them in place."""
    return _shuffle(_UNIT, text, chooser)


def shuffle_characters(text: str, chooser: random.Random) -> str:
    """The letters, digits and characters of `text` in random order, everything between them in place."""
    return _shuffle(_LETTER, text, chooser)


def _shuffle(unit: re.Pattern[str], text: str, chooser: random.Random) -> str:
    units = unit.findall(text)
    chooser.shuffle(units)
    replacement = iter(units)
    return unit.sub(lambda _: next(replacement), text)


def _lines(folded: Folded) -> list[str]:
    out = np.empty(6 * len(folded.codes) + 1, np.uint8)  # at most four bytes and a blank on either side
    offsets = np.zeros(len(folded.offsets), np.int64)
    size = _write_tokens(folded.codes, folded.offsets, out, offsets)
    raw, bounds = out[:size].tobytes(), offsets.tolist()
    return [raw[start:end].decode("utf-8") for start, end in itertools.pairwise(bounds)]


@kernel
def _write_tokens(codes: npt.NDArray[np.uint32], code_offsets: npt.NDArray[np.int64], out: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> int:
    size = 0
    for document in range(len(code_offsets) - 1):
        start = size
        inside = False  # a word, to which the next letter belongs
        for i in range(code_offsets[document], code_offsets[document + 1]):
            code = np.int64(codes[i] & CODE_MASK)
            if code == _BLANK:
                inside = False
                continue
            word = codes[i] >> KIND_SHIFT == WORD and code != _UNDERSCORE
            if size > start and not (word and inside):
                out[size] = _BLANK
                size += 1
            size = _encode(np.int64(_ZERO) if _ZERO <= code <= _NINE else code, out, size)
            inside = word
        offsets[document + 1] = size
    return size


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
