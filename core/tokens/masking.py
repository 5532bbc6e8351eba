"""What masked-language-model rows need to know of a document: which tokens a masked phrase may join, how often they are masked, how long rows are.

    text        # Heading⏎⏎Prose with `code` in it.
    spans       h1 [0, 9)  p [11, 36)  code [22, 28)
    intervals   h1 | -    | p          | code | p
    runs        one for each stretch of tokens inside one interval; a token across a border is a run of its own, which is never masked

A masked phrase stays inside a run, so it never crosses the border of a span. The rate of a run is that of the innermost span around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# A row's length is at most this many times the shortest text in its bucket: the worst spread between the two ends of a bucket has a coefficient of variation
# of (r - 1) / (2 sqrt(r)) = .147.
BUCKET_RATIO = 1.34
_STEP = 8  # rows are multiples of it, where that keeps the ratio
NO_TAG, ACROSS = -1, -2
# first: the run's first token; tag: index into the tags, NO_TAG outside all spans, ACROSS for a token that lies across a border.
RUN = np.dtype([("first", "<i4"), ("tag", "<i4")])

Runs = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def bucket_lengths(longest: int) -> tuple[int, ...]:
    """Row lengths, ascending; a text goes into the shortest row that holds it."""
    found = [longest]
    while found[-1] > 2:
        below = math.ceil(found[-1] / BUCKET_RATIO) - 1  # so that the shortest text of this bucket is below + 1
        rounded = -(-below // _STEP) * _STEP
        found.append(max(2, rounded if below < rounded < found[-1] and found[-1] / (rounded + 1) <= BUCKET_RATIO else below))
    return tuple(reversed(found))


def find_runs(text: str, spans: Sequence[tuple[str, int, int]], ends: Ints, tags: Mapping[str, int]) -> Runs:
    """The runs of a text's tokens.

    Args:
        spans: (tag, start, end) in code points, outer ones first.
        ends: [tokens] where each token ends in the UTF-8 of the text, without the end of the document.
        tags: number of each tag.
    """
    borders, inside = _intervals(spans, len(text), tags)
    sizes = [len(text[a:b].encode("utf-8", "surrogatepass")) for a, b in zip([0, *borders], [*borders, len(text)], strict=True)]
    at = np.cumsum(sizes)  # where each interval ends, in bytes
    starts = ends - np.diff(ends, prepend=0)
    first, last = np.searchsorted(at, starts, side="right"), np.searchsorted(at, np.maximum(ends - 1, starts), side="right")
    interval = np.minimum(first, len(inside) - 1)
    across = first != last
    new = np.concatenate([[True], (interval[1:] != interval[:-1]) | across[1:] | across[:-1]])[: len(ends)]
    places = np.flatnonzero(new)
    runs = np.empty(len(places), RUN)
    runs["first"] = places
    runs["tag"] = np.where(across, ACROSS, np.array(inside)[interval])[places]
    return runs


def _intervals(spans: Sequence[tuple[str, int, int]], length: int, tags: Mapping[str, int]) -> tuple[list[int], list[int]]:
    """(borders inside the text, innermost tag of each stretch between them)."""
    borders = sorted({p for _, start, end in spans for p in (start, end) if 0 < p < length})
    starts = [0, *borders]
    found = [NO_TAG] * len(starts)
    place = {start: i for i, start in enumerate(starts)}
    # Inner ones come later and win; of two around the same stretch (pre and code) the first in the alphabet.
    for tag, start, end in sorted(sorted(spans, reverse=True), key=lambda s: (s[1], -s[2])):
        i = place.get(start, 0)
        while i < len(starts) and starts[i] < end:
            found[i] = tags[tag]
            i += 1
    return borders, found


def expand(runs: Runs, start: int, length: int, rates: Sequence[int]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(number of the run, from 1, rate) of tokens [start, start + length). `rates`: by tag, the last one without a tag."""
    which = np.searchsorted(runs["first"], np.arange(start, start + length), side="right")
    tag = runs["tag"][which - 1]
    rate = np.where(tag == ACROSS, 0, np.array(rates, np.int32)[tag])  # NO_TAG is -1: the last rate
    return (which - which[0] + 1 if len(which) else which).astype(np.int32), rate.astype(np.int32)
