"""Byte-pair encoding of UTF-8 text by compiled loops: the merges that SentencePiece does, on numbers instead of strings.

A text is read character by character. Each character has a *symbol*; two symbols side by side whose strings together are a piece have a merged symbol, and
symbols of pieces are numbered from the best score down, so that the smallest number in sight is the next merge, and the leftmost of equal ones comes first.

    characters  t h e r e        symbols 903 771 640 880 640      pair values  52 (th)  7 (he)  31 (er)  12 (re)
    the smallest is 7: he        symbols 903 7 880 640            pair values  2 (the)  40 (her)  12 (re)
    then 2: the                  symbols 2 880 640                pair values  NONE  12
    then 12: re                  symbols 2 12                     ids of "the" and "re"

A piece can only grow where its characters stand side by side in some piece. So the text is cut wherever two neighbours do so in no piece, merges on the two
sides of a cut do not see each other, and a cut part is merged by itself: most are a word, or two or three Han characters. Short parts are searched from end to
end for the next merge, long ones (a line of "=", a base64 block) keep their merges in a heap.

core/tokens/merges.py makes the tables and says which models they are exact for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import kernel
from mspt.core.tokens.merges import EMPTY, HASH_MULTIPLIER, HASH_SHIFT, NONE, SYMBOL_BITS, MergeTables

Array = npt.NDArray[Any]
Integer = Any  # int64 where it is compiled

ABSENT = NONE + 1
_VALUE = (1 << SYMBOL_BITS) - 1
_BLANK, _MARKED_BLANK = 0x20, 0x2581  # SentencePiece writes one for the other
_MULTIPLIER, _SHIFT = np.uint64(HASH_MULTIPLIER), np.uint64(HASH_SHIFT)
MAX_ADDED = 4  # ids of a document beyond one for each byte: eos, and the bytes of a blank put in front
_SHORT = 48  # symbols of a part that is searched from end to end
_PLACE_BITS = 40  # of a place in a part, below its merge in a number of the heap


class Room(NamedTuple):
    """Where one part is merged: part and merges int32 [n], links int64 [n, 2] (the symbols before and behind), heap int64 [3 n]."""

    part: Array
    merges: Array
    links: Array
    heap: Array


def make_room(size: int) -> Room:
    """Room for parts of `size` symbols."""
    return Room(np.empty(size, np.int32), np.empty(size, np.int32), np.empty((size, 2), np.int64), np.empty(3 * size, np.int64))


@kernel
def look_up(pairs: Array, left: Integer, right: Integer) -> Integer:
    """The merged symbol of two neighbours, NONE, or ABSENT."""
    key = (np.int64(left) << SYMBOL_BITS) | np.int64(right)
    mask = len(pairs) - 1
    place = np.int64((np.uint64(key) * _MULTIPLIER) >> _SHIFT) & mask
    while True:
        entry = pairs[np.uint64(place)]
        if entry == EMPTY:
            return ABSENT
        if entry >> SYMBOL_BITS == key:
            return entry & _VALUE
        place = (place + 1) & mask


@kernel
def merge_short(pairs: Array, part: Array, merges: Array, size: Integer) -> Integer:
    """Merge the symbols part[:size], whose neighbours' pair values are merges[:size - 1], in place; returns how many are left."""
    while size > 1:
        at, best = 0, merges[0]
        for k in range(1, size - 1):
            if merges[k] < best:
                at, best = k, merges[k]
        if best >= NONE:
            return size
        part[at] = best
        size -= 1
        for k in range(at + 1, size):
            part[k] = part[k + 1]
            merges[k - 1] = merges[k]
        if at > 0:
            merges[at - 1] = look_up(pairs, part[at - 1], best)
        if at < size - 1:
            merges[at] = look_up(pairs, best, part[at + 1])
    return size


@kernel
def push(heap: Array, size: Integer, entry: Integer) -> Integer:
    """Put `entry` into a binary heap of `size` numbers, smallest first; returns its new size."""
    place = size
    while place > 0 and heap[(place - 1) >> 1] > entry:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = entry
    return size + 1


@kernel
def pop(heap: Array, size: Integer) -> Integer:
    """Take the smallest number, heap[0], out of a heap of `size`; returns its new size."""
    size -= 1
    entry, place = heap[size], 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = entry
    return size


@kernel
def merge_long(pairs: Array, part: Array, merges: Array, links: Array, heap: Array, size: Integer) -> Integer:
    """`merge_short` for any size in time of size times its logarithm. The heap holds merge << 40 | place; one whose place has changed since is passed over."""
    waiting = 0
    for place in range(size):
        links[place, 0], links[place, 1] = place - 1, place + 1
    merges[size - 1] = NONE
    for place in range(size - 1):
        if merges[place] < NONE:
            waiting = push(heap, waiting, (np.int64(merges[place]) << _PLACE_BITS) | place)
    while waiting:
        merged, place = heap[0] >> _PLACE_BITS, heap[0] & ((1 << _PLACE_BITS) - 1)
        waiting = pop(heap, waiting)
        if merges[place] != merged:
            continue
        gone, before = links[place, 1], links[place, 0]
        behind = links[gone, 1]
        part[place], part[gone], merges[gone] = merged, -1, NONE
        links[place, 1] = behind
        if behind < size:
            links[behind, 0] = place
        left = before if before >= 0 else place
        while left <= place:
            right = place if left < place else behind
            merges[left] = look_up(pairs, part[left], part[right]) if right < size else NONE
            if merges[left] < NONE:
                waiting = push(heap, waiting, (np.int64(merges[left]) << _PLACE_BITS) | left)
            left = place if left < place else place + 1
    kept = 0
    for place in range(size):
        if part[place] >= 0:
            part[kept] = part[place]
            kept += 1
    return kept


