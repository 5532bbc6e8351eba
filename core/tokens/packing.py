"""Which piece of which document goes into which training row.

A document is a sequence of L positions to predict (its tokens and its end). A row has S positions; no position of a drawn document is dropped.

`best-fit`:

    items                long ones were cut to rows         best fit            emptiest rows poured into gaps
    ---------------      [=========S=========]  alone       [=====][====][.]    [=====][====][~]
    ======               and a rest              ------->   [========][=][.]    [========][=][~]
    ---                  ----                               [===][........ ]    (gone)

1. A document longer than a row comes as several items (cutting.py), each of at most a row.
2. Items, longest first, go whole into the row whose free space fits best (best-fit decreasing: Ding et al. 2024, "Fewer Truncations Improve
   Language Modeling").
3. While padding exceeds `max_padding`, the emptiest rows are dissolved: their items fill the gaps of the other rows, cut where a gap ends.

`concat`: documents one after another in a seeded order, cut wherever a row ends; only the last row has padding.

`alone`: every item is a row (masked language models).

Then rows are put in a seeded order, those of each source spread evenly. A row holds at most `max_documents` segments, its padding counted as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import kernel

# Field practice for packed pre-training: under 0.5 % padding.
DEFAULT_MAX_PADDING = 0.005

# total: bytes that the tokens of a document longer than a row spell; -1: a shorter one, to be read whole where that is asked.
# key: seeded, of this copy of this piece: it decides ties and the order of a stream.
ITEM = np.dtype([("document", "<i8"), ("start", "<i4"), ("length", "<i4"), ("total", "<i8"), ("key", "<u8"), ("source", "<u2")])
PIECE = np.dtype([("document", "<i8"), ("start", "<i4"), ("length", "<i4"), ("total", "<i8"), ("row", "<i4")])

Ints = npt.NDArray[np.int64]
Items = npt.NDArray[Any]  # ITEM
Pieces = npt.NDArray[Any]  # PIECE


@dataclass(frozen=True)
class Packing:
    """How rows are filled: S positions, at most `max_documents` segments, padding above `max_padding` paid for with cuts."""

    row_tokens: int
    max_documents: int
    max_padding: float = DEFAULT_MAX_PADDING
    method: Literal["best-fit", "concat", "alone"] = "best-fit"


@dataclass(frozen=True)
class Packed:
    """Pieces in order of their rows: positions [start, start + length) of a document. `cut`: items of documents no longer than a row that were cut."""

    pieces: Pieces
    num_rows: int
    cut: int
    cut_tokens: int  # of those items

    @property
    def num_positions(self) -> int:
        return int(self.pieces["length"].sum(dtype=np.int64))


def pack(items: Items, packing: Packing, seed: int) -> Packed:
    """Pack items into rows. A best-fit item has at most `row_tokens` positions."""
    if not len(items):
        return Packed(np.empty(0, PIECE), 0, 0, 0)
    whole = items[np.lexsort((items["document"], items["key"]))]
    item, offset, length, row, num_rows = _METHODS[packing.method](whole, packing)
    pieces = np.empty(len(item), PIECE)
    for name in ("document", "total"):
        pieces[name] = whole[name][item]
    pieces["start"], pieces["length"] = whole["start"][item] + offset, length
    pieces["row"] = _place(whole["source"][item], pieces["length"], row, num_rows, seed)[row]
    cut = (np.bincount(item, minlength=len(whole)) > 1) & (whole["length"] <= packing.row_tokens) & (whole["total"] < 0)
    pieces = pieces[np.argsort(pieces["row"], kind="stable")]
    return Packed(pieces, num_rows, int(cut.sum()), int(whole["length"][cut].sum(dtype=np.int64)))


def _place(source: npt.NDArray[Any], length: npt.NDArray[Any], row: Ints, num_rows: int, seed: int) -> Ints:
    """[rows] where each row comes to lie: in random order among the rows of its source (that of its longest piece), and those of a source spread evenly over
    all, each at random inside its stretch. So every window of rows has close to the share of every source, closer than by chance.
    """
    main = np.zeros(num_rows, np.int64)
    order = np.lexsort((source, length, row))
    last = np.flatnonzero(np.diff(row[order], append=-1))
    main[row[order][last]] = source[order][last]
    random = mix64(np.arange(num_rows, dtype=np.uint64), seed + 1)  # another sequence than that of the keys
    by_source = np.lexsort((random, main))
    counts = np.bincount(main)
    rank = np.arange(num_rows) - (np.cumsum(counts) - counts)[main[by_source]]
    jitter = (mix64(random, seed)[by_source] >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    place = np.empty(num_rows, dtype=np.int64)
    place[by_source[np.argsort((rank + jitter) / counts[main[by_source]], kind="stable")]] = np.arange(num_rows)
    return place


_Placed = tuple[Ints, Ints, Ints, Ints, int]  # item, offset in it, length and row of each piece, and the number of rows


def _concatenate(items: Items, packing: Packing) -> _Placed:
    """A stream of items, cut where rows end."""
    nothing = np.empty(0, np.int64)
    found = _fill_gaps(items["length"].astype(np.int64), nothing, nothing, packing.row_tokens, packing.max_documents - 1)
    return (*found, int(found[3][-1]) + 1)


def _alone(items: Items, packing: Packing) -> _Placed:
    """A row for each item."""
    each = np.arange(len(items))
    return each, np.zeros_like(each), items["length"].astype(np.int64), each, len(items)


def _fit(items: Items, packing: Packing) -> _Placed:
    """Full rows, then best-fit decreasing, then gaps."""
    size, most = packing.row_tokens, packing.max_documents - 1
    lengths = items["length"].astype(np.int64)
    full = np.flatnonzero(lengths == size)
    rest = np.flatnonzero(lengths < size)
    rest = rest[np.argsort(-lengths[rest], kind="stable")]
    row, num_rows = _best_fit(lengths[rest], size, most)
    placed = (rest, np.zeros(len(rest), np.int64), lengths[rest], row)
    wanted = max(rows_wanted(int(lengths.sum()), size, packing.max_padding) - len(full), 0)
    if num_rows > wanted:
        placed = _pour(placed, num_rows, wanted, size, most)
        num_rows = int(placed[3].max()) + 1 if len(placed[3]) else 0
    alone = (full, np.zeros(len(full), np.int64), lengths[full], np.arange(len(full)))
    item, offset, length = (np.concatenate([alone[i], placed[i]]) for i in range(3))
    return item, offset, length, np.concatenate([alone[3], placed[3] + len(full)]), len(full) + num_rows


_METHODS = {"best-fit": _fit, "concat": _concatenate, "alone": _alone}


def rows_wanted(num_positions: int, row_tokens: int, max_padding: float) -> int:
    """The most rows whose padding stays within the limit, and at least as many as the positions need."""
    return max(-(-num_positions // row_tokens), int(num_positions / (row_tokens * (1 - max_padding))) if max_padding < 1 else num_positions)


def _pour(placed: tuple[Ints, Ints, Ints, Ints], num_rows: int, keep_rows: int, row_tokens: int, max_items: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Dissolve the emptiest rows down to `keep_rows` and fill the gaps of the others with their items, largest gaps first."""
    item, _, length, row = placed
    free = row_tokens - np.bincount(row, weights=length, minlength=num_rows).astype(np.int64)
    order = np.argsort(-free, kind="stable")
    dissolved, kept = order[: num_rows - keep_rows], order[num_rows - keep_rows :]
    number = np.full(num_rows, -1)
    number[kept] = np.arange(len(kept))
    rank = np.empty(num_rows, dtype=np.int64)
    rank[dissolved] = np.arange(len(dissolved))
    stay, loose = np.flatnonzero(number[row] >= 0), np.flatnonzero(number[row] < 0)
    loose = loose[np.argsort(rank[row[loose]], kind="stable")]
    slots = max_items - np.bincount(number[row[stay]], minlength=len(kept))
    which, offset, size, where = _fill_gaps(length[loose], free[kept], slots, row_tokens, max_items)
    return (
        np.concatenate([item[stay], item[loose][which]]),
        np.concatenate([np.zeros(len(stay), np.int64), offset]),
        np.concatenate([length[stay], size]),
        np.concatenate([number[row[stay]], where]),
    )


@kernel
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


@kernel
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


@kernel
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


def mix64(values: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """A well-mixed 64-bit number for each value: splitmix64's finaliser, exact on every machine (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        z = values + np.uint64(seed & 0xFFFFFFFFFFFFFFFF) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
