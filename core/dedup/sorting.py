"""Radix sorts for keys that are hashes: linear, stable, the same time whatever the values are (Knuth, TAOCP 3, 5.2.5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import kernel

_DIGIT_BITS = 11  # 2,048 counters: 16 KiB, half of a first-level cache
_DIGITS = 1 << _DIGIT_BITS
_INSERTION_SIZE = 40  # below it insertion is faster than counting
_BYTE_SIZE = 1500  # below it four passes over 256 counters are faster than three over 2,048


@kernel
def sort_by_key(keys: npt.NDArray[np.uint64], payload: npt.NDArray[np.uint32]) -> None:
    """Sort pairs by key, in place; equal keys stay in their order."""
    num, passes = len(keys), 6
    if num < 2:
        return
    counts = np.zeros((passes, _DIGITS), np.int64)
    for i in range(num):
        for digit in range(passes):
            counts[digit, _digit(keys[i], digit)] += 1
    source_keys, source, target_keys, target = keys, payload, np.empty_like(keys), np.empty_like(payload)
    moved = False  # whether the pairs stand in the scratch arrays
    for digit in range(passes):
        places = counts[digit]
        if places[_digit(keys[0], digit)] == num:
            continue
        _to_places(places)
        for i in range(num):
            value = _digit(source_keys[i], digit)
            place = places[value]
            places[value] = place + 1
            target_keys[place] = source_keys[i]
            target[place] = source[i]
        source_keys, target_keys = target_keys, source_keys
        source, target = target, source
        moved = not moved
    if moved:
        keys[:] = source_keys
        payload[:] = source


@kernel
def sort_values(values: npt.NDArray[np.uint32], scratch: npt.NDArray[np.uint32]) -> None:
    """Sort in place; `scratch` is as long as `values` at least."""
    num = len(values)
    if num <= _INSERTION_SIZE:
        _insert(values)
    elif num < _BYTE_SIZE:
        counts = np.empty(256, np.int64)
        for shift in range(0, 32, 16):
            _pass(values, scratch, shift, np.uint32(255), counts)
            _pass(scratch[:num], values, shift + 8, np.uint32(255), counts)
    else:
        counts = np.empty(_DIGITS, np.int64)
        _pass(values, scratch, 0, np.uint32(_DIGITS - 1), counts)
        _pass(scratch[:num], values, _DIGIT_BITS, np.uint32(_DIGITS - 1), counts)
        _pass(values, scratch, 2 * _DIGIT_BITS, np.uint32(_DIGITS - 1), counts)
        values[:] = scratch[:num]


@kernel
def _digit(key: np.uint64, digit: int) -> np.int64:
    return np.int64((key >> np.uint64(_DIGIT_BITS * digit)) & np.uint64(_DIGITS - 1))


@kernel
def _to_places(counts: npt.NDArray[np.int64]) -> None:
    """Counts to where each digit's values begin."""
    place = 0
    for i in range(len(counts)):
        count = counts[i]
        counts[i] = place
        place += count


@kernel
def _pass(source: npt.NDArray[np.uint32], target: npt.NDArray[np.uint32], shift: int, mask: np.uint32, counts: npt.NDArray[np.int64]) -> None:
    counts[:] = 0
    moved = np.uint32(shift)
    for value in source:
        counts[np.int64((value >> moved) & mask)] += 1
    _to_places(counts)
    for value in source:
        digit = np.int64((value >> moved) & mask)
        target[counts[digit]] = value
        counts[digit] += 1


@kernel
def _insert(values: npt.NDArray[np.uint32]) -> None:
    for i in range(1, len(values)):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
