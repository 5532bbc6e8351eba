"""Packing: no position lost or doubled, whole documents first, padding within its limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.tokens.packing import ITEM, Packed, Packing, mix64, pack


def items(lengths: list[int], row_tokens: int, documents: list[int] | None = None) -> np.ndarray:
    """Each document cut to rows at their ends, as the stage does where no paragraph ends nearby."""
    found = []
    for copy, document in enumerate(range(len(lengths)) if documents is None else documents):
        starts = range(0, lengths[document], row_tokens)
        total = 1 if len(starts) > 1 else -1
        found += [(document, start, min(row_tokens, lengths[document] - start), total, hash((copy, start)) % 2**60, 0) for start in starts]
    return np.array(found, dtype=ITEM)


def rows(packed: Packed) -> list[list[tuple[int, int, int]]]:
    """(document, start, length) of the pieces of each row."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(packed.num_rows)]
    for document, start, length, _, row in packed.pieces.tolist():
        found[row].append((document, start, length))
    return found


def simple(lengths: list[int], row_tokens: int, max_documents: int = 128, max_padding: float = 0.005, method: str = "best-fit") -> Packed:
    return pack(items(lengths, row_tokens), Packing(row_tokens, max_documents, max_padding, method), 1)


def padding(packed: Packed, row_tokens: int) -> float:
    return 1 - packed.num_positions / (packed.num_rows * row_tokens)


def test_best_fit_by_hand() -> None:
    # longest first into rows of 10: 7 | 6 | 4 fits beside 6 exactly | 3 fits beside 7 exactly | 2 opens a row
    plan = simple([3, 7, 2, 6, 4], 10)
    assert sorted(sorted(row) for row in rows(plan)) == [[(0, 0, 3), (1, 0, 7)], [(2, 0, 2)], [(3, 0, 6), (4, 0, 4)]]
    assert plan.cut == 0
    assert padding(plan, 10) == pytest.approx(8 / 30)


def test_long_documents_leave_whole_rows_and_a_rest() -> None:
    plan = simple([25, 5, 10], 10)
    assert sorted(sorted(row) for row in rows(plan)) == [[(0, 0, 10)], [(0, 10, 10)], [(0, 20, 5), (1, 0, 5)], [(2, 0, 10)]]


def test_documents_are_cut_only_where_padding_asks_for_it() -> None:
    kept = simple([6] * 100, 10, max_padding=0.4)
    assert (kept.num_rows, kept.cut) == (100, 0)
    cut = simple([6] * 100, 10, max_padding=0.0)
    assert (cut.num_rows, padding(cut, 10)) == (60, 0.0)
    # each of the 60 rows keeps one whole document; the other 40 fill gaps of 4
    assert (cut.cut, cut.cut_tokens) == (40, 240)
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
    plan = pack(items(lengths, row_tokens, documents.tolist()), Packing(row_tokens, max_documents, max_padding), 3)
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
        plan = pack(items(lengths.tolist(), 512), Packing(512, 128), 0)
        assert padding(plan, 512) <= 0.005
        assert plan.cut <= 0.02 * 3000


def test_the_order_of_rows_is_seeded_and_mixes_sources() -> None:
    found = items([10] * 4000, 10)
    packing = Packing(10, 4)
    order = pack(found, packing, 7).pieces["document"]
    assert np.array_equal(order, pack(found[::-1], packing, 7).pieces["document"])  # the order of the items does not count
    assert not np.array_equal(order, pack(found, packing, 8).pieces["document"])
    windows = (order < 1000).reshape(4, 1000).mean(axis=1)  # a quarter of the rows
    assert np.abs(windows - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 1000)


def test_rows_of_a_rare_source_are_spread_evenly() -> None:
    """30 of 3,000 rows: in random order there would be windows of 300 rows with none and with seven."""
    found = items([10] * 3000, 10)
    found["source"][:30] = 1
    rare = pack(found, Packing(10, 4), 3).pieces["document"] < 30
    assert set(rare.reshape(10, 300).sum(axis=1)) <= {2, 3, 4}
    gaps = np.diff(np.flatnonzero(rare))
    assert gaps.min() < 70  # not one every hundred rows
    assert gaps.max() > 130


def test_a_stream_is_cut_where_rows_end() -> None:
    # 3 + 7 + 2 + 6 + 4 = 22 positions in some order: two full rows and one of 2
    plan = simple([3, 7, 2, 6, 4], 10, method="concat")
    assert sorted(sum(length for _, _, length in row) for row in rows(plan)) == [2, 10, 10]
    seen = sorted((d, p) for row in rows(plan) for d, start, length in row for p in range(start, start + length))
    assert seen == [(d, p) for d, length in enumerate([3, 7, 2, 6, 4]) for p in range(length)]


def test_a_stream_goes_on_from_row_to_row() -> None:
    """Undo the shuffle of rows by following the pieces: each row but the first begins where another one ended."""
    whole = np.array([(0, 0, 35, 1, 5, 0), (1, 0, 8, -1, 2, 0)], dtype=ITEM)  # keys: document 1 comes first
    plan = pack(whole, Packing(10, 8, method="concat"), 3)
    assert sorted(rows(plan)) == [[(0, 2, 10)], [(0, 12, 10)], [(0, 22, 10)], [(0, 32, 3)], [(1, 0, 8), (0, 0, 2)]]


def test_mix64_is_splitmix64() -> None:
    """First outputs of splitmix64 seeded with 0 and 1234567 (Vigna's reference code): state += golden ratio, then the finaliser."""
    assert int(mix64(np.array([0], dtype=np.uint64), 0)[0]) == 0xE220A8397B1DCDAF
    assert int(mix64(np.array([1234567], dtype=np.uint64), 0)[0]) == 6457827717110365317


def test_nothing_to_pack() -> None:
    plan = pack(np.empty(0, ITEM), Packing(16, 4), 0)
    assert (plan.num_rows, plan.num_positions) == (0, 0)
