"""Level `repeated-substrings`: long stretches of characters that stand earlier in policy order (core/dedup/substrings.py says how they are found).

Shards give their anchors; the parent finds those that occur twice; shards give the text around these, cut into blocks by the anchors' hashes; each block has
a suffix array of its own; the parent walks over what the blocks found. Blocks follow from `--memory`, results do not.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup import substrings as core
from mspt.core.dedup.anchors import find_anchors, reach
from mspt.core.dedup.folding import batches
from mspt.core.dedup.paragraphs import LEFT_ALONE
from mspt.core.dedup.runs import find_repeated, num_ranges
from mspt.core.dedup.suffixes import BYTES_PER_CODE
from mspt.core.shards import Docs
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.dedup.levels import Kept, Level, Texts, ids_of, texts_of, verdict_table
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig

LEVEL, SUBSTRING = "repeated-substrings", "repeated-substring"
HASHES, PLACES, SIZES = "hashes.npy", "places.npy", "sizes.npy"
CODES, STRETCHES, WINDOWS = "codes.u32", "stretches.npy", "windows.npy"
BATCH_BYTES = 16 << 20
FULL = 1 << 64


@dataclass(frozen=True)
class Chosen:
    """Anchors of one shard that occur elsewhere too: the document (its place among those of the shard), the place in it, the hash."""

    documents: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.uint64]


def list_anchors(payload: tuple[Texts, int], out: UnitOutput) -> dict[str, Any]:
    """The anchors of a shard, sorted by hash, and the characters of each document."""
    texts, length = payload
    column, forms, _ = texts.read()
    hashes, places, sizes, first = [np.zeros(0, np.uint64)], [np.zeros((2, 0), np.int64)], [np.zeros(0, np.int64)], 0
    for batch in batches(column, BATCH_BYTES):
        strings = batch.to_pylist()
        sizes.append(np.array([len(text) for text in strings], np.int64))
        looked_at = ["" if form in LEFT_ALONE else text for text, form in zip(strings, forms[first : first + len(strings)], strict=True)]
        found = find_anchors(_codes("".join(looked_at)), np.cumsum([0, *map(len, looked_at)]), length)
        hashes.append(found.hashes)
        places.append(np.stack([np.repeat(np.arange(len(strings)), np.diff(found.offsets)) + first, found.places]))
        first += len(strings)
    joined = np.concatenate(hashes)
    order = np.argsort(joined, kind="stable")
    for name, array in ((HASHES, joined[order]), (PLACES, np.concatenate(places, axis=1)[:, order]), (SIZES, np.concatenate(sizes))):
        _save(out.path(name), array)
    return {"anchors": len(order)}


def cut_stretches(payload: tuple[Texts, int, npt.NDArray[np.int64], Chosen, tuple[int, ...]], out: UnitOutput) -> dict[str, Any]:
    """The text around chosen anchors, block by block: `codes`, and for each stretch (block, rank, start, characters)."""
    texts, length, ranks, chosen, edges = payload
    documents = np.unique(chosen.documents)
    column = texts.read()[0].take(pa.array(documents))
    codes = [_codes(text) for text in column.to_pylist()]
    blocks = np.searchsorted(np.array(edges[1:-1], np.uint64), chosen.hashes, side="right")
    order = np.lexsort((chosen.places, chosen.documents, blocks))
    block, document, place = blocks[order], np.searchsorted(documents, chosen.documents[order]), chosen.places[order]
    borders = np.flatnonzero((np.diff(block, prepend=-1) != 0) | (np.diff(document, prepend=-1) != 0))
    stretches, total = [], 0
    with out.path(CODES).open("wb") as file:
        for head, tail in itertools.pairwise([*borders.tolist(), len(order)]):
            own = codes[document[head]]
            for start, end in reach(place[head:tail], len(own), length).tolist():
                own[start:end].tofile(file)
                stretches.append((block[head], ranks[documents[document[head]]], start, end - start))
                total += end - start
    _save(out.path(STRETCHES), np.array(stretches, np.int64).reshape(-1, 4))
    return {"characters": total}


def find_windows(payload: tuple[tuple[Path, ...], int, int, int, int], out: UnitOutput) -> dict[str, Any]:
    """The repeated windows of one block: [5, runs]."""
    folders, length, block, low, high = payload
    rows, codes = [np.zeros((0, 4), np.int64)], []
    for folder in folders:
        stretches = np.load(folder / STRETCHES, allow_pickle=False)
        if not (stretches[:, 0] == block).any():
            continue
        offsets = np.concatenate([[0], np.cumsum(stretches[:, 3])])
        mapped = np.memmap(folder / CODES, np.uint32, "r")
        for i in np.flatnonzero(stretches[:, 0] == block).tolist():
            codes.append(np.asarray(mapped[offsets[i] : offsets[i + 1]]))
        rows.append(stretches[stretches[:, 0] == block])
    stretch = np.concatenate(rows)
    found = core.find_windows(core.gather(stretch[:, 1], stretch[:, 2], codes), length, low, high)
    _save(out.path(WINDOWS), np.stack([found.ranks, found.starts, found.lengths, found.first_ranks, found.first_starts]))
    return {"runs": len(found.ranks)}


def remove_substrings(job: Job[DedupConfig], docs: Docs, kept: Kept, levels: Sequence[Level], max_bytes: int) -> Level:
    """Finds repeated substrings in blocks that fit into `max_bytes`, and decides in policy order."""
    length = job.config.substrings
    texts = texts_of(docs, kept, levels)
    units = [Unit(f"{one.shard:05d}", (one, length), docs.bytes(one.shard)) for one in texts]
    anchors = map_units(job, list_anchors, units, what="anchors", group="anchors")
    chosen = _repeated_anchors(anchors, max_bytes)
    edges = _edges(chosen, length, max_bytes)
    name = f"of-{len(edges) - 1:05d}"  # another --memory gives other blocks
    units = [Unit(f"{one.shard:05d}-{name}", (one, length, kept.ranks[one.shard], chosen[one.shard], edges), docs.bytes(one.shard)) for one in texts]
    stretches = map_units(job, cut_stretches, units, what="repeated text", group="stretches")
    folders = tuple(result.directory for result in stretches)
    size = BYTES_PER_CODE * sum(result.stats["characters"] for result in stretches) // (len(edges) - 1)
    units = [Unit(f"{i:05d}-{name}", (folders, length, i, low, high), size) for i, (low, high) in enumerate(itertools.pairwise(edges))]
    blocks = map_units(job, find_windows, units, what="suffix arrays", group="suffixes")
    windows = core.Windows.join([core.Windows(*np.load(result.path(WINDOWS), allow_pickle=False)) for result in blocks])
    sizes = np.zeros(int(max((ranks.max(initial=-1) for ranks in kept.ranks), default=-1)) + 1, np.int64)
    for result, ranks in zip(anchors, kept.ranks, strict=True):
        sizes[ranks] = np.load(result.path(SIZES), allow_pickle=False)
    return _level(length, docs, kept, *core.walk(windows, length, sizes))


def _repeated_anchors(results: Sequence[UnitResult], max_bytes: int) -> list[Chosen]:
    runs = [np.load(result.path(HASHES), mmap_mode="r", allow_pickle=False) for result in results]
    repeated = find_repeated(runs, num_ranges(sum(map(len, runs)), max_bytes))
    chosen = []
    for shard, result in enumerate(results):
        own = repeated.places[repeated.runs == shard]
        documents, places = np.load(result.path(PLACES), mmap_mode="r", allow_pickle=False)[:, own]
        chosen.append(Chosen(documents, places, np.asarray(runs[shard][own])))
    return chosen


def _edges(chosen: Sequence[Chosen], length: int, max_bytes: int) -> tuple[int, ...]:
    """Borders of blocks in the hashes, 0 and 2^64 included: as many anchors in each as fit, with all the text that they reach. Copies of one anchor stay
    together; where the text around them is the same too (boilerplate), it is held once.
    """
    hashes = np.sort(np.concatenate([np.zeros(0, np.uint64), *(one.hashes for one in chosen)]))
    per_block = max(1, max_bytes // (2 * length * BYTES_PER_CODE))
    inner = np.unique(hashes[per_block::per_block])
    return (0, *(int(edge) for edge in inner if edge != 0), FULL)


def _level(length: int, docs: Docs, kept: Kept, cuts: dict[int, list[core.Cut]], rejected: dict[int, float]) -> Level:
    shards, rows = kept.places()
    survivors = ids_of(docs, kept, np.array([cut.survivor for own in cuts.values() for cut in own], np.int64)).to_pylist()
    next_survivor = iter(survivors)
    tables: list[list[dict[str, Any]]] = [[] for _ in kept.rows]
    for rank, own in cuts.items():
        for cut in own:
            said = {"rule": SUBSTRING, "value": float(cut.end - cut.start), "threshold": float(length), "survivor": next(next_survivor)}
            tables[shards[rank]].append({"row": int(rows[rank]), "start": cut.start, "end": cut.end, **said})
    drops: list[list[dict[str, Any]]] = [[] for _ in kept.rows]
    for rank, share in rejected.items():
        drops[shards[rank]].append({"row": int(rows[rank]), "start": 0, "end": 0, "rule": LEVEL, "value": share, "threshold": 1 - core.MIN_LEFT})
    return Level(LEVEL, tuple(map(verdict_table, tables)), tuple(map(verdict_table, drops)))


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _save(path: Path, array: npt.NDArray[Any]) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
