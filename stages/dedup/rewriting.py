"""Last phase of the levels that change texts: shards with their cuts, rows of what was removed, and the counts of it.

What exact and near duplicates left is published by then; here text shards with cuts take the place of the linked ones, and layers of shards with documents
that a level dropped take the place of those just written. Documents that go whole keep their text, as all rows with keep = false do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.memory import give_back
from mspt.core.shards import Docs, shard_name, write_docs, write_table
from mspt.core.stage import Job, Unit, UnitOutput
from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS, REJECTED, REMOVED, clip
from mspt.core.text.spans import Span, edit
from mspt.stages.dedup.levels import Level, edits_of, spans_of
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig

TEXT, LAYER, REJECTED_ROWS, REMOVED_ROWS = "docs.parquet", "attributes.parquet", "rejected.parquet", "removed.parquet"
IDENTITY = ("id", "ref", "source", "url")


@dataclass(frozen=True)
class Verdicts:
    """What the levels say about one shard: (name, file of cuts, drops) of each, in their order."""

    levels: tuple[tuple[str, Path | None, pa.Table], ...]


def rewrite_shard(payload: tuple[Docs, int, str, Verdicts, Path], out: UnitOutput) -> dict[str, Any]:
    """The new text shard and layer, rejected and removed rows; returns tallies and removed parts by rule. Row group by row group: lists of Python's hold no
    more than one.
    """
    docs, shard, stage, verdicts, layer = payload
    file = pq.ParquetFile(docs.root / docs.text[shard].path)
    cuts = [(name, _Cuts(path)) for name, path, _ in verdicts.levels if path is not None]
    dropped = {verdict["row"]: (name, verdict) for name, _, drops in verdicts.levels for verdict in drops.to_pylist()}
    found = _Rewritten(stage)
    start = 0
    for group in range(file.num_row_groups):
        for batch in file.read_row_group(group, use_threads=False).to_batches():
            found.take(batch, start, cuts, dropped)
            start += len(batch)
        give_back()
    if found.changed:
        write_docs(out.path(TEXT), pa.Table.from_batches(found.batches, file.schema_arrow.remove_metadata()))
    if dropped:
        attributes = pq.read_table(layer, use_threads=False, partitioning=None)
        keep = attributes.column("keep").to_numpy().copy()
        keep[list(dropped)] = False
        write_table(out.path(LAYER), attributes.set_column(attributes.column_names.index("keep"), "keep", pa.array(keep)))
    for name, rows in ((REMOVED_ROWS, found.removed), (REJECTED_ROWS, found.rejected)):
        if rows:
            write_table(out.path(name), pa.concat_tables(rows))
    return {"taken": found.taken, "parts": found.parts}


class _Cuts:
    """The cuts of a shard by one level, asked for by row."""

    def __init__(self, path: Path) -> None:
        self._table = pq.read_table(path, use_threads=False, partitioning=None)
        self.rows = self._table.column("row").to_numpy()

    def of(self, row: int) -> list[dict[str, Any]]:
        first, last = np.searchsorted(self.rows, [row, row + 1]).tolist()
        found: list[dict[str, Any]] = self._table.slice(first, last - first).to_pylist() if last > first else []
        return found


@dataclass
class _Rewritten:
    """A shard so far. taken: {source: {level: [documents, characters]}}; parts: removed parts by rule."""

    stage: str
    changed: bool = False
    batches: list[pa.RecordBatch] = field(default_factory=list)
    removed: list[pa.Table] = field(default_factory=list)
    rejected: list[pa.Table] = field(default_factory=list)
    taken: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    def take(self, batch: pa.RecordBatch, start: int, cuts: Sequence[tuple[str, _Cuts]], dropped: dict[int, tuple[str, dict[str, Any]]]) -> None:
        """The next rows, `start` being the first of them in the shard."""
        end = start + len(batch)
        cut_rows = {int(row) for _, own in cuts for row in own.rows[np.searchsorted(own.rows, start) : np.searchsorted(own.rows, end)]}
        gone = sorted(row for row in dropped if start <= row < end)
        touched = sorted({*cut_rows, *gone})
        known = pa.Table.from_batches([batch]).select([name for name in IDENTITY if name in batch.schema.names])
        identities = dict(zip(touched, known.take(pa.array([row - start for row in touched], pa.int64())).to_pylist(), strict=True))
        changes: dict[int, Change] = {}
        for row in sorted(cut_rows - dropped.keys()):
            change = changes[row - start] = Change(batch.column("text")[row - start].as_py(), spans_of(batch.column("spans")[row - start].as_py()))
            for name, own in cuts:
                change.apply(name, own.of(row))
            self._count(identities[row]["source"], change)
        self.changed |= bool(changes)
        self.batches.append(_changed(batch, changes) if changes else batch)
        removed = [{**identities[start + i], "stage": self.stage, **part} for i, change in changes.items() for part in change.parts()]
        rejected = []
        for row in gone:
            level, verdict = dropped[row]
            text = batch.column("text")[row - start].as_py() or ""
            rejected.append({**identities[row], "stage": self.stage, **_rejection(text, verdict)})
            taken = self.taken.setdefault(identities[row]["source"], {}).setdefault(level, [0, 0])
            taken[0] += 1
            taken[1] += len(text)
        self.removed += [pa.Table.from_pylist(removed, REMOVED)] if removed else []
        self.rejected += [pa.Table.from_pylist(rejected, REJECTED)] if rejected else []

    def _count(self, source: str, change: Change) -> None:
        for level, characters in change.characters.items():
            self.taken.setdefault(source, {}).setdefault(level, [0, 0])[1] += characters
        for part in change.parts():
            self.parts[part["rule"]] = self.parts.get(part["rule"], 0) + 1


class Change:
    """A document on its way through the levels."""

    def __init__(self, text: str, spans: tuple[Span, ...]) -> None:
        self.text = text
        self.spans = spans
        self.characters: dict[str, int] = {}  # removed, by level
        self._parts: list[dict[str, Any]] = []

    def apply(self, level: str, cuts: Sequence[dict[str, Any]]) -> None:
        """Cuts of one level, whose places count in the text as it is now."""
        if not cuts:
            return
        edits = edits_of(self.text, [(cut["start"], cut["end"]) for cut in cuts])
        starts = [one.start for one in edits]
        cut_before = [0, *accumulate(one.end - one.start for one in edits)]
        for part in self._parts:
            part["start"] = part["end"] = _moved(part["start"], starts, cut_before)
        for number, (one, cut) in enumerate(zip(edits, cuts, strict=True)):
            gone, place = self.text[one.start : one.end], one.start - cut_before[number]
            kind = {name: cut[name] for name in ("rule", "value", "threshold", "detail", "survivor")}
            self._parts.append({**kind, "start": place, "end": place, "excerpt": gone[:MAX_EXCERPT_CHARACTERS], "text": clip(gone)})
            self.characters[level] = self.characters.get(level, 0) + len(gone)
        self.text, self.spans = edit(self.text, self.spans, edits)

    def parts(self) -> list[dict[str, Any]]:
        """What was removed, by the place where it would stand in the text as it is now."""
        return sorted(self._parts, key=lambda part: part["start"])


def _moved(place: int, starts: Sequence[int], cut_before: Sequence[int]) -> int:
    """Where a place of the text is behind the cuts; inside a cut: where that was. cut_before[k]: characters of the first k cuts."""
    done = bisect_left(starts, place)
    if not done:
        return place
    last = cut_before[done] - cut_before[done - 1]
    return place - cut_before[done - 1] - min(place - starts[done - 1], last)


def _changed(batch: pa.RecordBatch, changes: dict[int, Change]) -> pa.RecordBatch:
    texts, spans = batch.column("text").to_pylist(), batch.column("spans").to_pylist()
    for row, change in changes.items():
        texts[row], spans[row] = change.text, [span._asdict() for span in change.spans]
    schema = batch.schema.remove_metadata()
    columns = {"text": pa.array(texts, schema.field("text").type), "spans": pa.array(spans, schema.field("spans").type)}
    return pa.record_batch([columns.get(name, batch.column(name)) for name in schema.names], schema=schema)


def _rejection(text: str, verdict: dict[str, Any]) -> dict[str, Any]:
    start, end = verdict["start"], verdict["end"] or len(text)
    said = {name: verdict[name] for name in ("rule", "value", "threshold", "detail")}
    return {**said, "start": verdict["start"], "end": verdict["end"], "excerpt": text[start:end][:MAX_EXCERPT_CHARACTERS], "text": clip(text)}


# --- in the parent -----------------------------------------------------------------------------------------------------


def rewrite(job: Job[DedupConfig], docs: Docs, levels: Sequence[Level]) -> tuple[list[dict[str, dict[str, list[int]]]], dict[str, int]]:
    """Publishes what the levels changed; returns what each took from each source, by shard, and the number of removed parts by rule."""
    units = []
    for shard in range(docs.num_shards):
        verdicts = Verdicts(tuple((level.name, level.cuts[shard], level.drops[shard]) for level in levels))
        if any(cuts is not None or drops.num_rows for _, cuts, drops in verdicts.levels):
            units.append(Unit(f"{shard:05d}", (docs.one(shard), 0, job.stage, verdicts, job.directory / job.layer_file(shard)), docs.bytes(shard)))
    results = map_units(job, rewrite_shard, units, what="texts", group="rewrite")
    parts: dict[str, int] = {}
    for result in results:
        names = {file.path for file in result.files}
        shard = int(result.key)
        for own, name in ((TEXT, shard_name(shard)), (LAYER, job.layer_file(shard))):
            if own in names:
                job.link(result.path(own), name, result.record(own))
        for rule, number in result.stats["parts"].items():
            parts[rule] = parts.get(rule, 0) + number
    job.collect(results, REJECTED_ROWS, "rejected/levels-{:05d}.parquet")
    job.collect(results, REMOVED_ROWS, "removed/removed-{:05d}.parquet")
    return [result.stats["taken"] for result in results], parts
