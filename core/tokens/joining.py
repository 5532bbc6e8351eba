"""The parts that workers wrote, joined: one .bin/.idx for each source and one table of all documents, read and written piece by piece.

A part is `<source>.bin` (token ids of the source's documents, each with its end) and `<source>.parquet` (PART: one row for each of them, in the same order).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.shards import ZSTD_LEVEL

PART = pa.schema([("id", pa.string()), ("num_tokens", pa.int64()), ("num_bytes", pa.int64())])
DOCUMENTS = pa.schema([("sequence", pa.int64()), ("id", pa.string()), ("source", pa.string()), ("num_tokens", pa.int64()), ("num_bytes", pa.int64())])
# Rows of a row group, whatever the parts: the table's bytes do not depend on how the work was cut.
ROW_GROUP = 1 << 15
DICTIONARY = ["source"]  # columns whose values are few; dictionaries of the others took 40 MB of memory and made the table larger
BATCH = 1 << 13  # rows read at once
BUFFER_BYTES = 1 << 16  # of a part's column, compressed


def part_lengths(parts: Sequence[Path]) -> Iterator[npt.NDArray[np.int64]]:
    """Tokens of each document of the parts, some at a time."""
    for part in parts:
        for rows in _batches(part, ["num_tokens"]):
            yield rows.column(0).to_numpy()


def _batches(part: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(part, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        yield from file.iter_batches(BATCH, columns=list(columns), use_threads=False)


def num_rows(parts: Sequence[Path]) -> int:
    return sum(int(pq.read_metadata(part).num_rows) for part in parts)


def write_documents(path: Path, parts: Sequence[tuple[str, Sequence[Path]]]) -> int:
    """The document table of (source, its parts) in that order; returns its number of rows."""
    total, waiting = 0, DOCUMENTS.empty_table()
    with pq.ParquetWriter(path, DOCUMENTS, compression="zstd", compression_level=ZSTD_LEVEL, use_dictionary=DICTIONARY) as writer:
        for rows in _rows(parts):
            total += rows.num_rows
            waiting = pa.concat_tables([waiting, rows])
            while waiting.num_rows >= ROW_GROUP:
                # In one piece, whatever it was joined of: pages end where pieces do.
                writer.write_table(waiting.slice(0, ROW_GROUP).combine_chunks(), row_group_size=ROW_GROUP)
                waiting = waiting.slice(ROW_GROUP)
        if waiting.num_rows or not total:
            writer.write_table(waiting.combine_chunks(), row_group_size=ROW_GROUP)
    pa.default_memory_pool().release_unused()
    return total


def _rows(parts: Sequence[tuple[str, Sequence[Path]]]) -> Iterator[pa.Table]:
    """The table's rows, some at a time."""
    for source, paths in parts:
        first = 0
        for batch in itertools.chain.from_iterable(_batches(path, PART.names) for path in paths):
            columns = {name: batch.column(name) for name in PART.names}
            columns |= {"sequence": pa.array(np.arange(first, first + batch.num_rows)), "source": pa.repeat(pa.scalar(source), batch.num_rows)}
            yield pa.table([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)
            first += batch.num_rows
