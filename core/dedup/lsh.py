"""From sketches to verdicts.

The definition, which everything here computes exactly:

    In policy order a document is removed if and only if a *kept* document before it has the same exact hash, or shares a band with it and has
    a Jaccard similarity of shingle sets >= the threshold. Its survivor is the first such document in policy order, an exact copy before a near one.

So a survivor is never itself removed: no chains, no clusters that grow through intermediate versions, and every removal can be checked against
one text. Three steps compute it:

    first_copies       exact copies share their fate: the first of them stands for all
    band_groups        which of those share a band with another: only they need their shingles again (candidates)
    select             the walk in policy order over the candidates, with an index of kept documents only
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.shingles import ShingleSets, jaccard
from mspt.core.dedup.sketch import Sketch
from mspt.core.kernel import kernel

NOBODY = -1


@dataclass(frozen=True)
class BandGroups:
    """Documents that share a band with another: `members` (positions in policy order) and their groups.

    `groups[c, b]` is the number of the group of members[c] in band b, NOBODY where it is alone there; numbers are unique over all bands.
    """

    members: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    num_groups: int


@dataclass(frozen=True)
class Verdicts:
    """Of each document: position of its survivor, or NOBODY if it stays; exact Jaccard similarity with it; whether it is an exact copy of it."""

    survivors: npt.NDArray[np.int64]
    similarities: npt.NDArray[np.float64]
    exact: npt.NDArray[np.bool_]


def first_copies(exact: npt.NDArray[np.uint64], order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each document the first in policy order with the same exact hash (itself if it is the first)."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    grouped = np.lexsort((rank, exact[:, 1], exact[:, 0]))
    ordered = exact[grouped]
    starts = np.ones(len(grouped), np.bool_)
    starts[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    firsts = np.empty_like(order)
    firsts[grouped] = grouped[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return firsts


def band_groups(keys: npt.NDArray[np.uint64], documents: npt.NDArray[np.int64]) -> BandGroups:
    """Groups of the given documents (positions, in policy order) by equal key in each band. `keys` [all documents, bands]."""
    bands = keys.shape[1]
    found = np.full((len(documents), bands), NOBODY, np.int64)
    num_groups = 0
    for band in range(bands):
        column = keys[documents, band]
        order = np.argsort(column, kind="stable")
        same = column[order[1:]] == column[order[:-1]]
        shared = np.zeros(len(order), np.bool_)
        shared[1:] = same
        shared[:-1] |= same
        starts = shared.copy()
        starts[1:] &= ~same
        numbers = np.cumsum(starts) - 1 + num_groups
        found[order[shared], band] = numbers[shared]
        num_groups += int(starts.sum())
    candidates = np.flatnonzero((found != NOBODY).any(axis=1))
    return BandGroups(documents[candidates], np.ascontiguousarray(found[candidates]), num_groups)


def candidates(sketches: Sketch, firsts: npt.NDArray[np.int64], order: npt.NDArray[np.int64]) -> BandGroups:
    """The documents that near-duplicate search must look at: first copies with shingles that share a band."""
    considered = order[(firsts[order] == order) & (sketches.num_shingles[order] > 0)]
    return band_groups(sketches.keys, considered)


def select(grouped: BandGroups, sets: ShingleSets, threshold: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Walk the candidates in policy order: survivors (indices into `members`, or NOBODY) and similarities (NaN for those that stay).

    `sets` holds the shingle set of members[i] as set i.
    """
    survivors = np.full(len(grouped.members), NOBODY, np.int64)
    similarities = np.full(len(grouped.members), np.nan)
    _select(grouped.groups, grouped.num_groups, sets.values, sets.starts, sets.ends, threshold, survivors, similarities)
    return survivors, similarities


def verdicts(firsts: npt.NDArray[np.int64], grouped: BandGroups, survivors: npt.NDArray[np.int64], similarities: npt.NDArray[np.float64]) -> Verdicts:
    """Verdicts for all documents from those of the first copies."""
    near = np.full(len(firsts), NOBODY, np.int64)
    near_similarity = np.full(len(firsts), np.nan)
    removed = survivors != NOBODY
    near[grouped.members[removed]] = grouped.members[survivors[removed]]
    near_similarity[grouped.members] = similarities
    own = np.arange(len(firsts))
    exact = (near[firsts] == NOBODY) & (firsts != own)
    return Verdicts(
        survivors=np.where(exact, firsts, near[firsts]),
        similarities=np.where(exact, 1.0, near_similarity[firsts]),
        exact=exact,
    )


@kernel
def _select(
    groups: npt.NDArray[np.int64],
    num_groups: int,
    values: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    threshold: float,
    survivors: npt.NDArray[np.int64],
    similarities: npt.NDArray[np.float64],
) -> None:
    """The index is, for each group, a linked list of its kept documents: entry (document, band) is document * bands + band."""
    num, bands = groups.shape
    heads = np.full(num_groups, NOBODY, np.int64)
    following = np.full(num * bands, NOBODY, np.int64)
    seen = np.full(num, NOBODY, np.int64)
    found = np.empty(num, np.int64)
    for document in range(num):
        count = 0
        for band in range(bands):
            entry = heads[groups[document, band]] if groups[document, band] != NOBODY else NOBODY
            while entry != NOBODY:
                other = entry // bands
                if seen[other] != document:
                    seen[other] = document
                    found[count] = other
                    count += 1
                entry = following[entry]
        own = values[starts[document] : ends[document]]
        for other in np.sort(found[:count]):
            theirs = values[starts[other] : ends[other]]
            smaller, larger = min(len(own), len(theirs)), max(len(own), len(theirs))
            if smaller / larger < threshold:  # |a and b| / |a or b| is at most this
                continue
            similarity = jaccard(own, theirs)
            if similarity >= threshold:
                survivors[document] = other
                similarities[document] = similarity
                break
        if survivors[document] == NOBODY:
            for band in range(bands):
                group = groups[document, band]
                if group != NOBODY:
                    following[document * bands + band] = heads[group]
                    heads[group] = document * bands + band
