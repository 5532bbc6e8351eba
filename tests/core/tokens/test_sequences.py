"""The join of token sequences with what docs say of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mspt.core.tokens.sequences import Sequences, join_documents, pack_by_source

TABLE = pa.table(
    {"sequence": [0, 1, 0, 1], "id": ["a", "b", "c", "d"], "source": ["web", "web", "book", "book"], "num_tokens": [5, 6, 30, 8], "num_bytes": [9, 11, 60, 15]}
)


def joined(**columns: list[object]) -> Sequences:
    return join_documents(TABLE, pa.table({"id": ["d", "c", "b", "a"], **columns}), drop_missing=False)


def test_columns_follow_the_sequences() -> None:
    found = joined(cluster=["x", "x", None, "y"], weight=pa.array([4.0, None, 2.0, 1.0], pa.float32()))
    assert found.ids == ["a", "b", "c", "d"]
    assert found.sources == ("book", "web")
    assert found.codes.tolist() == [1, 1, 0, 0]
    assert found.keys == ["y", "b", "x", "x"]
    assert found.weights.tolist() == [1.0, 2.0, 1.0, 4.0]
    assert (found.sequence.tolist(), found.num_tokens.tolist(), found.num_bytes.tolist()) == ([0, 1, 0, 1], [5, 6, 30, 8], [9, 11, 60, 15])


def test_without_layers_each_document_stands_for_itself() -> None:
    found = joined()
    assert found.keys == found.ids
    assert found.weights.tolist() == [1.0] * 4


def test_a_sample_drops_the_others() -> None:
    found = join_documents(TABLE, pa.table({"id": ["d", "a"], "weight": [3.0, 7.0]}), drop_missing=True)
    assert found.ids == ["a", "d"]
    assert found.sequence.tolist() == [0, 1]
    assert found.weights.tolist() == [7.0, 3.0]


def test_corpus_and_totals_of_a_part() -> None:
    found = joined(weight=[4.0, 3.0, 2.0, 1.0])
    corpus = found.corpus(np.array([1, 3]), seed=5)
    assert (corpus.names, corpus.codes.tolist(), corpus.num_tokens.tolist(), corpus.weights.tolist()) == (("book", "web"), [1, 0], [6, 8], [2.0, 4.0])
    assert found.by_source(np.array([True, False, True, True])) == {
        "book": {"documents": 2, "tokens": 38, "bytes": 75},
        "web": {"documents": 1, "tokens": 5, "bytes": 9},
    }


def test_validation_rows_hold_one_source_each() -> None:
    plan = pack_by_source(joined(), np.array([True, True, True, False]), 16, 8, 0, 0.005)
    # book: 30 tokens fill a row and most of a second; web: 5 and 6 share the third
    assert plan.num_rows == 3
    assert [sorted(set(plan.document[plan.row == r].tolist())) for r in range(3)] == [[2], [2], [0, 1]]
    assert int(plan.length.sum()) == 41
