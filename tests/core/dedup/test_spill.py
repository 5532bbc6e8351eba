"""Buckets of rows on disk."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.dedup.spill import Buckets, even_borders


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=4), st.lists(st.integers(1, 9), max_size=3, unique=True))
def test_rows_come_back_by_bucket_in_the_order_they_were_added(tmp_path_factory, calls, inner):
    borders = [0, *sorted(inner), 10]
    buckets = Buckets(tmp_path_factory.mktemp("b") / "rows", borders, 2)
    rows = [(key, number) for number, key in enumerate(key for keys in calls for key in keys)]
    rest = iter(rows)
    for keys in calls:
        own = [next(rest) for _ in keys]
        buckets.add(np.array(keys, np.int64), np.array(own, np.int64).reshape(-1, 2))
    for i in range(len(buckets)):
        assert buckets.read(i).tolist() == [list(row) for row in rows if borders[i] <= row[0] < borders[i + 1]]


def test_what_a_killed_run_left_is_gone(tmp_path):
    Buckets(tmp_path / "x", [0, 5], 1).add(np.array([1]), np.array([[7]]))
    assert Buckets(tmp_path / "x", [0, 5], 1).read(0).tolist() == []


@given(st.lists(st.integers(0, 1000), max_size=50), st.integers(1, 9))
def test_even_borders(weights, num):
    borders = even_borders(np.array(weights, np.int64), num)
    assert (borders[0], borders[-1], len(borders) <= num + 1) == (0, max(1, len(weights)), True)
    heavy = [sum(w + 1 for w in weights[start:end]) for start, end in itertools.pairwise(borders)]
    assert all(weight <= (sum(weights) + len(weights)) / num + max(weights, default=0) + 1 for weight in heavy)
