"""A global shuffle with bounded memory: items go to blocks by their seeded key, and each block is packed by itself.

    items of a group, as they stream past  --key-->  bucket files  --pack-->  pieces of one block after another, rows in seeded order

A block is a fair sample of its group (a phase of training, one source of validation), so that its rows are as mixed as those of a shuffle of everything; it
costs at most one row of padding more. Memory holds one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mspt.core.tokens.packing import ITEM, PIECE, Items, Packed, Packing, Pieces, mix64, pack

MAX_ROWS = 2**14
MAX_ITEMS = 2**18  # 32 bytes each on disk, about 200 in memory while they are packed


def num_blocks(positions: int, items: int, row_tokens: int) -> int:
    """How many blocks a group is cut into."""
    return max(1, -(-positions // (MAX_ROWS * row_tokens)), -(-items // MAX_ITEMS))


class Buckets:
    """Files of items, one for each block of one group."""

    def __init__(self, folder: Path, group: str, number: int) -> None:
        self.paths = [folder / f"{group}-{i:05d}.items" for i in range(number)]
        for path in self.paths:
            path.write_bytes(b"")

    def add(self, items: Items) -> None:
        block = self._block(items["key"])
        order = np.argsort(block, kind="stable")
        edges = np.searchsorted(block[order], np.arange(len(self.paths) + 1))
        for i in np.flatnonzero(np.diff(edges)):
            with self.paths[i].open("ab") as out:
                out.write(items[order[edges[i] : edges[i + 1]]].tobytes())

    def _block(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Each block takes an equal stretch of the keys."""
        return ((keys >> np.uint64(32)) * np.uint64(len(self.paths)) >> np.uint64(32)).astype(np.int64)

    def pack(self, packing: Packing, seed: int) -> Iterator[tuple[Path, Packed]]:
        """Each block packed; what the items lay in is gone then, and the path is free for the pieces."""
        for i, path in enumerate(self.paths):
            items = np.fromfile(path, ITEM)
            path.unlink()
            if len(items):
                yield path.with_suffix(".pieces"), pack(items, packing, int(mix64(np.array([i], np.uint64), seed)[0]))


@dataclass(frozen=True)
class Block:
    """Rows [first_row, first_row + num_rows) of a split: pieces in `path` and, in `path`.starts, the first piece of each row and one past the last."""

    path: Path
    first_row: int
    num_rows: int

    @classmethod
    def save(cls, path: Path, packed: Packed, first_row: int) -> Block:
        path.write_bytes(packed.pieces.tobytes())
        starts = np.searchsorted(packed.pieces["row"], np.arange(packed.num_rows + 1)).astype("<i8")
        path.with_suffix(".starts").write_bytes(starts.tobytes())
        return cls(path, first_row, packed.num_rows)

    def read(self, first_row: int, last_row: int) -> Pieces:
        """The pieces of the block's rows inside [first_row, last_row), rows numbered from `first_row`."""
        begin, end = max(first_row, self.first_row) - self.first_row, min(last_row, self.first_row + self.num_rows) - self.first_row
        starts = np.fromfile(self.path.with_suffix(".starts"), "<i8", end - begin + 1, offset=8 * begin)
        pieces = np.fromfile(self.path, PIECE, int(starts[-1] - starts[0]), offset=int(starts[0]) * PIECE.itemsize)
        pieces["row"] += self.first_row - first_row
        return pieces


def read_rows(blocks: tuple[Block, ...], first_row: int, last_row: int) -> Pieces:
    """The pieces of rows [first_row, last_row), in order, rows numbered from 0."""
    return np.concatenate([np.empty(0, PIECE), *(block.read(first_row, last_row) for block in blocks)])
