"""Packed rows in memory: what the reader gives and the training step takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]

IGNORED = -100  # the label that counts nowhere (torch's and transformers' ignore_index)


@dataclass(frozen=True)
class Batch:
    """Rows of T positions: input_ids [B, T], labels [B, T] (IGNORED where nothing is to be predicted), actual_seq_len [B, N] (ends of the
    documents in input positions, non-decreasing, the last entry T); int32.
    """

    input_ids: IntArray
    labels: IntArray
    actual_seq_len: IntArray

    @property
    def num_rows(self) -> int:
        """B."""
        return len(self.input_ids)

    @property
    def num_valid(self) -> int:
        """Labels that count."""
        return int(np.count_nonzero(self.labels != IGNORED))

    def split(self, parts: int) -> list[Batch]:
        """Micro-batches of equal row count, in order."""
        cut = (np.split(array, parts) for array in (self.input_ids, self.labels, self.actual_seq_len))
        return [Batch(*arrays) for arrays in zip(*cut, strict=True)]

    def unlabelled(self) -> Batch:
        """The same rows with nothing to predict: they fill a batch up and change no mean."""
        return Batch(self.input_ids, np.full_like(self.labels, IGNORED), self.actual_seq_len)


def join(batches: Sequence[Batch]) -> Batch:
    """The rows of all, one after the other."""
    return Batch(*(np.concatenate([getattr(batch, name) for batch in batches]) for name in ("input_ids", "labels", "actual_seq_len")))
