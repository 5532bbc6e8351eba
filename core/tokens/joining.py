"""The parts that workers wrote, joined: one .bin/.idx for each source and one table of all documents, read and written piece by piece.

A part is `<source>.bin` (token ids of the source's documents, each with its end) and `<source>.parquet` (PART: one row for each of them, in the same order).
"""

from __future__ import annotations

import array
import itertools
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
    total, waiting = 0, Rows()
    with pq.ParquetWriter(path, DOCUMENTS, compression="zstd", compression_level=ZSTD_LEVEL) as writer:
        for source, paths in parts:
            first = 0
            for batch in itertools.chain.from_iterable(_batches(path, PART.names) for path in paths):
                taken = 0
                while taken < batch.num_rows:
                    count = min(ROW_GROUP - waiting.count, batch.num_rows - taken)
                    waiting.add(source, first, batch.slice(taken, count))
                    first, taken, total = first + count, taken + count, total + count
                    if waiting.count == ROW_GROUP:
                        writer.write_table(waiting.table(), row_group_size=ROW_GROUP)
                        waiting = Rows()
        if waiting.count or not total:
            writer.write_table(waiting.table(), row_group_size=ROW_GROUP)
    pa.default_memory_pool().release_unused()
    return total


class Rows:
    """Rows of the document table until they are a row group, each value held once: a table of small tables would be held twice when it is made whole."""

    def __init__(self) -> None:
        self.count = 0
        self.ids = bytearray()
        self.ends = array.array("i")
        self.numbers = {name: array.array("q") for name in ("sequence", "num_tokens", "num_bytes")}
        self.sources: list[tuple[str, int]] = []  # and how many rows in a row it has

    def add(self, source: str, first: int, rows: pa.RecordBatch) -> None:
        """Rows of PART, the documents `first` and following of a source."""
        for id_ in rows.column("id").to_pylist():
            self.ids += id_.encode()
            self.ends.append(len(self.ids))
        self.numbers["sequence"].extend(range(first, first + rows.num_rows))
        for name in ("num_tokens", "num_bytes"):
            self.numbers[name].frombytes(rows.column(name).to_numpy().tobytes())
        self.sources.append((source, rows.num_rows))
        self.count += rows.num_rows

    def table(self) -> pa.Table:
        """All rows, each column in one piece over these values."""
        offsets = pa.py_buffer(np.concatenate([np.zeros(1, np.int32), np.frombuffer(self.ends, np.int32)]) if self.count else np.zeros(1, np.int32))
        columns: dict[str, Any] = {name: np.frombuffer(values, np.int64) if self.count else [] for name, values in self.numbers.items()}
        columns["id"] = pa.StringArray.from_buffers(self.count, offsets, pa.py_buffer(self.ids))
        columns["source"] = pa.concat_arrays([pa.array([], pa.string()), *(pa.repeat(pa.scalar(source), count) for source, count in self.sources)])
        return pa.table([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)
