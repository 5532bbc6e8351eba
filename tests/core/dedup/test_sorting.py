"""Radix sorts against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from mspt.core.dedup.sorting import sort_by_key, sort_values

SIZES = [0, 1, 2, 40, 41, 1499, 1500, 20_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("high", [1, 300, 2**40, 2**64])
def test_pairs_are_sorted_by_key_and_equal_keys_stay_in_order(size, high):
    keys = np.random.default_rng(size).integers(0, high, size, dtype=np.uint64)
    payload = np.arange(size, dtype=np.uint32)
    expected = np.argsort(keys, kind="stable")
    found = keys.copy()
    sort_by_key(found, payload)
    assert payload.tolist() == expected.tolist()
    assert found.tolist() == keys[expected].tolist()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("high", [1, 300, 2**32])
def test_values_are_sorted_in_place(size, high):
    values = np.random.default_rng(size).integers(0, high, size, dtype=np.uint32)
    found = values.copy()
    sort_values(found, np.empty(size + 3, np.uint32))
    assert found.tolist() == np.sort(values).tolist()
