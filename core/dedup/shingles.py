"""Documents as sets of shingles, cut as the script asks for, and their exact Jaccard similarity.

A folded document (folding.py) is a sequence of *units*: each Han, Kana, Thai, ... character is one, and so is each word (a run of letters, marks,
digits and `_`: the regular expression `\\w+`) of scripts that put blanks between words. White space and punctuation only separate words. A shingle
is a run of n consecutive units; n is `characters` where it starts with a character and `words` where it starts with a word, so that in mixed text
each run is cut by its own rule, and the last shingles of a run reach into the next one: short runs (an English name in Chinese text) are not lost.

    我用Python写代码。        units: 我 用 python 写 代 码     5-shingles: 我用python写代, 用python写代码

A document of fewer units has no shingle: it can be compared exactly only, and whoever uses this says so.

Numbers are words like any other. So documents made from one template ("Farm to Market Road 1506") are near-duplicates where the template
outweighs what was filled in: a changed word costs 5 of n shingles, two 60-word texts that differ in one word have similarity .84. Raise the
threshold to keep them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.folding import CHARACTER, KIND_SHIFT, WORD, Folded, batches, fold
from mspt.core.dedup.sorting import sort_values
from mspt.core.kernel import fmix64, kernel

_BASE = np.uint64(0x9E3779B97F4A7C15)  # of the polynomial hash: odd, from the golden ratio (Knuth, TAOCP 3, 6.4)
_FNV_PRIME = np.uint64(0x100000001B3)  # FNV-1a, 64 bits
_FNV_START = np.uint64(0xCBF29CE484222325)

_0, _1 = np.uint64(0), np.uint64(1)
_KIND_SHIFT, _WORD = np.uint32(KIND_SHIFT), np.uint32(WORD)
_STRIDE = 256  # how far two sets are compared before it is asked again whether they can still be similar enough
BATCH_BYTES = 1 << 20  # of text at a time: the scratch arrays, about 30 times that, stay small and are reused


@dataclass(frozen=True)
class ShingleSize:
    """Units per shingle. Five is the field's usual choice for both (datatrove, GPT-3 style pipelines: 5-grams)."""

    characters: int = 5
    words: int = 5


@dataclass(frozen=True)
class Shingles:
    """Shingle hashes of documents in reading order, repeats included: document i has `hashes[offsets[i]:offsets[i + 1]]`.

    64 bits; the low 32 are *the* shingle hash, of which signatures and similarities are made, the high bits choose samples (repeats.py).
    """

    hashes: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]

    def low(self) -> npt.NDArray[np.uint32]:
        """The 32-bit shingle hashes."""
        return self.hashes.astype(np.uint32)


@dataclass(frozen=True)
class ShingleSets:
    """Sorted distinct 32-bit shingle hashes: set i is `values[starts[i]:ends[i]]`."""

    values: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def from_sizes(cls, values: npt.NDArray[np.uint32], sizes: npt.NDArray[np.int64]) -> ShingleSets:
        """Sets that stand one after another."""
        ends = np.cumsum(sizes)
        return cls(values, ends - sizes, ends)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return self.ends - self.starts

    def __getitem__(self, i: int) -> npt.NDArray[np.uint32]:
        return self.values[self.starts[i] : self.ends[i]]

    def select(self, chosen: npt.NDArray[np.int64]) -> ShingleSets:
        """Some of the sets, in the order of `chosen`; the values are shared."""
        return ShingleSets(self.values, self.starts[chosen], self.ends[chosen])


def shingled(texts: pa.Array | pa.ChunkedArray, size: ShingleSize) -> Iterator[tuple[Folded, Shingles]]:
    """A column of texts folded and cut into shingles, BATCH_BYTES of text at a time; each batch is overwritten by the next."""
    codes, hashes = np.empty(BATCH_BYTES, np.uint32), np.empty(BATCH_BYTES, np.uint64)
    for batch in batches(texts, BATCH_BYTES):
        folded = fold(batch, codes)
        yield folded, shingle(folded, size, hashes)


def shingle(folded: Folded, size: ShingleSize, buffer: npt.NDArray[np.uint64] | None = None) -> Shingles:
    """All shingles of each folded document. `buffer`: where to put them, if they fit."""
    most = len(folded.codes)  # a shingle starts at a unit, a unit has at least one code point
    hashes = buffer if buffer is not None and len(buffer) >= most else np.empty(most, np.uint64)
    offsets = np.zeros(len(folded.offsets), np.int64)
    longest = int(folded.lengths.max(initial=0))
    count = _shingle(
        folded.codes, folded.offsets, size.characters, size.words,
        np.zeros(longest + 1, np.uint64), np.empty(longest, np.uint8), hashes, offsets,
    )  # fmt: skip
    return Shingles(hashes[:count], offsets)


