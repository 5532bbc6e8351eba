"""Sorted runs: what one shard contributes to the comparison of all, on disk, so that memory does not grow with the corpus.

For each band, for the exact hashes and for the sampled shingles a shard holds (key, document) pairs sorted by key; documents count from 0 in each shard.
Keys are hashes and so spread evenly over 64 bits: whoever merges the runs of all shards takes one range of keys at a time (merge.py).

The same file, of the documents that stayed, is the index that a dedup artifact keeps (`Runs.select`): 14 x 12 + 28 bytes for a document with the
default bands. Sampled shingles take 12 bytes each; the index has none.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.arrays import Array, map_arrays, save_arrays

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
NOBODY = np.uint32(0xFFFFFFFF)  # no position
MAX_DOCUMENTS = 2**32 - 2  # positions are 32 bits


@dataclass(frozen=True)
class Runs:
    """Of one shard with n documents, m of them long enough for a shingle."""

    num_shingles: U32  # [n] repeats included; 0: compared exactly only
    exact_keys: U64  # [n] high half of the exact hash, sorted ...
    exact_rests: U64  # [n] ... its low half ...
    exact_documents: U32  # [n] ... and the document
    band_keys: U64  # [bands, m] sorted in each band
    band_documents: U32  # [bands, m]
    sample_keys: U64  # sorted; a document has a key once
    sample_documents: U32
    sample_counts: U32  # [n]

    def __len__(self) -> int:
        return len(self.num_shingles)

    def save(self, path: Path, *more: Array) -> None:
        """Write all arrays, and `more` behind them."""
        save_arrays(path, [*(getattr(self, field.name) for field in fields(self)), *more])

    @classmethod
    def map(cls, path: Path) -> tuple[Runs, list[Array]]:
        """What `save` wrote, mapped, and what stands behind it."""
        arrays = map_arrays(path)
        num = len(fields(cls))
        return cls(*arrays[:num]), arrays[num:]

    def select(self, kept: npt.NDArray[np.bool_]) -> Runs:
        """The runs of some documents, renumbered, without samples."""
        numbers = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
        exact, bands = kept[self.exact_documents], kept[self.band_documents]
        shape = (len(self.band_keys), int(bands[0].sum()) if len(bands) else 0)
        return Runs(
            num_shingles=self.num_shingles[kept],
            exact_keys=self.exact_keys[exact],
            exact_rests=self.exact_rests[exact],
            exact_documents=numbers[self.exact_documents[exact]],
            band_keys=self.band_keys[bands].reshape(shape),
            band_documents=numbers[self.band_documents[bands]].reshape(shape),
            sample_keys=np.zeros(0, np.uint64),
            sample_documents=np.zeros(0, np.uint32),
            sample_counts=np.zeros(int(kept.sum()), np.uint32),
        )
