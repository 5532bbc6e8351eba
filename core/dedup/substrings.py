"""Repeated substrings: every stretch of at least N characters that stands earlier in policy order is removed (Lee et al. 2022).

The window at position i of a document is repeated if the same N characters stand in a kept document before it, or in the same document wholly before i; the
first of them, in policy order, counts as the original. The union of repeated windows is removed. So no character is lost: each removed one has an equal one,
with N equal characters around it, earlier in the order. A document of which others leave less than MIN_LEFT (what it repeats of itself counts neither as left
nor as lost) is rejected whole, and is no original then: a thousand copies of one line leave one.
Characters are compared as they are, unfolded. Code, verse and tables are left alone (paragraphs.LEFT_ALONE).

A suffix array of a whole corpus would need 48 bytes of memory a character, so it is built of the few texts that can repeat, in blocks:

    anchors     winnowing (Schleimer, Wilkerson and Aiken 2003) selects, in every window, a k-gram (k = N / 2) with the smallest hash. So both
                copies of a repeated window have an anchor of one hash; about 4 of N positions are anchors
    candidates  anchors whose hash occurs twice or more (runs.py), with the text that windows around them can reach; of a letter, or a short text,
                that repeats without end only what differs (repetitions.py)
    blocks      candidates by ranges of the hash, as many as fit into memory; a window is judged in the block of its own anchor, where all its copies are
    walk        in policy order over the repeated windows that the blocks found

Hashes choose what is looked at; the suffix array decides, on characters. The result does not depend on the number of blocks (tested against brute force).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from mspt.core.dedup.anchors import mark_own
from mspt.core.dedup.suffixes import NONE, first_copies

MIN_LEFT = 0.1  # of a document's characters


@dataclass(frozen=True)
class Candidates:
    """Different stretches of text one after another: stretch i is `codes[ends[i - 1]:ends[i]]`, first seen from `starts[i]` on in the document `ranks[i]`.

    The same text elsewhere (boilerplate) is not held again: it stands from `copy_starts` on in `copy_ranks`, too, and is stretch `copy_of`.
    """

    codes: npt.NDArray[np.uint32]
    ranks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    copy_ranks: npt.NDArray[np.int64]
    copy_starts: npt.NDArray[np.int64]
    copy_of: npt.NDArray[np.int64]
    tails: Tails


@dataclass(frozen=True)
class Tails:
    """What was left out behind stretches (repetitions.py): behind stretch `stretches`, from `starts` on in document `ranks`, stand `repeats` times its last
    `periods` windows."""

    ranks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stretches: npt.NDArray[np.int64]
    periods: npt.NDArray[np.int64]
    repeats: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Windows:
    """Runs of repeated windows: `lengths` windows from `starts` on in document `ranks` equal those from `first_starts` on in document `first_ranks`.

    So do those that stand `strides` characters behind, `repeats` runs in all (1: there is but one).
    """

    ranks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    first_ranks: npt.NDArray[np.int64]
    first_starts: npt.NDArray[np.int64]
    strides: npt.NDArray[np.int64]
    repeats: npt.NDArray[np.int64]

    @classmethod
    def join(cls, parts: Sequence[Windows]) -> Windows:
        """Those of all blocks, by rank and start."""
        columns = [np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in parts)]) for name in cls.__dataclass_fields__]
        order = np.lexsort((columns[1], columns[0]))
        return cls(*(column[order] for column in columns))


@dataclass(frozen=True)
class Cut:
    """What is removed of a document: [start, end), which stands in the document `survivor` (a rank) first, as far as its first window goes."""

    start: int
    end: int
    survivor: int


class Run(NamedTuple):
    """Windows of one document, as Windows has them."""

    start: int
    number: int
    first_rank: int
    first_start: int
    stride: int = 0
    repeats: int = 1


def gather(
    ranks: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    periods: npt.NDArray[np.int64],
    repeats: npt.NDArray[np.int64],
    stretches: Sequence[npt.NDArray[np.uint32]],
    length: int,
) -> Candidates:
    """Candidates of stretches in any order, and what was left out behind each of them (0 times: nothing)."""
    known: dict[bytes, int] = {}
    different: list[int] = []
    copies: list[tuple[int, int]] = []
    tails: list[tuple[int, int, int, int, int]] = []
    for i in np.lexsort((starts, ranks)).tolist():
        number = known.setdefault(xxhash.xxh3_128_digest(stretches[i].tobytes()), len(different))
        if number == len(different) or not np.array_equal(stretches[i], stretches[different[number]]):
            number = len(different)
            different.append(i)
        else:
            copies.append((i, number))
        if repeats[i]:
            tails.append((int(ranks[i]), int(starts[i]) + len(stretches[i]) - length + 1, number, int(periods[i]), int(repeats[i])))
    copied = np.array(copies, np.int64).reshape(-1, 2)
    codes = np.concatenate([np.zeros(0, np.uint32), *(stretches[i] for i in different)])
    ends = np.cumsum([len(stretches[i]) for i in different], dtype=np.int64)
    left_out = Tails(*np.array(tails, np.int64).reshape(-1, 5).T)
    return Candidates(codes, ranks[different], starts[different], ends, ranks[copied[:, 0]], starts[copied[:, 0]], copied[:, 1], left_out)


def find_windows(candidates: Candidates, length: int, low: int, high: int) -> Windows:
    """Repeated windows whose own anchor has a hash of [low, high), and the first copy of each. First copies themselves are left out."""
    offsets = np.concatenate([np.zeros(1, np.int64), candidates.ends])
    places = np.arange(len(candidates.codes))
    firsts = first_copies(candidates.codes, candidates.ends, length)
    own = mark_own(candidates.codes, offsets, length, low, high)
    stretch = np.repeat(np.arange(len(candidates.ends)), np.diff(offsets))
    shift = candidates.starts - offsets[:-1]  # from places among the candidates to places in the documents
    later = _runs(np.flatnonzero(own & (firsts != NONE) & (firsts != places)), firsts, stretch)
    found = Windows(candidates.ranks[later.here], later.places + shift[later.here], later.lengths, *_first(candidates, later, shift), *_once(len(later.here)))
    firsts = np.where(firsts == NONE, places, firsts)
    return Windows.join([found, _windows_of_copies(candidates, own, firsts, stretch, offsets), _windows_of_tails(candidates, own, firsts, stretch, length)])


def _once(number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Strides and repeats of runs that stand once."""
    return np.zeros(number, np.int64), np.ones(number, np.int64)


