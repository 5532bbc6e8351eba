"""How much of a text repeats itself: parts (lines, paragraphs) and n-grams of units, by number and by characters.

Repeated is what occurred before: of parts that are equal the first is not repeated, and an n-gram that occurs once never is. Overlapping n-grams cover
their characters once.

The lengths of n-grams are those of Gopher in words (2, 3, 4 for the top n-gram, 5 to 10 for repeated ones), and for an n-gram that starts with a Han
character, a kana or their like half as many again in characters: a Chinese word has about 1.5 (Universal Declaration of Human Rights, lid_udhr: 1,778 words in
English, 2,675 Han characters in Chinese).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import fmix64, kernel
from mspt.core.text.rules.scan import Units

TOP_WORDS, REPEATED_WORDS = (2, 3, 4), (5, 6, 7, 8, 9, 10)
WORDS = np.array(TOP_WORDS + REPEATED_WORDS)
CHARACTERS = (3 * WORDS + 1) // 2

_BASE = np.uint64(0x9E3779B97F4A7C15)  # of the polynomial hash: odd, from the golden ratio (Knuth, TAOCP 3, 6.4)
_ONE = np.uint64(1)
FILTER_SLOTS = 8  # for each n-gram: one in nine that occurs once is kept
SLOT_BITS = 6  # 64 bits of a filter for each n-gram: one in a hundred seems to have been seen


class Repeats(NamedTuple):
    """Of parts: how many there are, how many of them are repeated, the share of the characters in those, and the part that repeats most."""

    number: int
    repeated: int
    character_share: float
    times: int = 0
    start: int = 0
    end: int = 0


class NGrams(NamedTuple):
    """shares: by n of TOP_WORDS, the share of the units' characters that the n-gram covers that covers most; by n of REPEATED_WORDS, the share in repeated
    n-grams. places: of one of these, for each n of both, as units [start, end); (0, 0) when there is none."""

    shares: list[float]
    places: list[tuple[int, int]]


def repeats(hashes: NDArray[np.uint64], bounds: NDArray[np.int32]) -> Repeats:
    """What repeats among parts with the given hashes and places, [parts, 2]."""
    if not len(hashes):
        return Repeats(0, 0, 0.0)
    repeated, characters, total, worst, times = _repeats(hashes, bounds)
    return Repeats(len(hashes), repeated, characters / total, times, int(bounds[worst, 0]), int(bounds[worst, 1]))


def n_grams(units: Units) -> NGrams:
    """What repeats among the n-grams of units."""
    found = np.zeros((len(WORDS), 3), np.int64)
    total = max(1, _n_grams(units.hashes, units.is_character, units.bounds, found))
    numbers = found.tolist()
    return NGrams([row[0] / total for row in numbers], [(row[1], row[2]) for row in numbers])


def most_of_n_grams(units: Units) -> tuple[float, float]:
    """What none of the shares of `n_grams` exceeds, those of TOP_WORDS and those of REPEATED_WORDS: found in less time, and of most text little."""
    top, repeated, total = _most(units.hashes, units.is_character, units.bounds)
    return top / max(1, total), repeated / max(1, total)


@kernel
def _slots(number: int) -> int:
    """Slots of an open hash table for `number` keys: a power of two, at most half of them filled."""
    size = 16
    while size < 2 * number:
        size *= 2
    return size


@kernel
def _find(table: NDArray[np.int64], key: int) -> int:
    """The row of `table` with `key` in its first column, or the empty one where it belongs."""
    mask = len(table) - 1
    slot = (key >> 1) & mask
    while table[slot, 0] != 0 and table[slot, 0] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def _key(value: np.uint64) -> int:
    """A hash as a number that is not 0."""
    return int(np.int64(value | _ONE))


@kernel
def _repeats(hashes: NDArray[np.uint64], bounds: NDArray[np.int32]) -> tuple[int, int, int, int, int]:
    """Repeated parts, their characters, all characters, the first of the part with most repeated characters, how often that occurs."""
    table = np.zeros((_slots(len(hashes)), 3), np.int64)  # key, first part, times
    repeated = characters = total = worst = most = 0
    times = 1
    for i in range(len(hashes)):
        key = _key(hashes[i])
        slot = _find(table, key)
        length = int(bounds[i, 1] - bounds[i, 0])
        total += length
        if table[slot, 0] == 0:
            table[slot, 0], table[slot, 1], table[slot, 2] = key, i, 1
            continue
        repeated += 1
        characters += length
        table[slot, 2] += 1
        if (table[slot, 2] - 1) * length > most:
            worst, times = int(table[slot, 1]), int(table[slot, 2])
            most = (times - 1) * length
    return repeated, characters, total, worst, times


@kernel
def _n_grams(
    hashes: NDArray[np.uint64],
    is_character: NDArray[np.bool_],
    bounds: NDArray[np.int32],
    found: NDArray[np.int64],
) -> int:
    """Fill `found`, by n: characters that are covered, and a place, [start, end) in units; the characters of all units.

    An n-gram repeats only where the shorter one with which it starts does: each n asks only the places that the n before it left.
    """
    n = len(hashes)
    words, characters, num_top = WORDS, CHARACTERS, len(TOP_WORDS)
    covered, places = found[:, 0], found[:, 1:]
    prefixes = np.zeros(n + 1, np.uint64)  # polynomial hashes of the first i units: any window takes one multiplication (Karp and Rabin 1987)
    ends = np.zeros(n + 1, np.int64)  # characters of the first i units
    for i in range(n):
        prefixes[i + 1] = prefixes[i] * _BASE + hashes[i]
        ends[i + 1] = ends[i] + bounds[i, 1] - bounds[i, 0]
    starts = _may_repeat(prefixes, is_character, words[0], characters[0])
    num_left = len(starts)
    slots = np.empty(num_left, np.int32)
    for level in range(len(words)):
        # Of each n-gram its key, and where it first occurs or, when it repeats, -1 less its row of `known`: the end of its last place, its characters.
        keys = np.zeros((_slots(num_left), 1), np.int64)
        first = np.empty(len(keys), np.int32)
        known = np.empty((num_left // 2 + 1, 2), np.int64)
        kept = reach = repeated = 0
        character_power, word_power = _power(characters[level]), _power(words[level])
        for k in range(num_left):
            start = int(starts[k])
            length, power = (characters[level], character_power) if is_character[start] else (words[level], word_power)
            end = start + length
            if end > n:
                continue
            key = _key(fmix64(prefixes[end] - prefixes[start] * power))
            slot = _find(keys, key)
            starts[kept], slots[kept] = start, slot
            kept += 1
            if keys[slot, 0] == 0:
                keys[slot, 0], first[slot] = key, start
                continue
            if first[slot] >= 0:
                known[repeated, 0], known[repeated, 1] = first[slot] + length, ends[first[slot] + length] - ends[first[slot]]
                first[slot] = -1 - repeated
                repeated += 1
            row = -1 - int(first[slot])
            known[row, 1] += ends[end] - ends[max(start, int(known[row, 0]))]
            known[row, 0] = end
            if level < num_top:
                if known[row, 1] > covered[level]:
                    covered[level] = known[row, 1]
                    places[level, 0], places[level, 1] = start, end
            else:
                if covered[level] == 0:
                    places[level, 0], places[level, 1] = start, end
                covered[level] += max(0, ends[end] - ends[max(start, reach)])
                reach = max(reach, end)
        num_left = 0
        for k in range(kept):
            if first[slots[k]] < 0:
                starts[num_left] = starts[k]
                num_left += 1
        if num_left == 0:
            break
    return int(ends[n])


@kernel
def _may_repeat(prefixes: NDArray[np.uint64], is_character: NDArray[np.bool_], num_words: int, num_characters: int) -> NDArray[np.int32]:
    """Where n-grams start that may occur twice: those whose hash falls where another one's does, in a table that is small enough for the nearest cache."""
    n = len(is_character)
    starts, places = np.empty(n, np.int32), np.empty(n, np.uint32)
    bits = 10
    while (1 << bits) < FILTER_SLOTS * n:
        bits += 1
    seen, shift = np.zeros(1 << bits, np.uint8), np.uint64(64 - bits)
    word_power, character_power = _power(num_words), _power(num_characters)
    num = 0
    for start in range(n):
        length, power = (num_characters, character_power) if is_character[start] else (num_words, word_power)
        if start + length > n:
            continue
        place = (prefixes[start + length] - prefixes[start] * power) >> shift  # sums of hashes: their upper bits are as good as any
        starts[num], places[num] = start, place
        seen[place] = min(2, seen[place] + 1)
        num += 1
    kept = 0
    for k in range(num):
        starts[kept] = starts[k]
        kept += seen[places[k]] > 1
    return starts[:kept]


