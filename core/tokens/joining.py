"""The parts that workers wrote, joined: one .bin/.idx for each source and one table of all documents, read and written piece by piece.

A part is `<source>.bin` (token ids of the source's documents, each with its end) and `<source>.parquet` (PART: one row for each of them, in the same order).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.shards import ZSTD_LEVEL

PART = pa.schema([("id", pa.string()), ("num_tokens", pa.int64()), ("num_bytes", pa.int64())])
DOCUMENTS = pa.schema([("sequence", pa.int64()), ("id", pa.string()), ("source", pa.string()), ("num_tokens", pa.int64()), ("num_bytes", pa.int64())])
# Rows of a row group, whatever the parts: the table's bytes do not depend on how the work was cut.
ROW_GROUP = 1 << 17


def part_lengths(parts: Sequence[Path]) -> Iterator[npt.NDArray[np.int64]]:
    """Tokens of each document of the parts, by row group."""
    for part in parts:
        with pq.ParquetFile(part) as file:
            for group in range(file.metadata.num_row_groups):
                yield file.read_row_group(group, columns=["num_tokens"], use_threads=False).column(0).to_numpy()


def num_rows(parts: Sequence[Path]) -> int:
    return sum(int(pq.read_metadata(part).num_rows) for part in parts)


def write_documents(path: Path, parts: Sequence[tuple[str, Sequence[Path]]]) -> int:
    """The document table of (source, its parts) in that order; returns its number of rows."""
    with pq.ParquetWriter(path, DOCUMENTS, compression="zstd", compression_level=ZSTD_LEVEL) as writer:
        total, waiting = 0, DOCUMENTS.empty_table()
        for rows in _document_rows(parts):
            total += rows.num_rows
            waiting = pa.concat_tables([waiting, rows])
            while waiting.num_rows >= ROW_GROUP:
                writer.write_table(waiting.slice(0, ROW_GROUP).combine_chunks(), row_group_size=ROW_GROUP)
                waiting = waiting.slice(ROW_GROUP)
        if waiting.num_rows or not total:
            writer.write_table(waiting.combine_chunks(), row_group_size=ROW_GROUP)
    return total


def _document_rows(parts: Sequence[tuple[str, Sequence[Path]]]) -> Iterator[pa.Table]:
    for source, paths in parts:
        first = 0
        for path in paths:
            with pq.ParquetFile(path) as file:
                for group in range(file.metadata.num_row_groups):
                    rows = file.read_row_group(group, use_threads=False)
                    columns: dict[str, Any] = {"sequence": np.arange(first, first + rows.num_rows), "source": [source] * rows.num_rows}
                    columns |= {name: rows.column(name) for name in PART.names}
                    yield pa.table([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)
                    first += rows.num_rows
