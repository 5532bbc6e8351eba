"""Documents that share a band, directly or through others, decided together: batches of connected components.

Whether a document stays depends only on documents that share a band with it, so the components of that relation can be decided one by one, in any
order and by any worker. A batch is as many components as BATCH_SHINGLES of shingles allow, one at least. What the parent holds is 4 bytes for each
document (union-find by the smaller position, Tarjan 1975); groups are read from disk in parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.index import NOBODY
from mspt.core.dedup.merge import Groups
from mspt.core.kernel import kernel

U32 = npt.NDArray[np.uint32]
BATCH_SHINGLES = 32 * 2**20  # 128 MiB of shingle sets


@dataclass(frozen=True)
class Batches:
    """`of` [documents]: number of the batch of each candidate, NOBODY for documents that share no band."""

    of: U32
    num: int

    def candidates(self) -> U32:
        """Positions of all candidates by (batch, position)."""
        chosen = np.flatnonzero(self.of != NOBODY)
        return chosen[np.argsort(self.of[chosen], kind="stable")].astype(np.uint32)


def make_batches(parts: Iterable[Groups], first_of: U32, num_old: int, num_shingles: U32, max_shingles: int = BATCH_SHINGLES) -> Batches:
    """Batches of the first copies (`first_of[i] == i`) that share a band. Groups of old documents alone (positions below `num_old`) need no decision."""
    roots = np.arange(len(first_of), dtype=np.uint32)
    for part in parts:
        _unite(part.members, part.sizes, first_of, num_old, roots)
    of = np.empty(len(roots), np.uint32)
    return Batches(of, int(_cut(roots, num_shingles, max_shingles, of)))


@dataclass(frozen=True)
class BatchGroups:
    """Groups of one batch, from one part: as Groups, first copies only."""

    batch: int
    groups: Groups


def distribute(parts: Iterable[Groups], first_of: U32, num_old: int, batches: Batches) -> Iterator[BatchGroups]:
    """The groups of each part, batch by batch."""
    for part in parts:
        members, sizes, batch_of = np.empty_like(part.members), np.empty_like(part.sizes), np.empty_like(part.sizes)
        num, size = _decided(part.members, part.sizes, first_of, num_old, batches.of, members, sizes, batch_of)
        yield from _by_batch(members[:size], sizes[:num], batch_of[:num])


def _by_batch(members: U32, sizes: U32, batch_of: U32) -> Iterator[BatchGroups]:
    order = np.argsort(batch_of, kind="stable")
    ends = np.cumsum(sizes, dtype=np.int64)
    sorted_sizes, sorted_batches = sizes[order], batch_of[order]
    sorted_ends = np.cumsum(sorted_sizes, dtype=np.int64)
    moves = (ends - sizes)[order] - (sorted_ends - sorted_sizes)
    sorted_members = members[np.repeat(moves, sorted_sizes) + np.arange(len(members))]
    cuts = [0, *(np.flatnonzero(np.diff(sorted_batches)) + 1).tolist(), len(order)]
    for start, end in itertools.pairwise(cuts):
        if start < end:
            first = int(sorted_ends[start] - sorted_sizes[start])
            yield BatchGroups(int(sorted_batches[start]), Groups(sorted_members[first : int(sorted_ends[end - 1])], sorted_sizes[start:end]))


@kernel
def _root(roots: U32, document: np.uint32) -> np.uint32:
    while roots[document] != document:
        roots[document] = roots[roots[document]]  # halve the path
        document = roots[document]
    return document


@kernel
def _unite(members: U32, sizes: U32, first_of: U32, num_old: int, roots: U32) -> None:
    end = 0
    for size in sizes:
        start, end = end, end + size
        if members[end - 1] < num_old:
            continue
        last = NOBODY
        for i in range(start, end):
            document = members[i]
            if first_of[document] != document:
                continue
            if last != NOBODY:
                one, other = _root(roots, last), _root(roots, document)
                roots[max(one, other)] = min(one, other)
            last = document


@kernel
def _cut(roots: U32, num_shingles: U32, max_shingles: int, of: U32) -> int:
    """Numbers of batches: components in order of their smallest positions."""
    weights = np.zeros(len(roots), np.int64)
    sizes = np.zeros(len(roots), np.uint32)
    for i in range(len(roots)):
        root = _root(roots, np.uint32(i))
        weights[root] += np.int64(num_shingles[i])
        sizes[root] += np.uint32(1)
    batch = weight = 0
    for i in range(len(roots)):
        root = _root(roots, np.uint32(i))
        if sizes[root] < 2:
            of[i] = NOBODY
        elif root == i:
            if weight and weight + weights[i] > max_shingles:
                batch, weight = batch + 1, 0
            weight += weights[i]
            of[i] = batch
        else:
            of[i] = of[root]  # roots are the smallest positions: done before
    return batch + 1 if weight else 0


@kernel
def _decided(members: U32, sizes: U32, first_of: U32, num_old: int, batch_of: U32, out: U32, out_sizes: U32, out_batches: U32) -> tuple[int, int]:
    """Groups of two first copies or more, one of them new, and their batches. Returns the number of groups and of members."""
    num = size = end = 0
    for length in sizes:
        start, end = end, end + length
        if members[end - 1] < num_old:
            continue
        begin = size
        for i in range(start, end):
            if first_of[members[i]] == members[i]:
                out[size] = members[i]
                size += 1
        if size - begin < 2:
            size = begin
            continue
        out_sizes[num] = size - begin
        out_batches[num] = batch_of[out[begin]]
        num += 1
    return num, size
