"""Which substrings of N characters are equal: a suffix array over code points.

The array comes from libdivsufsort (Y. Mori, by pydivsufsort), neighbours in it with a common prefix of N or more characters from the linear-time walk of
Kasai et al. 2001. Code points are replaced by their ranks among those that occur: 16 bits suffice for most texts and halve the work of the byte-wise
sorter, 32 are used where they do not. Positions have 64 bits from 2^31 bytes on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydivsufsort import divsufsort

from mspt.core.kernel import kernel

BYTES_PER_CODE = 48  # of working memory at its peak: codes, symbols, suffix array of bytes and of symbols, ranks, first copies
NONE = -1


def first_copies(codes: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """For each position the first one at which the same `length` codes stand; NONE where no other has them, or where fewer follow.

    codes: stretches of text one after another; ends: where each ends (ascending, the last is len(codes)). No substring reaches over an end.
    """
    firsts = np.full(len(codes), NONE, np.int64)
    if len(codes) < length:
        return firsts
    separated, places = _separated(codes, ends)
    symbols = _symbols(separated)
    suffixes = divsufsort(symbols)
    same = np.zeros(len(suffixes), np.bool_)
    _mark_same(symbols, suffixes, length, same)
    usable = np.repeat(ends, np.diff(ends, prepend=0)) - np.arange(len(codes)) >= length
    _find_first(suffixes, same, places, usable, firsts)
    return firsts


def _separated(codes: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """The codes with a 0 behind each stretch, and which position each came from (NONE: a separator). Texts have no NUL: all are raised by one."""
    separated = np.zeros(len(codes) + len(ends), np.uint32)
    places = np.full(len(separated), NONE, np.int64)
    own = np.arange(len(codes)) + np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    separated[own] = codes + np.uint32(1)
    places[own] = np.arange(len(codes))
    return separated, places


def _symbols(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint16] | npt.NDArray[np.uint32]:
    occurring = np.flatnonzero(np.bincount(codes))
    ranks = np.zeros(int(occurring[-1]) + 1, np.uint32)
    ranks[occurring] = np.arange(len(occurring), dtype=np.uint32)
    return ranks[codes] if len(occurring) > 1 << 16 else ranks[codes].astype(np.uint16)


@kernel
def _mark_same(symbols: npt.NDArray[np.uint16] | npt.NDArray[np.uint32], suffixes: npt.NDArray[np.int32], length: int, same: npt.NDArray[np.bool_]) -> None:
    """same[i]: suffix i of the array begins with the same `length` symbols as the one before it."""
    size = len(suffixes)
    ranks = np.empty(size, np.int64)
    for i in range(size):
        ranks[suffixes[i]] = i
    common = 0
    for place in range(size):
        rank = ranks[place]
        if rank == 0:
            common = 0
            continue
        other = suffixes[rank - 1]
        most = size - max(place, other)
        while common < most and symbols[place + common] == symbols[other + common]:
            common += 1
        same[rank] = common >= length
        common = max(common - 1, 0)


@kernel
def _find_first(
    suffixes: npt.NDArray[np.int32],
    same: npt.NDArray[np.bool_],
    places: npt.NDArray[np.int64],
    usable: npt.NDArray[np.bool_],
    firsts: npt.NDArray[np.int64],
) -> None:
    start = 0
    while start < len(suffixes):
        end = start + 1
        while end < len(suffixes) and same[end]:
            end += 1
        place = places[suffixes[start]]
        if end - start > 1 and place != -1 and usable[place]:  # all of a run are usable, or none is
            for i in range(start + 1, end):
                place = min(place, places[suffixes[i]])
            for i in range(start, end):
                firsts[places[suffixes[i]]] = place
        start = end
