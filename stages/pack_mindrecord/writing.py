"""Rows into MindRecord files, one file a unit of work."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mspt.core.stage import Unit, UnitOutput, UnitResult
from mspt.core.tokens import mlm
from mspt.core.tokens.blocks import Block, read_rows
from mspt.core.tokens.documents import DocumentReader, Documents
from mspt.core.tokens.rows import RowFormat, Segments, fill_rows, provenance, read_segments, segment_bytes
from mspt.core.tokens.token_files import TokenFiles
from mspt.stages.pack_mindrecord.planning import Plan, RowSet, blocks_of
from mspt.stages.pack_mindrecord.spans import SpanRates

if TYPE_CHECKING:
    from mspt.core.stage import Job
    from mspt.core.tokens.tokenizer import Tokenizer
    from mspt.stages.pack_mindrecord import PackMindrecordConfig

BATCH_ROWS = 256
LEGACY, MLM, SEGMENTS = "legacy", "mlm", "segments"


@dataclass(frozen=True)
class ShardTask:
    """One file to write: rows [first_row, last_row) of a row set, whose first row is row `offset` of the split."""

    name: str
    first_row: int
    last_row: int
    offset: int
    rows_per_file: int
    blocks: tuple[Block, ...]
    documents: Documents
    tokens: Path
    form: RowFormat
    layout: str
    token_bytes: npt.NDArray[np.int32]
    spans: SpanRates | None

    @property
    def shapes(self) -> dict[str, int]:
        """Length of each column."""
        return shapes_of(self.form.row_tokens, self.form.max_documents, self.layout)


def shapes_of(row_tokens: int, max_documents: int, layout: str) -> dict[str, int]:
    if layout == MLM:
        return dict.fromkeys(mlm.COLUMNS, row_tokens)
    if layout == LEGACY:
        return {"input_ids": row_tokens + 1}
    return {"input_ids": row_tokens, "labels": row_tokens, "actual_seq_len": max_documents}


def write_rows(job: Job[PackMindrecordConfig], documents: Documents, plan: Plan, tokenizer: Tokenizer, spans: SpanRates | None) -> None:
    """All files of both splits, by the workers."""
    tasks = [task for rows in (*plan.train, *plan.validation) for task in shard_tasks(job, rows, documents, tokenizer, spans)]
    units = [Unit(task.name, task, (task.last_row - task.first_row) * 4 * sum(task.shapes.values())) for task in tasks]
    results = job.map_units(write_shard, units, what="rows")
    publish(job, tasks, results)
    if spans is not None:
        job.stats["length_variation"] = round(max(result.stats["length_variation"] for result in results), 4)


def shard_tasks(job: Job[PackMindrecordConfig], rows: RowSet, documents: Documents, tokenizer: Tokenizer, spans: SpanRates | None) -> Iterator[ShardTask]:
    """Cut a row set into files of about `shard_bytes`."""
    config = job.config
    filler = tokenizer.special.pad if tokenizer.special.pad is not None else tokenizer.eos_id
    form = RowFormat(rows.length, config.max_documents, tokenizer.prefix_id, filler)
    layout = MLM if config.objective == MLM else config.layout
    step = max(1, config.shard_bytes // (4 * sum(shapes_of(rows.length, config.max_documents, layout).values())))
    for number, first in enumerate(range(0, rows.plan.num_rows, step)):
        last = min(first + step, rows.plan.num_rows)
        yield ShardTask(
            f"{rows.name}-{number:05d}",
            first,
            last,
            rows.first,
            min(step, rows.plan.num_rows),
            blocks_of(rows.plan, first, last),
            documents,
            job.artifact("tokens").directory,
            form,
            layout,
            tokenizer.token_bytes,
            spans,
        )


def write_shard(task: ShardTask, out: UnitOutput) -> dict[str, Any]:
    """Write one MindRecord file under its own name in a folder of its own, move it out, and its provenance beside it."""
    import pyarrow as pa

    from mspt.core.files import temporary_name
    from mspt.core.shards import write_table
    from mspt.core.tokens import mindrecord

    lines: list[pa.Table] = []
    building = temporary_name(out.directory / "building")
    building.mkdir(parents=True)
    path = building / f"{task.name}{mindrecord.SUFFIX}"
    mindrecord.write_columns(path, batches(task, lines, out), task.shapes, task.rows_per_file)
    mindrecord.move(path, out.path(path.name), out.path(mindrecord.database(path).name))
    building.rmdir()
    table = pa.concat_tables(lines).combine_chunks()
    write_table(out.path(f"rows-{task.name}.parquet"), table)
    lengths = table.column("end").to_numpy() + 1  # of mlm rows: prefix, text, eos
    return {"rows": task.last_row - task.first_row, "length_variation": float(lengths.std() / lengths.mean())}


@functools.lru_cache(maxsize=1)
def open_tokens(tokens: Path, sources: tuple[str, ...]) -> TokenFiles:
    """Once per worker."""
    return TokenFiles(tokens, sources)


def batches(task: ShardTask, lines: list[Any], out: UnitOutput) -> Iterator[Mapping[str, npt.NDArray[np.int32]]]:
    """The file's rows; what lies where is appended to `lines`."""
    reader, files = DocumentReader(task.documents), open_tokens(task.tokens, task.documents.sources)
    runs = mlm.RunReader(task.spans.runs) if task.spans is not None else None
    pieces = read_rows(task.blocks, task.first_row, task.last_row)
    for first in range(0, task.last_row - task.first_row, BATCH_ROWS):
        last = min(first + BATCH_ROWS, task.last_row - task.first_row)
        mine = pieces[slice(*np.searchsorted(pieces["row"], [first, last]))].copy()
        mine["row"] -= first
        segments = read_segments(mine, reader, files, task.form.prefix_id)
        spelt = segment_bytes(segments, task.token_bytes, files)
        lines.append(provenance(segments, task.offset + task.first_row + first, task.documents.sources, spelt, shift=runs is not None))
        yield columns_of(segments, last - first, task, runs)
        out.advance((last - first) * 4 * sum(task.shapes.values()))
    reader.close()
    if runs is not None:
        runs.close()


def columns_of(segments: Segments, num_rows: int, task: ShardTask, runs: mlm.RunReader | None) -> Mapping[str, npt.NDArray[np.int32]]:
    if runs is not None and task.spans is not None:
        form = task.form
        return mlm.fill_rows(segments, form.row_tokens, form.prefix_id, task.spans.eos_id, form.filler_id, runs, task.spans.rates)
    batch = fill_rows(segments, num_rows, task.form)
    if task.layout == LEGACY:
        return {"input_ids": batch.stream(task.form.filler_id)}
    return {"input_ids": batch.input_ids, "labels": batch.labels, "actual_seq_len": batch.actual_seq_len}


def publish(job: Job[PackMindrecordConfig], tasks: Sequence[ShardTask], results: Sequence[UnitResult]) -> None:
    """The units' files under the same names, the rows before their .db."""
    for task, result in zip(tasks, results, strict=True):
        for name in (f"{task.name}.mindrecord", f"{task.name}.mindrecord.db", f"rows-{task.name}.parquet"):
            job.link(result.path(name), name, result.record(name))