@kernel
def write_unknown(code: Integer, byte_ids: Array, unknown: Integer, out: Array, start: Integer, size: Integer) -> Integer:
    """Ids of a character without a piece: those of its UTF-8 bytes or, where the model has no byte pieces, one unknown for a run of such characters."""
    if unknown >= 0:
        if size > start and out[size - 1] == unknown:
            return size
        out[size] = unknown
        return size + 1
    if code < 0x80:
        out[size] = byte_ids[code]
        return size + 1
    length = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    lead = 0xC0 if length == 2 else 0xE0 if length == 3 else 0xF0
    for k in range(length):
        bits = code >> (6 * (length - 1 - k))
        out[size + k] = byte_ids[lead | bits if k == 0 else 0x80 | (bits & 0x3F)]
    return size + length


@kernel
def read(data: Array, at: Integer) -> tuple[Integer, Integer]:
    """The code point at a place of valid UTF-8, a blank as SentencePiece writes it, and the place behind it."""
    first = np.int64(data[at])
    if first < 0x80:
        return (_MARKED_BLANK if first == _BLANK else first), at + 1
    if first < 0xE0:
        return ((first & 0x1F) << 6) | (np.int64(data[at + 1]) & 0x3F), at + 2
    code = (np.int64(data[at + 1]) & 0x3F) << 6 | (np.int64(data[at + 2]) & 0x3F)
    if first < 0xF0:
        return ((first & 0x0F) << 12) | code, at + 3
    return ((first & 0x07) << 18) | (code << 6) | (np.int64(data[at + 3]) & 0x3F), at + 4


@kernel
def match_whole(edges: Array, ends: Array, data: Array, at: Integer, end: Integer) -> tuple[Integer, Integer]:
    """The id of the longest user-defined piece that begins at a place, and the place behind it; -1 where there is none."""
    node: Integer = 0
    found: Integer = -1
    behind = at
    while at < end:
        code, at = read(data, at)
        node = look_up(edges, node, code)
        if node >= NONE:
            break
        if ends[node] >= 0:
            found, behind = ends[node], at
    return found, behind


@kernel
def merge(pairs: Array, part: Array, merges: Array, links: Array, heap: Array, size: Integer) -> Integer:
    """Merge a part in place; returns how many symbols are left."""
    if size > _SHORT:
        return merge_long(pairs, part, merges, links, heap, size)
    return merge_short(pairs, part, merges, size)


def encode(tables: MergeTables, data: Array, offsets: Array, first: Integer, eos: Integer, room: Room, out: Array, lengths: Array) -> tuple[Integer, Integer]:
    """Write the ids of documents from `first` on, each with eos behind it, and how many they are, until `out` or `room` could not hold the next one.

    data: uint8, UTF-8 of document i in [offsets[i], offsets[i + 1]). out: Integer32. lengths: Integer64, one for each document.

    Returns the first document that is left, and how many ids were written.
    """
    # One by one: numba counts references to the arrays of a tuple at each use, which made this four times slower.
    return _encode(*tables, *room, data, offsets, first, eos, out, lengths)


@kernel
def _encode(
    symbols: Array, pairs: Array, ids: Array, codes: Array, byte_ids: Array, unknown: Integer, edges: Array, ends: Array, prefix: bool,
    part: Array, merges: Array, links: Array, heap: Array, data: Array, offsets: Array, first: Integer, eos: Integer, out: Array, lengths: Array,
) -> tuple[Integer, Integer]:  # fmt: skip
    size: Integer = 0
    for document in range(first, len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        if size + end - at + MAX_ADDED > len(out):
            return document, size
        start = size
        following: Integer = -1  # the symbol behind the last cut
        if prefix and at < end:
            following = symbols[_MARKED_BLANK]
            if following < 0:
                size = write_unknown(_MARKED_BLANK, byte_ids, unknown, out, start, size)
        while at < end or following >= 0:
            count: Integer = 0
            whole: Integer = -1
            strange: Integer = -1
            if following >= 0:
                part[0], count, following = following, 1, -1
            # Up to the next cut: two neighbours that no piece holds, a user-defined piece, or a character in no piece.
            while at < end:
                if len(ends):
                    whole, behind = match_whole(edges, ends, data, at, end)
                    if whole >= 0:
                        at = behind
                        break
                code, at = read(data, at)
                symbol = symbols[np.uint64(code)]
                if symbol < 0:
                    strange = code
                    break
                if count:
                    merged = look_up(pairs, part[count - 1], symbol)
                    if merged == ABSENT:
                        following = symbol
                        break
                    if count == len(part):
                        return document, start
                    merges[count - 1] = merged
                part[count] = symbol
                count += 1
            if count == 2:  # one in five of Chinese: by itself it makes the whole half as fast again
                if merges[0] < NONE:
                    part[0], count = merges[0], 1
            elif count > 2:
                count = merge(pairs, part, merges, links, heap, count)
            for k in range(count):
                if ids[part[k]] >= 0:
                    out[size] = ids[part[k]]
                    size += 1
                else:
                    size = write_unknown(codes[part[k]], byte_ids, unknown, out, start, size)
            if whole >= 0:
                out[size] = whole
                size += 1
            elif strange >= 0:
                size = write_unknown(strange, byte_ids, unknown, out, start, size)
        out[size] = eos
        size += 1
        lengths[document] = size - start
    return len(offsets) - 1, size
