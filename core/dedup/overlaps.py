"""Where texts overlap with test sets: runs of 13 units (words, or Han and Kana characters) that a test item has too.

    matcher = build_matcher([Path("gsm8k.jsonl")])
    for overlap in find_overlaps(matcher, texts): overlap.document, overlap.start, overlap.end, matcher.pieces[overlap.piece].file

Thirteen words is the field's measure (Brown et al. 2020, appendix C). A text of an item ("piece") of 13 units or more matches by any 13 of them in a row; one
of MIN_UNITS to 12 matches as a whole only; a shorter one ("42", "(A) yes") says nothing about where it was seen and is not looked for, unless all pieces of
its item are that short: then they are joined, and looked for where that gives MIN_UNITS. TaskFile counts what is not looked for, and has examples of it.

Method: every window begins with a run of as many units as the shortest window has. The 64-bit polynomial hash (Karp and Rabin 1987) of that run is rolled
over the document and a Bloom filter answers nearly all of them; where it says yes, the run and then the windows of all lengths are looked up by binary search,
and what is found is compared unit by unit: no hash ever decides. Serves decontamination of training data and checks of leakage into any text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.folding import batches
from mspt.core.dedup.task_files import TaskItem, read_items
from mspt.core.dedup.units import Units, find_units, spell_units
from mspt.core.kernel import fmix64, kernel

UNITS = 13  # Brown et al. 2020, appendix C: N is 13 at most
MIN_UNITS = 8  # the same: below 8 words texts agree by chance
MAX_SHORT = 5  # examples of items that are too short
BATCH_BYTES = 4 << 20  # of text at a time
_BITS_PER_KEY = 16  # of the filter: about one run in 100 goes on to the search, and the bits of 500,000 windows stay in a cache of 1 MB
_ONE, _SIX, _TWELVE, _LOW_6, _SIXTY_FOUR = (np.uint64(number) for number in (1, 6, 12, 63, 64))  # typed for the kernels
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, from the golden ratio (Knuth, TAOCP 3, 6.4)


@dataclass(frozen=True)
class Piece:
    """A text of a test item that is looked for: which file (index), which item of it, its folded units."""

    file: int
    item: int
    units: tuple[str, ...]


@dataclass(frozen=True)
class TaskFile:
    """What a task file holds: its items, those of which nothing is looked for, pieces that are looked for whole and piecewise, texts that are not looked for.

    short: some of the items of which nothing is looked for, with their texts; items without any text are not among them.
    """

    name: str
    items: int
    items_too_short: int
    whole: int
    by_windows: int
    texts_too_short: int
    short: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Matcher:
    """Pieces and the hashes of their windows. Window i of `keys` (sorted, distinct) is in the pieces refs[starts[i]:starts[i + 1]] = (piece, first unit)."""

    files: tuple[TaskFile, ...]
    pieces: tuple[Piece, ...]
    lengths: npt.NDArray[np.int64]  # of windows, in units
    keys: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    refs: npt.NDArray[np.int32]  # [windows, 2]
    heads: npt.NDArray[np.uint64]  # hashes of the first lengths[0] units of all windows, sorted, distinct
    filter: npt.NDArray[np.uint64]  # of heads


@dataclass(frozen=True)
class Overlap:
    """A stretch [start, end) of a document, in code points, that stands in a piece: the union of all windows that follow each other in both."""

    document: int
    start: int
    end: int
    piece: int
    units: int


def build_matcher(paths: Sequence[Path], fields: Sequence[str] = (), units: int = UNITS) -> Matcher:
    """The matcher of some task files. InputError where one cannot be read; files of equal names are told apart by their number."""
    files, pieces = [], []
    for number, path in enumerate(paths):
        items = read_items(path, fields)
        found, num_short = _pieces(number, items, min(MIN_UNITS, units))
        pieces += found
        looked_for = {piece.item for piece in found}
        short = [(item.number, "\n".join(item.texts)) for item in items if item.number not in looked_for]
        whole = sum(len(piece.units) < units for piece in found)
        name = path.name if [p.name for p in paths].count(path.name) == 1 else f"{number + 1}:{path.name}"
        shown = tuple((item, text) for item, text in short if text)[:MAX_SHORT]
        files.append(TaskFile(name, len(items), len(short), whole, len(found) - whole, num_short, shown))
    return _index(tuple(files), tuple(pieces), units)


def find_overlaps(matcher: Matcher, texts: pa.Array | pa.ChunkedArray) -> list[Overlap]:
    """All overlaps of a column of texts, by document, start, piece."""
    found: list[Overlap] = []
    first = 0
    for batch in batches(texts, BATCH_BYTES):
        units = find_units(batch)
        hits = _hits(matcher, units)
        if len(hits):
            found += _checked(matcher, batch, first, units, hits)
        first += len(batch)
    return found


def _pieces(file: int, items: Sequence[TaskItem], least: int) -> tuple[list[Piece], int]:
    """What is looked for, and the number of texts that are not."""
    spelled = iter(spell_units([text for item in items for text in item.texts]))
    pieces, num_short = [], 0
    for item in items:
        texts = [next(spelled) for _ in item.texts]
        chosen = [text for text in texts if len(text) >= least]
        if not chosen:
            joined = tuple(unit for text in texts for unit in text)
            chosen = [joined] if len(joined) >= least else []
            num_short += 0 if chosen else len(texts)
        else:
            num_short += len(texts) - len(chosen)
        pieces += [Piece(file, item.number, text) for text in dict.fromkeys(chosen)]
    return pieces, num_short


def _index(files: tuple[TaskFile, ...], pieces: tuple[Piece, ...], units: int) -> Matcher:
    """Hashes the windows of all pieces: their units are joined by blanks, which gives the same units again."""
    lengths = np.unique(np.array([units, *(len(piece.units) for piece in pieces if len(piece.units) < units)], np.int64))
    least = int(lengths[0])
    hashes, heads, refs = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)], [np.zeros((0, 2), np.int32)]
    found = find_units(pa.array([" ".join(piece.units) for piece in pieces], pa.string()))
    for i, piece in enumerate(pieces):
        length = min(units, len(piece.units))
        own = found.hashes[found.offsets[i] : found.offsets[i + 1]]
        assert len(own) == len(piece.units)
        windows = np.empty(len(own) - length + 1, np.uint64)
        _hash_windows(own, length, windows)
        hashes.append(windows)
        heads.append(np.empty(len(windows), np.uint64))
        _hash_windows(own[: len(own) - length + least], least, heads[-1])
        refs.append(np.stack([np.full(len(windows), i), np.arange(len(windows))], axis=1).astype(np.int32))
    joined, head = np.concatenate(hashes), np.unique(np.concatenate(heads))
    order = np.argsort(joined, kind="stable")
    keys, starts = np.unique(joined[order], return_index=True)
    starts = np.append(starts, len(order)).astype(np.int64)
    return Matcher(files, pieces, lengths, keys, starts, np.concatenate(refs)[order], head, _filter(head))


def _filter(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A Bloom filter whose three bits of a key lie in one word (Putze, Sanders and Singler 2007): the word is chosen by the top bits, the bits by the rest."""
    words = np.zeros(1 << max(1, (max(1, len(keys)) * _BITS_PER_KEY // 64 - 1).bit_length()), np.uint64)
    _fill(keys, words)
    return words


def _hits(matcher: Matcher, units: Units) -> npt.NDArray[np.int64]:
    """[hits, 4]: document in the batch, first unit, number of units, index into keys."""
    if not len(matcher.keys):
        return np.zeros((0, 4), np.int64)
    hits = np.empty((1 << 12, 4), np.int64)
    while True:
        size = _match(units.hashes, units.offsets, matcher.lengths, matcher.filter, matcher.heads, matcher.keys, hits)
        if size <= len(hits):
            return hits[:size]
        hits = np.empty((size, 4), np.int64)


def _checked(matcher: Matcher, batch: pa.Array, first: int, units: Units, hits: npt.NDArray[np.int64]) -> list[Overlap]:
    """Windows that agree unit by unit, joined where they follow each other in the document and in the piece."""
    documents = np.unique(hits[:, 0])
    spelled = dict(zip(documents.tolist(), spell_units([batch[int(i)].as_py() or "" for i in documents]), strict=True))
    open_runs: dict[tuple[int, int, int], list[int]] = {}  # (document, piece, first unit in the document - first unit in the piece): units
    runs: list[tuple[tuple[int, int, int], list[int]]] = []
    for document, start, length, key in hits.tolist():
        window = spelled[document][start : start + length]
        for piece, offset in matcher.refs[matcher.starts[key] : matcher.starts[key + 1]].tolist():
            if matcher.pieces[piece].units[offset : offset + length] != window:
                continue
            name = (document, piece, start - offset)
            run = open_runs.get(name)
            if run is not None and start <= run[1]:
                run[1] = start + length
            else:
                open_runs[name] = run = [start, start + length]
                runs.append((name, run))
    found = []
    for (document, piece, _), (start, end) in runs:
        base = units.offsets[document]
        found.append(Overlap(first + document, int(units.starts[base + start]), int(units.ends[base + end - 1]), piece, end - start))
    return sorted(found, key=lambda overlap: (overlap.document, overlap.start, overlap.piece, overlap.end))


@kernel
def _hash_window(units: npt.NDArray[np.uint64], start: int, length: int) -> np.uint64:
    value = np.uint64(length)
    for i in range(start, start + length):
        value = value * _BASE + units[i]
    return fmix64(value)


@kernel
def _hash_windows(units: npt.NDArray[np.uint64], length: int, windows: npt.NDArray[np.uint64]) -> None:
    for i in range(len(windows)):
        windows[i] = _hash_window(units, i, length)


@kernel
def _find(keys: npt.NDArray[np.uint64], key: np.uint64) -> int:
    """Where `key` stands in `keys`, or -1."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@kernel
def _word_shift(num_words: int) -> np.uint64:
    """By how much a key is shifted to give the number of its word. There are two words at least."""
    bits = np.uint64(0)
    while num_words > 1:
        num_words >>= 1
        bits += _ONE
    return _SIXTY_FOUR - bits


@kernel
def _word_bits(key: np.uint64) -> np.uint64:
    return _ONE << (key & _LOW_6) | _ONE << (key >> _SIX & _LOW_6) | _ONE << (key >> _TWELVE & _LOW_6)


@kernel
def _fill(keys: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> None:
    shift = _word_shift(len(words))
    for key in keys:
        words[key >> shift] |= _word_bits(key)


@kernel
def _match(
    units: npt.NDArray[np.uint64],
    offsets: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64],
    heads: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    hits: npt.NDArray[np.int64],
) -> int:
    """Fills `hits` as far as they fit, by document and place; returns how many there are."""
    shift = _word_shift(len(words))
    least = lengths[0]
    highest = np.uint64(1)  # _BASE ** least: what the oldest unit, and the start value, are worth when the window moves on
    for _ in range(least):
        highest = highest * _BASE
    rest = np.uint64(least) * highest
    size = 0
    for document in range(len(offsets) - 1):
        start, end = offsets[document], offsets[document + 1]
        rolled = np.uint64(0)
        for i in range(start, end):
            rolled = rolled * _BASE + units[i]
            first = i - least + 1
            if first < start:
                continue
            if first > start:
                rolled -= units[first - 1] * highest
            key = fmix64(rolled + rest)
            bits = _word_bits(key)
            if words[key >> shift] & bits != bits or _find(heads, key) < 0:
                continue
            for length in lengths:
                found = _find(keys, _hash_window(units, first, length)) if first + length <= end else -1
                if found >= 0:
                    if size < len(hits):
                        hits[size, 0], hits[size, 1], hits[size, 2], hits[size, 3] = document, first - start, length, found
                    size += 1
    return size
