"""Second phase: the runs of all shards are merged, a unit for each band, one for the exact hashes, some for the samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.dedup.merge import Groups, Level, RunFile
    from mspt.stages.dedup import DedupConfig
    from mspt.stages.dedup.corpus import Corpus

MEMBERS, SIZES = "members.u32", "sizes.u32"
SAMPLE_PARTS = 8  # units that share the sampled shingles


@dataclass(frozen=True)
class Merged:
    """What the merges found, on disk."""

    exact: tuple[UnitResult, ...]
    bands: tuple[UnitResult, ...]
    samples: tuple[UnitResult, ...]

    @staticmethod
    def groups(results: tuple[UnitResult, ...]) -> Iterator[Groups]:
        """Groups of all results, in parts."""
        from mspt.core.dedup.merge import read_groups

        return itertools.chain.from_iterable(read_groups(result.path(MEMBERS), result.path(SIZES)) for result in results)


def merge_level(payload: tuple[tuple[RunFile, ...], Level, tuple[int, int], int], out: UnitOutput) -> dict[str, Any]:
    """Who shares a key with whom in one level (or part of it). Runs in workers."""
    from mspt.core.dedup.merge import groups, write_groups

    files, level, part, max_bytes = payload
    return {"groups": write_groups(groups(files, level, max_bytes, part), out.path(MEMBERS), out.path(SIZES))}


def merge(job: Job[DedupConfig], corpus: Corpus) -> Merged:
    """All levels that are on. The samples are of new documents only: repeat_ratio speaks of this run."""
    from mspt.core.dedup.merge import Level

    every = tuple(shard.runs for shard in corpus.shards)
    levels = [("exact", Level("exact"), every, (0, 1))] if job.config.exact else []
    levels += [(f"band-{band:03d}", Level("band", band), every, (0, 1)) for band in range(job.config.bands if job.config.near else 0)]
    own = tuple(shard.runs for shard in corpus.new_shards)
    levels += [(f"sample-{part}", Level("sample"), own, (part, SAMPLE_PARTS)) for part in range(SAMPLE_PARTS)]
    total = sum(file.path.stat().st_size for file in every)
    units = [Unit(key, (files, level, part, merge_bytes(job)), total // len(levels)) for key, level, files, part in levels]
    results = dict(zip([unit.key for unit in units], map_units(job, merge_level, units, what="bands", group="merge"), strict=True))
    kinds = {kind: tuple(result for key, result in results.items() if key.startswith(kind)) for kind in ("exact", "band", "sample")}
    return Merged(kinds["exact"], kinds["band"], kinds["sample"])


def merge_bytes(job: Job[DedupConfig]) -> int:
    """Memory for one range of keys: a quarter of a worker's share."""
    from mspt.core.dedup.merge import MERGE_BYTES

    return min(MERGE_BYTES, (job.config.memory or MERGE_BYTES * 4 * job.workers) // (4 * job.workers))


def repeated(merged: Merged, corpus: Corpus) -> npt.NDArray[np.uint32]:
    """Of each document: how many of its sampled shingles other documents have."""
    from mspt.core.dedup.repeats import count_repeated

    return count_repeated((part.members for part in Merged.groups(merged.samples)), len(corpus))
