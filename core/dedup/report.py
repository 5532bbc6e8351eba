"""What dedup found, in numbers that a person reads: removed by level and source, clusters by size, the largest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.lsh import NOBODY, Verdicts

EXACT, NEAR = "exact-duplicate", "near-duplicate"
_SIZE_CLASSES = ((2, 2), (3, 3), (4, 4), (5, 9), (10, 99), (100, 999), (1000, None))
NUM_LARGEST = 10


@dataclass(frozen=True)
class RemovedShare:
    """What one level took from one source. Shares are of the source's documents and characters."""

    source: str
    level: str
    documents: int
    characters: int
    document_share: float
    character_share: float


@dataclass(frozen=True)
class Cluster:
    """A survivor (position) and the number of documents that it stands for, itself included."""

    survivor: int
    documents: int


def removed_shares(found: Verdicts, sources: Sequence[str], characters: npt.NDArray[np.int64]) -> list[RemovedShare]:
    """Rows by source and level, largest source name order; levels that removed nothing are left out."""
    names, codes = np.unique(np.array(sources, dtype=object).astype(str), return_inverse=True)
    removed = found.survivors != NOBODY
    rows = []
    for code, source in enumerate(names.tolist()):
        own = codes == code
        for level, of_level in ((EXACT, found.exact), (NEAR, ~found.exact)):
            taken = own & removed & of_level
            if taken.any():
                documents, length = int(taken.sum()), int(characters[taken].sum())
                share = length / max(1, int(characters[own].sum()))
                rows.append(RemovedShare(source, level, documents, length, documents / int(own.sum()), share))
    return rows


def clusters(survivors: npt.NDArray[np.int64]) -> list[Cluster]:
    """All clusters of two documents or more, largest first, ties by position of the survivor."""
    positions, counts = np.unique(survivors[survivors != NOBODY], return_counts=True)
    found = [Cluster(int(position), int(count) + 1) for position, count in zip(positions, counts, strict=True)]
    return sorted(found, key=lambda cluster: (-cluster.documents, cluster.survivor))


def size_histogram(found: Sequence[Cluster]) -> dict[str, int]:
    """Number of clusters by class of size: {"2": 7, "5-9": 1}."""
    histogram = {}
    for low, high in _SIZE_CLASSES:
        count = sum(low <= cluster.documents and (high is None or cluster.documents <= high) for cluster in found)
        if count:
            histogram[str(low) if low == high else f"{low}+" if high is None else f"{low}-{high}"] = count
    return histogram


def summary(found: Verdicts, sources: Sequence[str], characters: npt.NDArray[np.int64], num_shingles: npt.NDArray[np.int64]) -> dict[str, Any]:
    """All of it as JSON-able values, for `mspt show dedup`."""
    removed = found.survivors != NOBODY
    documents, length = len(found.survivors), int(characters.sum())
    levels = {EXACT: removed & found.exact, NEAR: removed & ~found.exact}
    return {
        "documents": documents,
        "characters": length,
        "levels": {
            level: {
                "documents": int(taken.sum()),
                "characters": int(characters[taken].sum()),
                "document_share": int(taken.sum()) / max(1, documents),
                "character_share": int(characters[taken].sum()) / max(1, length),
            }
            for level, taken in levels.items()
        },
        "sources": [asdict(row) for row in removed_shares(found, sources, characters)],
        "compared_exactly_only": int((num_shingles == 0).sum()),
        "cluster_sizes": size_histogram(clusters(found.survivors)),
    }
