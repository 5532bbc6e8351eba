"""--group-by: the records of the raw files are sorted by entity and time, then each window of an entity becomes one document.

Two rounds of units: the first reads the raw files, writes sorted runs and rejects what cannot be grouped; the second merges one bucket of all runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mspt.core.errors import MsptError
from mspt.core.sample import position
from mspt.core.stage import Job, Limits, RawFile, Unit, UnitOutput, UnitResult
from mspt.core.text.cleaning import Recipe, clean
from mspt.core.text.containers.walk import Problem
from mspt.core.text.decoding.decode import Decoded
from mspt.core.text.documents import document_id
from mspt.core.text.groups.groups import Group, Tally, groups, map_group
from mspt.core.text.groups.sort import NUM_BUCKETS, RunWriter, merged
from mspt.core.text.mapping import MapFunction, Mapped, Refusal
from mspt.core.text.outcomes import Document, Rejection
from mspt.core.text.readers.record import Record
from mspt.stages.clean.rows import Writer
from mspt.stages.clean.unit import Instructions, PartReader, as_rejection, guarded, read_part

RUNS = "runs-"


def map_groups(job: Job[Any], instructions: Instructions, limits: Limits) -> list[UnitResult]:
    """Both rounds. Nothing is taken over from an earlier version: a group may have records of any file."""
    if instructions.quota is not None:
        raise MsptError("--sample N with --group-by would tear groups apart", "give a share: --sample 5%")
    part_bytes = instructions.part_bytes
    assert part_bytes is not None
    sorted_ = job.map_raw(sort_unit, instructions, what="files", limits=limits, unit_bytes=part_bytes, in_parts=True, usable=lambda entry: False)
    runs = [(result.path(record.path), record.sha256) for result in sorted_ for record in result.files if record.path.startswith(RUNS)]
    rows: dict[int, int] = {}
    for result in sorted_:
        for bucket, count in result.stats["buckets"].items():
            rows[int(bucket)] = rows.get(int(bucket), 0) + count
    content = hashlib.sha256("".join(sha256 for _, sha256 in runs).encode()).hexdigest()[:16]
    paths = [path for path, _ in runs]
    units = [Unit(f"{bucket:02d}-{content}", (instructions, bucket, paths), rows[bucket]) for bucket in range(NUM_BUCKETS) if bucket in rows]
    results = [*sorted_, *job.map_units(write_bucket, units, what="groups", limits=limits, group="groups")]
    tally = Tally()
    for result in results:
        tally.add(result.stats["groups"])
    tally.check()
    job.stats |= {"records": tally.records, "groups": tally.groups}
    if tally.cut:
        job.warn(f"{tally.cut:,} groups were cut: their windows hold more than a document may (--max-group-records)")
    return results


# --- first round -------------------------------------------------------------------------------------------------------


class Sorter(PartReader):
    """Each record becomes a row of a run, or of rejected."""

    def __init__(self, instructions: Instructions, out: UnitOutput) -> None:
        super().__init__(instructions, out)
        self.runs = RunWriter(out.path)
        self.tally = Tally()

    def take(self, found: Record | Problem, source: str, ref: str) -> bool:
        refusal = self._refusal(found, source, ref)
        if refusal is not None:
            self.writer.add(source, ref, refusal)
            self.tally.records += 1
            self.tally.refused += 1
        return True

    def _refusal(self, found: Record | Problem, source: str, ref: str) -> Rejection | None:
        """Why a record cannot be grouped; None: it is in the runs (or its entity is not in the sample)."""
        if isinstance(found, Problem):
            return as_rejection(found)
        assert self.instructions.grouping is not None
        row = self.instructions.grouping.row(found.fields, source, ref)
        if isinstance(row, Refusal):
            return Rejection("group", row.rule, detail=row.detail, text=found.decoded.text)
        if self.instructions.share >= 1 or position(document_id("", row[0])) < self.instructions.share:
            self.runs.add(row)
            self.tally.records += 1
        return None


def sort_unit(payload: tuple[Instructions, Sequence[RawFile]], out: UnitOutput) -> dict[str, Any]:
    """Sorts what of a unit lies in part `out.part`; the counts, and how many rows each bucket has."""
    instructions, files = payload
    sorter = Sorter(instructions, out)
    read_part(sorter, files, out)
    return {**sorter.writer.close(), "buckets": sorter.runs.close(), "groups": sorter.tally.plain()}


# --- second round ------------------------------------------------------------------------------------------------------


def write_bucket(payload: tuple[Instructions, int, Sequence[Path]], out: UnitOutput) -> dict[str, Any]:
    """Cleans the groups of one bucket."""
    instructions, bucket, runs = payload
    assert instructions.grouping is not None
    function = instructions.mapping.load() if instructions.mapping else None
    writer, tally = Writer(out), Tally()
    for index, group in enumerate(groups(merged(runs, bucket, out.directory), instructions.grouping), 1):
        tally.count(group)
        outcome = guarded(out, index, Rejection("map", ""), clean_group, group, function, instructions.options.fields.text, instructions.recipe)
        writer.add(group.source, group.ref, outcome)
        out.advance(len(group.records))
    return {**writer.close(), "groups": tally.plain()}


def clean_group(group: Group, function: MapFunction | None, text_field: str, recipe: Recipe) -> Document | Rejection:
    """The document that a group becomes."""
    answer = map_group(group, function, text_field)
    if not isinstance(answer, Mapped):
        return Rejection("map", answer.rule, detail=answer.detail)
    record = Record(group.ref, Decoded("", "utf-8", "declared"), meta=group.meta, source=group.source)
    return clean(answer.apply(record), recipe)
