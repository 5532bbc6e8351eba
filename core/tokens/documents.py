"""The documents behind token sequences, as records of fixed size in one scratch file: what pack-mindrecord chooses from.

    documents.parquet of tokens  --append-->  records, by source and sequence  <--attach--  docs, shard by shard (cluster, weight)

Memory holds a chunk of records at a time, whatever the corpus. A record takes 47 bytes and the id; it is read by position, so that a worker finds what
it needs of any document with one read.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.errors import InputError
from mspt.core.tokens.split import hashed_key, order_key

CHUNK = 2**14  # records; a constant, since the draw is seeded inside chunks
# What becomes of a document.
ABSENT, TRAIN, VALIDATION, LEAKED = range(4)  # ABSENT: outside a --sample; LEAKED: its tokens are those of a validation document

Records = npt.NDArray[Any]


def record_type(id_bytes: int) -> np.dtype[Any]:
    """start: of its sequence in the source's .bin, in tokens; tokens: its end included; key: hash of cluster or id (split.py); order: seeded hash of the id."""
    return np.dtype(
        [
            ("start", "<i8"),
            ("tokens", "<i4"),
            ("bytes", "<i8"),
            ("key", "<u8"),
            ("order", "<u8"),
            ("weight", "<f8"),
            ("side", "u1"),
            ("source", "<u2"),
            ("id", f"S{max(1, id_bytes)}"),
        ]
    )


@dataclass(frozen=True)
class Documents:
    """Records of all documents in order of (source, sequence). Those of source `code` are [first[code], first[code + 1])."""

    path: Path
    dtype: np.dtype[Any]
    sources: tuple[str, ...]
    first: tuple[int, ...]

    def __len__(self) -> int:
        return self.first[-1]

    def read(self, first: int, count: int) -> Records:
        """Records [first, first + count)."""
        return np.fromfile(self.path, self.dtype, count, offset=first * self.dtype.itemsize)

    def chunks(self, only: int | None = None) -> Iterator[tuple[int, int, Records]]:
        """(source code, first, records) in order, of one source or of all; no chunk lies across two sources."""
        for code in range(len(self.sources)) if only is None else (only,):
            for first in range(self.first[code], self.first[code + 1], CHUNK):
                yield code, first, self.read(first, min(CHUNK, self.first[code + 1] - first))

    def update(self, first: int, records: Records) -> None:
        """Write records back to their place."""
        with self.path.open("r+b") as handle:
            handle.seek(first * self.dtype.itemsize)
            handle.write(records.tobytes())


class DocumentReader:
    """Records by position, one read each, for workers."""

    def __init__(self, documents: Documents) -> None:
        self.dtype = documents.dtype
        self.handle = os.open(documents.path, os.O_RDONLY)

    def at(self, positions: Iterable[int]) -> Records:
        size = self.dtype.itemsize
        return np.frombuffer(b"".join(os.pread(self.handle, size, int(i) * size) for i in positions), self.dtype)

    def close(self) -> None:
        os.close(self.handle)


def append_documents(path: Path, tables: Iterable[pa.Table], id_bytes: int) -> Documents:
    """Records of tables (sequence, id, source, num_tokens, num_bytes) that list each source's sequences in order, source after source.

    Raises:
        InputError: they do not.
    """
    dtype = record_type(id_bytes)
    names: list[str] = []
    first = [0]
    start = 0
    with path.open("wb") as out:
        for table in tables:
            for source, part in _runs(table):
                if not names or source != names[-1]:
                    if source in names or len(names) > np.iinfo(np.uint16).max:
                        raise InputError(f"the document table names {source} twice, or more than 65,535 sources", "make the tokens again (mspt tokenize)")
                    names.append(source)
                    first.append(first[-1])
                    start = 0
                records = _records(part, dtype, start, len(names) - 1, expected=first[-1] - first[-2])
                start = int(records["start"][-1] + records["tokens"][-1])
                first[-1] += len(records)
                out.write(records.tobytes())
    return Documents(path, dtype, tuple(names), tuple(first))


