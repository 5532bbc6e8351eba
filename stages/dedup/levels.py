"""What the levels that change texts share: documents in policy order, their texts as the levels before left them, and what a level says about them.

A level sees the texts as earlier ones left them, so its places count in those. Each level gives, for each shard, a table of cuts (parts that go) and one of
drops (documents that go whole), both with the columns VERDICT and sorted by row and start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.shards import Docs
from mspt.core.text.spans import Edit, Span, edit

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
class Kept:
    """Documents that are left. Of each shard: their rows, ascending, and their ranks in policy order (0 to the number of all)."""

    rows: tuple[npt.NDArray[np.int64], ...]
    ranks: tuple[npt.NDArray[np.int64], ...]

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def places(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(shard, row) of each rank; -1 where a document of that rank is gone."""
        size = max((int(ranks.max(initial=-1)) for ranks in self.ranks), default=-1) + 1
        shards, rows = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        for shard, (own, ranks) in enumerate(zip(self.rows, self.ranks, strict=True)):
            shards[ranks], rows[ranks] = shard, own
        return shards, rows

    def without(self, drops: Sequence[pa.Table]) -> Kept:
        """Those that a level did not drop, ranked as before."""
        stays = [~np.isin(rows, table.column("row").to_numpy()) for rows, table in zip(self.rows, drops, strict=True)]
        return Kept(tuple(rows[mask] for rows, mask in zip(self.rows, stays, strict=True)), tuple(r[mask] for r, mask in zip(self.ranks, stays, strict=True)))


@dataclass(frozen=True)
class Level:
    """What one level found, by shard."""

    name: str
    cuts: tuple[pa.Table, ...]
    drops: tuple[pa.Table, ...]


@dataclass(frozen=True)
class Texts:
    """The documents of a shard that a level looks at: rows of the shard, and what earlier levels cut out of them."""

    docs: Docs
    shard: int
    rows: npt.NDArray[np.int64]
    earlier: tuple[pa.Table, ...] = ()

    def read(self) -> tuple[pa.Array, list[str], list[tuple[Span, ...]]]:
        """Texts, forms and spans of `rows`, as they are by now."""
        table = self.docs.read(self.shard, ["text", "form", "spans"], check=False).take(pa.array(self.rows))
        texts, spans = pc.fill_null(table.column("text"), ""), [spans_of(one) for one in table.column("spans").to_pylist()]
        forms = [form or "" for form in table.column("form").to_pylist()]
        if not any(cuts.num_rows for cuts in self.earlier):
            return _joined(texts), forms, spans
        changed = texts.to_pylist()
        for cuts in self.earlier:
            for row, own in by_row(cuts):
                i = int(np.searchsorted(self.rows, row))
                if i < len(self.rows) and self.rows[i] == row:
                    changed[i], spans[i] = edit(changed[i], spans[i], edits_of(changed[i], own))
        return pa.array(changed, pa.large_string()), forms, spans


def texts_of(docs: Docs, kept: Kept, levels: Sequence[Level]) -> list[Texts]:
    """The documents of each shard as `levels` left them."""
    return [Texts(docs, shard, kept.rows[shard], tuple(level.cuts[shard] for level in levels)) for shard in range(docs.num_shards)]


def verdict_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Cuts or drops in their order; what a row does not say is null."""
    return pa.Table.from_pylist(sorted(rows, key=lambda row: (row["row"], row["start"])), schema=VERDICT)


def verdict_columns(**columns: Any) -> pa.Table:
    """The same from columns that are in order; NaN is null."""
    return pa.table([pa.array(columns[field.name], field.type, from_pandas=True) for field in VERDICT], schema=VERDICT)


def by_row(table: pa.Table) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """The verdicts on each row, in order."""
    found: dict[int, list[dict[str, Any]]] = {}
    for verdict in table.to_pylist():
        found.setdefault(verdict["row"], []).append(verdict)
    yield from found.items()


def edits_of(text: str, cuts: Sequence[dict[str, Any]]) -> list[Edit]:
    """The edits that cut; a cut at the end of the text takes the white space before it along, so that what is left does not end in blank lines."""
    edits = [Edit(cut["start"], cut["end"], "") for cut in cuts]
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


def ids_of(docs: Docs, kept: Kept, ranks: npt.NDArray[np.int64]) -> pa.Array:
    """The ids of documents by rank, null where the rank is NOT_ONE; reads the ids of shards that hold one of them only."""
    wanted, place = np.unique(ranks, return_inverse=True)
    shards, rows = kept.places()
    found: list[str | None] = [None] * len(wanted)
    real = np.flatnonzero(wanted != NOT_ONE)
    for shard in np.unique(shards[wanted[real]]).tolist():
        own = real[shards[wanted[real]] == shard]
        ids = docs.read(shard, ["id"], check=False).column("id").take(pa.array(rows[wanted[own]])).to_pylist()
        for i, identity in zip(own.tolist(), ids, strict=True):
            found[i] = identity
    return pa.array(found, pa.string()).take(pa.array(place.ravel()))


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return column.cast(pa.large_string()).combine_chunks() if column.num_chunks != 1 else column.chunk(0)
