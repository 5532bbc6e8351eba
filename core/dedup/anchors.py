"""Anchors: a few positions of a text, chosen by what stands there, so that equal windows of it have equal anchors (winnowing).

Of the k-grams of a window (k = half its length) the one with the smallest hash is its anchor; of equal ones that which is the anchor of the window before, else
the last ("robust winnowing", Schleimer, Wilkerson and Aiken 2003): so a million times the same letter has few anchors, too. Anchors of equal windows have
equal hashes.
Neighbouring windows mostly share theirs: 2 in length / 2 + 2 positions are anchors on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import fmix64, kernel

_BASE = np.uint64(0x9E3779B97F4A7C15)  # of the polynomial hash: odd, from the golden ratio (Knuth, TAOCP 3, 6.4)


@dataclass(frozen=True)
class Anchors:
    """Selected k-grams of documents: document i has the places offsets[i] to offsets[i + 1]; `places` in code points, ascending in a document."""

    hashes: npt.NDArray[np.uint64]
    places: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]


def find_anchors(codes: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], length: int) -> Anchors:
    """The anchors of documents, for windows of `length` characters; none in documents that are shorter."""
    hashes, places = np.empty(len(codes), np.uint64), np.empty(len(codes), np.int64)
    out_offsets = np.zeros(len(offsets), np.int64)
    size = _find_anchors(codes, offsets, length, length // 2, hashes, places, out_offsets)
    return Anchors(hashes[:size].copy(), places[:size].copy(), out_offsets)


def reach(places: npt.NDArray[np.int64], size: int, length: int) -> npt.NDArray[np.int64]:
    """What windows around anchors of a document of `size` characters can reach, overlaps joined: [stretches, 2]. `places`: ascending."""
    starts = np.maximum(places + length // 2 - length, 0)
    ends = np.minimum(places + length, size)
    apart = np.flatnonzero(starts[1:] > ends[:-1]) + 1
    heads = np.concatenate([np.zeros(1, np.int64), apart])
    tails = np.concatenate([apart, np.full(1, len(places))]) - 1
    return np.stack([starts[heads], ends[tails]], axis=1)


def mark_own(codes: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], length: int, low: int, high: int) -> npt.NDArray[np.bool_]:
    """Of each position: whether a window begins there whose anchor has a hash of [low, high)."""
    marks = np.zeros(len(codes), np.bool_)
    _mark_own(codes, offsets, length, length // 2, np.uint64(low), np.uint64(high - 1), marks)
    return marks


@kernel
def _anchors(
    codes: npt.NDArray[np.uint32],
    start: int,
    end: int,
    length: int,
    k: int,
    rolled: npt.NDArray[np.uint64],
    queue: npt.NDArray[np.int64],
    own: npt.NDArray[np.int64],
) -> int:
    """own[i]: the anchor of window i of codes[start:end], as a place in it. Returns the number of windows. `rolled`, `queue`: scratch space."""
    size = end - start
    if size < length:
        return 0
    power = np.uint64(1)
    for _ in range(k):
        power = power * _BASE
    value = np.uint64(0)
    last = -1  # anchor of the window before
    head = tail = 0  # of the queue: places of k-grams with ascending hashes, the smallest of the window at its head
    width = length - k  # a window holds the k-grams i to i + width
    for i in range(size):
        value = value * _BASE + np.uint64(codes[start + i] + np.uint32(1))
        if i >= k:
            value -= np.uint64(codes[start + i - k] + np.uint32(1)) * power
        if i < k - 1:
            continue
        place = i - k + 1
        rolled[place] = fmix64(value)
        while tail > head and rolled[queue[tail - 1]] >= rolled[place]:
            tail -= 1
        queue[tail] = place
        tail += 1
        if place >= width:
            while queue[head] < place - width:
                head += 1
            if last < place - width or rolled[last] != rolled[queue[head]]:
                last = queue[head]
            own[place - width] = last
    return size - length + 1


@kernel
def _find_anchors(
    codes: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    length: int,
    k: int,
    hashes: npt.NDArray[np.uint64],
    places: npt.NDArray[np.int64],
    out_offsets: npt.NDArray[np.int64],
) -> int:
    longest = 0
    for document in range(len(offsets) - 1):
        longest = max(longest, offsets[document + 1] - offsets[document])
    rolled, queue, own = np.empty(longest, np.uint64), np.empty(longest + 1, np.int64), np.empty(longest, np.int64)
    size = 0
    for document in range(len(offsets) - 1):
        number = _anchors(codes, offsets[document], offsets[document + 1], length, k, rolled, queue, own)
        for i in range(number):
            if i == 0 or own[i] != own[i - 1]:
                hashes[size], places[size] = rolled[own[i]], own[i]
                size += 1
        out_offsets[document + 1] = size
    return size


@kernel
def _mark_own(
    codes: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], length: int, k: int, low: np.uint64, highest: np.uint64, marks: npt.NDArray[np.bool_]
) -> None:
    """Marks the windows whose anchor has a hash of [low, highest]."""
    longest = 0
    for stretch in range(len(offsets) - 1):
        longest = max(longest, offsets[stretch + 1] - offsets[stretch])
    rolled, queue, own = np.empty(longest, np.uint64), np.empty(longest + 1, np.int64), np.empty(longest, np.int64)
    for stretch in range(len(offsets) - 1):
        number = _anchors(codes, offsets[stretch], offsets[stretch + 1], length, k, rolled, queue, own)
        for i in range(number):
            marks[offsets[stretch] + i] = low <= rolled[own[i]] <= highest