def _runs(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Stretches of one source."""
    sources = np.asarray(table.column("source").to_pylist(), dtype=object)
    edges = [0, *(np.flatnonzero(sources[1:] != sources[:-1]) + 1).tolist(), len(sources)]
    for begin, end in itertools.pairwise(edges):
        if end > begin:
            yield str(sources[begin]), table.slice(begin, end - begin)


def _records(part: pa.Table, dtype: np.dtype[Any], start: int, code: int, expected: int) -> Records:
    records = np.zeros(part.num_rows, dtype)
    tokens = part.column("num_tokens").to_numpy().astype(np.int64)
    if not np.array_equal(part.column("sequence").to_numpy(), np.arange(expected, expected + part.num_rows)) or (tokens < 1).any():
        raise InputError("the document table does not list its sequences in order, or one has no token", "make the tokens again (mspt tokenize)")
    records["tokens"], records["bytes"] = tokens, part.column("num_bytes").to_numpy()
    records["start"] = start + np.cumsum(tokens) - tokens
    records["id"] = encoded_ids(part.column("id"))
    records["weight"], records["source"] = 1.0, code
    return records


def encoded_ids(column: pa.ChunkedArray) -> list[bytes]:
    """UTF-8 bytes of each id."""
    return [str(id_).encode("utf-8", "surrogatepass") for id_ in column.to_pylist()]


class Cursors:
    """Finds the records of live documents, docs shard by docs shard.

    tokens hold the live documents of these docs (the lineage was checked), in their order inside each source, or a sample of them: one cursor for each source
    finds every record.
    """

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.codes = {name: code for code, name in enumerate(documents.sources)}
        self.cursors = list(documents.first[:-1])

    def take(self, live: pa.Table) -> Iterator[tuple[npt.NDArray[np.int64], int, Records]]:
        """(rows of `live`, position of the first record, records) for each source in it; `live` has id and source."""
        sources = np.asarray(live.column("source").to_pylist(), dtype=object)
        for source in dict.fromkeys(sources.tolist()):
            rows = np.flatnonzero(sources == source)
            if source not in self.codes:
                continue
            code = self.codes[source]
            cursor = self.cursors[code]
            records = self.documents.read(cursor, min(len(rows), self.documents.first[code + 1] - cursor))
            found = _matching(encoded_ids(live.column("id").take(rows)), records["id"].tolist())
            self.cursors[code] += len(found)
            yield rows[found], cursor, records[: len(found)]


class Attachment(Cursors):
    """Writes what docs say of each document into its record."""

    def __init__(self, documents: Documents, seed: int) -> None:
        super().__init__(documents)
        self.seed = seed

    def add(self, live: pa.Table, inside: npt.NDArray[np.bool_]) -> None:
        """`live`: id, source and, where docs have them, cluster and weight (none: 1); `inside`: those that take part."""
        ids = live.column("id").to_pylist()
        keys = live.column("cluster").to_pylist() if "cluster" in live.column_names else [None] * len(ids)
        weights = live.column("weight").cast(pa.float64()).fill_null(1.0).to_numpy() if "weight" in live.column_names else None
        for rows, first, records in self.take(live):
            records["key"] = [hashed_key(keys[row] or ids[row]) for row in rows]
            records["order"] = [order_key(self.seed, ids[row]) for row in rows]
            if weights is not None:
                records["weight"] = weights[rows]
            records["side"] = np.where(inside[rows], TRAIN, ABSENT)
            self.documents.update(first, records)

    def finish(self) -> None:
        """Raises InputError where a sequence belongs to no document."""
        for code, name in enumerate(self.documents.sources):
            missing = self.documents.first[code + 1] - self.cursors[code]
            if missing:
                raise InputError(f"{missing:,} token sequences of {name} belong to no live document of the docs", "tokenise these docs first (mspt tokenize)")


def _matching(ids: Sequence[bytes], recorded: Sequence[bytes]) -> list[int]:
    """Rows of `ids` that the records hold, in order: all of them, but where tokens are of a sample."""
    if len(ids) == len(recorded) and list(ids) == list(recorded):
        return list(range(len(ids)))
    rows: list[int] = []
    for row, id_ in enumerate(ids):
        if len(rows) < len(recorded) and id_ == recorded[len(rows)]:
            rows.append(row)
    return rows


def longest_id(tables: Iterable[pa.Table]) -> int:
    """Bytes of the longest id."""
    return max((int(pc.max(pc.binary_length(table.column("id"))).as_py() or 0) for table in tables if table.num_rows), default=1)
