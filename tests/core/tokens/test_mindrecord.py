"""MindRecord files: every row once through MindDataset, small when there is little, moved but never renamed."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import numpy as np
import pytest

from mspt.core.errors import InputError
from mspt.core.tokens import mindrecord
from mspt.core.tokens.rows import RowBatch
from support.disks import small_disk

S, D = 32, 4


def batch(first: int, count: int) -> RowBatch:
    ids = np.arange(first, first + count, dtype=np.int32)[:, None] * 100 + np.arange(S, dtype=np.int32)
    ends = np.full((count, D), S, dtype=np.int32)
    ends[:, 0] = 1 + (first + np.arange(count)) % S
    return RowBatch(ids, ids - 7, ends)


def write(folder: Path, name: str, first: int, count: int) -> Path:
    """Write in a building folder and move out, as the stage does."""
    building = folder / "building"
    building.mkdir(exist_ok=True, parents=True)
    path = building / name
    half = count // 2
    mindrecord.write(path, [batch(first, half), batch(first + half, count - half)], count, S, D)
    mindrecord.move(path, folder / name, folder / f"{name}.db")
    return folder / name


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("rows")
    return [write(folder, "train-00000.mindrecord", 0, 7), write(folder, "train-00001.mindrecord", 7, 6)]


def test_rows_come_back_in_order(files: list[Path]) -> None:
    found = list(mindrecord.read(files, batch_rows=5))
    for name in mindrecord.COLUMNS:
        expected = np.concatenate([getattr(batch(0, 7), name), getattr(batch(7, 6), name)])
        joined = np.concatenate([getattr(part, name) for part in found])
        assert joined.dtype == np.int32
        assert np.array_equal(joined, expected)


@pytest.mark.parametrize("num_shards", [1, 2, 3, 13])
def test_every_row_once_over_all_shards(files: list[Path], num_shards: int) -> None:
    rows = [int(i) // 100 for shard in range(num_shards) for part in mindrecord.read(files, num_shards, shard) for i in part.input_ids[:, 0]]
    assert sorted(rows) == list(range(13))


def test_minddataset_alone_reads_every_row_once_where_shards_are_even(files: list[Path]) -> None:
    import mindspore.dataset as ds

    rows = []
    for shard in range(13):
        data = ds.MindDataset([str(f) for f in files], columns_list=list(mindrecord.COLUMNS), num_shards=13, shard_id=shard, shuffle=False)
        rows += [int(row["input_ids"][0]) // 100 for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert sorted(rows) == list(range(13))


def test_a_nearly_empty_last_file_is_read_with_the_full_ones(tmp_path: Path) -> None:
    def rows(count: int) -> RowBatch:
        ids = np.zeros((count, 2048), dtype=np.int32)
        return RowBatch(ids, ids, np.full((count, D), 2048, dtype=np.int32))

    full, rest = tmp_path / "train-00000.mindrecord", tmp_path / "train-00001.mindrecord"
    mindrecord.write(full, [rows(600)], 600, 2048, D)
    mindrecord.write(rest, [rows(2)], 600, 2048, D)
    assert sum(len(part) for part in mindrecord.read([full, rest])) == 602
    row_bytes = 4 * (2 * 2048 + D)
    assert mindrecord.page_bytes(row_bytes, 2) < mindrecord.page_bytes(row_bytes, 600)


def test_the_last_column_is_the_one_that_lists_segments(files: list[Path]) -> None:
    assert mindrecord.COLUMNS[-1] == "actual_seq_len"


def test_small_files_are_small_and_bytes_repeat(tmp_path: Path, files: list[Path]) -> None:
    again = write(tmp_path, "train-00000.mindrecord", 0, 7)
    assert again.read_bytes() == files[0].read_bytes()
    assert mindrecord.database(again).read_bytes() == mindrecord.database(files[0]).read_bytes()
    assert again.stat().st_size < 256 * 1024  # 48 MiB with MindRecord's own sizes


@pytest.mark.parametrize(("row", "rows"), [(4 * (2 * 65536 + 128), 3), (2560, 100_000), (16_896, 8_000)])
def test_pages_hold_a_row_and_stay_few(row: int, rows: int) -> None:
    page = mindrecord.page_bytes(row, rows)
    assert page & (page - 1) == 0
    assert page >= row
    assert rows * row / page <= 64


def test_a_moved_folder_is_read_a_renamed_file_is_refused(tmp_path: Path, files: list[Path]) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(files[0].parent, moved)
    assert sum(len(part) for part in mindrecord.read([moved / files[0].name])) == 7
    shutil.move(moved / files[0].name, moved / "other.mindrecord")
    shutil.move(moved / f"{files[0].name}.db", moved / "other.mindrecord.db")
    with pytest.raises(InputError, match=r"other\.mindrecord: MindDataset refuses it"):
        list(mindrecord.read([moved / "other.mindrecord"]))
    with pytest.raises(InputError, match="missing"):
        list(mindrecord.read([moved / "gone.mindrecord"]))


def test_a_full_disk_is_said_as_the_system_says_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk, pytest.raises(OSError, match="No space left") as caught:
        mindrecord.write(disk / "rows.mindrecord", [batch(0, 4)], 4, S, D)
    assert caught.value.errno == errno.ENOSPC
