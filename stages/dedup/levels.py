"""What the levels that change texts share: documents in policy order, their texts as the levels before left them, and what a level says about them.

A level sees the texts as earlier ones left them, so its places count in those. Each level gives, for each shard, a file of cuts (parts that go) and a table of
drops (documents that go whole), both with the columns VERDICT and sorted by row and start. Documents of earlier artifacts (`--against`) stand before all
others: a level decides about them once more, as their own run did, so that new documents find what they would find in one run over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mspt.core.dedup.folding import slices_of
from mspt.core.shards import Docs, write_table
from mspt.core.text.spans import Edit, Span, edit
from mspt.stages.dedup.reading import parts_of

I64 = npt.NDArray[np.int64]
NOT_ONE = -1  # in the place of a rank: no single document
VERDICT = pa.schema(
    [
        ("row", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("rule", pa.string()),
        ("value", pa.float64()),
        ("threshold", pa.float64()),
        ("detail", pa.string()),
        ("survivor", pa.string()),
    ]
)


@dataclass(frozen=True)
class Place:
    """A shard that texts are read from, and what its own run cut out of them before paragraphs and substrings (old shards only)."""

    docs: Docs
    number: int
    cuts: Path | None = None

    @property
    def bytes(self) -> int:
        return self.docs.bytes(self.number)


@dataclass(frozen=True)
class Kept:
    """Documents that are left, shard by shard, the `num_old` shards of earlier artifacts first.

    rows: those of each shard, ascending; ranks: theirs in policy order, old ones before new ones, below len(ids); ids: by rank, [ranks, 16].
    """

    places: tuple[Place, ...]
    num_old: int
    rows: tuple[I64, ...]
    ranks: tuple[I64, ...]
    ids: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def where(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]]:
        """(shard, row) of each rank; shard -1 where a document of that rank is gone."""
        shards, rows = np.full(len(self.ids), -1, np.int32), np.zeros(len(self.ids), np.uint32)
        for shard, (own, ranks) in enumerate(zip(self.rows, self.ranks, strict=True)):
            shards[ranks], rows[ranks] = shard, own
        return shards, rows

    def without(self, drops: Sequence[pa.Table]) -> Kept:
        """Those that a level did not drop, ranked as before."""
        stays = [~np.isin(rows, table.column("row").to_numpy()) for rows, table in zip(self.rows, drops, strict=True)]
        rows, ranks = (tuple(one[mask] for one, mask in zip(column, stays, strict=True)) for column in (self.rows, self.ranks))
        return Kept(self.places, self.num_old, rows, ranks, self.ids)

    def ids_of(self, ranks: I64) -> pa.Array:
        """Ids of documents by rank, null where the rank is NOT_ONE."""
        from mspt.core.dedup.ids import format_ids

        if not len(ranks):
            return pa.nulls(0, pa.string())
        return pc.if_else(pa.array(ranks != NOT_ONE), format_ids(self.ids[ranks]), pa.scalar(None, pa.string()))


@dataclass(frozen=True)
class Level:
    """What one level found, by shard of Kept: a file of cuts (None: none) and a table of drops."""

    name: str
    cuts: tuple[Path | None, ...]
    drops: tuple[pa.Table, ...]

    def new(self, num_old: int) -> Level:
        """What it says about the documents of this run."""
        return Level(self.name, self.cuts[num_old:], self.drops[num_old:])


@dataclass(frozen=True)
class Part:
    """Some documents that follow each other in Texts.rows, from place `first` on."""

    first: int
    texts: pa.Array
    forms: list[str]
    spans: list[tuple[Span, ...]]


@dataclass(frozen=True)
class Texts:
    """The documents of a shard that a level looks at: rows of the shard, and what earlier levels cut out of them."""

    place: Place
    rows: I64
    earlier: tuple[Path, ...] = ()

    def read(self, max_bytes: int) -> Iterator[Part]:
        """Texts, forms and spans of `rows`, as they are by now, so many at a time as `max_bytes` of text hold, or one."""
        cuts = [Cuts.read(path) for path in self.earlier]
        start = first = 0
        parts = parts_of(self.place.docs, self.place.number, ["text", "form", "spans"], check=False)
        for batch in (batch for part in parts for batch in part.to_batches()):
            end = first + int(np.searchsorted(self.rows[first:], start + len(batch)))
            chosen = batch.take(pa.array(self.rows[first:end] - start))
            texts = pc.fill_null(chosen.column("text"), "")
            for begin, stop in slices_of(texts, max_bytes):
                yield self._part(first + begin, texts.slice(begin, stop - begin), chosen.slice(begin, stop - begin), cuts)
            start, first = start + len(batch), end

    def _part(self, first: int, texts: pa.Array, batch: pa.RecordBatch, cuts: Sequence[Cuts]) -> Part:
        forms = [form or "" for form in batch.column("form").to_pylist()]
        spans = [spans_of(one) for one in batch.column("spans").to_pylist()]
        rows = self.rows[first : first + len(texts)]
        if any(len(cut.between(int(rows[0]), int(rows[-1]) + 1)) for cut in cuts if len(rows)):
            changed = texts.to_pylist()
            for i, row in enumerate(rows.tolist()):
                for cut in cuts:
                    own = cut.between(row, row + 1)
                    if len(own):
                        changed[i], spans[i] = edit(changed[i], spans[i], edits_of(changed[i], own.tolist()))
            texts = pa.array(changed, pa.large_string())
        return Part(first, texts, forms, spans)


@dataclass(frozen=True)
class Cuts:
    """Where the cuts of a shard are: `rows` ascending, and [cuts, 2] of (start, end)."""

    rows: I64
    edges: I64

    @classmethod
    def read(cls, path: Path) -> Cuts:
        table = pq.read_table(path, columns=["row", "start", "end"], use_threads=False, partitioning=None)
        rows, starts, ends = (table.column(name).to_numpy() for name in ("row", "start", "end"))
        return cls(rows, np.stack([starts, ends], axis=1))

    def between(self, first: int, last: int) -> I64:
        """The cuts of rows from `first` to below `last`."""
        edges: I64 = self.edges[np.searchsorted(self.rows, first) : np.searchsorted(self.rows, last)]
        return edges


def texts_of(kept: Kept, levels: Sequence[Level]) -> list[Texts]:
    """The documents of each shard as `levels` left them."""
    found = []
    for shard, (place, rows) in enumerate(zip(kept.places, kept.rows, strict=True)):
        paths = (place.cuts, *(level.cuts[shard] for level in levels))
        found.append(Texts(place, rows, tuple(path for path in paths if path is not None)))
    return found


def write_cuts(path: Path, cuts: pa.Table) -> Path | None:
    """The cuts of a shard on disk, if there are any."""
    if not cuts.num_rows:
        return None
    write_table(path, cuts)
    return path


def verdict_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Cuts or drops in their order; what a row does not say is null."""
    return pa.Table.from_pylist(sorted(rows, key=lambda row: (row["row"], row["start"])), schema=VERDICT)


def verdict_columns(**columns: Any) -> pa.Table:
    """The same from columns that are in order; NaN is null."""
    return pa.table([pa.array(columns[field.name], field.type, from_pandas=True) for field in VERDICT], schema=VERDICT)


def edits_of(text: str, cuts: Sequence[Sequence[int]]) -> list[Edit]:
    """The edits that cut; a cut at the end of the text takes the white space before it along, so that what is left does not end in blank lines."""
    edits = [Edit(start, end, "") for start, end in cuts]
    first = len(edits) - 1  # of those that follow each other up to the end
    while first > 0 and edits[first - 1].end == edits[first].start:
        first -= 1
    if edits and edits[-1].end == len(text):
        start, least = edits[first].start, edits[first - 1].end if first else 0
        while start > least and text[start - 1].isspace():
            start -= 1
        edits[first] = edits[first]._replace(start=start)
    return edits


def spans_of(spans: list[dict[str, Any]] | None) -> tuple[Span, ...]:
    return tuple(Span(span["tag"], span["start"], span["end"]) for span in spans or ())
