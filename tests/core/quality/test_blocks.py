"""Blocks against their definition: sort everything by (source, ref), cut every source into stretches."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.quality import blocks
from mspt.core.quality.blocks import RUN, Run, as_table, cut_into_blocks, read_places, write_run


def cut(folder, shards, size, groups_at_once=blocks.GROUPS_AT_ONCE):
    """shards: lists of (source, ref, quality, characters). The blocks, and the block of each row of each shard."""
    runs, places = [], [folder / f"places-{i}" for i in range(len(shards))]
    for number, rows in enumerate(shards):
        table = pa.Table.from_pylist([{"source": s, "ref": r, "row": i, "quality": q, "characters": c} for i, (s, r, q, c) in enumerate(rows)], RUN)
        path = folder / f"run-{number}.parquet"
        runs.append(Run(path, tuple(write_run(path, table))))
        places[number].unlink(missing_ok=True)
    found = list(cut_into_blocks(runs, size, places, groups_at_once))
    return found, [read_places(path, len(rows)).tolist() for path, rows in zip(places, shards, strict=True)]


def test_by_hand(tmp_path):
    shards = [[("web", "b#1", 0.5, 10), ("web", "b#0", 0.25, 20), ("news", "x", 1.0, 5)], [("web", "a", 0.75, 30), ("web", "c", 0.0, 1)]]
    found, places = cut(tmp_path, shards, 2)
    assert [(b.number, b.source, b.first_ref, b.last_ref, b.documents, b.characters, b.quality) for b in found] == [
        (0, "news", "x", "x", 1, 5, 1.0),
        (1, "web", "a", "b#0", 2, 50, 0.5),
        (2, "web", "b#1", "c", 2, 11, 0.25),
    ]
    assert places == [[2, 1, 0], [1, 2]]
    assert as_table(found).to_pylist()[2] == {
        "block": 2, "source": "web", "first_ref": "b#1", "last_ref": "c", "documents": 2, "characters": 11, "quality": 0.25
    }  # fmt: skip


def test_nothing_gives_no_block_and_rows_in_none_are_minus_one(tmp_path):
    assert cut(tmp_path, [[], []], 1000) == ([], [[], []])
    assert read_places(tmp_path / "missing", 3).tolist() == [-1, -1, -1]


NAMES = st.text(st.sampled_from("ab\U0001f600\uffff\n\0'\""), max_size=3)


@given(
    st.lists(st.tuples(NAMES, NAMES, st.floats(0, 1, width=32), st.integers(0, 9)), unique_by=lambda row: row[:2], max_size=40),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_any_documents_in_any_shards(tmp_path_factory, rows, num_shards, size, group_rows, groups_at_once):
    shards = [rows[i::num_shards] for i in range(num_shards)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "GROUP_ROWS", group_rows)
        found, places = cut(tmp_path_factory.mktemp("cut"), shards, size, groups_at_once)
    expected: list[list[tuple[str, str, float, int]]] = []
    for row in sorted(rows, key=lambda row: (row[0].encode(), row[1].encode())):
        if not expected or expected[-1][0][0] != row[0] or len(expected[-1]) == size:
            expected.append([])
        expected[-1].append(row)
    assert [(b.first_ref, b.last_ref, b.documents, b.characters) for b in found] == [(e[0][1], e[-1][1], len(e), sum(r[3] for r in e)) for e in expected]
    assert [b.quality for b in found] == pytest.approx([sum(r[2] for r in e) / len(e) for e in expected])
    assert [b.number for b in found] == list(range(len(expected)))
    numbers = {row[:2]: number for number, block in enumerate(expected) for row in block}
    assert places == [[numbers[row[:2]] for row in shard] for shard in shards]
