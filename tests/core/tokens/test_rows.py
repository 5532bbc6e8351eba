"""Rows and their provenance, by hand and by MindFormers' own reading rules."""

from __future__ import annotations

import numpy as np
import pytest

from mspt.core.tokens.packing import ITEM, Packing, pack
from mspt.core.tokens.rows import IGNORED, RowBatch, RowFormat, provenance, segment_bytes
from mspt.core.tokens.rows import fill_rows as fill_segments
from support.segments import Piece, segments

FORM = RowFormat(row_tokens=8, max_documents=4, prefix_id=2, filler_id=3)
FIRST = np.array([10, 11, 12, 13, 14, 2], dtype=np.uint16)  # t1..t5 eos
SECOND = np.array([20, 21, 2], dtype=np.uint16)


def piece(sequence: np.ndarray, start: int, length: int, id_: str = "x", num_bytes: int = 9) -> Piece:
    return Piece(sequence, start, length, id_, "web", num_bytes)


def fill_rows(rows: list[list[Piece]], form: RowFormat) -> RowBatch:
    return fill_segments(segments(rows, form.prefix_id)[0], len(rows), form)


def test_a_document_enters_after_eos_and_ends_with_it() -> None:
    batch = fill_rows([[piece(FIRST, 0, 6)]], FORM)
    assert batch.input_ids.tolist() == [[2, 10, 11, 12, 13, 14, 3, 3]]
    assert batch.labels.tolist() == [[10, 11, 12, 13, 14, 2, IGNORED, IGNORED]]
    assert batch.actual_seq_len.tolist() == [[6, 8, 8, 8]]
    assert {batch.input_ids.dtype, batch.labels.dtype, batch.actual_seq_len.dtype} == {np.dtype(np.int32)}


def test_a_split_document_goes_on_without_eos() -> None:
    batch = fill_rows([[piece(SECOND, 0, 3), piece(FIRST, 0, 4)], [piece(FIRST, 4, 2), piece(SECOND, 0, 3)]], FORM)
    assert batch.input_ids.tolist() == [[2, 20, 21, 2, 10, 11, 12, 3], [13, 14, 2, 20, 21, 3, 3, 3]]
    assert batch.labels.tolist() == [[20, 21, 2, 10, 11, 12, 13, -100], [14, 2, 20, 21, 2, -100, -100, -100]]
    # the last label of a piece is the first input of the next
    assert batch.labels[0, 6] == batch.input_ids[1, 0] == 13
    assert batch.actual_seq_len.tolist() == [[3, 7, 8, 8], [2, 5, 8, 8]]


def test_an_adopted_bos_opens_documents() -> None:
    batch = fill_rows([[piece(SECOND, 0, 3)]], RowFormat(4, 2, prefix_id=1, filler_id=3))
    assert batch.input_ids.tolist() == [[1, 20, 21, 3]]
    assert batch.labels.tolist() == [[20, 21, 2, -100]]


def mindformers_mask(actual_seq_len: np.ndarray, row_tokens: int) -> np.ndarray:
    """MindFormers' rule: the last column lists cumulative ends; position q sees k <= q of its own segment only."""
    assert (np.diff(actual_seq_len) >= 0).all()
    assert actual_seq_len[-1] == row_tokens
    segment = np.searchsorted(actual_seq_len, np.arange(row_tokens), side="right")
    q, k = np.meshgrid(np.arange(row_tokens), np.arange(row_tokens), indexing="ij")
    return (segment[q] == segment[k]) & (k <= q)


def test_rows_follow_mindformers_reading_rules() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 60, 300)
    documents = [np.append(rng.integers(4, 900, n - 1), 2).astype(np.uint16) for n in lengths]
    items = [(d, at, min(32, n - at), -1, 7919 * d % 331, d % 3) for d, n in enumerate(lengths.tolist()) for at in range(0, n, 32)]
    plan = pack(np.array(items, ITEM), Packing(32, 6), 11)
    pieces: list[list[Piece]] = [[] for _ in range(plan.num_rows)]
    for document, start, length, _, row in plan.pieces.tolist():
        pieces[row].append(piece(documents[document], start, length))
    batch = fill_rows(pieces, RowFormat(32, 6, prefix_id=2, filler_id=3))
    assert batch.actual_seq_len.shape == (plan.num_rows, 6)
    for r in range(plan.num_rows):
        mask = mindformers_mask(batch.actual_seq_len[r], 32)
        at = 0
        for segment in pieces[r]:
            inside = np.arange(at, at + segment.length)
            assert mask[np.ix_(inside, inside)].sum() == segment.length * (segment.length + 1) // 2
            assert not mask[inside][:, :at].any()
            # inputs shifted by one are the labels, inside the segment
            assert np.array_equal(batch.input_ids[r, inside[1:]], batch.labels[r, inside[:-1]])
            at += segment.length
        assert (batch.labels[r, at:] == IGNORED).all()
        assert not mask[at:, :at].any()
    # every token of every document, and its end, is predicted exactly once
    predicted = np.sort(batch.labels[batch.labels != IGNORED])
    assert np.array_equal(predicted, np.sort(np.concatenate(documents)))


def test_provenance_says_where_every_segment_came_from() -> None:
    token_bytes = np.zeros(30, dtype=np.int32)
    token_bytes[10:15] = [1, 2, 3, 4, 5]
    token_bytes[20:22] = [3, 4]
    rows = [[piece(SECOND, 0, 3, "b", 7), piece(FIRST, 0, 4, "a", 15)], [piece(FIRST, 4, 2, "a", 15)]]
    found, sources, held = segments(rows, 2)
    table = provenance(found, 100, sources, segment_bytes(found, token_bytes, held)).to_pylist()
    assert [tuple(line.values()) for line in table] == [
        (100, 0, 0, 3, "b", "web", 0, 7),
        (100, 1, 3, 7, "a", "web", 0, 10),
        (101, 0, 0, 2, "a", "web", 4, 5),
    ]


def test_bytes_of_pieces_sum_to_the_document_whatever_the_pieces_spell() -> None:
    token_bytes = np.full(30, 2, dtype=np.int32)
    token_bytes[2] = 0
    for num_bytes in (10, 7, 23):  # 10: exact; else the tokenizer normalised something
        found, _, held = segments([[piece(FIRST, a, n, "a", num_bytes) for a, n in ((0, 2), (2, 3), (5, 1))]], 2)
        parts = segment_bytes(found, token_bytes, held).tolist()
        assert sum(parts) == num_bytes
        assert parts[2] == 0  # the end of a document has no bytes


def test_a_stream_of_segments_is_its_own_label() -> None:
    """Legacy rows: S + 1 ids; inputs are all but the last, labels all but the first."""
    batch = fill_rows([[piece(SECOND, 0, 3), piece(FIRST, 0, 5)], [piece(FIRST, 5, 1)]], FORM)
    stream = batch.stream(3)
    assert stream.tolist() == [[2, 20, 21, 2, 10, 11, 12, 13, 14], [14, 2, 3, 3, 3, 3, 3, 3, 3]]
    assert stream[0, 1:].tolist() == batch.labels[0].tolist()


@pytest.mark.parametrize("full", [True, False])
def test_a_full_row_has_no_padding_segment(full: bool) -> None:
    rows = [piece(FIRST, 0, 5), piece(SECOND, 0, 3 if full else 2)]
    batch = fill_rows([rows], RowFormat(8, 3, 2, 3))
    assert batch.actual_seq_len.tolist() == [[5, 8, 8] if full else [5, 7, 8]]