def _windows_of_copies(
    candidates: Candidates, own: npt.NDArray[np.bool_], firsts: npt.NDArray[np.int64], stretch: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]
) -> Windows:
    """All windows of a copy are repeated: their first copies are those of the stretch that it is a copy of, or stand in it."""
    copied = np.zeros(len(candidates.ends), np.bool_)
    copied[candidates.copy_of] = True
    runs = _runs(np.flatnonzero(own & copied[stretch]), firsts, stretch)
    bounds = np.searchsorted(runs.here, np.arange(len(candidates.ends) + 1))  # runs of stretch i: bounds[i] to bounds[i + 1]
    counts = np.diff(bounds)[candidates.copy_of]
    copy = np.repeat(np.arange(len(counts)), counts)
    run = np.arange(len(copy)) - np.repeat(np.cumsum(counts) - counts, counts) + bounds[candidates.copy_of[copy]]
    chosen = _Runs(*(getattr(runs, name)[run] for name in _Runs.__dataclass_fields__))
    starts = chosen.places - offsets[chosen.here] + candidates.copy_starts[copy]
    first = _first(candidates, chosen, candidates.starts - offsets[:-1])
    return Windows(candidates.copy_ranks[copy], starts, chosen.lengths, *first, *_once(len(copy)))


def _windows_of_tails(
    candidates: Candidates, own: npt.NDArray[np.bool_], firsts: npt.NDArray[np.int64], stretch: npt.NDArray[np.int64], length: int
) -> Windows:
    """All windows that were left out are repeated: their first copies are those of the last windows of the stretch before them, or stand in it."""
    tails = candidates.tails
    tail = np.repeat(np.arange(len(tails.periods)), tails.periods)
    phase = np.arange(len(tail)) - np.repeat(np.cumsum(tails.periods) - tails.periods, tails.periods)
    places = candidates.ends[tails.stretches[tail]] - length + 1 - tails.periods[tail] + phase
    chosen = own[places]
    tail, phase, places = tail[chosen], phase[chosen], places[chosen]
    runs = _runs(places, firsts, stretch)
    heads = np.cumsum(runs.lengths) - runs.lengths
    tail, phase = tail[heads], phase[heads]
    offsets = np.concatenate([np.zeros(1, np.int64), candidates.ends])
    first = _first(candidates, runs, candidates.starts - offsets[:-1])
    return Windows(tails.ranks[tail], tails.starts[tail] + phase, runs.lengths, *first, tails.periods[tail], tails.repeats[tail])


@dataclass(frozen=True)
class _Runs:
    """Places that follow each other in a stretch (`here`), and so do their first copies (from `firsts` on, in the stretch `there`)."""

    places: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    here: npt.NDArray[np.int64]
    there: npt.NDArray[np.int64]


def _runs(places: npt.NDArray[np.int64], firsts: npt.NDArray[np.int64], stretch: npt.NDArray[np.int64]) -> _Runs:
    first = firsts[places]
    here, there = stretch[places], stretch[first]
    begins = np.ones(len(places), np.bool_)
    begins[1:] = (np.diff(places) != 1) | (np.diff(first) != 1) | (np.diff(here) != 0) | (np.diff(there) != 0)
    heads = np.flatnonzero(begins)
    return _Runs(places[heads], first[heads], np.diff(np.append(heads, len(places))), here[heads], there[heads])