def shingle_sets(texts: pa.Array | pa.ChunkedArray, size: ShingleSize) -> ShingleSets:
    """The shingle sets of a column of texts, for verification."""
    values: list[npt.NDArray[np.uint32]] = []
    counts: list[npt.NDArray[np.int64]] = []
    for _, shingles in shingled(texts, size):
        low, distinct = shingles.low(), np.zeros(len(shingles.offsets) - 1, np.int64)
        values.append(low[: _sort_distinct(low, shingles.offsets, distinct)].copy())
        counts.append(distinct)
    return ShingleSets.from_sizes(np.concatenate([np.zeros(0, np.uint32), *values]), np.concatenate([np.zeros(0, np.int64), *counts]))


@kernel
def jaccard(a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32]) -> float:
    """|a and b| / |a or b| of two sorted sets; 0 if both are empty (nothing says that they are alike)."""
    i = j = common = 0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        common += x == y
        i += x <= y
        j += y <= x
    union = len(a) + len(b) - common
    return common / union if union else 0.0


@kernel
def jaccard_from(threshold: float, a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32]) -> float:
    """`jaccard` where it reaches the threshold, else 0: most pairs that fall short do so before they are read to their ends."""
    i = j = common = 0
    while i < len(a) and j < len(b):
        possible = common + min(len(a) - i, len(b) - j)
        if possible / (len(a) + len(b) - possible) < threshold:
            return 0.0
        last_i, last_j = min(i + _STRIDE, len(a)), min(j + _STRIDE, len(b))
        while i < last_i and j < last_j:
            x, y = a[i], b[j]
            common += x == y
            i += x <= y
            j += y <= x
    union = len(a) + len(b) - common
    similarity = common / union if union else 0.0
    return similarity if similarity >= threshold else 0.0


@kernel
def _shingle(
    codes: npt.NDArray[np.uint32],
    code_offsets: npt.NDArray[np.int64],
    characters: int,
    words: int,
    prefixes: npt.NDArray[np.uint64],
    kinds: npt.NDArray[np.uint8],
    hashes: npt.NDArray[np.uint64],
    offsets: npt.NDArray[np.int64],
) -> np.int64:
    """Fill `hashes` and `offsets`; `prefixes` and `kinds` are scratch space for one document.

    prefixes[i] is the polynomial hash of the first i units, so that the hash of any window takes one multiplication (Karp and Rabin 1987).
    """
    character_power, word_power = _power(characters), _power(words)
    size = np.uint64(0)
    for document in range(len(code_offsets) - 1):
        first, last = np.uint64(code_offsets[document]), np.uint64(code_offsets[document + 1])
        num_units = int(_units(codes, first, last, prefixes, kinds))
        if characters == words:  # all windows alike: vectorised by LLVM
            num = max(0, num_units - words + 1)
            starts, ends, out = prefixes[:num], prefixes[words : words + num], hashes[np.int64(size) : np.int64(size) + num]
            for i in range(num):
                out[i] = fmix64(ends[i] - starts[i] * word_power)
            size += np.uint64(num)
        else:
            for start in range(num_units):
                if kinds[start] == CHARACTER:
                    end, power = start + characters, character_power
                else:
                    end, power = start + words, word_power
                if end <= num_units:
                    hashes[size] = fmix64(prefixes[end] - prefixes[start] * power)
                    size += _1
        offsets[document + 1] = np.int64(size)
    return np.int64(size)


@kernel
def _power(exponent: int) -> np.uint64:
    power = np.uint64(1)
    for _ in range(exponent):
        power = power * _BASE
    return power


@kernel
def _units(codes: npt.NDArray[np.uint32], start: np.uint64, end: np.uint64, prefixes: npt.NDArray[np.uint64], kinds: npt.NDArray[np.uint8]) -> np.int64:
    """Kind of each unit of `codes[start:end]` and the hashes of all its prefixes; a word enters by its FNV-1a hash. Returns the number.

    Unsigned indices: numba asks of signed ones, at each access, whether they are negative.
    """
    size = np.uint64(0)
    prefix = prefixes[0]
    i = start
    while i < end:
        code = codes[i]
        kind = code >> _KIND_SHIFT
        i += _1
        if kind == _WORD:
            unit = (_FNV_START ^ np.uint64(code)) * _FNV_PRIME
            while i < end and codes[i] >> _KIND_SHIFT == _WORD:
                unit = (unit ^ np.uint64(codes[i])) * _FNV_PRIME
                i += _1
            unit = fmix64(unit)
        else:
            unit = np.uint64(code)
        counted = np.uint64(kind >= _WORD)  # others only separate words: what is written for them is overwritten
        following = prefix * _BASE + unit
        kinds[size] = kind
        size += counted
        prefixes[size] = following if counted != _0 else prefix
        prefix = following if counted != _0 else prefix
    return np.int64(size)


@kernel
def _sort_distinct(values: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> int:
    """Sort each document's values in place, move the distinct ones to the front of the array, count them."""
    size = 0
    scratch = np.empty(np.max(np.diff(offsets)) if len(offsets) > 1 else 0, np.uint32)
    for document in range(len(offsets) - 1):
        part = values[offsets[document] : offsets[document + 1]]
        sort_values(part, scratch)
        start = size
        for i in range(len(part)):
            value = part[i]
            if i == 0 or value != values[size - 1]:
                values[size] = value
                size += 1
        counts[document] = size - start
    return size
