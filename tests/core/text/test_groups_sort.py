"""The external sort: against Python's own sort of everything at once."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mspt.core.text.groups import sort as groups_sort
from mspt.core.text.groups.sort import Row, RunWriter, bucket_of, merged, size_of

ENTITIES = st.sampled_from(["a", "b", "甲", "", "a\0b", "z" * 300])
ROWS = st.lists(
    st.tuples(
        ENTITIES, st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1), st.integers(0, 999_999_999), st.sampled_from(["s", "t"]),
        st.sampled_from(["x.csv", "y.csv"]), st.integers(-1, 20), st.booleans(), st.binary(max_size=30),
    ),
    max_size=60,
)  # fmt: skip


def write(folder: Path, units: Iterable[Iterable[Row]], **options: int) -> list[Path]:
    """Runs of several units, each with a writer of its own."""
    for number, rows in enumerate(units):
        (folder / str(number)).mkdir()
        writer = RunWriter(lambda name, place=folder / str(number): place / name, **options)
        for row in rows:
            writer.add(row)
        writer.close()
    return sorted(folder.rglob("runs-*.arrow"))


def rows_of(count: int, payload: int = 100, seed: int = 1) -> list[Row]:
    rng = random.Random(seed)
    return [(f"e{rng.randrange(count // 10 + 1)}", rng.randrange(1000), 0, "s", "f.csv", i, True, rng.randbytes(payload)) for i in range(count)]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(ROWS, st.integers(1, 3), st.sampled_from([1, 1000, 10**6]), st.sampled_from([1, 3, 64]), st.randoms(use_true_random=False))
def test_any_cut_of_any_input_comes_out_sorted(tmp_path_factory, rows, num_units, run_bytes, num_buckets, rng):
    folder = tmp_path_factory.mktemp("sort")
    shuffled = rng.sample(rows, len(rows))
    runs = write(folder, [shuffled[i::num_units] for i in range(num_units)], run_bytes=run_bytes, num_buckets=num_buckets)
    out = [list(merged(runs, bucket, folder)) for bucket in range(num_buckets)]
    assert out == [sorted(row for row in rows if bucket_of(row[0], num_buckets) == bucket) for bucket in range(num_buckets)]


def test_more_runs_than_may_be_open_are_merged_in_passes(tmp_path, monkeypatch):
    rows = rows_of(600)
    runs = write(tmp_path, [rows], run_bytes=3 * size_of(rows[0]), num_buckets=1)
    assert len(runs) == 200
    monkeypatch.setattr(groups_sort, "MERGE_RUNS", 8)
    is_open: list[int] = []
    original = groups_sort.Segment.rows

    def counted(segment):
        is_open.append(1)
        try:
            yield from original(segment)
        finally:
            is_open.pop()

    most = 0
    monkeypatch.setattr(groups_sort.Segment, "rows", counted)
    out = []
    for row in merged(runs, 0, tmp_path):
        most = max(most, len(is_open))
        out.append(row)
    assert out == sorted(rows)
    assert 2 <= most <= 8
    assert not list(tmp_path.glob("merge*"))  # nothing is left of the passes


def test_large_records_are_merged_fewer_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(groups_sort, "MERGE_BYTES", 3_000_000)
    rows = rows_of(12, payload=900_000)
    runs = write(tmp_path, [rows], run_bytes=1, num_buckets=1)
    segments = [groups_sort._segment(run, 0) for run in runs]
    assert groups_sort._fan_in(segments) == 3  # 0.9 MB each
    tracemalloc.start()
    try:
        total = sum(len(row[7]) for row in merged(runs, 0, tmp_path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == 12 * 900_000
    assert peak < 8_000_000  # of 10.8 MB


def test_memory_holds_one_run_or_one_batch_of_each_merged_run(tmp_path, monkeypatch):
    monkeypatch.setattr(groups_sort, "MERGE_RUNS", 4)
    monkeypatch.setattr(groups_sort, "BATCH_BYTES", 8_000)
    writer = RunWriter(lambda name: tmp_path / name, run_bytes=80_000, num_buckets=4)
    tracemalloc.start()
    try:
        for i in range(8_000):  # 2.8 MB as Python objects
            writer.add((f"e{i % 97}", i * 7919 % 1000, 0, "s", "f", i, True, b"%0100d" % i))
        writer.close()
        runs = sorted(tmp_path.glob("*.arrow"))
        assert sum(1 for bucket in range(4) for _ in merged(runs, bucket, tmp_path)) == 8_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(runs) > 50
    assert peak < 300_000


def test_a_run_says_which_batches_a_bucket_has(tmp_path):
    rows = rows_of(200)
    (run,) = write(tmp_path, [rows])
    with pa.ipc.open_file(str(run)) as reader:
        table = reader.read_all()
    assert table.schema.names == ["entity", "whole", "billionths", "source", "leaf", "number", "is_time", "fields"]
    buckets = [xxhash.xxh64_intdigest(entity.encode()) % 64 for entity in table["entity"].to_pylist()]
    assert buckets == sorted(buckets)
    assert len(set(buckets)) > 10


def test_close_counts_rows_by_bucket_and_writes_nothing_for_nothing(tmp_path):
    writer = RunWriter(lambda name: tmp_path / name)
    assert writer.close() == {}
    assert list(tmp_path.iterdir()) == []
    writer = RunWriter(lambda name: tmp_path / name)
    for row in [("a", 1, 0, "s", "f", 0, True, b"{}"), ("a", 0, 0, "s", "f", 1, True, b"{}")]:
        writer.add(row)
    assert writer.close() == {str(xxhash.xxh64_intdigest(b"a") % 64): 2}


def test_equal_input_gives_equal_bytes(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    rows = rows_of(500)
    first, second = write(tmp_path / "a", [rows]), write(tmp_path / "b", [rows[::-1]])
    assert [run.read_bytes() for run in first] == [run.read_bytes() for run in second]


@pytest.mark.parametrize("bucket", [0, 63])
def test_no_runs_no_rows(tmp_path, bucket):
    assert list(merged([], bucket, tmp_path)) == []
