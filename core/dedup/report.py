"""What dedup found, in numbers that a person reads: removed by level and source, clusters by size, the largest of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.index import NOBODY

EXACT, NEAR = "exact-duplicate", "near-duplicate"
LEVELS = (EXACT, NEAR)
_SIZE_CLASSES = ((2, 2), (3, 3), (4, 4), (5, 9), (10, 99), (100, 999), (1000, None))
NUM_LARGEST = 10
WEB_SHARES = (0.05, 0.40)  # removed of a source from the web; field rule, 10-20 % is usual
MIN_JUDGED = 100  # documents: fewer say nothing about a source


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
class Clusters:
    """Survivors (positions) and how many documents each stands for, itself included: largest first, ties by position."""

    survivors: npt.NDArray[np.uint32]
    documents: npt.NDArray[np.int64]


def tally(
    sources: Sequence[str], characters: npt.NDArray[np.int64], levels: npt.NDArray[np.uint8], has_url: npt.NDArray[np.bool_] | None = None
) -> dict[str, dict[str, Any]]:
    """Of some documents, by source: how many, how many characters, and both of what each level took. `levels`: 0 for documents that stay, else 1 + level.

    has_url: documents from the web; their number is `web`.
    """
    web = np.zeros(len(levels), np.bool_) if has_url is None else has_url
    names, codes = np.unique(np.array(sources, dtype=object).astype(str), return_inverse=True)
    found: dict[str, dict[str, Any]] = {}
    for code, source in enumerate(names.tolist()):
        own = codes == code
        taken = {name: own & (levels == number + 1) for number, name in enumerate(LEVELS)}
        found[source] = {
            "in": int(own.sum()),
            "rejected": int((own & (levels > 0)).sum()),
            "characters": int(characters[own].sum()),
            "web": int(web[own].sum()),
            "levels": {name: [int(rows.sum()), int(characters[rows].sum())] for name, rows in taken.items() if rows.any()},
        }
    return found


def add_tallies(parts: Iterable[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The tallies of several shards as one."""
    total: dict[str, dict[str, Any]] = {}
    for part in parts:
        for source, counts in part.items():
            own = total.setdefault(source, {"in": 0, "rejected": 0, "characters": 0, "web": 0, "levels": {}})
            for name in ("in", "rejected", "characters", "web"):
                own[name] += counts.get(name, 0)
            for level, (documents, characters) in counts["levels"].items():
                before = own["levels"].get(level, [0, 0])
                own["levels"][level] = [before[0] + documents, before[1] + characters]
    return dict(sorted(total.items()))


def removed_shares(tallies: Mapping[str, Mapping[str, Any]]) -> list[RemovedShare]:
    """Rows by source and level; levels that removed nothing are left out."""
    return [
        RemovedShare(source, level, documents, characters, documents / counts["in"], characters / max(1, counts["characters"]))
        for source, counts in tallies.items()
        for level, (documents, characters) in sorted(counts["levels"].items())
    ]


def clusters(survivors: npt.NDArray[np.uint32]) -> Clusters:
    """All clusters of two documents or more, from the survivor of each document (NOBODY for those that stay)."""
    positions, counts = np.unique(survivors[survivors != NOBODY], return_counts=True)
    order = np.lexsort((positions, -counts))
    return Clusters(positions[order], counts[order].astype(np.int64) + 1)


def size_histogram(found: Clusters) -> dict[str, int]:
    """Number of clusters by class of size: {"2": 7, "5-9": 1}."""
    histogram = {}
    for low, high in _SIZE_CLASSES:
        count = int(((found.documents >= low) & (found.documents <= (high or found.documents.max(initial=0)))).sum())
        if count:
            histogram[str(low) if low == high else f"{low}+" if high is None else f"{low}-{high}"] = count
    return histogram


def web_remarks(tallies: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Sources from the web (most documents have a URL) of which an unlikely share was removed."""
    low, high = WEB_SHARES
    remarks = []
    for source, counts in tallies.items():
        share = counts["rejected"] / max(1, counts["in"])
        if counts["in"] >= MIN_JUDGED and 2 * counts["web"] > counts["in"] and not low <= share <= high:
            advice = "was it crawled twice, or is --threshold too low?" if share > high else "was it deduplicated before?"
            usual = f"10-20 % of web pages are usual, {100 * low:.0f}-{100 * high:.0f} % plausible"
            remarks.append(f"{source}: {100 * share:.1f} % of {counts['in']:,} documents removed; {usual}: {advice}")
    return remarks


def summary(tallies: Mapping[str, Mapping[str, Any]], levels: Sequence[str] = LEVELS) -> dict[str, Any]:
    """Removed by level and by source, as JSON-able values, for `mspt show dedup`."""
    documents = sum(counts["in"] for counts in tallies.values())
    length = sum(counts["characters"] for counts in tallies.values())
    shares = removed_shares(tallies)
    taken = {level: [row for row in shares if row.level == level] for level in levels}
    return {
        "documents": documents,
        "characters": length,
        "levels": {
            level: {
                "documents": sum(row.documents for row in rows),
                "characters": sum(row.characters for row in rows),
                "document_share": sum(row.documents for row in rows) / max(1, documents),
                "character_share": sum(row.characters for row in rows) / max(1, length),
            }
            for level, rows in taken.items()
        },
        "sources": [asdict(row) for row in shares],
    }
