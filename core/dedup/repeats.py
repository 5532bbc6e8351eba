"""How much of a document occurs elsewhere too: `repeat_ratio`, the share of its distinct shingles that other documents contain.

MinHash slots cannot tell: a shingle of a short document that a long one contains is seldom the long one's minimum, so that slots measure Jaccard
similarity, not containment. Therefore each document keeps a second signature, a FracMinHash (Irber et al. 2022): all its shingles whose 64-bit hash
is below 2^64 / 16. Every document that contains a sampled shingle has sampled it too, so whether it occurs elsewhere is known exactly, and the share
among m sampled shingles is an unbiased estimate with a standard error of at most 0.5 / sqrt(m) (a page of 3,000 characters: m = 190, .036).

A document without a sampled shingle (most have fewer than 50 shingles) has no estimate: null.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.shingles import Shingles
from mspt.core.kernel import kernel

SAMPLED_ONE_IN = 16  # half a byte of index per shingle; 1 in 64 leaves pages under 1,000 characters with fewer than 16
_ZEROS = np.uint64(SAMPLED_ONE_IN.bit_length() - 1)  # leading bits that a sampled hash has not
_SHIFT = np.uint64(64) - _ZEROS
_NONE = np.uint64(0)


@dataclass(frozen=True)
class Samples:
    """Sampled shingle hashes in reading order, repeats included: document i has `values[offsets[i]:offsets[i + 1]]`.

    The leading zeros are shifted out, so that values spread evenly over 64 bits.
    """

    values: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]


def sample(shingles: Shingles) -> Samples:
    """The FracMinHash of each document."""
    values = np.empty(len(shingles.hashes), np.uint64)
    offsets = np.zeros(len(shingles.offsets), np.int64)
    size = _sample(shingles.hashes, shingles.offsets, values, offsets)
    return Samples(values[:size].copy(), offsets)


def count_repeated(members: Iterable[npt.NDArray[np.uint32]], documents: int) -> npt.NDArray[np.uint32]:
    """Of each document: how many of its distinct sampled shingles another document has. `members`: the documents that share one, once for each."""
    counts = np.zeros(documents, np.uint32)
    for part in members:
        _count(part, counts)
    return counts


def repeat_ratios(repeated: npt.NDArray[np.uint32], sampled: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
    """Share of the distinct sampled shingles that another document has; NaN without samples."""
    return np.where(sampled > 0, repeated / np.maximum(sampled, 1), np.nan)


@kernel
def _sample(hashes: npt.NDArray[np.uint64], offsets: npt.NDArray[np.int64], values: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]) -> int:
    size = 0
    for document in range(len(offsets) - 1):
        for i in range(offsets[document], offsets[document + 1]):
            values[size] = hashes[i] << _ZEROS
            size += hashes[i] >> _SHIFT == _NONE
        out[document + 1] = size
    return size


@kernel
def _count(members: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint32]) -> None:
    for member in members:
        counts[member] += np.uint32(1)
