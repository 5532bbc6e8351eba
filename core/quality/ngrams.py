"""n-grams of symbols, counted: one table for each order, its keys sorted, found by their leading bits.

A window of k symbols has the polynomial value sum of x(s_j) B^(k-1-j) mod 2^64, which prefix values give in constant time, and the key fmix64 of it: keys
are spread evenly, so that the leading bits name a bucket of one or two entries. Two different n-grams of a table share a key with probability
n^2 / 2^65: 3e-6 for ten million.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mspt.core.dedup.sorting import sort_by_key
from mspt.core.kernel import fmix64, kernel
from mspt.core.quality.alphabet import BOUNDARY

U8 = NDArray[np.uint8]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, from the golden ratio (Knuth, TAOCP 3, 6.4)
ONE = np.uint64(1)
BITS = 64


@dataclass(frozen=True)
class Table:
    """The different n-grams of one order. counts: as often as it occurs for the highest order and for what begins a document, else the number of different
    symbols before it (Chen and Goodman 1999, 3.4; for beginnings: Heafield et al. 2013). positions: where one of them stands."""

    keys: U64  # ascending
    positions: U32
    counts: U32

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class Corpus:
    """Documents, one behind the other, each begun by BOUNDARY, and the prefix values of all: [n], [n + 1]."""

    symbols: U16
    prefixes: U64

    @classmethod
    def of(cls, symbols: U16) -> Corpus:
        prefixes = np.empty(len(symbols) + 1, np.uint64)
        fill_prefixes(symbols, prefixes)
        return cls(symbols, prefixes)


def count_ngrams(corpus: Corpus, order: int) -> list[Table]:
    """Tables of the orders 2 to `order`; none crosses a BOUNDARY. 32 bytes a symbol while they are made, 16 for each different n-gram."""
    keys, positions = np.empty(len(corpus.symbols), np.uint64), np.empty(len(corpus.symbols), np.uint32)
    num = _all_windows(corpus.symbols, corpus.prefixes, order, keys, positions)
    tables = [_count(keys[:num], positions[:num])]
    starts = np.flatnonzero(corpus.symbols == BOUNDARY).astype(np.uint32)
    lengths = np.diff(starts, append=np.uint32(len(corpus.symbols)))
    for k in range(order - 1, 1, -1):
        places = np.concatenate([tables[-1].positions + np.uint32(1), starts[lengths >= k]])
        tables.append(_count(window_keys(corpus.prefixes, places, k), places))
    return tables[::-1]


def _count(keys: U64, positions: U32) -> Table:
    """Equal keys together; the position is that of the first."""
    sort_by_key(keys, positions)
    counts = np.zeros(len(keys), np.uint32)
    num = _unite(keys, positions, counts)
    return Table(keys[:num].copy(), positions[:num].copy(), counts[:num].copy())


def bucket_bits(num: int) -> int:
    """Leading bits of the keys that name a bucket: two entries in each, on average, or fewer."""
    return max(1, (num // 2).bit_length())


def buckets(keys: U64, bits: int) -> U32:
    """[2^bits + 1]: where the entries of each bucket begin."""
    starts = np.zeros((1 << bits) + 1, np.uint32)
    _fill_buckets(keys, np.uint64(BITS - bits), starts)
    return starts


def find(table: Table, keys: U64) -> I32:
    """Where each key stands in the table, -1 for none."""
    bits = bucket_bits(len(table))
    found = np.empty(len(keys), np.int32)
    _find_all(table.keys, buckets(table.keys, bits), np.uint64(BITS - bits), keys, found)
    return found


def window_keys(prefixes: U64, positions: U32, k: int) -> U64:
    """The keys of the windows of k symbols at these positions."""
    keys = np.empty(len(positions), np.uint64)
    _window_keys(prefixes, positions, k, keys)
    return keys


# --- compiled ----------------------------------------------------------------------------------------------------------


@kernel
def fill_prefixes(symbols: U16, prefixes: U64) -> None:
    """prefixes[i]: the polynomial value of symbols[:i]. x(s) = fmix64(s + 1)."""
    value = np.uint64(0)
    prefixes[0] = value
    for i in range(len(symbols)):
        value = value * BASE + fmix64(np.uint64(symbols[i]) + ONE)
        prefixes[i + 1] = value


@kernel
def power(k: int) -> np.uint64:
    """BASE^k mod 2^64."""
    value = ONE
    for _ in range(k):
        value = value * BASE
    return value


@kernel
def _all_windows(symbols: U16, prefixes: U64, k: int, keys: U64, positions: U32) -> int:
    """Keys and positions of the windows without a BOUNDARY behind their first symbol; how many."""
    num, factor, start = 0, power(k), 0
    for end in range(1, len(symbols) + 1):
        if symbols[end - 1] == BOUNDARY:
            start = end - 1
        first = end - k
        if first >= start:
            keys[num] = fmix64(prefixes[end] - prefixes[first] * factor)
            positions[num] = first
            num += 1
    return num


@kernel
def _window_keys(prefixes: U64, positions: U32, k: int, keys: U64) -> None:
    factor = power(k)
    for i in range(len(positions)):
        first = np.int64(positions[i])
        keys[i] = fmix64(prefixes[first + k] - prefixes[first] * factor)


@kernel
def _unite(keys: U64, positions: U32, counts: U32) -> int:
    num = 0
    for i in range(len(keys)):
        if num == 0 or keys[i] != keys[num - 1]:
            keys[num], positions[num] = keys[i], positions[i]
            num += 1
        counts[num - 1] += np.uint32(1)
    return num


@kernel
def _fill_buckets(keys: U64, shift: np.uint64, starts: U32) -> None:
    for key in keys:
        starts[np.int64(key >> shift) + 1] += np.uint32(1)
    for i in range(1, len(starts)):
        starts[i] += starts[i - 1]


@kernel
def _find_all(table: U64, starts: U32, shift: np.uint64, keys: U64, found: I32) -> None:
    for i in range(len(keys)):
        bucket = np.int64(keys[i] >> shift)
        found[i] = -1
        for place in range(np.int64(starts[bucket]), np.int64(starts[bucket + 1])):
            if table[place] == keys[i]:
                found[i] = place
