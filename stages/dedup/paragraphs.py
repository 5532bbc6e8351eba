"""Level `repeated-paragraphs`: lines that several documents have (core/dedup/paragraphs.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup import paragraphs as core
from mspt.core.dedup.folding import batches
from mspt.core.dedup.runs import find_repeated, num_ranges
from mspt.core.shards import Docs
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.dedup.levels import NOT_ONE, Kept, Level, Texts, ids_of, texts_of, verdict_columns
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig

LEVEL, PARAGRAPH, BOILERPLATE = "repeated-paragraphs", "repeated-paragraph", "boilerplate"
HASHES, LINES, TOTALS = "hashes.npy", "lines.npy", "totals.npy"
BATCH_BYTES = 4 << 20
SECOND, DOCUMENT, START, END, WIDTH = range(5)  # columns of LINES: second hash (its bits), place among the shard's documents, ...


def list_paragraphs(payload: tuple[Texts, int], out: UnitOutput) -> dict[str, Any]:
    """The paragraphs of a shard that may be removed, sorted by their first hash, and the width of each document."""
    texts, min_width = payload
    column, forms, spans = texts.read()
    lines, totals, first = [np.zeros((5, 0), np.int64)], [np.zeros(0, np.int64)], 0
    hashes = [np.zeros(0, np.uint64)]
    for batch in batches(column, BATCH_BYTES):
        found = core.find_paragraphs(batch)
        counts = np.diff(found.offsets)
        documents = np.repeat(np.arange(len(batch)), counts)
        totals.append(np.bincount(documents, found.widths, len(batch)).astype(np.int64))
        chosen = found.widths >= min_width
        for i in range(len(batch)):
            own = slice(found.offsets[i], found.offsets[i + 1])
            if chosen[own].any():
                for start, end in core.left_alone(batch[i].as_py(), forms[first + i], spans[first + i]):
                    chosen[own] &= (found.starts[own] < start) | (found.starts[own] >= end)
        columns = (found.hashes[:, 1].view(np.int64), documents + first, found.starts, found.ends, found.widths)
        lines.append(np.stack(columns)[:, chosen])
        hashes.append(found.hashes[chosen, 0])
        first += len(batch)
    joined = np.concatenate(hashes)
    order = np.argsort(joined, kind="stable")
    for name, array in ((HASHES, joined[order]), (LINES, np.concatenate(lines, axis=1)[:, order]), (TOTALS, np.concatenate(totals))):
        with out.path(name).open("wb") as file:
            np.save(file, array, allow_pickle=False)
    return {"paragraphs": len(order)}


@dataclass(frozen=True)
class Occurrences:
    """Repeated paragraphs in policy order. `shards`, `documents` (places in the shard), `ranks`: of their documents; `groups`: equal for equal paragraphs."""

    shards: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]


def remove_paragraphs(job: Job[DedupConfig], docs: Docs, kept: Kept, levels: Sequence[Level], max_bytes: int) -> Level:
    """Finds paragraphs that several documents have, and decides in policy order."""
    units = [Unit(f"{texts.shard:05d}", (texts, job.config.paragraph_width), docs.bytes(texts.shard)) for texts in texts_of(docs, kept, levels)]
    results = map_units(job, list_paragraphs, units, what="paragraphs", group="paragraphs")
    found = _occurrences(results, kept, max_bytes)
    totals = np.zeros(int(max((ranks.max(initial=-1) for ranks in kept.ranks), default=-1)) + 1, np.int64)
    for result, ranks in zip(results, kept.ranks, strict=True):
        totals[ranks] = np.load(result.path(TOTALS), allow_pickle=False)
    verdicts = core.walk(found.ranks, found.groups, found.widths, totals, job.config.boilerplate_documents)
    return _level(job.config, docs, kept, found, verdicts, totals)


def _occurrences(results: Sequence[UnitResult], kept: Kept, max_bytes: int) -> Occurrences:
    runs = [np.load(result.path(HASHES), mmap_mode="r", allow_pickle=False) for result in results]
    repeated = find_repeated(runs, num_ranges(sum(map(len, runs)), max_bytes))
    lines, shards, groups = [np.zeros((5, 0), np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    ranks = [np.zeros(0, np.int64)]
    for shard, result in enumerate(results):
        own = repeated.runs == shard
        lines.append(np.load(result.path(LINES), mmap_mode="r", allow_pickle=False)[:, repeated.places[own]])
        ranks.append(kept.ranks[shard][lines[-1][DOCUMENT]])
        shards.append(np.full(int(own.sum()), shard, np.int64))
        groups.append(repeated.groups[own])
    line, rank, group = np.concatenate(lines, axis=1), np.concatenate(ranks), np.concatenate(groups)
    order = np.lexsort((line[START], rank))
    both = np.stack([group[order], line[SECOND][order]], axis=1)
    same = np.unique(both, axis=0, return_inverse=True)[1].ravel().astype(np.int64)  # equal in both hashes
    return Occurrences(np.concatenate(shards)[order], line[DOCUMENT][order], rank[order], line[START][order], line[END][order], line[WIDTH][order], same)


def _level(config: DedupConfig, docs: Docs, kept: Kept, found: Occurrences, verdicts: core.Walk, totals: npt.NDArray[np.int64]) -> Level:
    """Cuts of documents that stay, one for each paragraph, and documents that go."""
    gone = verdicts.survivors != core.NOBODY
    whole = verdicts.rejected[found.ranks]
    counts = core.document_counts(found.ranks, found.groups)[found.groups]
    cuts, drops = [], []
    for shard, rows in enumerate(kept.rows):
        own = gone & (found.shards == shard)
        drops.append(_drops(rows, found, own & whole, totals))
        chosen = np.flatnonzero(own & ~whole)
        chosen = chosen[np.lexsort((found.starts[chosen], found.documents[chosen]))]
        survivors = verdicts.survivors[chosen]
        is_boilerplate = survivors == core.BOILERPLATE
        cuts.append(
            verdict_columns(
                row=rows[found.documents[chosen]],
                start=found.starts[chosen],
                end=found.ends[chosen],
                rule=np.where(is_boilerplate, BOILERPLATE, PARAGRAPH),
                value=counts[chosen],
                threshold=np.where(is_boilerplate, config.boilerplate_documents, np.nan),
                detail=["documents that have it"] * len(chosen),
                survivor=ids_of(docs, kept, np.where(is_boilerplate, NOT_ONE, survivors)),
            )
        )
    return Level(LEVEL, tuple(cuts), tuple(drops))


def _drops(rows: npt.NDArray[np.int64], found: Occurrences, own: npt.NDArray[np.bool_], totals: npt.NDArray[np.int64]) -> pa.Table:
    """Documents of a shard that go whole; `own`: their repeated paragraphs."""
    documents, first, place = np.unique(found.documents[own], return_index=True, return_inverse=True)
    widths, numbers = np.bincount(place, found.widths[own], len(documents)), np.bincount(place, minlength=len(documents))
    shares = widths / totals[found.ranks[own][first]]
    return verdict_columns(
        row=rows[documents],
        start=np.zeros(len(documents), np.int64),
        end=np.zeros(len(documents), np.int64),
        rule=[LEVEL] * len(documents),
        value=shares,
        threshold=np.full(len(documents), 1 - core.MIN_LEFT),
        detail=[f"{number} repeated paragraphs" for number in numbers.tolist()],
        survivor=pa.nulls(len(documents), pa.string()),
    )
