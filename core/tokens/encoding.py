"""A column of texts to token sequences: by compiled merges over Arrow's own buffers where they are exact, else by the tokenizer's library, batch by batch.

    texts   ["ab", "", "c"]  --sequences-->  ids [5, 9, 2, 2, 7, 2], lengths [3, 1, 2]      (2: eos, behind each document)

Both give the same ids (core/tokens/merging.py, core/tokens/merges.py); the compiled way takes a sixth of the time or less, but half a second to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.tokens.merges import MergeTables

OUT_IDS = 1 << 20  # ids written at once, if no document has more bytes
ROOM = 4096  # symbols of the longest part that is foreseen; it doubles where one is longer

Ids = npt.NDArray[np.int32]
Lengths = npt.NDArray[np.int64]
Sequences = tuple[Ids, Lengths]  # ids of documents one after another, and how many each has


class MergeEncoder:
    """`tables` applied to columns of texts."""

    def __init__(self, tables: MergeTables, eos: int) -> None:
        from mspt.core.tokens.merging import make_room

        self.tables = tables
        self.eos = eos
        self.room = make_room(ROOM)
        self.out: Ids = np.empty(0, np.int32)

    def sequences(self, texts: pa.ChunkedArray) -> Iterator[Sequences]:
        """Some documents at a time; the arrays are good until the next ones are asked for."""
        from mspt.core.dedup.folding import utf8_buffers

        for chunk in texts.chunks:
            data, offsets = utf8_buffers(chunk)
            data = data.view()
            data.flags.writeable = False  # always, since numba compiles anew for an array that may be written
            yield from self._encode(data, offsets)

    def _encode(self, data: npt.NDArray[np.uint8], offsets: Lengths) -> Iterator[Sequences]:
        from mspt.core.tokens.merging import MAX_ADDED, encode, make_room

        num_documents = len(offsets) - 1
        needed = max(OUT_IDS, int(np.diff(offsets).max(initial=0)) + MAX_ADDED)
        if len(self.out) < needed:
            self.out = np.empty(needed, np.int32)
        lengths = np.zeros(num_documents, np.int64)
        first = 0
        while first < num_documents:
            end, size = encode(self.tables, data, offsets, first, self.eos, self.room, self.out, lengths)
            if end == first:  # a part of this document needs more room
                self.room = make_room(2 * len(self.room.part))
                continue
            yield self.out[:size], lengths[first:end]
            first = end
        # The longest document is no measure for those that follow.
        if needed > OUT_IDS:
            self.out = self.out[:0].copy()
        if len(self.room.part) > ROOM:
            self.room = make_room(ROOM)


def sequences_by(encode_batch: Callable[[Sequence[str]], Sequence[npt.NDArray[Any]]], eos: int, texts: pa.ChunkedArray, batch: int) -> Iterator[Sequences]:
    """The same by a function from texts to ids, `batch` documents at a time."""
    end = np.array([eos], np.int32)
    for start in range(0, len(texts), batch):
        encoded = encode_batch(texts.slice(start, batch).to_pylist())
        flat = np.concatenate([part for ids in encoded for part in (ids, end)])
        yield flat.astype(np.int32, copy=False), np.array([len(ids) + 1 for ids in encoded], np.int64)
