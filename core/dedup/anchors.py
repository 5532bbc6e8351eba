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
    _, hashes, places, out_offsets = _all_anchors(codes, offsets, length)
    return Anchors(hashes.copy(), places.copy(), out_offsets)


def _all_anchors(
    codes: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], length: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(first window, hash, place) of each anchor, and the offsets of documents in them. Arrays have room for one a character; only what is used is held."""
    out_offsets = np.zeros(len(offsets), np.int64)
    if np.diff(offsets).max(initial=0) < length:  # no window at all: neither time nor memory for one
        return np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64), out_offsets
    windows, places, hashes = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64), np.empty(len(codes), np.uint64)
    _winnow(codes, offsets, length, length // 2, windows, hashes, places, out_offsets)
    size = out_offsets[-1]
    return windows[:size], hashes[:size], places[:size], out_offsets


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
    windows, hashes, _, own_offsets = _all_anchors(codes, offsets, length)
    _mark(windows, hashes, own_offsets, offsets, length, np.uint64(low), np.uint64(high - 1), marks)
    return marks


@kernel
def _winnow(
    codes: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    length: int,
    k: int,
    windows: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
    places: npt.NDArray[np.int64],
    out_offsets: npt.NDArray[np.int64],
) -> None:
    """Of each document: `windows` from which on another anchor than before holds, its hash and place. Memory does not grow with documents."""
    power = np.uint64(1)
    for _ in range(k):
        power = power * _BASE
    width = length - k  # a window holds the k-grams i to i + width
    ring = 1
    while ring < width + 2:  # k-grams of a window and the one that is added
        ring *= 2
    mask = ring - 1
    queue_places, queue_hashes = np.empty(ring, np.int64), np.empty(ring, np.uint64)  # k-grams with ascending hashes, the smallest of the window at the head
    size = 0
    for document in range(len(offsets) - 1):
        start, end = offsets[document], offsets[document + 1]
        value = last_hash = np.uint64(0)
        last = -1  # anchor of the window before
        head = tail = 0  # of the queue: they only grow, and mean places in a ring
        for i in range(end - start if end - start >= length else 0):
            value = value * _BASE + np.uint64(codes[start + i] + np.uint32(1))
            if i >= k:
                value -= np.uint64(codes[start + i - k] + np.uint32(1)) * power
            if i < k - 1:
                continue
            place = i - k + 1
            hash_ = fmix64(value)
            while tail > head and queue_hashes[(tail - 1) & mask] >= hash_:
                tail -= 1
            queue_places[tail & mask], queue_hashes[tail & mask] = place, hash_
            tail += 1
            if place < width:
                continue
            while queue_places[head & mask] < place - width:
                head += 1
            if last < place - width or last_hash != queue_hashes[head & mask]:
                last, last_hash = queue_places[head & mask], queue_hashes[head & mask]
                windows[size], hashes[size], places[size] = place - width, last_hash, last
                size += 1
        out_offsets[document + 1] = size


@kernel
def _mark(
    windows: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
    own_offsets: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    length: int,
    low: np.uint64,
    highest: np.uint64,
    marks: npt.NDArray[np.bool_],
) -> None:
    """Marks the windows whose anchor has a hash of [low, highest]."""
    for document in range(len(offsets) - 1):
        last = offsets[document + 1] - length + 1
        for i in range(own_offsets[document], own_offsets[document + 1]):
            if low <= hashes[i] <= highest:
                start = offsets[document] + windows[i]
                marks[start : offsets[document] + windows[i + 1] if i + 1 < own_offsets[document + 1] else last] = True
