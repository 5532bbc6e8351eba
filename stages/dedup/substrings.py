"""Level `repeated-substrings`: long stretches of characters that stand earlier in policy order (core/dedup/substrings.py says how they are found).

Shards give their anchors; the parent finds those that occur twice; shards give the text around these, cut into blocks by the anchors' hashes; each block has
a suffix array of its own; the parent walks over what the blocks found. Blocks follow from `--memory`, results do not. What the parent finds goes to disk: it
holds one range of hashes, or one part of the walk, at a time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from mspt.core.dedup import substrings as core
from mspt.core.dedup.anchors import find_anchors, reach
from mspt.core.dedup.paragraphs import LEFT_ALONE
from mspt.core.dedup.repetitions import cut_repetitions
from mspt.core.dedup.runs import find_repeated, num_ranges
from mspt.core.dedup.spill import Buckets, even_borders
from mspt.core.dedup.suffixes import BYTES_PER_CODE
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.dedup.levels import VERDICT, Kept, Level, Texts, texts_of, verdict_columns, verdict_table, write_cuts
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig

I64 = npt.NDArray[np.int64]
LEVEL, SUBSTRING = "repeated-substrings", "repeated-substring"
HASHES, PLACES, SIZES = "hashes.npy", "places.npy", "sizes.npy"
CODES, STRETCHES, WINDOWS = "codes.u32", "stretches.npy", "windows.npy"
BATCH_BYTES = 8 << 20
FULL = 1 << 64
BYTES_PER_RUN = 400  # of memory in the walk: a run of windows as Python numbers, in an order, as a cut


# --- in workers --------------------------------------------------------------------------------------------------------


def list_anchors(payload: tuple[Texts, int], out: UnitOutput) -> dict[str, Any]:
    """The anchors of a shard, sorted by hash, and the characters of each document."""
    texts, length = payload
    hashes, places, sizes = [np.zeros(0, np.uint64)], [np.zeros((2, 0), np.int64)], [np.zeros(0, np.int64)]
    for part in texts.read(BATCH_BYTES):
        strings = part.texts.to_pylist()
        sizes.append(np.array([len(text) for text in strings], np.int64))
        looked_at = ["" if form in LEFT_ALONE else text for text, form in zip(strings, part.forms, strict=True)]
        found = find_anchors(_codes("".join(looked_at)), np.cumsum([0, *map(len, looked_at)]), length)
        hashes.append(found.hashes)
        places.append(np.stack([np.repeat(np.arange(len(strings)), np.diff(found.offsets)) + part.first, found.places]))
    joined = np.concatenate(hashes)
    order = np.argsort(joined, kind="stable")
    for name, array in ((HASHES, joined[order]), (PLACES, np.concatenate(places, axis=1)[:, order]), (SIZES, np.concatenate(sizes))):
        _save(out.path(name), array)
    return {"anchors": len(order)}


def cut_stretches(payload: tuple[Texts, int, I64, Path, tuple[int, ...]], out: UnitOutput) -> dict[str, Any]:
    """The text around anchors that occur elsewhere too (their file: document, place, hash): `codes`, and of each stretch (block, rank, start, characters,
    period, repeats), the last two for what is left out behind it (repetitions.py)."""
    texts, length, ranks, path, edges = payload
    chosen = np.fromfile(path, np.int64).reshape(-1, 3) if path.exists() else np.zeros((0, 3), np.int64)
    block = np.searchsorted(np.array(edges[1:-1], np.uint64), chosen[:, 2].view(np.uint64), side="right")
    order = np.lexsort((chosen[:, 1], block, chosen[:, 0]))
    document, place, block = chosen[order, 0], chosen[order, 1], block[order]
    stretches = [np.zeros((0, 6), np.int64)]
    with out.path(CODES).open("wb") as file:
        for part in texts.read(BATCH_BYTES) if len(order) else ():
            low, high = np.searchsorted(document, [part.first, part.first + len(part.texts)]).tolist()
            borders = np.flatnonzero((np.diff(block[low:high], prepend=-1) != 0) | (np.diff(document[low:high], prepend=-1) != 0)) + low
            for head, tail in itertools.pairwise([*borders.tolist(), high]):
                if head == low or document[head] != document[head - 1]:
                    codes = _codes(part.texts[int(document[head]) - part.first].as_py())
                for start, end in reach(place[head:tail], len(codes), length).tolist():
                    pieces = cut_repetitions(codes[start:end], length) + np.array([start, start, 0, 0])
                    for first, last in pieces[:, :2].tolist():
                        codes[first:last].tofile(file)
                    said = (np.full(len(pieces), block[head]), np.full(len(pieces), ranks[document[head]]), pieces[:, 0], pieces[:, 1] - pieces[:, 0])
                    stretches.append(np.stack((*said, pieces[:, 2], pieces[:, 3]), axis=1))
    joined = np.concatenate(stretches)
    _save(out.path(STRETCHES), joined)
    return {"characters": int(joined[:, 3].sum())}


def find_windows(payload: tuple[tuple[Path, ...], int, int, int, int], out: UnitOutput) -> dict[str, Any]:
    """The repeated windows of one block: [7, runs], as core.Windows has them."""
    folders, length, block, low, high = payload
    with contextlib.ExitStack() as opened:
        stretches = Stretches.of_block(folders, block, opened)
        candidates = core.gather(stretches.ranks, stretches.starts, stretches.periods, stretches.repeats, stretches, length)
    found = core.find_windows(candidates, length, low, high)
    _save(out.path(WINDOWS), np.stack([getattr(found, name) for name in core.Windows.__dataclass_fields__]))
    return {"runs": len(found.ranks)}


@dataclass(frozen=True)
class Stretches(Sequence[npt.NDArray[np.uint32]]):
    """The stretches of one block: their codes, read when they are asked for. Not mapped: of a mapped file each stretch would hold the pages around it."""

    files: tuple[int, ...]  # open
    file: I64
    offsets: I64
    ranks: I64
    starts: I64
    sizes: I64
    periods: I64
    repeats: I64

    @classmethod
    def of_block(cls, folders: Sequence[Path], block: int, opened: contextlib.ExitStack) -> Stretches:
        files: list[int] = []
        rows = [np.zeros((0, 7), np.int64)]
        for folder in folders:
            stretches = np.load(folder / STRETCHES, allow_pickle=False)
            own = np.flatnonzero(stretches[:, 0] == block)
            if len(own):
                offsets = np.cumsum(stretches[:, 3]) - stretches[:, 3]
                rows.append(np.stack([np.full(len(own), len(files)), offsets[own], *stretches[own, 1:].T], axis=1))
                files.append(opened.enter_context((folder / CODES).open("rb", buffering=0)).fileno())
        return cls(tuple(files), *np.concatenate(rows).T)

    def __len__(self) -> int:
        return len(self.file)

    @overload
    def __getitem__(self, i: int) -> npt.NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[npt.NDArray[np.uint32]]: ...
    def __getitem__(self, i: int | slice) -> npt.NDArray[np.uint32] | Sequence[npt.NDArray[np.uint32]]:
        if isinstance(i, slice):
            return [self[k] for k in range(len(self))[i]]
        return np.frombuffer(os.pread(self.files[self.file[i]], 4 * int(self.sizes[i]), 4 * int(self.offsets[i])), np.uint32)


# --- in the parent -----------------------------------------------------------------------------------------------------


def remove_substrings(job: Job[DedupConfig], kept: Kept, levels: Sequence[Level], max_bytes: int) -> Level:
    """Finds repeated substrings in blocks that fit into `max_bytes`, and decides in policy order."""
    length = job.config.substrings
    texts = texts_of(kept, levels)
    folder = job.scratch("substrings")
    units = [Unit(f"{i:05d}", (one, length), one.place.bytes) for i, one in enumerate(texts)]
    anchors = map_units(job, list_anchors, units, what="anchors", group="anchors")
    edges = _repeated_anchors(anchors, length, max_bytes, chosen := Buckets(folder / "chosen", np.arange(len(texts) + 1), 3))
    name = f"within-{max_bytes}"  # another --memory gives other blocks
    units = [Unit(f"{i:05d}-{name}", (one, length, kept.ranks[i], chosen.path(i), edges), one.place.bytes) for i, one in enumerate(texts)]
    stretches = map_units(job, cut_stretches, units, what="repeated text", group="stretches")
    folders = tuple(result.directory for result in stretches)
    size = BYTES_PER_CODE * sum(result.stats["characters"] for result in stretches) // (len(edges) - 1)
    units = [Unit(f"{i:05d}-{name}", (folders, length, i, low, high), size) for i, (low, high) in enumerate(itertools.pairwise(edges))]
    blocks = map_units(job, find_windows, units, what="suffix arrays", group="suffixes")
    sizes = np.zeros(len(kept.ids), np.int64)
    for result, ranks in zip(anchors, kept.ranks, strict=True):
        sizes[ranks] = np.load(result.path(SIZES), allow_pickle=False)
    walk = core.Walk(length, sizes)
    gone = Buckets(folder / "gone", np.arange(len(texts) + 1), 4)
    where = kept.where()
    for windows in _by_rank(blocks, sizes, folder / "windows", max_bytes):
        _write(walk.decide(windows), where, gone)
    return _level(length, kept, gone, walk, where, folder)


def _repeated_anchors(results: Sequence[UnitResult], length: int, max_bytes: int, chosen: Buckets) -> tuple[int, ...]:
    """Writes the anchors that occur twice or more, by shard: (document, place, hash); gives the borders of blocks in the hashes, 0 and 2^64 included.

    A block has as many anchors as fit, with all the text that they reach. Copies of one anchor stay together; where the text around them is the same too
    (boilerplate), it is held once.
    """
    runs = [np.load(result.path(HASHES), mmap_mode="r", allow_pickle=False) for result in results]
    places = [np.load(result.path(PLACES), mmap_mode="r", allow_pickle=False) for result in results]
    per_block = max(1, max_bytes // (2 * length * BYTES_PER_CODE))
    edges, before = [0], 0
    for found in find_repeated(runs, num_ranges(sum(map(len, runs)), max_bytes)):
        hashes = np.zeros(len(found.places), np.uint64)
        for shard in np.unique(found.runs).tolist():
            own = np.flatnonzero(found.runs == shard)
            hashes[own] = runs[shard][found.places[own]]
            columns = (*places[shard][:, found.places[own]], hashes[own].view(np.int64))
            chosen.add(np.full(len(own), shard), np.stack(columns, axis=1))
        starts = np.flatnonzero(np.diff(found.groups, prepend=-1))
        block = (starts + before) // per_block
        edges += [int(hash_) for hash_ in hashes[starts[np.diff(block, prepend=(before - 1) // per_block if before else 0) > 0]]]
        before += len(hashes)
    return (*dict.fromkeys(edges), FULL)


def _by_rank(blocks: Sequence[UnitResult], sizes: I64, folder: Path, max_bytes: int) -> Iterator[core.Windows]:
    """The windows of all blocks in policy order, some documents at a time."""
    num_runs = sum(result.stats["runs"] for result in blocks)
    spilled = Buckets(folder, even_borders(sizes, 1 + num_runs * BYTES_PER_RUN // max_bytes), len(core.Windows.__dataclass_fields__))
    for result in blocks:
        runs = np.load(result.path(WINDOWS), allow_pickle=False)
        spilled.add(runs[0], runs.T)
    for number in range(len(spilled)):
        yield core.Windows.join([core.Windows(*spilled.read(number).T)])


def _write(cuts: dict[int, list[core.Cut]], where: tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]], gone: Buckets) -> None:
    """(row, start, end, rank of the survivor) of each cut, by shard."""
    rows = np.array([(rank, cut.start, cut.end, cut.survivor) for rank, own in cuts.items() for cut in own], np.int64).reshape(-1, 4)
    shards = where[0][rows[:, 0]].astype(np.int64)
    rows[:, 0] = where[1][rows[:, 0]]
    gone.add(shards, rows)


def _level(length: int, kept: Kept, gone: Buckets, walk: core.Walk, where: tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]], folder: Path) -> Level:
    drops: list[list[dict[str, Any]]] = [[] for _ in kept.rows]
    for rank, share in walk.rejected.items():
        said = {"rule": LEVEL, "value": share, "threshold": 1 - core.MIN_LEFT}
        drops[where[0][rank]].append({"row": int(where[1][rank]), "start": 0, "end": 0, **said})
    cuts = [write_cuts(folder / f"cuts-{shard:05d}.parquet", _cuts(length, kept, gone.read(shard))) for shard in range(len(kept.places))]
    return Level(LEVEL, tuple(cuts), tuple(map(verdict_table, drops)))


def _cuts(length: int, kept: Kept, rows: I64) -> Any:
    if not len(rows):
        return VERDICT.empty_table()
    row, start, end, survivor = rows[np.lexsort((rows[:, 1], rows[:, 0]))].T
    return verdict_columns(
        row=row,
        start=start,
        end=end,
        rule=[SUBSTRING] * len(row),
        value=end - start,
        threshold=np.full(len(row), float(length)),
        detail=[None] * len(row),
        survivor=kept.ids_of(survivor),
    )


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _save(path: Path, array: npt.NDArray[Any]) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
