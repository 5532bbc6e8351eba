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

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.kernel import kernel
from mspt.core.tokens.documents import DocumentReader, Records
from mspt.core.tokens.packing import Pieces
from mspt.core.tokens.token_files import TokenFiles

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
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowBatch:
    """Rows as MindRecord holds them: input_ids and labels int32 [B, S], actual_seq_len int32 [B, D]."""

    input_ids: Array
    labels: Array
    actual_seq_len: Array

    def __len__(self) -> int:
        return len(self.input_ids)

    def stream(self, filler_id: int) -> Array:
        """The rows as int32 [B, S + 1]: inputs, the last label behind them, then filler. Without the last id of each row they are its inputs and without the
        first its labels, as long as segments follow each other in one stream."""
        used = (self.labels != IGNORED).sum(axis=1)
        rows = np.arange(len(self))
        stream: Array = np.concatenate([self.input_ids, np.full((len(self), 1), filler_id, np.int32)], axis=1)
        stream[rows, used] = self.labels[rows, used - 1]
        return stream


@dataclass(frozen=True)
class RowFormat:
    """What rows of one data set have in common."""

    row_tokens: int
    max_documents: int
    prefix_id: int
    filler_id: int  # input at padding positions: never learnt, any id of the vocabulary


@dataclass(frozen=True)
class Segments:
    """Pieces with what they hold, in order of rows: labels `flat[first[p] : first[p] + length[p]]`, the input before them, and their documents."""

    pieces: Pieces
    records: Records
    flat: npt.NDArray[Any]  # as the tokens lie on disk
    first: Ints
    before: Array

    def labels(self, p: int) -> npt.NDArray[Any]:
        return self.flat[self.first[p] : self.first[p] + self.pieces["length"][p]]


def read_segments(pieces: Pieces, reader: DocumentReader, files: TokenFiles, prefix_id: int) -> Segments:
    """Fetch documents and tokens of pieces; a piece from the middle of a document comes with the token before it."""
    records = reader.at(pieces["document"].tolist())
    lead = (pieces["start"] > 0).astype(np.int64)
    starts, counts = records["start"] + pieces["start"] - lead, pieces["length"] + lead
    places = zip(records["source"].tolist(), starts.tolist(), counts.tolist(), strict=True)
    flat = np.frombuffer(b"".join([files.read_bytes(*place) for place in places]), files.dtype)
    first: Ints = np.cumsum(counts) - counts + lead
    before = np.where(lead > 0, flat[first - lead] if len(flat) else 0, prefix_id).astype(np.int32)
    return Segments(pieces, records, flat, first, before)


def fill_rows(segments: Segments, num_rows: int, form: RowFormat) -> RowBatch:
    """Rows 0 .. num_rows - 1; the pieces' rows are numbered from 0."""
    input_ids = np.full((num_rows, form.row_tokens), form.filler_id, dtype=np.int32)
    labels = np.full((num_rows, form.row_tokens), IGNORED, dtype=np.int32)
    ends = np.full((num_rows, form.max_documents), form.row_tokens, dtype=np.int32)
    row, length = (segments.pieces[name].astype(np.int64) for name in ("row", "length"))
    _fill(segments.flat, segments.first, segments.before, row, length, input_ids, labels, ends)
    return RowBatch(input_ids, labels, ends)


@kernel
def _fill(flat: npt.NDArray[Any], first: Ints, before: Array, row: Ints, length: Ints, input_ids: Array, labels: Array, ends: Array) -> None:
    """Copy each piece behind the one before it in its row."""
    at, slot = 0, 0
    for p in range(len(row)):
        r = row[p]
        if p == 0 or r != row[p - 1]:
            at, slot = 0, 0
        last = before[p]
        for k in range(length[p]):
            input_ids[r, at + k] = last
            last = flat[first[p] + k]
            labels[r, at + k] = last
        at += length[p]
        if slot < ends.shape[1]:  # a stream (legacy rows) may hold more segments than are listed
            ends[r, slot] = at
        slot += 1


@kernel
def _spelt(flat: npt.NDArray[Any], first: Ints, length: Ints, token_bytes: Array) -> Ints:
    """Bytes that the labels of each piece spell."""
    found = np.zeros(len(first), dtype=np.int64)
    for p in range(len(first)):
        total = 0
        for k in range(first[p], first[p] + length[p]):
            total += token_bytes[flat[k]]
        found[p] = total
    return found


def provenance(segments: Segments, first_row: int, sources: tuple[str, ...], spelt: Ints, shift: bool = False) -> pa.Table:
    """The PROVENANCE lines of rows `first_row`, `first_row + 1`, ...; `spelt`: bytes of each segment (`segment_bytes`); shift: by one position, since these
    rows (mlm) have the prefix and the text in one column."""
    pieces = segments.pieces
    rows, lengths = pieces["row"].astype(np.int64), pieces["length"].astype(np.int64)
    begins = np.flatnonzero(np.diff(rows, prepend=-1))
    owner = np.repeat(begins, np.diff(begins, append=len(rows)))
    ends = np.cumsum(lengths)
    row_start = (ends - lengths)[owner] if len(rows) else ends
    names = np.array(sources, dtype=object)
    columns: list[Any] = [
        rows + first_row,
        np.arange(len(rows)) - owner,
        ends - lengths - row_start + shift,
        ends - row_start + shift,
        [id_.decode("utf-8", "surrogatepass") for id_ in segments.records["id"].tolist()],
        names[segments.records["source"]].tolist() if len(rows) else [],
        pieces["start"].astype(np.int64),
        spelt,
    ]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, PROVENANCE, strict=True)], schema=PROVENANCE)


def segment_bytes(segments: Segments, token_bytes: Array, files: TokenFiles) -> Ints:
    """UTF-8 bytes of each segment's labels. The segments of a document sum to its bytes: a tokenizer whose pieces do not spell the text
    (normalisation, dummy prefix) gets the document's bytes in proportion.
    """
    pieces, records = segments.pieces, segments.records
    lengths = pieces["length"].astype(np.int64)
    found = _spelt(segments.flat, segments.first, lengths, token_bytes)
    whole = lengths == records["tokens"]
    found[whole] = records["bytes"][whole]
    for p in np.flatnonzero(~whole).tolist():
        source, first, total = int(records["source"][p]), int(records["start"][p]), int(pieces["total"][p])
        if total < 0:
            total = int(token_bytes[files.read(source, first, int(records["tokens"][p]))].sum(dtype=np.int64))
        num_bytes = int(records["bytes"][p])
        if total not in (0, num_bytes):
            begin = int(token_bytes[files.read(source, first, int(pieces["start"][p]))].sum(dtype=np.int64))
            found[p] = (begin + int(found[p])) * num_bytes // total - begin * num_bytes // total
    return found
