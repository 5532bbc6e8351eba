"""The numbers of the report, by hand."""

from __future__ import annotations

import numpy as np

from mspt.core.dedup.lsh import Verdicts
from mspt.core.dedup.report import RemovedShare, clusters, removed_shares, size_histogram, summary

# 0 stands for 1, 2 (exact) and 3 (near); 4 for 5 (near); 6 is alone
FOUND = Verdicts(
    survivors=np.array([-1, 0, 0, 0, -1, 4, -1]),
    similarities=np.array([np.nan, 1, 1, 0.9, np.nan, 0.8, np.nan]),
    exact=np.array([False, True, True, False, False, False, False]),
)
SOURCES = ["web", "web", "web", "books", "books", "web", "web"]
CHARACTERS = np.array([10, 10, 10, 9, 30, 20, 50])


def test_shares_by_source_and_level():
    assert removed_shares(FOUND, SOURCES, CHARACTERS) == [
        RemovedShare("books", "near-duplicate", 1, 9, 1 / 2, 9 / 39),
        RemovedShare("web", "exact-duplicate", 2, 20, 2 / 5, 20 / 100),
        RemovedShare("web", "near-duplicate", 1, 20, 1 / 5, 20 / 100),
    ]


def test_clusters_count_their_survivor():
    found = clusters(FOUND.survivors)
    assert [(c.survivor, c.documents) for c in found] == [(0, 4), (4, 2)]
    assert size_histogram(found) == {"2": 1, "4": 1}


def test_summary_adds_up():
    found = summary(FOUND, SOURCES, CHARACTERS, np.array([3, 3, 3, 3, 5, 5, 0]))
    assert (found["documents"], found["characters"], found["compared_exactly_only"]) == (7, 139, 1)
    assert found["levels"]["exact-duplicate"] == {"documents": 2, "characters": 20, "document_share": 2 / 7, "character_share": 20 / 139}
    assert found["levels"]["near-duplicate"]["documents"] == 2
