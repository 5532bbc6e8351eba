"""--docs REF: the documents of an artifact are cleaned again, those that `--where` chooses; the others pass unchanged.

What a stage found about the documents (their layers) stays with the rows that are left; documents that were dropped before are gone. `cleaned_again` marks
those that were chosen. The stats say what they were before and after: documents, characters and, where something measured it before, mean quality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mspt.core.artifact import check_file
from mspt.core.expression import parse
from mspt.core.shards import Docs, layer_name, open_docs, shard_name, write_docs, write_table
from mspt.core.stage import Job, Limits, Unit, UnitOutput, UnitResult
from mspt.core.text.cleaning import clean
from mspt.core.text.outcomes import Document, Rejection
from mspt.core.text.readers.fields import as_decoded
from mspt.core.text.readers.record import Record
from mspt.core.text.spans import Span
from mspt.stages.clean.rows import Writer
from mspt.stages.clean.unit import Instructions, guarded

BATCH_ROWS = 1000  # of a shard that are Python objects at once
MARK = "cleaned_again"


@dataclass(frozen=True)
class Again:
    """One shard to clean again. layer: the name of the new artifact, which has a layer of its own."""

    instructions: Instructions
    docs: Docs
    shard: int
    where: str
    layer: str


def map_docs(job: Job[Any], instructions: Instructions, where: str, limits: Limits) -> list[UnitResult]:
    """Cleans the shards of `job.inputs["docs"]` and publishes them, row-aligned with their layers."""
    docs = open_docs(job.artifact("docs"))
    if where:
        parse(where, "--where").check(docs.columns())
    units = [Unit(f"{shard:05d}", Again(instructions, docs, shard, where, job.name), docs.bytes(shard)) for shard in range(docs.num_shards)]
    results = job.map_units(clean_shard, units, what="documents", limits=limits)
    job.layers = list(dict.fromkeys([*docs.layer_names, job.name]))
    for shard, result in enumerate(results):
        for name in (shard_name(shard), *(layer_name(layer, shard) for layer in job.layers)):
            job.link(result.path(name), name, result.record(name))
    for kind in ("rejected", "removed"):
        job.collect(results, f"{kind}-*.parquet", f"{kind}/{kind}-{{:05d}}.parquet")
    job.stats["again"] = {"where": where, **{when: total([result.stats["again"][when] for result in results]) for when in ("before", "after")}}
    return results


def total(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of all shards; `quality` is the mean."""
    found: dict[str, Any] = {name: sum(part[name] for part in parts) for name in ("documents", "characters")}
    if found["documents"] and all("quality_sum" in part for part in parts):
        found["quality"] = round(math.fsum(part["quality_sum"] for part in parts) / found["documents"], 4)
    return found


def clean_shard(payload: Again, out: UnitOutput) -> dict[str, Any]:
    """Writes what is left of a shard, and the counts (Tallies.plain). What is not chosen is never a Python object."""
    docs, shard = payload.docs, payload.shard
    text = pq.read_table(checked_path(docs, shard), use_threads=False)
    live, chosen = choose(payload)
    writer = Writer(out)
    count_unchanged(text.filter(pa.array(live & ~chosen)), writer)
    cleaned = clean_rows(text.filter(pa.array(chosen)), np.flatnonzero(chosen).tolist(), payload, out, writer)
    places = {row: text.num_rows + number for number, row in enumerate(cleaned)}  # in the old rows followed by the cleaned ones
    stays = live & ~chosen
    stays[list(cleaned)] = True
    both = pa.concat_tables([text, pa.Table.from_pylist(list(cleaned.values()), text.schema)])
    rows = both.take(pa.array([places.get(row, row) for row in np.flatnonzero(stays).tolist()], pa.int64()))
    write_docs(out.path(shard_name(shard)), rows.combine_chunks().replace_schema_metadata(None))
    write_layers(payload, out, stays, chosen)
    lengths = [pc.fill_null(pc.utf8_length(table.column("text")), 0).to_numpy() for table in (text, rows)]
    before, after = chosen, chosen & stays
    changed = {"before": measure(payload, before, lengths[0][before]), "after": measure(payload, after, lengths[1][chosen[stays]])}
    return {**writer.close(), "again": changed}


