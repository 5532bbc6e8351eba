"""The levels that change texts, one after another: contaminated (cut), repeated-paragraphs, repeated-substrings.

They work on what exact and near duplicates left: a copy with one paragraph of its own is a near-duplicate, not a document of one paragraph. Documents of
earlier artifacts (`--against`) are read once more, as they were before these levels: they come first and stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from mspt.core.dedup.report import LEVELS, add_tallies, summary, web_remarks
from mspt.core.job import WORKER_MEMORY
from mspt.core.shards import Docs
from mspt.core.stage import Job
from mspt.stages.dedup import contamination, paragraphs, substrings
from mspt.stages.dedup.against import old_documents
from mspt.stages.dedup.levels import VERDICT, Kept, Level, Place, texts_of
from mspt.stages.dedup.rewriting import rewrite

if TYPE_CHECKING:
    from mspt.core.dedup.lsh import Verdicts
    from mspt.stages.dedup import DedupConfig
    from mspt.stages.dedup.corpus import Corpus

Tallies = Mapping[str, Mapping[str, Any]]


@dataclass
class Screening:
    """What is compared: `docs`, less the documents that hold parts of test sets where those are dropped."""

    docs: Docs
    compared: Docs
    tests: contamination.TestSets | None = None
    levels: list[Level] = field(default_factory=list)


def screen(job: Job[DedupConfig], docs: Docs) -> Screening:
    """Before anything is compared."""
    tests = contamination.test_sets(job)
    if tests is None or job.config.decontaminate_by == "cut":
        return Screening(docs, docs, tests)
    level = contamination.remove_contaminated(job, docs, contamination.live_texts(docs), tests)
    return Screening(docs, contamination.without_dropped(job, docs, level), None, [level])


def kept_documents(corpus: Corpus, found: Verdicts, docs: Docs) -> Kept:
    """What exact and near duplicates left: old documents, then those of this run."""
    old = old_documents(corpus.shards[: corpus.num_old_shards])
    num_old = sum(map(len, old.ranks))
    new = slice(corpus.num_old, None)
    ranks = corpus.ranks[new].astype(np.int64) - corpus.num_old + num_old
    ids = np.empty((num_old + len(ranks), 16), np.uint8)
    ids[:num_old] = old.ids
    ids[ranks] = corpus.ids[new]
    rows, of = [], []
    for shard in corpus.new_shards:
        stays = ~found.removed[shard.slice]
        rows.append(shard.rows()[stays].astype(np.int64))
        of.append(ranks[shard.runs.start - corpus.num_old : shard.end - corpus.num_old][stays])
    places = tuple(Place(docs.one(shard.number), 0) for shard in corpus.new_shards)
    return Kept((*old.places, *places), len(old.places), (*old.rows, *rows), (*old.ranks, *of), ids)


def cut(job: Job[DedupConfig], screening: Screening, corpus: Corpus, found: Verdicts, tallies: Tallies) -> None:
    """After what exact and near duplicates left is published. `tallies`: what they took from each source."""
    docs, config = screening.docs, job.config
    screened = list(screening.levels)
    levels: list[Level] = []
    if screening.tests is not None or config.paragraphs or config.substrings:
        levels = _further_levels(job, screening, kept_documents(corpus, found, docs))
    levels = screened + levels
    if levels:
        taken, parts = rewrite(job, docs, levels)
        _count(job, levels, parts)
        tallies = add_tallies([tallies, *map(_as_tally, taken), _screened_tally(docs, screening)])
        job.stats |= summary(tallies, [*LEVELS, *(level.name for level in levels)])
    job.stats["remarks"] = web_remarks(tallies)
    for remark in job.stats["remarks"]:
        job.note(remark)


def _further_levels(job: Job[DedupConfig], screening: Screening, kept: Kept) -> list[Level]:
    """Test sets (cut), paragraphs, substrings: what they say about the documents of this run."""
    max_bytes = (job.config.memory or WORKER_MEMORY * job.workers) // job.workers // 4
    num_old, levels = kept.num_old, list[Level]()
    if screening.tests is not None:
        own = contamination.remove_contaminated(job, screening.docs, texts_of(kept, [])[num_old:], screening.tests)
        nothing = VERDICT.empty_table()
        levels.append(Level(own.name, (*[None] * num_old, *own.cuts), (*[nothing] * num_old, *own.drops)))
        kept = kept.without(levels[-1].drops)
    if job.config.paragraphs:
        levels.append(paragraphs.remove_paragraphs(job, kept, levels, max_bytes))
        kept = kept.without(levels[-1].drops)
    if job.config.substrings:
        levels.append(substrings.remove_substrings(job, kept, levels, max_bytes))
    return [level.new(num_old) for level in levels]


def _count(job: Job[DedupConfig], levels: Sequence[Level], parts: Mapping[str, int]) -> None:
    """Documents that were dropped before the comparison came in too; all others are out of what was kept."""
    assert job.counts is not None
    dropped = {level.name: sum(table.num_rows for table in level.drops) for level in levels}
    before = dropped[contamination.LEVEL] if job.config.decontaminate_by == "drop" and contamination.LEVEL in dropped else 0
    rejected = job.counts.rejected | {name: number for name, number in dropped.items() if number}
    num = job.counts.records_in + before
    job.count(records_in=num, out=num - sum(rejected.values()), rejected=rejected, removed=parts)


def _as_tally(taken: Mapping[str, Mapping[str, list[int]]]) -> dict[str, dict[str, Any]]:
    return {
        source: {"in": 0, "rejected": sum(documents for documents, _ in levels.values()), "characters": 0, "levels": dict(levels)}
        for source, levels in taken.items()
    }


def _screened_tally(docs: Docs, screening: Screening) -> dict[str, dict[str, Any]]:
    """Documents that were dropped before the comparison: nobody has counted them as come in."""
    import pyarrow.compute as pc

    found: dict[str, dict[str, Any]] = {}
    for shard in range(docs.num_shards if screening.compared is not docs else 0):
        rows = screening.levels[0].drops[shard].column("row")
        table = docs.read(shard, ["source", "text"], check=False).take(rows) if len(rows) else pa.table({"source": [], "text": []})
        for source, characters in zip(table.column("source").to_pylist(), pc.utf8_length(table.column("text").cast(pa.string())).to_pylist(), strict=True):
            own = found.setdefault(source, {"in": 0, "rejected": 0, "characters": 0, "levels": {}})
            own["in"] += 1
            own["characters"] += characters or 0
    return found
