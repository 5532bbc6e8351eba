"""--docs REF: the documents of an artifact are cleaned again, those that `--where` chooses; the others pass unchanged.

What a stage found about the documents (their layers) stays with the rows that are left; documents that were dropped before are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
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


@dataclass(frozen=True)
class Again:
    """One shard to clean again."""

    instructions: Instructions
    docs: Docs
    shard: int
    where: str


def map_docs(job: Job[Any], instructions: Instructions, where: str, limits: Limits) -> list[UnitResult]:
    """Cleans the shards of `job.inputs["docs"]` and publishes them, row-aligned with their layers."""
    docs = open_docs(job.artifact("docs"))
    if where:
        parse(where, "--where").check(docs.columns())
    units = [Unit(f"{shard:05d}", Again(instructions, docs, shard, where), docs.bytes(shard)) for shard in range(docs.num_shards)]
    results = job.map_units(clean_shard, units, what="documents", limits=limits)
    job.layers = docs.layer_names
    for shard, result in enumerate(results):
        for name in (shard_name(shard), *(layer_name(layer, shard) for layer in docs.layer_names)):
            job.link(result.path(name), name, result.record(name))
    for kind in ("rejected", "removed"):
        job.collect(results, f"{kind}-*.parquet", f"{kind}/{kind}-{{:05d}}.parquet")
    return results


def clean_shard(payload: Again, out: UnitOutput) -> dict[str, Any]:
    """Writes what is left of a shard, and the counts (Tallies.plain)."""
    docs, shard, instructions = payload.docs, payload.shard, payload.instructions.loaded()
    text = pq.read_table(checked_path(docs, shard), use_threads=False)
    table = docs.read(shard) if payload.where else docs.read(shard, ["keep"])
    chosen = parse(payload.where, "--where").mask(table).to_pylist() if payload.where else [True] * table.num_rows
    live = table.column("keep").to_pylist()
    writer, rows, stays = Writer(out), [], []
    for index, row in enumerate(row for batch in text.to_batches(BATCH_ROWS) for row in batch.to_pylist()):
        cleaned: dict[str, Any] | None = row
        if live[index] and chosen[index]:
            outcome = guarded(out, index, Rejection("rules", "", text=row["text"]), clean, record_of(row), instructions.recipe, spans_of(row))
            writer.note(row["source"], row["ref"], outcome)
            cleaned = row | columns_of(outcome) if isinstance(outcome, Document) else None
        elif live[index]:
            writer.tallies.count_kept(row["source"], row["lang"], row["form"], len(row["text"]))
        stays.append(live[index] and cleaned is not None)
        if stays[-1]:
            rows.append(cleaned)
        out.advance(docs.bytes(shard) / text.num_rows)
    write_docs(out.path(shard_name(shard)), pa.Table.from_pylist(rows, text.schema.remove_metadata()))
    for layer, files in docs.layers:
        attributes = pq.read_table(docs.root / files[shard].path, use_threads=False)
        write_table(out.path(layer_name(layer, shard)), attributes.filter(pa.array(stays, pa.bool_())).combine_chunks())
    return writer.close()


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
