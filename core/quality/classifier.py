"""What a fastText model says of token lines, as a compiled loop: a third of the time that the library takes, and the same bits on every machine.

The library's own loop is compiled for each machine and differs in the last bits. This one adds the same rows in the same order (Joulin et al. 2016, and the
library's dictionary.cc and model.cc): those of the known tokens and of the line end, then for each token those of the pairs, triples, ... of tokens that begin
with it, by a hash of their hashes. The mean, times the output matrix, gives a logit for each class. The softmax is taken in plain floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import kernel, part
from mspt.core.quality.token_kernel import FNV_OFFSET, FNV_PRIME

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]

LINE_END = "</s>"  # what fastText reads a line end as
_OFFSET_32, _PRIME_32, _SIGN = np.uint32(2166136261), np.uint32(16777619), np.uint32(0xFFFFFF00)  # FNV-1a of signed bytes
_FACTOR = np.uint64(116049371)  # of the hash of n tokens
_BLANK, _END = np.uint8(0x20), np.uint8(0x0A)
_0, _1 = np.uint64(0), np.uint64(1)


@dataclass(frozen=True)
class Classifier:
    """hashes, rows: an open-addressed table of the known tokens (64-bit FNV-1a, 0: free), at most half full; rows_in: [tokens + buckets, dimension];
    rows_out: [labels, dimension]; ngrams: tokens in a row, at most; end: row (-1: none) and hash of the line end."""

    hashes: U64
    rows: I32
    rows_in: F32
    rows_out: F32
    labels: tuple[str, ...]
    num_words: int
    ngrams: int
    end: tuple[int, np.uint32]

    @classmethod
    def of(cls, model: Any) -> Classifier:
        """model: fastText's, with softmax and without subwords."""
        words = [word.encode("utf-8") for word in model.get_words()]
        hashes, rows = np.zeros(1 << (2 * len(words) + 2).bit_length(), np.uint64), np.zeros(1 << (2 * len(words) + 2).bit_length(), np.int32)
        for row, word in enumerate(words):
            value = _fnv_64(word)
            place = value % len(hashes)
            while hashes[place]:
                place = (place + 1) % len(hashes)
            hashes[place], rows[place] = value, row
        end = LINE_END.encode()
        rows_in, rows_out = (np.ascontiguousarray(matrix, np.float32) for matrix in (model.get_input_matrix(), model.get_output_matrix()))
        ends = words.index(end) if end in words else -1
        return cls(hashes, rows, rows_in, rows_out, tuple(model.get_labels()), len(words), int(model.f.getArgs().wordNgrams), (ends, _fnv_32(end)))

    def probabilities(self, lines: U8, ends: I64) -> list[list[float]]:
        """Of each label, for each token line, [ends[i], ends[i + 1]) of `lines`, each with its line end."""
        logits = np.zeros((len(ends) - 1, len(self.labels)), np.float32)
        _classify(lines, ends, self.hashes, self.rows, self.rows_in, self.rows_out, self.num_words, self.ngrams, *self.end, logits)
        return [_softmax(row) for row in logits.tolist()]


def _softmax(logits: list[float]) -> list[float]:
    most = max(logits)
    odds = [math.exp(logit - most) for logit in logits]
    total = sum(odds)
    return [one / total for one in odds]


def _fnv_64(word: bytes) -> int:
    value = int(FNV_OFFSET)
    for byte in word:
        value = (value ^ byte) * int(FNV_PRIME) % 2**64
    return value or 1


def _fnv_32(word: bytes) -> np.uint32:
    value = int(_OFFSET_32)
    for byte in word:
        value = (value ^ (byte | int(_SIGN) if byte >= 0x80 else byte)) * int(_PRIME_32) % 2**32
    return np.uint32(value)


# --- compiled ----------------------------------------------------------------------------------------------------------


@kernel
def _classify(
    lines: U8,
    ends: I64,
    hashes: U64,
    rows: I32,
    rows_in: F32,
    rows_out: F32,
    num_words: int,
    ngrams: int,
    end_row: int,
    end_hash: np.uint32,
    logits: F32,
) -> None:
    mask = np.uint64(len(hashes) - 1)
    longest = np.int64(0)
    for text in range(len(ends) - 1):
        longest = max(longest, ends[text + 1] - ends[text])
    own, mean = np.empty(longest + 1, np.uint64), np.zeros(rows_in.shape[1], np.float32)
    for text in range(len(ends) - 1):
        mean[:] = 0
        tokens, number, i = 0, 0, ends[text]
        while lines[np.uint64(i)] != _END:
            value, short = FNV_OFFSET, _OFFSET_32
            byte = lines[np.uint64(i)]
            while byte != _BLANK and byte != _END:
                value = (value ^ np.uint64(byte)) * FNV_PRIME
                # A byte from 80 on counts as a negative number.
                short = np.uint32((short ^ np.uint32(np.uint32(byte) | (np.uint32(0) - np.uint32(byte >> 7)) & _SIGN)) * _PRIME_32)
                i += 1
                byte = lines[np.uint64(i)]
            i += byte == _BLANK
            number += _add_word(hashes, rows, mask, value, rows_in, mean)
            own[np.uint64(tokens)] = _signed(short)
            tokens += 1
        if end_row >= 0:
            _add(rows_in, end_row, mean)
            number += 1
        own[np.uint64(tokens)] = _signed(end_hash)
        number += _add_ngrams(own[: tokens + 1], ngrams, rows_in, num_words, mean)
        scale = np.float32(1.0 / max(1, number))
        for k in range(len(mean)):
            mean[k] *= scale
        for label in range(len(rows_out)):
            total = np.float32(0)
            for k in range(len(mean)):
                total += rows_out[label, k] * mean[k]
            logits[text, label] = total


@part
def _signed(value: np.uint32) -> np.uint64:
    """As C++ widens a signed number of 32 bits."""
    return np.uint64(np.int64(np.int32(value)))


@part
def _add(rows_in: F32, row: int | np.int64, mean: F32) -> None:
    for k in range(len(mean)):
        mean[k] += rows_in[row, k]


@part
def _add_word(hashes: U64, rows: I32, mask: np.uint64, value: np.uint64, rows_in: F32, mean: F32) -> int:
    """Whether it is known."""
    place = value & mask
    while hashes[place] != _0:
        if hashes[place] == value:
            _add(rows_in, np.int64(rows[place]), mean)
            return 1
        place = (place + _1) & mask
    return 0


@part
def _add_ngrams(own: U64, ngrams: int, rows_in: F32, num_words: int, mean: F32) -> int:
    buckets = np.uint64(len(rows_in) - num_words)
    if buckets == _0:
        return 0
    number, even = 0, buckets & (buckets - _1) == _0  # a power of two needs no division
    for i in range(len(own)):
        value = own[i]
        for j in range(i + 1, min(len(own), i + ngrams)):
            value = value * _FACTOR + own[j]
            bucket = value & (buckets - _1) if even else value % buckets
            _add(rows_in, np.int64(bucket) + num_words, mean)
            number += 1
    return number
