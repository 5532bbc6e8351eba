"""What dedup remembers of each document: a few hundred bytes that stand for its text, computed over a whole shard at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.folding import exact_hashes
from mspt.core.dedup.index import Runs
from mspt.core.dedup.minhash import DEFAULT_SEED, band_keys, permutations, signatures
from mspt.core.dedup.repeats import sample
from mspt.core.dedup.shingles import ShingleSize, shingled
from mspt.core.dedup.sorting import sort_by_key
from mspt.core.kernel import kernel


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
    sample_values: npt.NDArray[np.uint64]  # as Samples (repeats.py)
    sample_offsets: npt.NDArray[np.int64]  # [documents + 1]

    def __len__(self) -> int:
        return len(self.lengths)


def sketch(texts: pa.Array | pa.ChunkedArray, settings: SketchSettings) -> Sketch:
    """Sketch each text of a column."""
    permuted_by = permutations(settings.bands * settings.rows, settings.seed)
    parts = []
    for folded, shingles in shingled(texts, settings.size):
        signed = signatures(shingles.hashes, shingles.offsets, permuted_by)
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


def make_runs(sketches: Sketch) -> Runs:
    """Sort the sketches of a shard by each of their keys."""
    documents = np.arange(len(sketches), dtype=np.uint32)
    exact_keys, exact_documents = sketches.exact[:, 0].copy(), documents.copy()
    sort_by_key(exact_keys, exact_documents)
    compared = documents[sketches.num_shingles > 0]
    band_keys = np.ascontiguousarray(sketches.keys[compared].T)
    band_documents = np.tile(compared, (len(band_keys), 1))
    for keys, own in zip(band_keys, band_documents, strict=True):
        sort_by_key(keys, own)
    sample_keys = sketches.sample_values.copy()
    sample_documents = np.repeat(documents, np.diff(sketches.sample_offsets))
    sort_by_key(sample_keys, sample_documents)
    num = _drop_repeats(sample_keys, sample_documents)
    return Runs(
        num_shingles=sketches.num_shingles.astype(np.uint32),
        exact_keys=exact_keys,
        exact_rests=sketches.exact[exact_documents, 1],
        exact_documents=exact_documents,
        band_keys=band_keys,
        band_documents=band_documents,
        sample_keys=sample_keys[:num],
        sample_documents=sample_documents[:num],
        sample_counts=np.bincount(sample_documents[:num], minlength=len(sketches)).astype(np.uint32),
    )


@kernel
def _drop_repeats(keys: npt.NDArray[np.uint64], documents: npt.NDArray[np.uint32]) -> int:
    """Move the distinct pairs to the front; pairs of one key are in order of documents."""
    size = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1] or documents[i] != documents[i - 1]:
            keys[size], documents[size] = keys[i], documents[i]
            size += 1
    return size
