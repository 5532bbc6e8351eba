"""Packing: no position lost or doubled, whole documents first, padding within its limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.tokens.packing import RowPlan, mix64, pack


def rows(plan: RowPlan) -> list[list[tuple[int, int, int]]]:
    """(document, start, length) of the pieces of each row."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(plan.num_rows)]
    for row, document, start, length in zip(plan.row, plan.document, plan.start, plan.length, strict=True):
        found[row].append((int(document), int(start), int(length)))
    return found


def simple(lengths: list[int], row_tokens: int, max_documents: int = 128, **settings: float) -> RowPlan:
    return pack(np.array(lengths), np.arange(len(lengths)), row_tokens, max_documents, 1, **settings)


def test_best_fit_by_hand() -> None:
    # longest first into rows of 10: 7 | 6 | 4 fits beside 6 exactly | 3 fits beside 7 exactly | 2 opens a row
    plan = simple([3, 7, 2, 6, 4], 10)
    assert sorted(sorted(row) for row in rows(plan)) == [[(0, 0, 3), (1, 0, 7)], [(2, 0, 2)], [(3, 0, 6), (4, 0, 4)]]
    assert plan.split_documents == 0
    assert plan.padding_ratio == pytest.approx(8 / 30)


def test_long_documents_leave_whole_rows_and_a_rest() -> None:
    plan = simple([25, 5, 10], 10)
    assert sorted(sorted(row) for row in rows(plan)) == [[(0, 0, 10)], [(0, 10, 10)], [(0, 20, 5), (1, 0, 5)], [(2, 0, 10)]]


def test_documents_are_cut_only_where_padding_asks_for_it() -> None:
    kept = simple([6] * 100, 10, max_padding=0.4)
    assert (kept.num_rows, kept.split_documents) == (100, 0)
    cut = simple([6] * 100, 10, max_padding=0.0)
    assert (cut.num_rows, cut.padding_ratio) == (60, 0.0)
    # each of the 60 rows keeps one whole document; the other 40 fill gaps of 4
    assert cut.split_documents == 40
    assert sum(any(length == 6 for _, _, length in row) for row in rows(cut)) == 60


def test_no_more_segments_than_the_row_may_list() -> None:
    plan = simple([1] * 40, 100, max_documents=8)
    assert [len(row) for row in rows(plan)] == [7] * 5 + [5] or sorted(len(row) for row in rows(plan)) == [5] + [7] * 5


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(1, 90), min_size=1, max_size=80),
    st.lists(st.integers(0, 10_000), min_size=1, max_size=120),
    st.integers(8, 40),
    st.integers(2, 9),
    st.sampled_from([0.0, 0.005, 0.1, 0.9]),
)
def test_every_position_of_every_copy_once(lengths: list[int], copies: list[int], row_tokens: int, max_documents: int, max_padding: float) -> None:
    documents = np.array([c % len(lengths) for c in copies])
    plan = pack(np.array(lengths), documents, row_tokens, max_documents, 3, max_padding)
    times = np.bincount(documents, minlength=len(lengths))
    seen = [np.zeros(length, dtype=int) for length in lengths]
    for row in rows(plan):
        used = sum(length for _, _, length in row)
        assert 0 < used <= row_tokens
        assert len(row) + (used < row_tokens) <= max_documents
        for document, start, length in row:
            assert length > 0
            seen[document][start : start + length] += 1
    assert all((counts == times[i]).all() for i, counts in enumerate(seen))


def test_padding_stays_within_its_limit_on_documents_of_all_sizes() -> None:
    rng = np.random.default_rng(5)
    for mean in (60, 150, 700):
        lengths = np.maximum(1, rng.lognormal(np.log(mean), 1.0, 3000).astype(np.int64))
        plan = pack(lengths, np.arange(3000), 512, 128, 0)
        assert plan.padding_ratio <= 0.005
        assert plan.split_documents <= 0.02 * 3000


def test_the_order_of_rows_is_seeded_and_mixes_sources() -> None:
    lengths = np.full(4000, 10)
    plan = pack(lengths, np.arange(4000), 10, 4, 7)
    assert np.array_equal(plan.document, pack(lengths, np.arange(4000), 10, 4, 7).document)
    assert not np.array_equal(plan.document, pack(lengths, np.arange(4000), 10, 4, 8).document)
    source = plan.document < 1000  # a quarter of the rows
    windows = source.reshape(4, 1000).mean(axis=1)
    assert np.abs(windows - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 1000)


def test_mix64_is_splitmix64() -> None:
    """First outputs of splitmix64 seeded with 0 and 1234567 (Vigna's reference code): state += golden ratio, then the finaliser."""
    assert int(mix64(np.array([0], dtype=np.uint64), 0)[0]) == 0xE220A8397B1DCDAF
    assert int(mix64(np.array([1234567], dtype=np.uint64), 0)[0]) == 6457827717110365317


def test_nothing_to_pack() -> None:
    plan = pack(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 16, 4, 0)
    assert (plan.num_rows, plan.padding_ratio) == (0, 0.0)
