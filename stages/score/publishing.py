"""The artifact: text shards, layers, rejected and removed rows, counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mspt.core.shards import Docs, shard_name
from mspt.core.stage import Job, UnitResult
from mspt.stages.score import ScoreConfig
from mspt.stages.score.files import LAYER, REJECTED_ROWS, REMOVED_ROWS, TEXT


def publish(job: Job[ScoreConfig], docs: Docs, judged: Sequence[UnitResult], layers: Sequence[UnitResult]) -> None:
    """judged: texts that were cut, rows of what went; layers: the layer of each shard."""
    job.link_docs(docs)
    for shard, (result, layer) in enumerate(zip(judged, layers, strict=True)):
        job.link(layer.path(LAYER), job.layer_file(shard), layer.record(LAYER))
        if any(file.path == TEXT for file in result.files):
            job.link(result.path(TEXT), shard_name(shard), result.record(TEXT))
    job.collect(judged, REJECTED_ROWS, "rejected/rejected-{:05d}.parquet")
    job.collect(judged, REMOVED_ROWS, "removed/removed-{:05d}.parquet")
    rejected = _sum(result.stats["rules"] for result in judged)
    records_in = sum(counts["in"] for result in judged for counts in result.stats["sources"].values())
    removed = _sum(result.stats["removed"] for result in judged)
    job.count(records_in=records_in, out=records_in - sum(rejected.values()), rejected=rejected, removed=removed)


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for own in counts:
        for name, number in own.items():
            total[name] = total.get(name, 0) + number
    return total
