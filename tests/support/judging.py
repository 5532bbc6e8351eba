"""Near-duplicate search over texts in memory, step by step as the dedup stage does it over shards."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.components import distribute, make_batches
from mspt.core.dedup.index import Runs
from mspt.core.dedup.lsh import Candidates, Removed, Verdicts, first_copies, select, verdicts
from mspt.core.dedup.merge import MERGE_BYTES, Groups, Level, RunFile, groups
from mspt.core.dedup.policy import Criterion, Standing, policy_order
from mspt.core.dedup.repeats import count_repeated, repeat_ratios
from mspt.core.dedup.shingles import shingle_sets
from mspt.core.dedup.sketch import Sketch, SketchSettings, make_runs, sketch

CRITERIA: tuple[Criterion, ...] = ("longest", "source", "newest", "quality")


def standing(lengths: npt.NDArray[np.int64], ids: Sequence[int], sources: Sequence[int] = (), dates: Sequence[int] = ()) -> Standing:
    """Documents with these ids; source ranks and dates where they are given."""
    num = len(lengths)
    raw = np.array([list(i.to_bytes(16, "big")) for i in ids], np.uint8).reshape(num, 16)
    return Standing(lengths, np.array(sources or [0] * num, np.int32), np.array(dates or [0] * num, np.int64), np.full(num, -np.inf), raw)


def save_runs(folder: Path, texts: Sequence[str], settings: SketchSettings, shards: int) -> list[RunFile]:
    size, files = -(-len(texts) // shards) or 1, []
    for shard in range(shards):
        files.append(RunFile(folder / f"{shard}", min(len(texts), shard * size)))
        make_runs(sketch(pa.array(texts[shard * size : (shard + 1) * size], pa.string()), settings)).save(files[-1].path)
    return files


def judge(
    texts: list[str],
    threshold: float,
    settings: SketchSettings,
    ids: list[int] | None = None,
    *,
    shards: int = 1,
    max_bytes: int = MERGE_BYTES,
    max_shingles: int = 2**20,
    num_old: int = 0,
) -> tuple[Verdicts, npt.NDArray[np.int64], Sketch]:
    """Verdicts, policy order and sketches; ids in order of the texts unless they are given. The first `num_old` texts are old documents."""
    sketches = sketch(pa.array(texts, pa.string()), settings)
    order = policy_order(standing(sketches.lengths, ids or list(range(len(texts)))), CRITERIA)
    order = np.concatenate([order[order < num_old], order[order >= num_old]])
    ranks = np.empty(len(order), np.uint32)
    ranks[order] = np.arange(len(order))
    with tempfile.TemporaryDirectory() as folder:
        files = save_runs(Path(folder), texts, settings, shards)
        num_shingles = np.concatenate([Runs.map(file.path)[0].num_shingles for file in files])
        first_of = first_copies(groups(files, Level("exact"), max_bytes), ranks)
        parts = [part for band in range(settings.bands) for part in groups(files, Level("band", band), max_bytes)]
    batches = make_batches(parts, first_of, num_old, num_shingles, max_shingles)
    shared: dict[int, list[Groups]] = {}
    for part in distribute(parts, first_of, num_old, batches):
        shared.setdefault(part.batch, []).append(part.groups)
    removed: list[Removed] = []
    for batch, own in shared.items():
        positions = np.flatnonzero(batches.of == batch).astype(np.uint32)
        sets = shingle_sets(pa.array([texts[i] for i in positions], pa.string()), settings.size)
        removed.append(select(Candidates(positions, ranks[positions], positions < num_old, own), sets, threshold))
    return verdicts(first_of, removed), order, sketches


def repeat_ratios_of(texts: list[str], shards: int = 1) -> npt.NDArray[np.float64]:
    """repeat_ratio of each text."""
    with tempfile.TemporaryDirectory() as folder:
        files = save_runs(Path(folder), texts, SketchSettings(), shards)
        sampled = np.concatenate([Runs.map(file.path)[0].sample_counts for file in files])
        parts = [part.members for i in range(3) for part in groups(files, Level("sample"), part=(i, 3))]
    return repeat_ratios(count_repeated(parts, len(texts)), sampled)
