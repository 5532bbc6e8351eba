"""Which piece of which document goes into which training row.

A document is a sequence of L positions to predict (its tokens and its end). A row has S positions; no position of a drawn document is dropped.

    documents            long ones leave whole rows         best fit            emptiest rows poured into gaps
    ---------------      [=========S=========]  alone       [=====][====][.]    [=====][====][~]
    ======               and a rest              ------->   [========][=][.]    [========][=][~]
    ---                  ----                               [===][........ ]    (gone)

1. A document longer than a row fills rows of its own; its rest is an item like any other.
2. Items, longest first, go whole into the row whose free space fits best (best-fit decreasing: Ding et al. 2024, "Fewer Truncations Improve
   Language Modeling").
3. While padding exceeds `max_padding`, the emptiest rows are dissolved: their items fill the gaps of the other rows, cut where a gap ends.
4. Rows are put in a seeded order over all sources.

A row holds at most `max_documents` segments, its padding counted as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

# Field practice for packed pre-training: under 0.5 % padding.
DEFAULT_MAX_PADDING = 0.005

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowPlan:
    """Pieces in order of their rows: piece p covers positions [start, start + length) of document `document[p]`, in row `row[p]`.

    `row` is non-decreasing; `split_documents` counts documents that fit a row and were cut all the same.
    """

    row: Ints
    document: Ints
    start: Ints
    length: Ints
    num_rows: int
    row_tokens: int
    split_documents: int

    @property
    def num_positions(self) -> int:
        return int(self.length.sum())

    @property
    def padding_ratio(self) -> float:
        return 1 - self.num_positions / (self.num_rows * self.row_tokens) if self.num_rows else 0.0

    def pieces_of(self, first_row: int, last_row: int) -> slice:
        """The pieces of rows [first_row, last_row)."""
        return slice(*(int(i) for i in np.searchsorted(self.row, [first_row, last_row])))


def pack(
    lengths: Ints,
    documents: Ints,
    row_tokens: int,
    max_documents: int,
    seed: int,
    max_padding: float = DEFAULT_MAX_PADDING,
) -> RowPlan:
    """Pack copies of documents into rows.

    Args:
        lengths: [documents] positions of each document, at least 1.
        documents: [copies] index of the document of each copy; one drawn twice stands here twice.
        row_tokens: S.
        max_documents: D, at least 2.
        seed: of ties between equal lengths and of the order of rows.
        max_padding: share of positions that may stay empty before whole documents are cut.
    """
    full, items = _cut_long(lengths, documents, row_tokens)
    ties = mix64(np.arange(len(items.document), dtype=np.uint64), seed)
    items = items.take(np.lexsort((ties, -items.length)))
    row, num_rows = _best_fit(items.length, row_tokens, max_documents - 1)
    wanted = _rows_wanted(int(full.length.sum() + items.length.sum()), row_tokens, max_padding) - len(full.row)
    items = items.placed(row)
    if num_rows > max(wanted, 0):
        items = _pour(items, num_rows, max(wanted, 0), row_tokens, max_documents - 1)
    first = len(full.row)
    pieces = _Pieces.join(full, items.placed(items.row + first))
    return _shuffled(pieces, lengths, row_tokens, seed)


@dataclass(frozen=True)
class _Pieces:
    """Pieces in any order, [P] each."""

    document: Ints
    start: Ints
    length: Ints
    row: Ints

    def take(self, index: npt.NDArray[Any]) -> _Pieces:
        return _Pieces(self.document[index], self.start[index], self.length[index], self.row[index])

    def placed(self, row: Ints) -> _Pieces:
        return _Pieces(self.document, self.start, self.length, row)

    @staticmethod
    def join(*parts: _Pieces) -> _Pieces:
        return _Pieces(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("document", "start", "length", "row")))


def _cut_long(lengths: Ints, documents: Ints, row_tokens: int) -> tuple[_Pieces, _Pieces]:
    """(pieces that fill a row, rests and documents shorter than a row)."""
    sizes = lengths[documents]
    whole_rows = sizes // row_tokens
    first = np.cumsum(whole_rows) - whole_rows
    owner = np.repeat(np.arange(len(documents)), whole_rows)
    number = np.arange(len(owner)) - first[owner]
    full = _Pieces(documents[owner], number * row_tokens, np.full(len(owner), row_tokens), np.arange(len(owner)))
    short = np.flatnonzero(sizes % row_tokens)
    start = whole_rows[short] * row_tokens
    return full, _Pieces(documents[short], start, sizes[short] - start, np.full(len(short), -1))


def _rows_wanted(num_positions: int, row_tokens: int, max_padding: float) -> int:
    """The most rows whose padding stays within the limit, and at least as many as the positions need."""
    return max(-(-num_positions // row_tokens), int(num_positions / (row_tokens * (1 - max_padding))))


def _pour(items: _Pieces, num_rows: int, keep_rows: int, row_tokens: int, max_items: int) -> _Pieces:
    """Dissolve the emptiest rows down to `keep_rows` and fill the gaps of the others with their items, largest gaps first."""
    free = row_tokens - np.bincount(items.row, weights=items.length, minlength=num_rows).astype(np.int64)
    order = np.argsort(-free, kind="stable")
    dissolved, kept = order[: num_rows - keep_rows], order[num_rows - keep_rows :]
    number = np.full(num_rows, -1)
    number[kept] = np.arange(len(kept))
    stay = items.take(np.flatnonzero(number[items.row] >= 0))
    stay = stay.placed(number[stay.row])
    rank = np.empty(num_rows, dtype=np.int64)
    rank[dissolved] = np.arange(len(dissolved))
    loose = items.take(np.flatnonzero(number[items.row] < 0))
    loose = loose.take(np.argsort(rank[loose.row], kind="stable"))
    slots = max_items - np.bincount(stay.row, minlength=len(kept))
    item, offset, length, row = _fill_gaps(loose.length, free[kept], slots, row_tokens, max_items)
    return _Pieces.join(stay, _Pieces(loose.document[item], loose.start[item] + offset, length, row))


def _shuffled(pieces: _Pieces, lengths: Ints, row_tokens: int, seed: int) -> RowPlan:
    """Rows in seeded order, pieces in order of rows."""
    num_rows = int(pieces.row.max()) + 1 if len(pieces.row) else 0
    place = np.empty(num_rows, dtype=np.int64)
    # seed + 1: another sequence than that of the ties
    place[np.argsort(mix64(np.arange(num_rows, dtype=np.uint64), seed + 1), kind="stable")] = np.arange(num_rows)
    pieces = pieces.placed(place[pieces.row])
    pieces = pieces.take(np.argsort(pieces.row, kind="stable"))
    cut = (pieces.start + pieces.length < lengths[pieces.document]) & (lengths[pieces.document] <= row_tokens)
    first_cuts = int((cut & (pieces.start == 0)).sum())
    return RowPlan(pieces.row, pieces.document, pieces.start, pieces.length, num_rows, row_tokens, first_cuts)


@njit(cache=True)
def _best_fit(lengths: Ints, capacity: int, max_items: int) -> tuple[Ints, int]:
    """Row of each item (longest first), and the number of rows. Rows of equal free space form a stack; a bit set names the stacks in use."""
    row = np.empty(len(lengths), dtype=np.int64)
    top = np.full(capacity + 1, -1, dtype=np.int64)
    below = np.empty(len(lengths), dtype=np.int64)
    count = np.zeros(len(lengths), dtype=np.int64)
    used = np.zeros(capacity // 64 + 1, dtype=np.uint64)
    num_rows = 0
    for i in range(len(lengths)):
        space = _first_bit(used, lengths[i])
        if space < 0:
            r = num_rows
            num_rows += 1
            space = capacity
        else:
            r = top[space]
            top[space] = below[r]
            if top[space] < 0:
                used[space // 64] &= ~(np.uint64(1) << np.uint64(space % 64))
        row[i] = r
        count[r] += 1
        left = space - lengths[i]
        if left > 0 and count[r] < max_items:
            below[r] = top[left]
            top[left] = r
            used[left // 64] |= np.uint64(1) << np.uint64(left % 64)
    return row, num_rows


@njit(cache=True)
def _first_bit(bits: npt.NDArray[np.uint64], start: int) -> int:
    """The first bit set at or after `start`; -1: none."""
    word = bits[start // 64] >> np.uint64(start % 64)
    position = start
    block = start // 64
    while word == 0:
        block += 1
        if block == len(bits):
            return -1
        word = bits[block]
        position = block * 64
    while word & np.uint64(1) == 0:
        word >>= np.uint64(1)
        position += 1
    return position


@njit(cache=True)
def _fill_gaps(lengths: Ints, free: Ints, slots: Ints, capacity: int, max_items: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Cut a stream of items to the gaps of rows, in order; what finds no gap opens new rows. Returns (item, offset, length, row) of the pieces."""
    most = 2 * len(lengths) + len(free) + int(lengths.sum()) // capacity + 2
    item = np.empty(most, dtype=np.int64)
    offset = np.empty(most, dtype=np.int64)
    length = np.empty(most, dtype=np.int64)
    row = np.empty(most, dtype=np.int64)
    num_pieces, current, done, r = 0, 0, 0, 0
    while current < len(lengths):
        space = free[r] if r < len(free) else capacity
        room = slots[r] if r < len(free) else max_items
        while space > 0 and room > 0 and current < len(lengths):
            size = min(space, lengths[current] - done)
            item[num_pieces], offset[num_pieces], length[num_pieces], row[num_pieces] = current, done, size, r
            num_pieces += 1
            done += size
            space -= size
            room -= 1
            if done == lengths[current]:
                current += 1
                done = 0
        r += 1
    return item[:num_pieces], offset[:num_pieces], length[:num_pieces], row[:num_pieces]


def join(plans: Sequence[RowPlan]) -> RowPlan:
    """The rows of several plans one after another."""
    first = np.cumsum([0, *(plan.num_rows for plan in plans)])
    parts = [_Pieces(plan.document, plan.start, plan.length, plan.row + offset) for plan, offset in zip(plans, first, strict=False)]
    whole = _Pieces.join(*parts)
    cut = sum(plan.split_documents for plan in plans)
    return RowPlan(whole.row, whole.document, whole.start, whole.length, int(first[-1]), plans[0].row_tokens, cut)


def mix64(values: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """A well-mixed 64-bit number for each value: splitmix64's finaliser, exact on every machine (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        z = values + np.uint64(seed & 0xFFFFFFFFFFFFFFFF) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
