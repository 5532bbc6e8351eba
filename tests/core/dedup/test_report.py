"""The numbers of the report, by hand."""

from __future__ import annotations

import numpy as np

from mspt.core.dedup.index import NOBODY
from mspt.core.dedup.report import RemovedShare, add_tallies, clusters, removed_shares, size_histogram, summary, tally

# 0 stands for 1, 2 (exact) and 3 (near); 4 for 5 (near); 6 is alone
SURVIVORS = np.array([NOBODY, 0, 0, 0, NOBODY, 4, NOBODY], np.uint32)
LEVELS = np.array([0, 1, 1, 2, 0, 2, 0], np.uint8)  # 1: exact, 2: near
SOURCES = ["web", "web", "web", "books", "books", "web", "web"]
CHARACTERS = np.array([10, 10, 10, 9, 30, 20, 50])


def tallies():
    return add_tallies(tally(SOURCES[part], CHARACTERS[part], LEVELS[part]) for part in (slice(0, 4), slice(4, 7), slice(7, 7)))


def test_shares_by_source_and_level():
    assert removed_shares(tallies()) == [
        RemovedShare("books", "near-duplicate", 1, 9, 1 / 2, 9 / 39),
        RemovedShare("web", "exact-duplicate", 2, 20, 2 / 5, 20 / 100),
        RemovedShare("web", "near-duplicate", 1, 20, 1 / 5, 20 / 100),
    ]


def test_clusters_count_their_survivor():
    found = clusters(SURVIVORS)
    assert (found.survivors.tolist(), found.documents.tolist()) == ([0, 4], [4, 2])
    assert size_histogram(found) == {"2": 1, "4": 1}


def test_summary_adds_up():
    found = summary(tallies())
    assert (found["documents"], found["characters"]) == (7, 139)
    assert found["levels"]["exact-duplicate"] == {"documents": 2, "characters": 20, "document_share": 2 / 7, "character_share": 20 / 139}
    assert found["levels"]["near-duplicate"]["documents"] == 2
