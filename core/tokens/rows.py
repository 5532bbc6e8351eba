"""Training rows from packed pieces, and where each of their positions came from.

A document t1 .. tn enters as inputs `prefix t1 .. tn` with labels `t1 .. tn eos`, so that every token is predicted once (prefix: eos, or the
BOS of an adopted tokenizer). Its stored sequence is the labels; a piece of it starting at position a > 0 has the token before it as first input:

    sequence (labels)    t1 t2 t3 t4 t5 eos
    piece [0, 3)         inputs  prefix t1 t2      labels t1 t2 t3
    piece [3, 6)         inputs  t3 t4 t5          labels t4 t5 eos

`actual_seq_len` (int32 [D]) holds where each segment ends, padding as a segment of its own, then S until it is full: non-decreasing, the last
entry is S. That is what MindFormers' GPT models read (eod_pad_length = D). Padding has label -100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.tokens.packing import RowPlan

IGNORED = -100  # the label of a position that counts for no loss

# Beside the rows: one line per segment of a row, padding left out.
PROVENANCE = pa.schema(
    [
        ("row", pa.int64()),  # of the split's files in order
        ("slot", pa.int32()),  # segment of the row
        ("start", pa.int32()),  # first position of the segment
        ("end", pa.int32()),  # one past its last
        ("id", pa.string()),  # document
        ("source", pa.string()),
        ("document_offset", pa.int64()),  # position in the document's sequence where the segment starts
        ("num_bytes", pa.int64()),  # UTF-8 bytes of the labelled tokens
    ]
)

Array = npt.NDArray[np.int32]


@dataclass(frozen=True)
class RowBatch:
    """Rows as MindRecord holds them: input_ids and labels int32 [B, S], actual_seq_len int32 [B, D]."""

    input_ids: Array
    labels: Array
    actual_seq_len: Array

    def __len__(self) -> int:
        return len(self.input_ids)


@dataclass(frozen=True)
class RowFormat:
    """What rows of one data set have in common."""

    row_tokens: int
    max_documents: int
    prefix_id: int
    filler_id: int  # input at padding positions: never learnt, any id of the vocabulary


@dataclass(frozen=True)
class Piece:
    """A segment to write: labels `sequence[start:start + length]` of document `id`, whose text has `num_bytes` bytes."""

    sequence: npt.NDArray[np.integer[Any]]
    start: int
    length: int
    id: str
    source: str
    num_bytes: int


def fill_rows(pieces: Sequence[Sequence[Piece]], form: RowFormat) -> RowBatch:
    """One row for each list of pieces."""
    count, size = len(pieces), form.row_tokens
    input_ids = np.full((count, size), form.filler_id, dtype=np.int32)
    labels = np.full((count, size), IGNORED, dtype=np.int32)
    ends = np.full((count, form.max_documents), size, dtype=np.int32)
    for r, row in enumerate(pieces):
        at = 0
        for slot, piece in enumerate(row):
            begin, end = piece.start, piece.start + piece.length
            labels[r, at : at + piece.length] = piece.sequence[begin:end]
            input_ids[r, at] = piece.sequence[begin - 1] if begin else form.prefix_id
            input_ids[r, at + 1 : at + piece.length] = piece.sequence[begin : end - 1]
            at += piece.length
            ends[r, slot] = at
    return RowBatch(input_ids, labels, ends)


def provenance(pieces: Sequence[Sequence[Piece]], first_row: int, token_bytes: npt.NDArray[np.int32]) -> pa.Table:
    """The PROVENANCE lines of rows `first_row`, `first_row + 1`, ..."""
    flat = [piece for row in pieces for piece in row]
    counts = np.array([len(row) for row in pieces], dtype=np.int64)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    lengths = np.array([piece.length for piece in flat], dtype=np.int64)
    ends = np.cumsum(lengths)
    row_starts = (ends - lengths)[first] if len(flat) else ends
    spelt = _SpeltBytes(token_bytes)
    columns = [
        np.repeat(np.arange(first_row, first_row + len(pieces)), counts),
        np.arange(len(flat)) - first,
        ends - lengths - row_starts,
        ends - row_starts,
        [piece.id for piece in flat],
        [piece.source for piece in flat],
        [piece.start for piece in flat],
        [spelt.of(piece) for piece in flat],
    ]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, PROVENANCE, strict=True)], schema=PROVENANCE)


def piece_bytes(piece: Piece, token_bytes: npt.NDArray[np.int32]) -> int:
    """UTF-8 bytes of the piece's labels. The pieces of a document sum to its `num_bytes`: a tokenizer whose pieces do not spell the text
    (normalisation, dummy prefix) gets the document's bytes in proportion.
    """
    return _SpeltBytes(token_bytes).of(piece)


class _SpeltBytes:
    """`piece_bytes` that sums a document once, however many of its pieces are asked for."""

    def __init__(self, token_bytes: npt.NDArray[np.int32]) -> None:
        self.token_bytes = token_bytes
        self.totals: dict[str, int] = {}

    def of(self, piece: Piece) -> int:
        if piece.length == len(piece.sequence):
            return piece.num_bytes
        if piece.id not in self.totals:
            self.totals[piece.id] = self._sum(piece.sequence)
        total = self.totals[piece.id]
        inside = self._sum(piece.sequence[piece.start : piece.start + piece.length])
        if total in (0, piece.num_bytes):
            return inside
        begin = self._sum(piece.sequence[: piece.start])
        return (begin + inside) * piece.num_bytes // total - begin * piece.num_bytes // total

    def _sum(self, tokens: npt.NDArray[np.integer[Any]]) -> int:
        return int(self.token_bytes[tokens].sum(dtype=np.int64))


def rows_of(plan: RowPlan, first_row: int, last_row: int) -> list[npt.NDArray[np.int64]]:
    """For each row of [first_row, last_row) the indices of its pieces in the plan."""
    span = plan.pieces_of(first_row, last_row)
    edges = np.searchsorted(plan.row[span], np.arange(first_row, last_row + 1)) + span.start
    return [np.arange(edges[i], edges[i + 1]) for i in range(last_row - first_row)]
