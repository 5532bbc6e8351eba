"""From drawn documents to items for packing: one for each copy of a document, or several where it is longer than a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.tokens.cutting import Levels, cut_length
from mspt.core.tokens.documents import Records
from mspt.core.tokens.packing import ITEM, Items, Packing, mix64
from mspt.core.tokens.token_files import TokenFiles

FLUSH = 2**18  # items held before they are handed on
_READ_TOKENS = 2**20

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cutter:
    """Cuts long documents into pieces of at most a row and adds up the bytes that their tokens spell."""

    files: TokenFiles
    packing: Packing
    levels: Levels
    token_bytes: npt.NDArray[np.int32]

    def cut(self, record: Any) -> tuple[list[tuple[int, int]], int]:
        """((start, length) of each piece, bytes in all)."""
        source, start, left = int(record["source"]), int(record["start"]), int(record["tokens"])
        size, pieces, total, at = self.packing.row_tokens, [], 0, 0
        while left > at:
            tokens = self.files.read(source, start + at, min(size, left - at))
            length = cut_length(tokens, self.levels, size) if left - at > size else len(tokens)
            total += int(self.token_bytes[tokens[:length]].sum(dtype=np.int64))
            pieces.append((at, length))
            at += length
        return pieces, total

    def whole(self, record: Any) -> tuple[list[tuple[int, int]], int]:
        """The same for a stream, which is cut where rows end: the document as one piece."""
        source, start, left = int(record["source"]), int(record["start"]), int(record["tokens"])
        parts = (self.files.read(source, start + at, min(_READ_TOKENS, left - at)) for at in range(0, left, _READ_TOKENS))
        return [(0, left)], sum(int(self.token_bytes[part].sum(dtype=np.int64)) for part in parts)


def make_items(first: int, records: Records, copies: Ints, cutter: Cutter) -> Iterator[tuple[int, Items]]:
    """(phase, items) of `records`, whose positions begin at `first`; `copies` [phases, n]."""
    before = np.cumsum(copies, axis=0) - copies
    long = records["tokens"] > cutter.packing.row_tokens
    for phase in range(len(copies)):
        rows = np.repeat(np.flatnonzero(~long), copies[phase][~long])
        numbers = np.arange(len(rows)) - np.repeat(np.cumsum(copies[phase][~long]) - copies[phase][~long], copies[phase][~long]) + before[phase][rows]
        for begin in range(0, len(rows), FLUSH):
            part = rows[begin : begin + FLUSH]
            yield phase, _items(first + part, np.zeros(len(part)), records["tokens"][part], -1, records[part], numbers[begin : begin + FLUSH], 0)
    yield from _long_items(first, records, np.flatnonzero(long & (copies.sum(axis=0) > 0)), copies, cutter)


def _long_items(first: int, records: Records, rows: Ints, copies: Ints, cutter: Cutter) -> Iterator[tuple[int, Items]]:
    waiting: list[list[Items]] = [[] for _ in copies]
    held = 0
    for row in rows.tolist():
        pieces, total = (cutter.whole if cutter.packing.method == "concat" else cutter.cut)(records[row])
        start, length = np.array(pieces).T
        number = 0
        for phase, count in enumerate(copies[:, row].tolist()):
            for _ in range(count):
                waiting[phase].append(_items(np.full(len(start), first + row), start, length, total, records[row], number, np.arange(len(start))))
                held += len(start)
                number += 1
        if held >= FLUSH:
            yield from _flush(waiting)
            held = 0
    yield from _flush(waiting)


def _flush(waiting: list[list[Items]]) -> Iterator[tuple[int, Items]]:
    for phase, parts in enumerate(waiting):
        if parts:
            yield phase, np.concatenate(parts)
            parts.clear()


def _items(document: Any, start: Any, length: Any, total: int, records: Any, number: Any, piece: Any) -> Items:
    """Items with a key for each (document, copy, piece); `records`: of each item, or one for all."""
    items = np.empty(len(document), ITEM)
    items["document"], items["start"], items["length"], items["total"] = document, start, length, total
    items["source"] = records["source"]
    with np.errstate(over="ignore"):
        copy = mix64(np.broadcast_to(np.asarray(records["order"], np.uint64), len(items)) + np.asarray(number).astype(np.uint64), 0)
        items["key"] = mix64(copy + np.asarray(piece).astype(np.uint64), 0)
    return items
