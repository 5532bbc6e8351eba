"""Level `repeated-paragraphs`: lines that several documents have (core/dedup/paragraphs.py).

Shards list their lines, sorted by hash; the parent takes all lists range by range, writes the repeated lines to disk in policy order, walks over them, and
writes what is cut of each shard. It holds one range, or one part of the walk, at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup import paragraphs as core
from mspt.core.dedup.runs import Repeated, find_repeated, num_ranges
from mspt.core.dedup.spill import Buckets, even_borders
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.dedup.levels import NOT_ONE, Kept, Level, Texts, texts_of, verdict_columns, write_cuts
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig

I64 = npt.NDArray[np.int64]
LEVEL, PARAGRAPH, BOILERPLATE = "repeated-paragraphs", "repeated-paragraph", "boilerplate"
HASHES, LINES, TOTALS = "hashes.npy", "lines.npy", "totals.npy"
BATCH_BYTES = 4 << 20
SECOND, DOCUMENT, START, END, WIDTH = range(5)  # columns of LINES: second hash (its bits), place among the shard's documents, ...
BYTES_PER_OCCURRENCE = 200  # of memory in the walk: its numbers, their order, the same in order, verdicts


def list_paragraphs(payload: tuple[Texts, int], out: UnitOutput) -> dict[str, Any]:
    """The paragraphs of a shard that may be removed, sorted by their first hash, and the width of each document."""
    texts, min_width = payload
    lines, totals, hashes = [np.zeros((5, 0), np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for part in texts.read(BATCH_BYTES):
        found = core.find_paragraphs(part.texts)
        documents = np.repeat(np.arange(len(part.texts)), np.diff(found.offsets))
        totals.append(np.bincount(documents, found.widths, len(part.texts)).astype(np.int64))
        chosen = found.widths >= min_width
        for i in range(len(part.texts)):
            own = slice(found.offsets[i], found.offsets[i + 1])
            if chosen[own].any():
                for start, end in core.left_alone(part.texts[i].as_py(), part.forms[i], part.spans[i]):
                    chosen[own] &= (found.starts[own] < start) | (found.starts[own] >= end)
        columns = (found.hashes[:, 1].view(np.int64), documents + part.first, found.starts, found.ends, found.widths)
        lines.append(np.stack(columns)[:, chosen])
        hashes.append(found.hashes[chosen, 0])
    joined = np.concatenate(hashes)
    order = np.argsort(joined, kind="stable")
    for name, array in ((HASHES, joined[order]), (LINES, np.concatenate(lines, axis=1)[:, order]), (TOTALS, np.concatenate(totals))):
        with out.path(name).open("wb") as file:
            np.save(file, array, allow_pickle=False)
    return {"paragraphs": len(order)}


# --- in the parent -----------------------------------------------------------------------------------------------------


def remove_paragraphs(job: Job[DedupConfig], kept: Kept, levels: Sequence[Level], max_bytes: int) -> Level:
    """Finds paragraphs that several documents have, and decides in policy order."""
    texts = texts_of(kept, levels)
    units = [Unit(f"{i:05d}", (one, job.config.paragraph_width), one.place.bytes) for i, one in enumerate(texts)]
    results = map_units(job, list_paragraphs, units, what="paragraphs", group="paragraphs")
    totals = np.zeros(len(kept.ids), np.int64)
    for result, ranks in zip(results, kept.ranks, strict=True):
        totals[ranks] = np.load(result.path(TOTALS), allow_pickle=False)
    folder = job.scratch("paragraphs")
    num_lines = sum(result.stats["paragraphs"] for result in results)
    occurrences = Buckets(folder / "occurrences", even_borders(totals, 1 + num_lines * BYTES_PER_OCCURRENCE // max_bytes), 6)
    num_groups = _spill(results, kept, occurrences, max_bytes)
    owners = np.memmap(folder / "owners.i64", np.int64, "w+", shape=(max(1, num_groups),))
    walk = core.Walk(totals, owners, job.config.boilerplate_documents)
    gone = Buckets(folder / "gone", np.arange(len(kept.places) + 1), 7)
    where = kept.where()
    for number in range(len(occurrences)):
        _decide(occurrences.read(number), walk, where, gone)
    return _level(job.config, kept, gone, totals, folder)


def _spill(results: Sequence[UnitResult], kept: Kept, occurrences: Buckets, max_bytes: int) -> int:
    """Writes the repeated paragraphs by rank: (rank, start, end, width, paragraph, documents that have it). Returns the number of different ones."""
    runs = [np.load(result.path(HASHES), mmap_mode="r", allow_pickle=False) for result in results]
    lines = [np.load(result.path(LINES), mmap_mode="r", allow_pickle=False) for result in results]
    num_groups = 0
    for found in find_repeated(runs, num_ranges(sum(map(len, runs)), max_bytes)):
        line, rank = _fetch(found, lines, kept)
        group = _same(found.groups, line[SECOND])
        documents = core.document_counts(rank, group)[group]
        repeated = documents > 1
        rows = np.stack([rank, line[START], line[END], line[WIDTH], group + num_groups, documents], axis=1)[repeated]
        occurrences.add(rows[:, 0], rows)
        num_groups += int(group.max(initial=-1)) + 1
    return num_groups


def _fetch(found: Repeated, lines: Sequence[I64], kept: Kept) -> tuple[I64, I64]:
    """[5, occurrences] of LINES, and the ranks of their documents."""
    line, rank = np.zeros((5, len(found.places)), np.int64), np.zeros(len(found.places), np.int64)
    for shard in np.unique(found.runs).tolist():
        own = np.flatnonzero(found.runs == shard)
        line[:, own] = lines[shard][:, found.places[own]]
        rank[own] = kept.ranks[shard][line[DOCUMENT, own]]
    return line, rank


def _same(groups: npt.NDArray[np.int64], seconds: I64) -> I64:
    """Numbers of the paragraphs that agree in both hashes."""
    order = np.lexsort((seconds, groups))
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (np.diff(groups[order]) != 0) | (np.diff(seconds[order]) != 0)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(starts) - 1
    return numbers


def _decide(rows: I64, walk: core.Walk, where: tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]], gone: Buckets) -> None:
    """Takes the next documents; writes what goes of each shard: (row, start, end, width, documents, survivor, rank)."""
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    rank, start, end, width, group, documents = rows.T
    survivors = walk.decide(rank, group, width, documents)
    going = survivors != core.NOBODY
    shards, row = where[0][rank[going]], where[1][rank[going]]
    columns = (row, start[going], end[going], width[going], documents[going], survivors[going], np.where(walk.rejected[rank[going]], -1, 1) * (rank[going] + 1))
    gone.add(shards.astype(np.int64), np.stack([column.astype(np.int64) for column in columns], axis=1))


def _level(config: DedupConfig, kept: Kept, gone: Buckets, totals: I64, folder: Path) -> Level:
    """Cuts of documents that stay, one for each paragraph, and documents that go."""
    cuts: list[Path | None] = []
    drops = []
    for shard in range(len(kept.places)):
        rows = gone.read(shard)
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        whole = rows[:, 6] < 0
        drops.append(_drops(rows[whole], totals))
        cuts.append(write_cuts(folder / f"cuts-{shard:05d}.parquet", _cuts(config, kept, rows[~whole])))
    return Level(LEVEL, tuple(cuts), tuple(drops))


def _cuts(config: DedupConfig, kept: Kept, rows: I64) -> pa.Table:
    row, start, end, _, documents, survivors, _ = rows.T
    is_boilerplate = survivors == core.BOILERPLATE
    return verdict_columns(
        row=row,
        start=start,
        end=end,
        rule=np.where(is_boilerplate, BOILERPLATE, PARAGRAPH).astype(object),
        value=documents,
        threshold=np.where(is_boilerplate, config.boilerplate_documents, np.nan),
        detail=["documents that have it"] * len(rows),
        survivor=kept.ids_of(np.where(is_boilerplate, NOT_ONE, survivors)),
    )


def _drops(rows: I64, totals: I64) -> pa.Table:
    """Documents of a shard that go whole; `rows`: their repeated paragraphs."""
    documents, first, place = np.unique(rows[:, 0], return_index=True, return_inverse=True)
    widths, numbers = np.bincount(place, rows[:, 3], len(documents)), np.bincount(place, minlength=len(documents))
    return verdict_columns(
        row=documents,
        start=np.zeros(len(documents), np.int64),
        end=np.zeros(len(documents), np.int64),
        rule=[LEVEL] * len(documents),
        value=widths / totals[-rows[first, 6] - 1],
        threshold=np.full(len(documents), 1 - core.MIN_LEFT),
        detail=[f"{number} repeated paragraphs" for number in numbers.tolist()],
        survivor=pa.nulls(len(documents), pa.string()),
    )