@kernel
def _most(hashes: NDArray[np.uint64], is_character: NDArray[np.bool_], bounds: NDArray[np.int32]) -> tuple[int, int, int]:
    """Characters of `most_of_n_grams`, and those of all units.

    Longer n-grams begin with shorter ones. So none of 2 to 4 words covers more than all of 4 words do that begin with the same 2, or with 2 that fall into the
    same slot; and repeated ones of 5 to 10 words cover no more than all of 10 that begin with 5 which seem to have been seen.
    """
    n, bits = len(hashes), 4
    while (1 << bits) < n:
        bits += 1
    covered, seen = np.zeros(1 << bits, np.int32), np.zeros(1 << bits, np.uint64)
    shift, seen_shift, place_mask, place_bits = np.uint64(64 - bits), np.uint64(64 - bits - SLOT_BITS), np.uint64((1 << SLOT_BITS) - 1), np.uint64(SLOT_BITS)
    prefixes, ends = np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.int64)
    for i in range(n):
        prefixes[i + 1] = prefixes[i] * _BASE + hashes[i]
        ends[i + 1] = ends[i] + bounds[i, 1] - bounds[i, 0]
    lengths = np.array([[2, 4, 5, 10], [3, 6, 8, 15]])
    powers = np.array([[_power(2), _power(5)], [_power(3), _power(8)]])
    top = repeated = reach = 0
    for start in range(n):
        kind = int(is_character[start])
        two, five = start + lengths[kind, 0], start + lengths[kind, 2]
        if two > n:
            continue
        slot = (prefixes[two] - prefixes[start] * powers[kind, 0]) >> shift
        covered[slot] += ends[min(n, start + lengths[kind, 1])] - ends[start]
        top = max(top, int(covered[slot]))
        if five > n:
            continue
        place = (prefixes[five] - prefixes[start] * powers[kind, 1]) >> seen_shift
        slot, mask = place >> place_bits, _ONE << (place & place_mask)
        if seen[slot] & mask:
            end = min(n, start + lengths[kind, 3])
            repeated += ends[end] - ends[min(end, max(start, reach))]
            reach = max(reach, end)
        seen[slot] |= mask
    return top, int(repeated), int(ends[n])


@kernel
def _power(exponent: int) -> np.uint64:
    """_BASE ** exponent modulo 2**64."""
    power = _ONE
    for _ in range(exponent):
        power *= _BASE
    return power