def _first(candidates: Candidates, runs: _Runs, shift: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return candidates.ranks[runs.there], runs.firsts + shift[runs.there]


class Walk:
    """The walk over repeated windows in policy order, as many documents at a time as fit into memory. `sizes`: characters of each document, by rank."""

    def __init__(self, length: int, sizes: npt.NDArray[np.int64]) -> None:
        self.rejected: dict[int, float] = {}  # by rank: the share that would have been cut of a document that goes
        self._length = length
        self._sizes = sizes
        self._originals = _Originals(length)

    def decide(self, windows: Windows) -> dict[int, list[Cut]]:
        """Cuts of documents that stay, by rank. All windows of a document in one call, documents in ascending ranks from call to call too."""
        cuts: dict[int, list[Cut]] = {}
        bounds = np.append(np.flatnonzero(np.diff(windows.ranks, prepend=-1)), len(windows.ranks)).tolist()
        columns = (windows.starts, windows.lengths, windows.first_ranks, windows.first_starts, windows.strides, windows.repeats)
        for head, tail in pairwise(bounds):
            rank = int(windows.ranks[head])
            runs = [Run(*run) for run in zip(*(column[head:tail].tolist() for column in columns), strict=True)]
            found, of_others = _cuts(rank, runs, self._length, self._originals, self.rejected)
            size, removed = int(self._sizes[rank]), sum(cut.end - cut.start for cut in found)
            if of_others and size - removed < MIN_LEFT * (size - removed + of_others):
                self.rejected[rank] = removed / size
                self._originals.forget()
            else:
                self._originals.keep(rank)
                if found:
                    cuts[rank] = found
        return cuts


class _Originals:
    """Which kept window stands for those whose first copy went with a rejected document. All others have their first copy as the original."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.kept: dict[tuple[int, int], tuple[int, int]] = {}  # first copy -> (rank, start) of the original
        self.new: dict[tuple[int, int], int] = {}  # of the document that is judged

    def find(self, rank: int, start: int, first: tuple[int, int]) -> tuple[int, int]:
        """The original of a window, (rank, start): that of another document, else the first of its kind in this one."""
        return self.kept.get(first) or (rank, self.new.setdefault(first, start))

    def keep(self, rank: int) -> None:
        self.kept.update({first: (rank, start) for first, start in self.new.items()})
        self.new.clear()

    def forget(self) -> None:
        self.new.clear()


class _Part(NamedTuple):
    """What is removed: [start, end), and as much each `stride` characters behind it, `repeats` times in all."""

    start: int
    end: int
    survivor: int
    stride: int = 0
    repeats: int = 1


def _cuts(rank: int, runs: Sequence[Run], length: int, originals: _Originals, rejected: Mapping[int, float]) -> tuple[list[Cut], int]:
    """Cuts of one document, and how many of the characters stand in others. `runs`: in ascending order of their starts."""
    parts: list[_Part] = []
    for run in runs:
        for part in _removed(rank, run, length, originals, rejected):
            last = parts[-1] if parts else None
            if last is not None and last.repeats == part.repeats == 1 and last.survivor == part.survivor and last.start <= part.start <= last.end:
                parts[-1] = last._replace(end=max(last.end, part.end))
            else:
                parts.append(part)
    of_others = _union([part for part in parts if part.survivor != rank])
    return _union(parts), sum(cut.end - cut.start for cut in of_others)


def _removed(rank: int, run: Run, length: int, originals: _Originals, rejected: Mapping[int, float]) -> Iterable[_Part]:
    """What windows of a run remove."""
    if run.first_rank not in rejected:
        return _behind(rank, run, length)
    windows = (Run(run.start + i, 1, run.first_rank, run.first_start + i, run.stride, run.repeats) for i in range(run.number))
    found = ((window, originals.find(rank, window.start, (window.first_rank, window.first_start))) for window in windows)
    return (part for window, (first, start) in found for part in _behind(rank, window._replace(first_rank=first, first_start=start), length))


def _behind(rank: int, run: Run, length: int) -> Iterable[_Part]:
    """All of a run whose original is in another document; else windows wholly behind their original."""
    missing = run.first_start + length - run.start if run.first_rank == rank else 0
    skipped = 0 if missing <= 0 else -(-missing // run.stride) if run.stride else 1
    start, size, left = run.start + skipped * run.stride, run.number - 1 + length, run.repeats - skipped
    if left < 1:
        return ()
    if run.stride <= size:  # they touch
        return (_Part(start, start + (left - 1) * run.stride + size, run.first_rank),)
    return (_Part(start, start + size, run.first_rank, run.stride, left),)


def _union(parts: Sequence[_Part]) -> list[Cut]:
    """What parts remove, in order; where they overlap or touch, the survivor is that of the first."""
    spaced = [_each(part) for part in parts if part.repeats > 1]
    single = sorted(part for part in parts if part.repeats == 1)
    cuts: list[Cut] = []
    for part in heapq.merge(single, *spaced) if spaced else single:
        last = cuts[-1] if cuts else None
        if last is not None and part.start <= last.end:
            cuts[-1] = Cut(last.start, max(part.end, last.end), last.survivor)
        else:
            cuts.append(Cut(part.start, part.end, part.survivor))
    return cuts


def _each(part: _Part) -> Iterator[_Part]:
    for offset in range(0, part.stride * part.repeats, part.stride):
        yield _Part(part.start + offset, part.end + offset, part.survivor)
