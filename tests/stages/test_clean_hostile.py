"""`clean` over a folder of hostile and broken files (tests/support/hostile.py): each has its row, the run goes on, memory stays bounded."""

from __future__ import annotations

import collections
import subprocess
import sys
from dataclasses import dataclass

import pyarrow.parquet as pq
import pytest

from mspt.core.artifact import Artifact
from mspt.core.store import Store
from support.hostile import Case, build

MAX_WORKER_BYTES = 10**9  # issue 3: memory stays under 1 GB per worker


@dataclass(frozen=True)
class Cleaned:
    """The one run that the tests of this file look at. kept and rejected: by case, refs without its path."""

    artifact: Artifact
    cases: list[Case]
    kept: dict[str, set[str]]
    rejected: dict[str, set[tuple[str, str]]]
    strangers: list[str]  # refs that belong to no case


def rows(artifact: Artifact, pattern: str, columns: list[str]) -> list[dict[str, str]]:
    return [row for path in sorted(artifact.root.glob(pattern)) for row in pq.read_table(path, columns=columns).to_pylist()]


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> Cleaned:
    base = tmp_path_factory.mktemp("hostile")
    cases = build(base / "raw")
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(base / "work"), "clean", str(base / "raw"), "--workers", "2"]
    subprocess.run(command, check=True, capture_output=True)  # apart: the largest child of this process may be another test's
    artifact = Store(base / "work").resolve("clean")
    kept, rejected, strangers = collections.defaultdict(set), collections.defaultdict(set), []
    for row in (*rows(artifact, "docs-*.parquet", ["ref"]), *rows(artifact, "rejected/*.parquet", ["ref", "rule"])):
        case = next((case for case in cases if case.owns(row["ref"])), None)
        if case is None:
            strangers.append(row["ref"])
        elif "rule" in row:
            rejected[case.path].add((row["ref"].removeprefix(case.path), row["rule"]))
        else:
            kept[case.path].add(row["ref"].removeprefix(case.path))
    return Cleaned(artifact, cases, kept, rejected, strangers)


def test_there_are_many_and_each_is_another(cleaned):
    assert len({case.path for case in cleaned.cases}) == len(cleaned.cases) >= 60


def test_what_is_readable_is_kept(cleaned):
    wrong = {case.path: (cleaned.kept[case.path], set(case.kept)) for case in cleaned.cases if cleaned.kept[case.path] != case.kept}
    assert wrong == {}


def test_what_is_not_has_a_row_with_the_reason(cleaned):
    wrong = {}
    for case in cleaned.cases:
        found = cleaned.rejected[case.path]
        if case.rules is None and found != case.rejected:
            wrong[case.path] = (found, set(case.rejected))
        elif case.rules is not None and {rule for _, rule in found} != case.rules:
            wrong[case.path] = ({rule for _, rule in found}, set(case.rules))
    assert wrong == {}


def test_nothing_is_lost_and_nothing_comes_from_elsewhere(cleaned):
    counts = cleaned.artifact.manifest["counts"]
    assert counts["in"] == counts["out"] + sum(counts["rejected"].values())
    assert counts["out"] == sum(len(case.kept) for case in cleaned.cases)
    assert cleaned.strangers == []


def test_no_worker_takes_more_memory_than_it_may(cleaned):
    assert 0 < cleaned.artifact.manifest["peak_rss_bytes"]["largest_child"] < MAX_WORKER_BYTES
