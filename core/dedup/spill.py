"""Rows of numbers on disk, cut into buckets by a key, so that memory holds one bucket at a time.

rows = Buckets(folder, borders, width=3)   # bucket i: keys from borders[i] to below borders[i + 1]
rows.add(keys, numbers)                    # numbers: [rows, 3]; in any order, as often as one likes
rows.read(0)                               # the rows of the first bucket, in the order in which they were added
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


class Buckets:
    """Buckets in files of `folder`, which is emptied first: what a killed run left there is of no use."""

    def __init__(self, folder: Path, borders: Sequence[int] | I64, width: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._borders = np.asarray(borders, np.int64)
        self._width = width

    def __len__(self) -> int:
        return len(self._borders) - 1

    def add(self, keys: I64, rows: I64) -> None:
        """Rows [n, width] with their keys; a key below the first border, or from the last one on, is a bug."""
        bucket = np.searchsorted(self._borders, keys, "right") - 1
        assert not len(keys) or (bucket.min() >= 0 and bucket.max() < len(self))
        order = np.argsort(bucket, kind="stable")
        cuts = [0, *(np.flatnonzero(np.diff(bucket[order])) + 1).tolist(), len(order)]
        for start, end in itertools.pairwise(cuts):
            if start < end:
                with self.path(int(bucket[order[start]])).open("ab") as file:
                    rows[order[start:end]].tofile(file)

    def read(self, number: int) -> I64:
        """[rows, width]."""
        path = self.path(number)
        found: I64 = np.fromfile(path, np.int64) if path.exists() else np.zeros(0, np.int64)
        rows: I64 = found.reshape(-1, self._width)
        return rows

    def path(self, number: int) -> Path:
        """The file of a bucket; there is none where it is empty."""
        return self._folder / f"{number:05d}.i64"


def even_borders(weights: I64, num: int) -> I64:
    """Borders of at most `num` buckets over the keys 0 to len(weights), each with about as much weight; all keys are in one."""
    reached = np.cumsum(weights + 1)
    inner = np.searchsorted(reached, reached[-1] * np.arange(1, num) // num) if len(weights) else np.zeros(0, np.int64)
    borders: I64 = np.unique(np.concatenate([[0], inner, [max(1, len(weights))]])).astype(np.int64)
    return borders
