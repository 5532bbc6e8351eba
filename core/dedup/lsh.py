"""From groups of documents that share a key to verdicts.

The definition, which everything here computes exactly:

    In policy order a document is removed if and only if a *kept* document before it has the same exact hash, or shares a band with it and has
    a Jaccard similarity of shingle sets >= the threshold. Its survivor is the first such document in policy order, an exact copy before a near one.

So a survivor is never itself removed: no chains, no clusters that grow through intermediate versions, and every removal can be checked against
one text. *Old* documents (those of an earlier artifact that new ones are compared with) stand before all others and stay. Three steps compute it:

    first_copies       exact copies share their fate: the first of them stands for all
    components.py      first copies that share a band, directly or through others: only they need their shingles again (candidates)
    select             the walk in policy order over a batch of candidates, with an index of kept documents only
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.index import NOBODY
from mspt.core.dedup.merge import Groups
from mspt.core.dedup.shingles import ShingleSets, jaccard_from
from mspt.core.kernel import kernel

U32 = npt.NDArray[np.uint32]
NO_ENTRY = np.int64(-1)


@dataclass(frozen=True)
class Candidates:
    """Documents of a batch: `positions` ascending, their `ranks` in policy order, whether they are `old`, the groups they share."""

    positions: U32
    ranks: U32
    old: npt.NDArray[np.bool_]
    groups: Sequence[Groups]


@dataclass(frozen=True)
class Removed:
    """Near-duplicates: position, position of the survivor, exact Jaccard similarity with it."""

    positions: U32
    survivors: U32
    similarities: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Verdicts:
    """Of each document: position of its survivor, or NOBODY if it stays; exact Jaccard similarity with it; whether it is an exact copy of it."""

    survivors: U32
    similarities: npt.NDArray[np.float64]
    exact: npt.NDArray[np.bool_]

    @property
    def removed(self) -> npt.NDArray[np.bool_]:
        removed: npt.NDArray[np.bool_] = self.survivors != NOBODY
        return removed


def first_copies(parts: Iterable[Groups], ranks: U32) -> U32:
    """For each document the first in policy order with the same exact hash (itself if it is the first)."""
    first_of = np.arange(len(ranks), dtype=np.uint32)
    for part in parts:
        _first_copies(part.members, part.sizes, ranks, first_of)
    return first_of


def select(candidates: Candidates, sets: ShingleSets, threshold: float) -> Removed:
    """Walk the candidates in policy order. `sets` holds the shingle set of positions[i] as set i."""
    order = np.argsort(candidates.ranks, kind="stable")
    turn = np.empty(len(order), np.uint32)  # of positions[i] in the walk
    turn[order] = np.arange(len(order))
    members = np.concatenate([np.zeros(0, np.uint32), *(turn[np.searchsorted(candidates.positions, part.members)] for part in candidates.groups)])
    sizes = np.concatenate([np.zeros(0, np.uint32), *(part.sizes for part in candidates.groups)])
    group_of = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
    entries = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[entries], np.arange(len(order) + 1))
    survivors = np.full(len(order), NOBODY, np.uint32)
    similarities = np.zeros(len(order))
    _select(starts, group_of[entries], len(sizes), candidates.old[order], sets.values, sets.starts[order], sets.ends[order], threshold,
            survivors, similarities)  # fmt: skip
    found = np.flatnonzero(survivors != NOBODY)
    walked = candidates.positions[order]
    return Removed(walked[found], walked[survivors[found]], similarities[found])


def verdicts(first_of: U32, near: Iterable[Removed]) -> Verdicts:
    """Verdicts for all documents from those of the first copies."""
    survivors = np.full(len(first_of), NOBODY, np.uint32)
    similarities = np.full(len(first_of), np.nan)
    for part in near:
        survivors[part.positions] = part.survivors
        similarities[part.positions] = part.similarities
    exact = np.zeros(len(first_of), np.bool_)
    _share_fate(first_of, survivors, similarities, exact)
    return Verdicts(survivors, similarities, exact)


@kernel
def _first_copies(members: U32, sizes: U32, ranks: U32, first_of: U32) -> None:
    end = 0
    for size in sizes:
        start, end = end, end + size
        first = members[start]
        for i in range(start + 1, end):
            if ranks[members[i]] < ranks[first]:
                first = members[i]
        for i in range(start, end):
            first_of[members[i]] = first


@kernel
def _share_fate(first_of: U32, survivors: U32, similarities: npt.NDArray[np.float64], exact: npt.NDArray[np.bool_]) -> None:
    for i in range(len(first_of)):
        first = first_of[i]
        if first == i:
            continue
        exact[i] = survivors[first] == NOBODY
        survivors[i] = first if exact[i] else survivors[first]
        similarities[i] = 1.0 if exact[i] else similarities[first]


@kernel
def _select(
    starts: npt.NDArray[np.int64],
    groups: U32,
    num_groups: int,
    old: npt.NDArray[np.bool_],
    values: U32,
    set_starts: npt.NDArray[np.int64],
    set_ends: npt.NDArray[np.int64],
    threshold: float,
    survivors: U32,
    similarities: npt.NDArray[np.float64],
) -> None:
    """Documents count in the order of the walk. Entry e says that its document is in groups[e]; documents' entries are starts[d] to starts[d + 1].

    The index is, for each group, a linked list of the entries of its kept documents.
    """
    num = len(old)
    heads = np.full(num_groups, NO_ENTRY, np.int64)
    following = np.full(len(groups), NO_ENTRY, np.int64)
    owners = np.empty(len(groups), np.int64)
    seen = np.full(num, NO_ENTRY, np.int64)
    found = np.empty(num, np.int64)
    for document in range(num):
        first, last = starts[document], starts[document + 1]
        count = 0
        for entry in range(first, last):
            owners[entry] = document
            kept = NO_ENTRY if old[document] else heads[groups[entry]]
            while kept != NO_ENTRY:
                other = owners[kept]
                if seen[other] != document:
                    seen[other] = document
                    found[count] = other
                    count += 1
                kept = following[kept]
        own = values[set_starts[document] : set_ends[document]]
        for other in np.sort(found[:count]):
            similarity = jaccard_from(threshold, own, values[set_starts[other] : set_ends[other]])
            if similarity >= threshold:
                survivors[document] = other
                similarities[document] = similarity
                break
        if survivors[document] == NOBODY:
            for entry in range(first, last):
                following[entry] = heads[groups[entry]]
                heads[groups[entry]] = entry
