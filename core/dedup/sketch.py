"""What dedup remembers of each document: a few hundred bytes that stand for its text, computed over a whole shard at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.folding import batches, exact_hashes, fold
from mspt.core.dedup.minhash import DEFAULT_SEED, band_keys, permutations, signatures
from mspt.core.dedup.repeats import Samples, sample
from mspt.core.dedup.shingles import BATCH_BYTES, ShingleSize, shingle


@dataclass(frozen=True)
class SketchSettings:
    """How documents are compared: shingles, bands x rows, seed of the permutations."""

    size: ShingleSize = field(default_factory=ShingleSize)
    bands: int = 14
    rows: int = 8
    seed: int = DEFAULT_SEED


@dataclass(frozen=True)
class Sketch:
    """Arrays over documents, in their order."""

    exact: npt.NDArray[np.uint64]  # [documents, 2] hash of the folded text
    lengths: npt.NDArray[np.int64]  # [documents] code points of the folded text
    num_shingles: npt.NDArray[np.int64]  # [documents] 0: too short for a shingle
    keys: npt.NDArray[np.uint64]  # [documents, bands]
    sample_values: npt.NDArray[np.uint64]
    sample_offsets: npt.NDArray[np.int64]  # [documents + 1]

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def samples(self) -> Samples:
        return Samples(self.sample_values, self.sample_offsets)

    def save(self, path: Path) -> None:
        """Write the arrays one after another (NumPy's .npy format, in the order of the fields)."""
        with path.open("wb") as file:
            for array in fields(self):
                np.save(file, getattr(self, array.name), allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> Sketch:
        """Read what `save` wrote."""
        with path.open("rb") as file:
            return cls(*(np.load(file, allow_pickle=False) for _ in fields(cls)))


def sketch(texts: pa.Array | pa.ChunkedArray, settings: SketchSettings) -> Sketch:
    """Sketch each text of a column."""
    permuted_by = permutations(settings.bands * settings.rows, settings.seed)
    parts = []
    for batch in batches(texts, BATCH_BYTES):
        folded = fold(batch)
        shingles = shingle(folded, settings.size)
        signed = signatures(shingles.low(), shingles.offsets, permuted_by)
        samples = sample(shingles)
        parts.append(
            Sketch(
                exact=exact_hashes(folded),
                lengths=folded.lengths,
                num_shingles=np.diff(shingles.offsets),
                keys=band_keys(signed, settings.bands, settings.rows),
                sample_values=samples.values,
                sample_offsets=samples.offsets,
            )
        )
    return join(parts, settings.bands)


def join(parts: Sequence[Sketch], bands: int) -> Sketch:
    """Sketches of consecutive documents as one."""
    starts = np.cumsum([0] + [len(part.sample_values) for part in parts])
    shifted = [part.sample_offsets[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return Sketch(
        exact=np.concatenate([np.zeros((0, 2), np.uint64), *(part.exact for part in parts)]),
        lengths=np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)]),
        num_shingles=np.concatenate([np.zeros(0, np.int64), *(part.num_shingles for part in parts)]),
        keys=np.concatenate([np.zeros((0, bands), np.uint64), *(part.keys for part in parts)]),
        sample_values=np.concatenate([np.zeros(0, np.uint64), *(part.sample_values for part in parts)]),
        sample_offsets=np.concatenate([np.zeros(1, np.int64), *shifted]),
    )
