"""Third phase: the shingle sets of candidates, and the walk that decides which of them go, batch by batch."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.dedup.corpus import Corpus, Shard, sketch_settings
from mspt.stages.dedup.merging import Merged
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.dedup.components import Batches
    from mspt.core.dedup.lsh import Removed, Verdicts
    from mspt.core.dedup.sketch import SketchSettings
    from mspt.core.shards import Docs
    from mspt.stages.dedup import DedupConfig

SETS, SIZES, REMOVED = "sets.u32", "sizes.u32", "removed.npy"


@dataclass(frozen=True)
class Piece:
    """Shingle sets of some documents, one after another in a file: `count` values from `start`."""

    path: Path
    start: int
    count: int


@dataclass(frozen=True)
class Batch:
    """What a worker needs to decide a batch: documents by position, their ranks and sizes of sets, where sets and groups are."""

    positions: npt.NDArray[np.uint32]
    ranks: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.uint32]
    num_old: int
    pieces: tuple[Piece, ...]
    groups: tuple[Path, Path]
    threshold: float
    max_shingles: int  # more are mapped from disk


def decide(job: Job[DedupConfig], corpus: Corpus, merged: Merged) -> Verdicts:
    """The verdict on every document."""
    from mspt.core.dedup.components import make_batches
    from mspt.core.dedup.lsh import first_copies, verdicts

    first_of = first_copies(Merged.groups(merged.exact), corpus.ranks)
    max_shingles = batch_shingles(job)
    batches = make_batches(Merged.groups(merged.bands), first_of, corpus.num_old, corpus.num_shingles, max_shingles)
    groups = _spread_groups(job, corpus, merged, first_of, batches)
    units = [Unit(f"{i:05d}", batch, 4 * int(batch.sizes.sum())) for i, batch in enumerate(_batches(job, corpus, batches, groups, max_shingles))]
    results = map_units(job, decide_batch, units, what="candidates", group=f"decide-{max_shingles}")
    return verdicts(first_of, (_load(result) for result in results))


def batch_shingles(job: Job[DedupConfig]) -> int:
    """Shingles in a batch: their sets take an eighth of a worker's share of memory. Batches change no verdict."""
    from mspt.core.dedup.components import BATCH_SHINGLES
    from mspt.stages.dedup.merging import merge_bytes

    return min(BATCH_SHINGLES, merge_bytes(job) // 8)


def _load(result: UnitResult) -> Removed:
    from mspt.core.dedup.arrays import load_arrays
    from mspt.core.dedup.lsh import Removed

    return Removed(*load_arrays(result.path(REMOVED)))


def _spread_groups(job: Job[DedupConfig], corpus: Corpus, merged: Merged, first_of: npt.NDArray[np.uint32], batches: Batches) -> list[tuple[Path, Path]]:
    """The groups of each batch in files of its own."""
    from mspt.core.dedup.components import distribute

    folder = job.scratch("batches")
    shutil.rmtree(folder)  # of a killed run
    folder.mkdir()
    files = [(folder / f"{batch:05d}.members", folder / f"{batch:05d}.sizes") for batch in range(batches.num)]
    for part in distribute(Merged.groups(merged.bands), first_of, corpus.num_old, batches):
        for path, numbers in zip(files[part.batch], (part.groups.members, part.groups.sizes), strict=True):
            with path.open("ab") as file:
                numbers.tofile(file)
    return files


def _batches(job: Job[DedupConfig], corpus: Corpus, batches: Batches, groups: Sequence[tuple[Path, Path]], max_shingles: int) -> list[Batch]:
    """Fetch the shingle sets, shard by shard, and say where those of each batch are."""
    import numpy as np

    chosen = batches.candidates()
    starts = np.array([shard.runs.start for shard in corpus.shards])
    shard_of = np.searchsorted(starts, chosen, "right") - 1
    chosen = chosen[np.argsort(shard_of, kind="stable")]  # by (shard, batch, position)
    bounds = np.searchsorted(np.sort(shard_of), np.arange(len(corpus.shards) + 1))
    wanted = {i: chosen[bounds[i] : bounds[i + 1]] for i in range(len(corpus.shards)) if bounds[i] < bounds[i + 1]}
    units = [_fetch_unit(job, corpus, corpus.shards[i], i, positions) for i, positions in wanted.items()]
    results = map_units(job, fetch_sets, units, what="shingles", group=f"sets-{max_shingles}")
    found: list[list[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], Piece]]] = [[] for _ in range(batches.num)]
    for positions, result in zip(wanted.values(), results, strict=True):
        sizes = np.fromfile(result.path(SIZES), np.uint32)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        of = batches.of[positions]
        cuts = [0, *(np.flatnonzero(np.diff(of)) + 1).tolist(), len(of)]
        for first, last in itertools.pairwise(cuts):
            piece = Piece(result.path(SETS), int(ends[first]), int(ends[last] - ends[first]))
            found[of[first]].append((positions[first:last], sizes[first:last], piece))
    return [_batch(job.config, corpus, own, files, max_shingles) for own, files in zip(found, groups, strict=True)]


