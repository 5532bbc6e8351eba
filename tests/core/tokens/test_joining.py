"""The table of documents does not depend on how its parts were cut, and says what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mspt.core.tokens import joining
from mspt.core.tokens.joining import DOCUMENTS, PART, part_lengths, write_documents

SIZES = {"a": [3, 0, 4], "long name \u8bcd": [9], "z": [1, 1, 30]}


def parts_of(folder: Path, sizes: dict[str, list[int]]) -> list[tuple[str, list[Path]]]:
    found: list[tuple[str, list[Path]]] = []
    for source, counts in sizes.items():
        paths, first = [], 0
        for number, count in enumerate(counts):
            paths.append(folder / f"{source}-{number}-{len(counts)}.parquet")
            ids = [f"{source}\u00e9{i}" * (1 + i % 3) for i in range(first, first + count)]
            numbers = np.arange(first, first + count)
            pq.write_table(pa.table([ids, numbers + 5, numbers * 7], schema=PART), paths[-1], row_group_size=2)
            first += count
        found.append((source, paths))
    return found


@pytest.mark.parametrize("group", [4, 5, 1000])
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_rows_and_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, batch: int) -> None:
    monkeypatch.setattr(joining, "ROW_GROUP", group)
    monkeypatch.setattr(joining, "BATCH", batch)
    parts = parts_of(tmp_path, SIZES)
    total = sum(map(sum, SIZES.values()))
    assert write_documents(tmp_path / "table.parquet", parts) == total
    expected = [
        {"sequence": i, "id": row["id"], "source": source, "num_tokens": i + 5, "num_bytes": i * 7}
        for source, paths in parts
        for i, row in enumerate(row for path in paths for row in pq.read_table(path).to_pylist())
    ]
    assert pq.read_table(tmp_path / "table.parquet").to_pylist() == expected
    metadata = pq.read_metadata(tmp_path / "table.parquet")
    counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert counts == [group] * (total // group) + ([total % group] if total % group else [])
    assert [int(n) for lengths in part_lengths(parts[2][1]) for n in lengths] == list(range(5, 37))


def test_bytes_do_not_depend_on_the_cut(tmp_path: Path) -> None:
    """They are those of one table written as a whole."""
    write_documents(tmp_path / "one.parquet", parts_of(tmp_path, {"a": [40_000]}))
    write_documents(tmp_path / "many.parquet", parts_of(tmp_path, {"a": [1, 17_000, 22_999]}))
    rows = pq.read_table(tmp_path / "one.parquet").combine_chunks()
    options = {"compression_level": joining.ZSTD_LEVEL, "use_dictionary": joining.DICTIONARY, "row_group_size": joining.ROW_GROUP}
    pq.write_table(rows, tmp_path / "whole.parquet", compression="zstd", **options)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "many.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_no_document_is_an_empty_table(tmp_path: Path) -> None:
    assert write_documents(tmp_path / "table.parquet", []) == 0
    assert pq.read_table(tmp_path / "table.parquet").schema.equals(DOCUMENTS)
