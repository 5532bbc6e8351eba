"""The global shuffle by blocks: nothing lost, every window of rows a fair sample of the mixture, and the same rows however the items came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mspt.core.tokens import blocks
from mspt.core.tokens.blocks import Block, Buckets, num_blocks, read_rows
from mspt.core.tokens.cutting import break_levels
from mspt.core.tokens.documents import record_type
from mspt.core.tokens.items import Cutter, make_items
from mspt.core.tokens.packing import ITEM, Packed, Packing

S = 256


class Zeros:
    """Stands for TokenFiles where only lengths matter."""

    def read(self, source: int, start: int, length: int) -> np.ndarray:
        return np.zeros(length, np.uint16)


def documents(seed: int = 0) -> np.ndarray:
    """Three sources of very different documents: short web pages, long books, code; in order of their sources, as on disk."""
    rng = np.random.default_rng(seed)
    sizes = [rng.lognormal(np.log(m), 1.0, n).astype(int) + 1 for m, n in ((60, 8_000), (20_000, 60), (200, 2_500))]
    records = np.zeros(sum(map(len, sizes)), record_type(8))
    records["tokens"] = np.concatenate(sizes)
    records["source"] = np.repeat([0, 1, 2], [len(s) for s in sizes])
    records["order"] = rng.integers(0, 2**63, len(records))
    records["id"] = [f"{i:08d}".encode() for i in range(len(records))]
    return records


def pack(folder: Path, records: np.ndarray, copies: np.ndarray, method: str = "best-fit", step: int = 1000) -> tuple[list[Packed], np.ndarray]:
    """(blocks, pieces of all rows)."""
    packing = Packing(S, 128, 0.005, method)
    cutter = Cutter(Zeros(), packing, break_levels([b"x"]), np.ones(1, np.int32))
    number = num_blocks(int((copies[0] * records["tokens"]).sum()), int(copies.sum()), S)
    group = Buckets(folder, f"{method}-{step}", number)
    for first in range(0, len(records), step):
        for _, items in make_items(first, records[first : first + step], copies[:, first : first + step], cutter):
            group.add(items)
    found, saved, rows = [], [], 0
    for path, packed in group.pack(packing, 5):
        saved.append(Block.save(path, packed, rows))
        rows += packed.num_rows
        found.append(packed)
    return found, read_rows(tuple(saved), 0, rows)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 2,000 rows, so that there are several."""
    monkeypatch.setattr(blocks, "MAX_ROWS", 2_000)


@pytest.mark.parametrize(("method", "block"), [("best-fit", 2_000), ("concat", 2**16)])
def test_in_windows_of_a_thousand_rows_every_source_has_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, block: int) -> None:
    """A mixture that repeats books twice and draws half of the web: within 4 standard errors of a window's mean. A stream keeps a document in one block, so
    that small blocks with few books differ; pieces of best-fit go to blocks one by one.
    """
    monkeypatch.setattr(blocks, "MAX_ROWS", block)
    records = documents()
    rng = np.random.default_rng(1)
    copies = np.where(records["source"] == 1, 2, np.where(records["source"] == 0, rng.integers(0, 2, len(records)), 1))[None, :]
    found, pieces = pack(tmp_path, records, copies, method)
    assert len(found) > 3 or method == "concat"
    rows = int(pieces["row"].max()) + 1
    tokens = np.zeros((rows, 3))
    np.add.at(tokens, (pieces["row"], records["source"][pieces["document"]]), pieces["length"])
    shares = tokens / tokens.sum(axis=1, keepdims=True)
    windows = shares[: rows // 1000 * 1000].reshape(-1, 1000, 3).mean(axis=1)
    errors = shares.std(axis=0) / np.sqrt(1000)
    assert len(windows) >= 8
    assert (np.abs(windows - shares.mean(axis=0)) <= 4 * errors).all()


@pytest.mark.parametrize("method", ["best-fit", "concat"])
def test_every_position_of_every_copy_once(tmp_path: Path, small: None, method: str) -> None:
    records = documents(3)[:9_000]
    copies = np.random.default_rng(2).integers(0, 3, len(records))[None, :]
    found, pieces = pack(tmp_path, records, copies, method)
    first = np.cumsum(records["tokens"]) - records["tokens"]
    seen = np.zeros(int(records["tokens"].sum()) + 1, np.int64)
    np.add.at(seen, first[pieces["document"]] + pieces["start"], 1)
    np.add.at(seen, first[pieces["document"]] + pieces["start"] + pieces["length"], -1)
    assert np.array_equal(np.cumsum(seen)[:-1], np.repeat(copies[0], records["tokens"]))
    assert (np.bincount(pieces["row"], weights=pieces["length"]) <= S).all()
    padding = 1 - pieces["length"].sum() / ((int(pieces["row"].max()) + 1) * S)
    assert padding <= 0.005
    assert sum(p.num_rows for p in found) == int(pieces["row"].max()) + 1


def test_the_rows_do_not_depend_on_how_the_items_came(tmp_path: Path, small: None) -> None:
    records = documents(4)
    copies = np.ones((1, len(records)), np.int64)
    _, whole = pack(tmp_path, records, copies, step=100_000)
    _, parts = pack(tmp_path, records, copies, step=777)
    assert np.array_equal(whole, parts)


def test_any_stretch_of_rows_is_read_over_blocks(tmp_path: Path, small: None) -> None:
    records = documents(5)
    found, pieces = pack(tmp_path, records, np.ones((1, len(records)), np.int64))
    saved, rows = [], 0
    for number, packed in enumerate(found):
        saved.append(Block.save(tmp_path / f"again-{number}.pieces", packed, rows))
        rows += packed.num_rows
    for first, last in ((0, 10), (1_990, 2_010), (rows - 5, rows), (100, rows - 100)):
        mine = tuple(b for b in saved if b.first_row < last and first < b.first_row + b.num_rows)
        expected = pieces[(pieces["row"] >= first) & (pieces["row"] < last)].copy()
        expected["row"] -= first
        assert np.array_equal(read_rows(mine, first, last), expected)


def test_blocks_are_bounded_by_rows_and_by_items() -> None:
    assert num_blocks(1, 1, 2048) == 1
    assert num_blocks(2**14 * 2048 + 1, 10, 2048) == 2
    assert num_blocks(10, 3 * 2**18, 2048) == 3


def test_an_empty_group_has_no_rows(tmp_path: Path) -> None:
    group = Buckets(tmp_path, "empty", 3)
    group.add(np.empty(0, ITEM))
    assert list(group.pack(Packing(S, 128), 0)) == []