def _batch(
    config: DedupConfig,
    corpus: Corpus,
    parts: Sequence[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], Piece]],
    groups: tuple[Path, Path],
    max_shingles: int,
) -> Batch:
    import numpy as np

    positions, sizes = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    return Batch(positions, corpus.ranks[positions], sizes, corpus.num_old, tuple(part[2] for part in parts), groups, config.threshold, max_shingles)


def _fetch_unit(job: Job[DedupConfig], corpus: Corpus, shard: Shard, number: int, positions: npt.NDArray[np.uint32]) -> Unit:
    rows = shard.rows()[positions - shard.runs.start]
    old = shard.runs.start < corpus.num_old
    texts = shard.texts.one(shard.number)
    return Unit(f"{number:05d}", (texts, 0, sketch_settings(job.config), rows, old), texts.bytes(0))


# --- in workers --------------------------------------------------------------------------------------------------------


def fetch_sets(payload: tuple[Docs, int, SketchSettings, npt.NDArray[np.uint32], bool], out: UnitOutput) -> dict[str, Any]:
    """The shingle sets of some rows of a shard, one after another. The last of the payload: whether the file is to be checked first."""
    import numpy as np
    import pyarrow as pa

    from mspt.core.dedup.shingles import shingle_sets
    from mspt.stages.dedup.reading import parts_of

    docs, shard, settings, rows, check = payload
    order = np.argsort(rows, kind="stable")  # of the shard; they come by (batch, position)
    num = first = start = 0
    places = np.empty((len(rows), 2), np.int64)  # start and size of each set in the scratch file
    scratch = out.directory / "unordered.u32"
    with scratch.open("wb") as values:
        for part in parts_of(docs, shard, ["text"], check=check):
            last = first + int(np.searchsorted(rows[order[first:]], start + len(part)))
            sets = shingle_sets(part.column("text").take(pa.array(rows[order[first:last]] - start)), settings.size)
            sets.values.tofile(values)
            places[order[first:last], 0], places[order[first:last], 1] = num + sets.starts, sets.sizes
            num, first, start = num + len(sets.values), last, start + len(part)
    _write_ordered(scratch, places, out.path(SETS))
    scratch.unlink()
    places[:, 1].astype("u4").tofile(out.path(SIZES))
    return {"shingles": num}


def _write_ordered(scratch: Path, places: npt.NDArray[np.int64], path: Path) -> None:
    """Sets in another order, some at a time."""
    import numpy as np

    with path.open("wb") as target:
        if not places[:, 1].any():
            return
        values = np.memmap(scratch, np.uint32, "r")
        for start, size in places.tolist():
            target.write(values[start : start + size].data)


def decide_batch(batch: Batch, out: UnitOutput) -> dict[str, Any]:
    """Which documents of a batch are near-duplicates of which."""
    import numpy as np

    from mspt.core.dedup.arrays import save_arrays
    from mspt.core.dedup.lsh import Candidates, select
    from mspt.core.dedup.merge import read_groups
    from mspt.core.dedup.shingles import ShingleSets

    sets = ShingleSets.from_sizes(gather(batch.pieces, 2 * batch.max_shingles, out), batch.sizes.astype(np.int64))
    candidates = Candidates(batch.positions, batch.ranks, batch.positions < batch.num_old, list(read_groups(*batch.groups)))
    removed = select(candidates, sets, batch.threshold)
    save_arrays(out.path(REMOVED), [removed.positions, removed.survivors, removed.similarities])
    return {"removed": len(removed.positions)}


def gather(pieces: Sequence[Piece], most: int, out: UnitOutput) -> npt.NDArray[np.uint32]:
    """The pieces as one array; one component of more than `most` values on disk, mapped."""
    import numpy as np

    total = sum(piece.count for piece in pieces)
    if total <= most:
        values = np.empty(total, np.uint32)
        end = 0
        for piece in pieces:
            start, end = end, end + piece.count
            with piece.path.open("rb") as file:
                file.seek(4 * piece.start)
                file.readinto(values[start:end].data)
        return values
    path = out.directory / "gathered.u32"
    with path.open("wb") as joined:
        for piece in pieces:
            np.memmap(piece.path, np.uint32, "r", 4 * piece.start, (piece.count,)).tofile(joined)
    mapped: npt.NDArray[np.uint32] = np.memmap(path, np.uint32, "r")
    path.unlink()  # it lives as long as it is mapped
    return mapped
