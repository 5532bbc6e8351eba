"""Repeated hashes in sorted runs, against a dictionary, in any number of ranges."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.dedup.runs import BYTES_PER_HASH, find_repeated, num_ranges

hashes = st.integers(0, 5).map(lambda i: [0, 1, 1 << 62, (1 << 63) + 7, (1 << 64) - 2, (1 << 64) - 1][i])


@given(st.lists(st.lists(hashes, max_size=8).map(sorted), max_size=4), st.integers(1, 9))
def test_equals_a_dictionary(drawn, ranges):
    runs = [np.array(run, np.uint64) for run in drawn]
    places = defaultdict(list)
    for number, run in enumerate(drawn):
        for place, value in enumerate(run):
            places[value].append((number, place))
    rows, groups = [], 0
    for found in find_repeated(runs, ranges):
        rows += zip((found.groups + groups).tolist(), found.runs.tolist(), found.places.tolist(), strict=True)
        groups += len(set(found.groups.tolist()))
    expected = [(group, *place) for group, value in enumerate(v for v in sorted(places) if len(places[v]) > 1) for place in places[value]]
    assert rows == expected


def test_ranges_follow_memory():
    assert num_ranges(0, 1000) == 1
    assert num_ranges(10, 10 * BYTES_PER_HASH) == 1
    assert num_ranges(11, 10 * BYTES_PER_HASH) == 2
