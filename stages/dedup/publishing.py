"""Last phase, in the parent: verdicts cut by shard, files under their names, counts and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mspt.core.stage import Job, Unit, UnitResult
from mspt.stages.dedup.against import index_name
from mspt.stages.dedup.corpus import Corpus
from mspt.stages.dedup.small import map_units
from mspt.stages.dedup.writing import INDEX, LAYER, REJECTED_ROWS, Marks, write_shard

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.dedup.lsh import Verdicts
    from mspt.core.dedup.report import Clusters
    from mspt.core.shards import Docs
    from mspt.stages.dedup import DedupConfig


def publish(job: Job[DedupConfig], docs: Docs, corpus: Corpus, found: Verdicts, repeated: npt.NDArray[np.uint32]) -> dict[str, dict[str, Any]]:
    """Write the layer, the rejection rows, the index, counts and statistics; returns what was taken from each source (core/dedup/report.py: tally)."""
    from mspt.core.dedup.report import NUM_LARGEST, clusters

    all_clusters = clusters(found.survivors[corpus.num_old :])
    largest = all_clusters.survivors[:NUM_LARGEST].tolist()
    marks = make_marks(job.config, corpus, found, repeated, largest)
    shards = corpus.new_shards
    units = [
        Unit(f"{i:05d}", (docs.one(i), 0, job.stage, shard.runs.path, own), docs.bytes(i)) for i, (shard, own) in enumerate(zip(shards, marks, strict=True))
    ]
    results = map_units(job, write_shard, units, what="verdicts", group="write")
    job.link_docs(docs)
    for shard, result in enumerate(results):
        job.link(result.path(LAYER), job.layer_file(shard), result.record(LAYER))
        job.link(result.path(INDEX), index_name(shard), result.record(INDEX))
    job.collect(results, REJECTED_ROWS, "rejected/rejected-{:05d}.parquet")
    tallies = report(job, corpus, results, all_clusters)
    count_short(job, corpus)
    return tallies


def make_marks(config: DedupConfig, corpus: Corpus, found: Verdicts, repeated: npt.NDArray[np.uint32], shown: Sequence[int]) -> list[Marks]:
    """The verdicts cut by shard."""
    import numpy as np

    from mspt.core.dedup.index import Runs
    from mspt.core.dedup.repeats import repeat_ratios

    artifacts, origin_of = _origins(corpus)
    marks = []
    for shard in corpus.new_shards:
        part = shard.slice
        removed = found.removed[part]
        survivors = np.where(removed, found.survivors[part], np.arange(part.start, part.stop, dtype=np.uint32))
        rows = np.array(shard.rows())
        marks.append(
            Marks(
                rows=rows,
                levels=np.where(removed, np.where(found.exact[part], 1, 2), 0).astype(np.uint8),
                clusters=corpus.ids[survivors],
                origins=origin_of(survivors),
                similarity=found.similarities[part],
                repeat_ratio=repeat_ratios(repeated[part], Runs.map(shard.runs.path)[0].sample_counts),
                ranks=corpus.ranks[part],
                artifacts=artifacts,
                threshold=config.threshold,
                show=tuple(int(rows[i - part.start]) for i in shown if part.start <= i < part.stop),
            )
        )
    return marks


def _origins(corpus: Corpus) -> tuple[tuple[str, ...], Any]:
    """Names of the artifacts that old documents are in, and a function from positions to 1 + their numbers, 0 for new documents."""
    import numpy as np

    old = corpus.shards[: corpus.num_old_shards]
    names = tuple(dict.fromkeys(shard.docs.ref for shard in old))
    ends = np.array([max(shard.end for shard in old if shard.docs.ref == name) for name in names], np.int64)

    def origin_of(positions: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
        numbers = np.searchsorted(ends, positions, "right") + 1
        return np.where(positions < corpus.num_old, numbers, 0).astype(np.uint8)

    return names, origin_of


def report(job: Job[DedupConfig], corpus: Corpus, results: Sequence[UnitResult], found: Clusters) -> dict[str, dict[str, Any]]:
    """Counts, shares and clusters."""
    from mspt.core.dedup.report import NUM_LARGEST, add_tallies, size_histogram, summary

    tallies = add_tallies(result.stats["sources"] for result in results)
    job.stats |= summary(tallies)
    job.stats["cluster_sizes"] = size_histogram(found)
    rejected = {level: counts["documents"] for level, counts in job.stats["levels"].items() if counts["documents"]}
    num = len(corpus) - corpus.num_old
    job.count(records_in=num, out=num - sum(rejected.values()), rejected=rejected)
    largest = zip(found.survivors[:NUM_LARGEST].tolist(), found.documents[:NUM_LARGEST].tolist(), strict=True)
    job.stats["largest_clusters"] = [_describe(corpus, results, position, documents) for position, documents in largest]
    if corpus.num_old:
        job.stats["against"] = {"artifacts": list(_origins(corpus)[0]), "documents": corpus.num_old}
    return tallies


def _describe(corpus: Corpus, results: Sequence[UnitResult], position: int, documents: int) -> dict[str, Any]:
    shard = corpus.shard_of(position)
    row = int(shard.rows()[position - shard.runs.start])
    cluster = {"cluster": corpus.ids[position].tobytes().hex(), "documents": documents}
    if position >= corpus.num_old:
        source = corpus.sources[corpus.source_codes[position]]
        return cluster | {"source": source, "excerpt": results[shard.number].stats["excerpts"][str(row)]}
    source, excerpt = _old_excerpt(shard.docs, shard.number, row)
    return cluster | {"source": source, "excerpt": excerpt, "artifact": shard.docs.ref}


def _old_excerpt(docs: Docs, shard: int, row: int) -> tuple[str, str]:
    """Source and beginning of a document of another artifact."""
    from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS

    found = docs.read(shard, ["source", "text"], check=False).slice(row, 1)
    return found.column("source")[0].as_py(), (found.column("text")[0].as_py() or "")[:MAX_EXCERPT_CHARACTERS]


def count_short(job: Job[DedupConfig], corpus: Corpus) -> None:
    """Says how many documents are too short for a shingle."""
    short = int((corpus.num_shingles[corpus.num_old :] == 0).sum())
    job.stats["compared_exactly_only"] = short
    if job.config.near and short:
        job.note(f"{short:,} documents are too short for a shingle: they were compared exactly only")
