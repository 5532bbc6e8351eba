"""Last phase of the levels that change texts: shards with their cuts, rows of what was removed, and the counts of it.

What exact and near duplicates left is published by then; here text shards with cuts take the place of the linked ones, and layers of shards with documents
that a level dropped take the place of those just written. Documents that go whole keep their text, as all rows with keep = false do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.dedup.index import Runs
from mspt.core.shards import Docs, shard_name, write_docs, write_table
from mspt.core.stage import Job, Unit, UnitOutput
from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS, REJECTED, REMOVED, clip
from mspt.core.text.spans import Span, edit
from mspt.stages.dedup.against import index_name
from mspt.stages.dedup.levels import Level, by_row, edits_of, spans_of
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig

TEXT, LAYER, INDEX, REJECTED_ROWS, REMOVED_ROWS = "docs.parquet", "attributes.parquet", "index.npy", "rejected.parquet", "removed.parquet"
IDENTITY = ("id", "ref", "source", "url")


@dataclass(frozen=True)
class Verdicts:
    """What the levels say about one shard: (name, cuts, drops) of each, in their order."""

    levels: tuple[tuple[str, pa.Table, pa.Table], ...]


def rewrite_shard(payload: tuple[Docs, int, str, Verdicts, Path, Path], out: UnitOutput) -> dict[str, Any]:
    """The new text shard, layer and index without what was dropped, rejected and removed rows; returns tallies and removed parts by rule."""
    docs, shard, stage, verdicts, layer, index = payload
    table = pq.read_table(docs.root / docs.text[shard].path, use_threads=False)
    dropped = {verdict["row"]: (name, verdict) for name, _, drops in verdicts.levels for verdict in drops.to_pylist()}
    changes: dict[int, Change] = {}
    for name, cuts, _ in verdicts.levels:
        for row, own in by_row(cuts):
            if row not in dropped:
                if row not in changes:
                    changes[row] = Change(table.column("text")[row].as_py(), spans_of(table.column("spans")[row].as_py()))
                changes[row].apply(name, own)
    if changes:
        write_docs(out.path(TEXT), _changed(table, changes))
    if dropped:
        attributes = pq.read_table(layer, use_threads=False)
        keep = attributes.column("keep").to_numpy().copy()
        keep[list(dropped)] = False
        write_table(out.path(LAYER), attributes.set_column(attributes.column_names.index("keep"), "keep", pa.array(keep)))
        runs, (rows, ranks) = Runs.map(index)
        runs.select(keep[rows]).save(out.path(INDEX), rows[keep[rows]], ranks[keep[rows]])
    touched = sorted({*changes, *dropped})
    known = table.select([name for name in IDENTITY if name in table.column_names]).take(pa.array(touched, pa.int64()))
    identities = dict(zip(touched, known.to_pylist(), strict=True))
    removed = [{**identities[row], "stage": stage, **part} for row in sorted(changes) for part in changes[row].parts()]
    if removed:
        write_table(out.path(REMOVED_ROWS), pa.Table.from_pylist(removed, REMOVED))
    rejected = [{**identities[row], "stage": stage, **_rejection(table.column("text")[row].as_py(), dropped[row][1])} for row in sorted(dropped)]
    if rejected:
        write_table(out.path(REJECTED_ROWS), pa.Table.from_pylist(rejected, REJECTED))
    return _tally(table, identities, changes, dropped)


class Change:
    """A document on its way through the levels."""

    def __init__(self, text: str, spans: tuple[Span, ...]) -> None:
        self.text = text
        self.spans = spans
        self.characters: dict[str, int] = {}  # removed, by level
        self._parts: list[dict[str, Any]] = []

    def apply(self, level: str, cuts: Sequence[dict[str, Any]]) -> None:
        """Cuts of one level, whose places count in the text as it is now."""
        edits = edits_of(self.text, cuts)
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


def _changed(table: pa.Table, changes: dict[int, Change]) -> pa.Table:
    texts, spans = table.column("text").to_pylist(), table.column("spans").to_pylist()
    for row, change in changes.items():
        texts[row], spans[row] = change.text, [span._asdict() for span in change.spans]
    schema = table.schema.remove_metadata()
    columns = {"text": pa.array(texts, schema.field("text").type), "spans": pa.array(spans, schema.field("spans").type)}
    return pa.table([columns.get(name, table.column(name)) for name in table.column_names], schema=schema)


def _rejection(text: str, verdict: dict[str, Any]) -> dict[str, Any]:
    start, end = verdict["start"], verdict["end"] or len(text)
    said = {name: verdict[name] for name in ("rule", "value", "threshold", "detail")}
    return {**said, "start": verdict["start"], "end": verdict["end"], "excerpt": text[start:end][:MAX_EXCERPT_CHARACTERS], "text": clip(text)}


def _tally(
    table: pa.Table, identities: dict[int, dict[str, Any]], changes: dict[int, Change], dropped: dict[int, tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    """taken: {source: {level: [documents, characters]}}; parts: removed parts by rule; rejected: documents by rule."""
    taken: dict[str, dict[str, list[int]]] = {}
    parts: dict[str, int] = {}
    for row, change in changes.items():
        for level, characters in change.characters.items():
            own = taken.setdefault(identities[row]["source"], {}).setdefault(level, [0, 0])
            own[1] += characters
        for part in change.parts():
            parts[part["rule"]] = parts.get(part["rule"], 0) + 1
    for row, (level, _) in dropped.items():
        own = taken.setdefault(identities[row]["source"], {}).setdefault(level, [0, 0])
        own[0] += 1
        own[1] += len(table.column("text")[row].as_py() or "")
    return {"taken": taken, "parts": parts}


# --- in the parent -----------------------------------------------------------------------------------------------------


def rewrite(job: Job[DedupConfig], docs: Docs, levels: Sequence[Level]) -> tuple[list[dict[str, dict[str, list[int]]]], dict[str, int]]:
    """Publishes what the levels changed; returns what each took from each source, by shard, and the number of removed parts by rule."""
    units = []
    for shard in range(docs.num_shards):
        verdicts = Verdicts(tuple((level.name, level.cuts[shard], level.drops[shard]) for level in levels))
        if any(table.num_rows for _, cuts, drops in verdicts.levels for table in (cuts, drops)):
            layer, index = job.directory / job.layer_file(shard), job.directory / index_name(shard)
            units.append(Unit(f"{shard:05d}", (docs, shard, job.stage, verdicts, layer, index), docs.bytes(shard)))
    results = map_units(job, rewrite_shard, units, what="texts", group="rewrite")
    parts: dict[str, int] = {}
    for result in results:
        names = {file.path for file in result.files}
        shard = int(result.key)
        for own, name in ((TEXT, shard_name(shard)), (LAYER, job.layer_file(shard)), (INDEX, index_name(shard))):
            if own in names:
                job.link(result.path(own), name, result.record(own))
        for rule, number in result.stats["parts"].items():
            parts[rule] = parts.get(rule, 0) + number
    job.collect(results, REJECTED_ROWS, "rejected/levels-{:05d}.parquet")
    job.collect(results, REMOVED_ROWS, "removed/removed-{:05d}.parquet")
    return [result.stats["taken"] for result in results], parts
