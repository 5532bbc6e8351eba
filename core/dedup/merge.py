"""Merging the sorted runs of all shards, one range of keys at a time: who shares a key with whom.

Keys are hashes, spread evenly, so that a range of 1/n of all keys holds about 1/n of the pairs: memory is one range, whatever the corpus. What is found
does not depend on how many ranges there are. (The pairs of one key stay together: a key that very many documents share takes 24 bytes for each of them.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.index import Runs
from mspt.core.dedup.sorting import sort_by_key
from mspt.core.kernel import kernel

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
MERGE_BYTES = 256 * 2**20  # of memory for one range of keys
_PAIR_BYTES = 48  # of a pair while it is sorted: key, position, their copies, the groups
GROUPS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class RunFile:
    """The runs of one shard and the position of its first document in the corpus."""

    path: Path
    start: int


@dataclass(frozen=True)
class Level:
    """What is compared: `kind` exact, band (its `number`) or sample."""

    kind: str
    number: int = 0

    def pairs(self, runs: Runs) -> tuple[U64, U32, U64 | None]:
        """Sorted keys, documents, and what else must be equal."""
        if self.kind == "exact":
            return runs.exact_keys, runs.exact_documents, runs.exact_rests
        if self.kind == "band":
            return runs.band_keys[self.number], runs.band_documents[self.number], None
        return runs.sample_keys, runs.sample_documents, None


@dataclass(frozen=True)
class Groups:
    """Documents (positions, ascending in each group) that share a key: group after group, `sizes` of two or more."""

    members: U32
    sizes: U32


def groups(files: Sequence[RunFile], level: Level, max_bytes: int = MERGE_BYTES, part: tuple[int, int] = (0, 1)) -> Iterator[Groups]:
    """All groups of a level in the order of their keys, one range after another. part (i, n): only the i-th n-th of all keys."""
    runs = [(file.start, *level.pairs(Runs.map(file.path)[0])) for file in files]
    total = sum(len(keys) for _, keys, _, _ in runs)
    ranges = max(1, -(-total * _PAIR_BYTES // (max_bytes * part[1])))
    first, last = part[0] * 2**64 // part[1], (part[0] + 1) * 2**64 // part[1]
    for i in range(ranges):
        low, high = (first + (last - first) * k // ranges for k in (i, i + 1))
        yield _groups_between(runs, low, high)


def _groups_between(runs: Sequence[tuple[int, U64, U32, U64 | None]], low: int, high: int) -> Groups:
    """The groups of the keys from `low` to below `high`."""
    keys: list[U64] = [np.zeros(0, np.uint64)]
    positions: list[U32] = [np.zeros(0, np.uint32)]
    rests: list[U64] = [np.zeros(0, np.uint64)]
    for first, run, documents, rest in runs:
        start = int(np.searchsorted(run, np.uint64(low)))
        end = len(run) if high >= 2**64 else int(np.searchsorted(run, np.uint64(high)))
        keys.append(run[start:end])
        positions.append(documents[start:end] + np.uint32(first))
        if rest is not None:
            rests.append(rest[start:end])
    key, place = np.concatenate(keys), np.concatenate(positions)
    if len(rests) > 1:
        return _equal_hashes(key, np.concatenate(rests), place)
    sort_by_key(key, place)
    sizes = np.empty(len(key) // 2, np.uint32)
    num_groups, num_members = _group(key, place, sizes)
    return Groups(place[:num_members].copy(), sizes[:num_groups].copy())


def _equal_hashes(keys: U64, rests: U64, positions: U32) -> Groups:
    """As above where two halves must be equal: first by one, then, of those that share it, by both."""
    order = np.arange(len(keys), dtype=np.uint32)
    sort_by_key(keys, order)
    shared = np.zeros(len(keys), np.bool_)
    same = keys[1:] == keys[:-1]
    shared[1:] = same
    shared[:-1] |= same
    chosen = order[shared]
    key, rest, position = keys[shared], rests[chosen], positions[chosen]
    both = np.lexsort((position, rest, key))
    key, rest, position = key[both], rest[both], position[both]
    starts = np.ones(len(both) + 1, np.bool_)
    starts[1:-1] = (key[1:] != key[:-1]) | (rest[1:] != rest[:-1])
    sizes = np.diff(np.flatnonzero(starts)).astype(np.uint32)
    return Groups(position[np.repeat(sizes > 1, sizes)], sizes[sizes > 1])


@kernel
def _group(keys: U64, positions: U32, sizes: U32) -> tuple[int, int]:
    """Moves the positions of keys that occur twice or more to the front. Returns the number of groups and of members."""
    num_groups = num_members = 0
    i = 0
    while i < len(keys):
        end = i + 1
        while end < len(keys) and keys[end] == keys[i]:
            end += 1
        if end - i > 1:
            sizes[num_groups] = end - i
            num_groups += 1
            for k in range(i, end):
                positions[num_members] = positions[k]
                num_members += 1
        i = end
    return num_groups, num_members


def write_groups(found: Iterator[Groups], members: Path, sizes: Path) -> int:
    """Groups one after another in two files of 32-bit numbers. Returns the number of groups."""
    num = 0
    with members.open("wb") as member_file, sizes.open("wb") as size_file:
        for part in found:
            part.members.tofile(member_file)
            part.sizes.tofile(size_file)
            num += len(part.sizes)
    return num


def read_groups(members: Path, sizes: Path) -> Iterator[Groups]:
    """What `write_groups` wrote, in parts of at most GROUPS_AT_ONCE groups."""
    with members.open("rb") as member_file, sizes.open("rb") as size_file:
        while len(part := np.fromfile(size_file, np.uint32, GROUPS_AT_ONCE)):
            yield Groups(np.fromfile(member_file, np.uint32, int(part.sum(dtype=np.int64))), part)
