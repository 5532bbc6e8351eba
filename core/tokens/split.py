"""Who is held out: a stable draw by hash, the same for every corpus, machine and run.

Every document has a key (its near-duplicate cluster, else its own id) and the key a fixed point in [0, 1). The documents below a share are held
out, so that a larger corpus never moves a document across the line and near-duplicates fall on one side. train-tokenizer measures on the
points below 0.05, pack-mindrecord validates on those below 0.01: validation documents are never in the tokenizer's training text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xxhash

if TYPE_CHECKING:
    from mspt.core.tokens.documents import Documents

# A source's first choice when it must be given a row: not its one book of 500,000 tokens.
_SMALL_PART = 20
# Part of the draw: another value would move every document.
_SALT = b"mspt held-out\0"
_SHIFT = 11  # the top 53 bits, so that the float is exact

Keys = npt.NDArray[np.uint64]


def hashed_key(key: str) -> int:
    """xxh3-64 of a key: its point times 2^64."""
    return xxhash.xxh3_64_intdigest(_SALT + key.encode())


def point(key: str) -> float:
    """Where `key` lies in [0, 1)."""
    return float(hashed_key(key) >> _SHIFT) / float(1 << 53)


def points(keys: Iterable[str]) -> npt.NDArray[np.float64]:
    """`point` of each key."""
    return np.array([point(key) for key in keys], dtype=np.float64)


def points_of(hashed: Keys) -> npt.NDArray[np.float64]:
    """Points of hashed keys."""
    where: npt.NDArray[np.float64] = (hashed >> np.uint64(_SHIFT)).astype(np.float64) / float(1 << 53)
    return where


def order_key(seed: int, key: str) -> int:
    """A seeded position for `key`: sorting by it gives an order that depends on nothing else."""
    return xxhash.xxh3_64_intdigest(key.encode(), seed=seed & 0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class Split:
    """What is held out: keys whose point lies below `share`, and `extra` (sorted), which give small sources their row. `thin` sources get none."""

    share: float
    extra: Keys
    thin: tuple[str, ...]

    def holds_out(self, hashed: Keys) -> npt.NDArray[np.bool_]:
        """For each hashed key whether its document is held out."""
        held: npt.NDArray[np.bool_] = (points_of(hashed) < self.share) | np.isin(hashed, self.extra)
        return held


def choose_validation(documents: Documents, share: float, row_tokens: int) -> Split:
    """Hold out the documents whose point lies below `share`, and at least `row_tokens` tokens of every source. 0 holds nothing out.

    A source that the draw leaves short gets its next keys in order of their points, whole clusters at a time, passing over those that would hold
    out more than a twentieth of its tokens; if that fills no row, up to half of them; if that neither, the source is `thin` and gives no more than was drawn.
    A key that one source holds out is held out everywhere.
    """
    drawn = Split(share, np.empty(0, np.uint64), ())
    if share <= 0:
        return drawn
    held = _held_tokens(documents, drawn)
    extra = [_fill_row(documents, code, drawn, row_tokens) for code in range(len(documents.sources)) if held[code] < row_tokens]
    filled = Split(share, np.unique(np.concatenate([drawn.extra, *extra])), ())
    held = _held_tokens(documents, filled)
    return Split(share, filled.extra, tuple(name for name, tokens in zip(documents.sources, held, strict=True) if tokens < row_tokens))


def _held_tokens(documents: Documents, split: Split) -> list[int]:
    """Tokens held out of each source."""
    held = [0] * len(documents.sources)
    for code, _, records in documents.chunks():
        live = records[records["side"] > 0]
        held[code] += int(live["tokens"][split.holds_out(live["key"])].sum(dtype=np.int64))
    return held


def _fill_row(documents: Documents, code: int, drawn: Split, row_tokens: int) -> Keys:
    """Further keys of a source that the draw left short; on average it has fewer than row_tokens / share tokens, so its keys fit in memory."""
    keys, sizes = _clusters(documents, code)
    chosen = drawn.holds_out(keys)
    held, total = int(sizes[chosen].sum()), int(sizes.sum())
    extra: list[Any] = []
    for limit in (total // _SMALL_PART, total // 2):
        for i in np.flatnonzero(~chosen & (sizes <= limit)):  # in order of their points
            if held >= row_tokens:
                break
            if held + int(sizes[i]) <= limit:
                chosen[i] = True
                held += int(sizes[i])
                extra.append(keys[i])
    return np.array(extra if held >= row_tokens else [], np.uint64)


def _clusters(documents: Documents, code: int) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Hashed keys of a source in order, and how many tokens each has."""
    parts = [records[records["side"] > 0][["key", "tokens"]] for _, _, records in documents.chunks(code)]
    whole = np.concatenate(parts)
    keys, where = np.unique(whole["key"], return_inverse=True)
    sizes = np.zeros(len(keys), np.int64)
    np.add.at(sizes, where, whole["tokens"])
    return keys, sizes