def choose(payload: Again) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which rows of the shard are live, and which of them are cleaned again."""
    table = payload.docs.read(payload.shard) if payload.where else payload.docs.read(payload.shard, ["keep"])
    live = np.array(table.column("keep").to_pylist(), np.bool_)
    return live, live & np.array(parse(payload.where, "--where").mask(table).to_pylist(), np.bool_) if payload.where else live.copy()


def clean_rows(chosen: pa.Table, places: Sequence[int], payload: Again, out: UnitOutput, writer: Writer) -> dict[int, dict[str, Any]]:
    """Those of the chosen rows that stay, as they are now, by their place in the shard."""
    instructions, found = payload.instructions.loaded(), {}
    if not places:
        out.advance(payload.docs.bytes(payload.shard))
    for place, row in zip(places, (row for batch in chosen.to_batches(BATCH_ROWS) for row in batch.to_pylist()), strict=True):
        outcome = guarded(out, place, Rejection("rules", "", text=row["text"]), clean, record_of(row), instructions.recipe, spans_of(row))
        writer.note(row["source"], row["ref"], outcome)
        if isinstance(outcome, Document):
            found[place] = row | columns_of(outcome)
        out.advance(payload.docs.bytes(payload.shard) / len(places))
    return found


def count_unchanged(rows: pa.Table, writer: Writer) -> None:
    lengths = pc.fill_null(pc.utf8_length(rows.column("text")), 0)
    columns = [rows.column(name).to_pylist() for name in ("source", "lang", "form")]
    for source, lang, form, length in zip(*columns, lengths.to_pylist(), strict=True):
        writer.tallies.count_kept(source, lang, form, length)


def write_layers(payload: Again, out: UnitOutput, stays: npt.NDArray[np.bool_], chosen: npt.NDArray[np.bool_]) -> None:
    """The layers of what is left, and MARK in the layer of the new artifact."""
    marks = pa.array(chosen[stays], pa.bool_())
    layers = {}
    for layer, files in payload.docs.layers:
        attributes = pq.read_table(payload.docs.root / files[payload.shard].path, use_threads=False)
        if MARK in attributes.column_names:  # of an earlier clean: another set of documents
            attributes = attributes.drop_columns([MARK])
        layers[layer] = attributes.filter(pa.array(stays)).combine_chunks()
    own = layers.get(payload.layer)
    layers[payload.layer] = pa.table({MARK: marks}) if own is None else own.append_column(MARK, marks)
    for layer, table in layers.items():
        write_table(out.path(layer_name(layer, payload.shard)), table)


def measure(payload: Again, chosen: npt.NDArray[np.bool_], lengths: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Documents, characters (lengths of their texts), and the sum of `quality`, as it was measured before, where it was."""
    found: dict[str, Any] = {"documents": int(chosen.sum()), "characters": int(lengths.sum())}
    if "quality" in payload.docs.columns():
        values = payload.docs.read(payload.shard, ["quality"], check=False).column("quality").filter(pa.array(chosen)).to_pylist()
        if None not in values:
            found["quality_sum"] = math.fsum(values)
    return found


def checked_path(docs: Docs, shard: int) -> Path:
    """The text file of a shard, after its hash was compared."""
    path = docs.root / docs.text[shard].path
    check_file(path, docs.text[shard], docs.ref)
    return path


def record_of(row: dict[str, Any]) -> Record:
    """A document as the record that it is cleaned from: no markup any more."""
    text, meta = row["text"], orjson.loads(row["meta"]) if row["meta"] else {}
    return Record(row["ref"], as_decoded(text, row["encoding"]), url=row["url"], title=row["title"], meta=meta, source=row["source"])


def spans_of(row: dict[str, Any]) -> tuple[Span, ...]:
    return tuple(Span(span["tag"], span["start"], span["end"]) for span in row["spans"] or ())


def columns_of(document: Document) -> dict[str, Any]:
    """What cleaning may have changed."""
    language, form = document.language, document.form
    return {
        "text": document.text,
        "title": document.title,
        "url": document.url,
        "lang": language.tag,
        "lang_confidence": language.confidence,
        "form": form.form,
        "programming_language": form.programming_language,
        "spans": [span._asdict() for span in document.spans],
        "meta": document.meta,
    }
