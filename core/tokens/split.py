"""Who is held out: a stable draw by hash, the same for every corpus, machine and run.

Every document has a key (its near-duplicate cluster, else its own id) and the key a fixed point in [0, 1). The documents below a share are held
out, so that a larger corpus never moves a document across the line and near-duplicates fall on one side. train-tokenizer measures on the
points below 0.05, pack-mindrecord validates on those below 0.01: validation documents are never in the tokenizer's training text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xxhash

# A source's first choice when it must be given a row: not its one book of 500,000 tokens.
_SMALL_PART = 20
# Part of the draw: another value would move every document.
_SALT = b"mspt held-out\0"


def point(key: str) -> float:
    """Where `key` lies in [0, 1): the top 53 bits of xxh3-64, so that the float is exact."""
    return float(xxhash.xxh3_64_intdigest(_SALT + key.encode()) >> 11) / float(1 << 53)


def points(keys: Iterable[str]) -> npt.NDArray[np.float64]:
    """`point` of each key."""
    return np.array([point(key) for key in keys], dtype=np.float64)


def order_key(seed: int, key: str) -> int:
    """A seeded position for `key`: sorting by it gives an order that depends on nothing else."""
    return xxhash.xxh3_64_intdigest(key.encode(), seed=seed & 0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class Split:
    """`validation[i]` says whether document i is held out; `thin` names sources too small to give a validation row."""

    validation: npt.NDArray[np.bool_]
    thin: tuple[str, ...]


def choose_validation(keys: Sequence[str], sources: Sequence[str], num_tokens: npt.NDArray[np.int64], share: float, row_tokens: int) -> Split:
    """Hold out the documents whose point lies below `share`, and at least `row_tokens` tokens of every source.

    Args:
        keys: cluster or id of each document.
        sources: source of each document.
        num_tokens: tokens of each document, end included.
        share: 0 holds nothing out.
        row_tokens: tokens of one row.

    A source that the draw leaves short gets its next keys in order of their points, whole clusters at a time, passing over those that would hold
    out more than a twentieth of its tokens; if that fills no row, up to half of them; if that neither, the source is `thin`. A key that one source
    holds out is held out everywhere.
    """
    where = points(keys)
    validation = where < share
    if share <= 0:
        return Split(validation, ())
    names, codes = np.unique(np.array(sources), return_inverse=True)
    for code in range(len(names)):
        _fill_row(np.flatnonzero(codes == code), keys, where, num_tokens, validation, row_tokens)
    drawn = {keys[i] for i in np.flatnonzero(validation)}
    validation = np.fromiter((key in drawn for key in keys), dtype=np.bool_, count=len(keys))
    held = np.bincount(codes[validation], weights=num_tokens[validation], minlength=len(names))
    return Split(validation, tuple(str(name) for name in names[held < row_tokens]))


def _fill_row(
    rows: npt.NDArray[np.int64],
    keys: Sequence[str],
    where: npt.NDArray[np.float64],
    num_tokens: npt.NDArray[np.int64],
    validation: npt.NDArray[np.bool_],
    row_tokens: int,
) -> None:
    """Extend `validation` in place over one source's documents `rows` until it holds `row_tokens` tokens of them."""
    held = int(num_tokens[rows[validation[rows]]].sum())
    total = int(num_tokens[rows].sum())
    clusters: dict[str, list[int]] = {}
    for i in rows[np.argsort(where[rows], kind="stable")]:
        if not validation[i]:
            clusters.setdefault(keys[i], []).append(int(i))
    for limit in (total // _SMALL_PART, total // 2):
        for members in clusters.values():
            if held >= row_tokens:
                return
            size = int(num_tokens[members].sum())
            if not validation[members[0]] and held + size <= limit:
                validation[members] = True
                held += size
