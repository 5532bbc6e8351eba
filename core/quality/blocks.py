"""Blocks: so many consecutive documents of one source, in the order of (source, ref), and the mean quality of each.

A single low score may be an odd text; a thousand low ones in a row are a part of a crawl that wants stricter cleaning. The order is that of the UTF-8 bytes,
which is that of the code points. Memory does not grow with the corpus: each shard writes a sorted run (write_run), and the runs are read together range of
keys by range of keys; what is known of each row goes back into a file for its shard.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RUN = pa.schema([("source", pa.string()), ("ref", pa.string()), ("row", pa.int64()), ("quality", pa.float32()), ("characters", pa.int64())])
BLOCKS = pa.schema(
    [("block", pa.int32()), ("source", pa.string()), ("first_ref", pa.string()), ("last_ref", pa.string()), ("documents", pa.int64()),
     ("characters", pa.int64()), ("quality", pa.float64())]
)  # fmt: skip
GROUP_ROWS = 1024  # of a run that are read together
GROUPS_AT_ONCE = 512  # half a million rows, some 100 MB with their keys, are sorted at once
_PLACE = np.dtype([("row", "<i8"), ("block", "<i4")])

Key = tuple[str, str]


@dataclass(frozen=True)
class Run:
    """The documents of one shard, sorted. firsts: the (source, ref) that each group of rows begins with."""

    path: Path
    firsts: tuple[Key, ...]


@dataclass(frozen=True)
class Block:
    """quality: mean of its documents."""

    number: int
    source: str
    first_ref: str
    last_ref: str
    documents: int
    characters: int
    quality: float


def write_run(path: Path, documents: pa.Table) -> list[Key]:
    """Sorts documents (RUN) into a file; returns Run.firsts."""
    ordered = documents.select(RUN.names).cast(RUN).sort_by([("source", "ascending"), ("ref", "ascending")])
    pq.write_table(ordered, path, compression="zstd", row_group_size=GROUP_ROWS)
    firsts = ordered.select(["source", "ref"]).take(pa.array(range(0, ordered.num_rows, GROUP_ROWS), pa.int64()))
    return [(row["source"], row["ref"]) for row in firsts.to_pylist()]


def cut_into_blocks(runs: Sequence[Run], size: int, places: Sequence[Path], groups_at_once: int = GROUPS_AT_ONCE) -> Iterator[Block]:
    """Blocks of `size` documents (the last of a source may be shorter), numbered from 0. Rows of run i and their blocks are appended to places[i]."""
    cutter = _Cutter(size)
    for found in _ranges(runs, groups_at_once):
        numbers, closed = cutter.add(found)
        _note_places(found, numbers, places)
        yield from closed
    yield from cutter.close()


def read_places(path: Path, num_rows: int) -> npt.NDArray[np.int32]:
    """The block of each row of a shard; -1 for those that are in none."""
    found = np.full(num_rows, -1, np.int32)
    if path.exists():
        pairs = np.fromfile(path, _PLACE)
        found[pairs["row"]] = pairs["block"]
    return found


def as_table(blocks: Sequence[Block]) -> pa.Table:
    rows = [(b.number, b.source, b.first_ref, b.last_ref, b.documents, b.characters, b.quality) for b in blocks]
    return pa.Table.from_pylist([dict(zip(BLOCKS.names, row, strict=True)) for row in rows], BLOCKS)


# --- reading the runs together -----------------------------------------------------------------------------------------


def _ranges(runs: Sequence[Run], groups_at_once: int) -> Iterator[pa.Table]:
    """All rows in order, range of keys by range of keys, with `run`. A range begins where a group of some run does: at most groups_at_once whole groups
    and one part of each run lie in it."""
    firsts = sorted({key for run in runs for key in run.firsts})
    borders: list[Key | None] = [*firsts[::groups_at_once], None]
    for low, high in pairwise(borders):
        assert low is not None
        parts = [part.append_column("run", pa.repeat(number, part.num_rows)) for number, run in enumerate(runs) if (part := _part(run, low, high)).num_rows]
        yield pa.concat_tables(parts).sort_by([("source", "ascending"), ("ref", "ascending")])


def _part(run: Run, low: Key, high: Key | None) -> pa.Table:
    """Rows of a run with low <= (source, ref) < high."""
    ends = (*run.firsts[1:], None)[: len(run.firsts)]  # a shard may have no document
    groups = [i for i, (first, end) in enumerate(zip(run.firsts, ends, strict=True)) if (high is None or first < high) and (end is None or end > low)]
    if not groups:
        return RUN.empty_table()
    with pq.ParquetFile(run.path) as file:
        table = file.read_row_groups(groups, use_threads=False)
    table = table.filter(pc.invert(_before(table, low)))
    return table if high is None else table.filter(_before(table, high))


def _before(table: pa.Table, key: Key) -> pa.ChunkedArray:
    source, ref = table.column("source"), table.column("ref")
    return pc.or_(pc.less(source, key[0]), pc.and_(pc.equal(source, key[0]), pc.less(ref, key[1])))


# --- cutting -----------------------------------------------------------------------------------------------------------


@dataclass
class _Open:
    """A block that more documents may join."""

    source: str
    first_ref: str
    last_ref: str = ""
    characters: int = 0
    qualities: list[float] = field(default_factory=list)


class _Cutter:
    def __init__(self, size: int) -> None:
        self._size = size
        self._next = 0  # number of the next block
        self._open: _Open | None = None

    def add(self, table: pa.Table) -> tuple[npt.NDArray[np.int32], list[Block]]:
        """The block of each row, and the blocks that are whole."""
        numbers = np.zeros(table.num_rows, np.int32)
        closed: list[Block] = []
        start = 0
        while start < table.num_rows:
            source = table.column("source")[start].as_py()
            if self._open is not None and (self._open.source != source or len(self._open.qualities) == self._size):
                closed += self.close()
            if self._open is None:
                self._open = _Open(source, table.column("ref")[start].as_py())
            wanted = table.slice(start, self._size - len(self._open.qualities))
            part = wanted.filter(pc.equal(wanted.column("source"), source))  # sorted: the others follow
            self._extend(part)
            numbers[start : start + part.num_rows] = self._next
            start += part.num_rows
        return numbers, closed

    def _extend(self, part: pa.Table) -> None:
        assert self._open is not None
        self._open.qualities += part.column("quality").to_pylist()
        self._open.characters += pc.sum(part.column("characters")).as_py()
        self._open.last_ref = part.column("ref")[part.num_rows - 1].as_py()

    def close(self) -> list[Block]:
        block, self._open = self._open, None
        if block is None:
            return []
        self._next += 1
        documents = len(block.qualities)
        mean = math.fsum(block.qualities) / documents  # exactly rounded: whatever the order
        return [Block(self._next - 1, block.source, block.first_ref, block.last_ref, documents, block.characters, mean)]


def _note_places(table: pa.Table, numbers: npt.NDArray[np.int32], places: Sequence[Path]) -> None:
    runs, rows = table.column("run").to_numpy(), table.column("row").to_numpy()
    for run in np.unique(runs).tolist():
        chosen = runs == run
        pairs = np.empty(int(chosen.sum()), _PLACE)
        pairs["row"], pairs["block"] = rows[chosen], numbers[chosen]
        with places[run].open("ab") as file:
            file.write(pairs.tobytes())
