"""How much of a document occurs elsewhere too: `repeat_ratio`, the share of its distinct shingles that other documents contain.

MinHash slots cannot tell: a shingle of a short document that a long one contains is seldom the long one's minimum, so that slots measure Jaccard
similarity, not containment. Therefore each document keeps a second signature, a FracMinHash (Irber et al. 2022): all its shingles whose 64-bit hash
is below 2^64 / 16. Every document that contains a sampled shingle has sampled it too, so whether it occurs elsewhere is known exactly, and the share
among m sampled shingles is an unbiased estimate with a standard error of at most 0.5 / sqrt(m) (a page of 3,000 characters: m = 190, .036).

A document without a sampled shingle (most have fewer than 50 shingles) has no estimate: null.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.shingles import Shingles
from mspt.core.kernel import kernel

SAMPLED_ONE_IN = 16  # half a byte of index per shingle; 1 in 64 leaves pages under 1,000 characters with fewer than 16
_SHIFT = np.uint64(64 - SAMPLED_ONE_IN.bit_length() + 1)
_NONE = np.uint64(0)


@dataclass(frozen=True)
class Samples:
    """Sorted distinct sampled shingle hashes (64 bits): document i has `values[offsets[i]:offsets[i + 1]]`."""

    values: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]


def sample(shingles: Shingles) -> Samples:
    """The FracMinHash of each document."""
    values = np.empty(len(shingles.hashes), np.uint64)
    offsets = np.zeros(len(shingles.offsets), np.int64)
    size = _sample(shingles.hashes, shingles.offsets, values, offsets)
    return Samples(values[:size].copy(), offsets)


def repeat_ratios(samples: Samples) -> npt.NDArray[np.float64]:
    """Of each document: the share of sampled shingles that another document has; NaN without samples. `samples` holds all documents."""
    order = np.argsort(samples.values, kind="stable")
    repeated = np.zeros(len(order), np.bool_)
    _mark_repeated(samples.values, order, repeated)
    totals = np.concatenate([np.zeros(1, np.int64), np.cumsum(repeated)])
    counts = np.diff(samples.offsets)
    found = totals[samples.offsets[1:]] - totals[samples.offsets[:-1]]
    return np.where(counts > 0, found / np.maximum(counts, 1), np.nan)


@kernel
def _sample(hashes: npt.NDArray[np.uint64], offsets: npt.NDArray[np.int64], values: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]) -> int:
    size = 0
    for document in range(len(offsets) - 1):
        start = size
        for i in range(offsets[document], offsets[document + 1]):
            if hashes[i] >> _SHIFT == _NONE:
                values[size] = hashes[i]
                size += 1
        part = np.sort(values[start:size])
        size = start
        for i in range(len(part)):
            if i == 0 or part[i] != part[i - 1]:
                values[size] = part[i]
                size += 1
        out[document + 1] = size
    return size


@kernel
def _mark_repeated(values: npt.NDArray[np.uint64], order: npt.NDArray[np.int64], repeated: npt.NDArray[np.bool_]) -> None:
    """A document has a value once, so equal values come from different documents."""
    for i in range(1, len(order)):
        if values[order[i]] == values[order[i - 1]]:
            repeated[order[i]] = repeated[order[i - 1]] = True
