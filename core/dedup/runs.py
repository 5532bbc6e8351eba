"""Which 64-bit hashes occur more than once in many sorted runs, with bounded memory: the hashes are taken range by range, all runs together.

A run is a sorted array of hashes (mapped from a file: only the pages of one range are touched at a time). Hashes are spread evenly, so that ranges of equal
width hold about equally many. The answer does not depend on the number of ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BYTES_PER_HASH = 48  # of working memory: hash, run, place, sort order, flags


@dataclass(frozen=True)
class Repeated:
    """Hashes that occur at least twice, sorted by hash: occurrence i is `places[i]` of run `runs[i]`; equal hashes have equal, ascending `groups`."""

    runs: npt.NDArray[np.int32]
    places: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]


def num_ranges(num_hashes: int, max_bytes: int) -> int:
    """Ranges of which each one fits into `max_bytes` of working memory."""
    return max(1, -(-num_hashes * BYTES_PER_HASH // max_bytes))


def find_repeated(runs: Sequence[npt.NDArray[np.uint64]], ranges: int) -> Iterator[Repeated]:
    """All occurrences of hashes that occur at least twice in all runs together, one range of hashes after another; groups count from 0 in each."""
    width = -(-(1 << 64) // ranges)
    borders = [np.searchsorted(run, np.array([min(i * width, (1 << 64) - 1) for i in range(1, ranges)], np.uint64)) for run in runs]
    edges = [np.concatenate([[0], inner, [len(run)]]).astype(np.int64) for inner, run in zip(borders, runs, strict=True)]
    for i in range(ranges):
        hashes = np.concatenate([np.zeros(0, np.uint64), *(run[edge[i] : edge[i + 1]] for run, edge in zip(runs, edges, strict=True))])
        sizes = [int(edge[i + 1] - edge[i]) for edge in edges]
        numbers = np.repeat(np.arange(len(runs), dtype=np.int32), sizes)
        places = np.concatenate([np.zeros(0, np.int64), *(np.arange(edge[i], edge[i + 1]) for edge in edges)])
        yield _repeated(hashes, numbers, places)


def _repeated(hashes: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int32], places: npt.NDArray[np.int64]) -> Repeated:
    order = np.argsort(hashes, kind="stable")  # stable: equal hashes stay in the order of runs and places
    ordered = hashes[order]
    same = ordered[1:] == ordered[:-1]
    twice = np.zeros(len(order), np.bool_)
    twice[1:] |= same
    twice[:-1] |= same
    starts = twice.copy()
    starts[1:] &= ~same
    groups = np.cumsum(starts) - 1
    return Repeated(numbers[order[twice]], places[order[twice]], groups[twice])
