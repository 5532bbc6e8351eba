from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mspt.core.errors import InputError
from mspt.core.nn.batch import IGNORED, Batch, join
from mspt.core.nn.reader import PackedRows
from mspt.core.tokens.mindrecord import write
from mspt.core.tokens.rows import RowBatch

LENGTH, DOCUMENTS, VOCABULARY = 16, 4, 1000


def rows(numbers: range, **changes: object) -> RowBatch:
    """Row n is full of the token n."""
    ids = np.repeat(np.array(numbers, np.int32)[:, None], LENGTH, axis=1)
    arrays = {"input_ids": ids, "labels": ids, "actual_seq_len": np.full((len(ids), DOCUMENTS), LENGTH, np.int32)}
    return RowBatch(**{**arrays, **changes})  # type: ignore[arg-type]


def write_files(folder: Path, *batches: RowBatch) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"train-{index:05d}.mindrecord" for index in range(len(batches))]
    for path, batch in zip(paths, batches, strict=True):
        write(path, [batch], len(batch), LENGTH, DOCUMENTS)
    return paths


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> PackedRows:
    """37 rows in two files."""
    files = write_files(tmp_path_factory.mktemp("rows"), rows(range(20)), rows(range(20, 37)))
    return PackedRows.open(files, vocab_size=VOCABULARY)


def first_tokens(packed: PackedRows, first: int, count: int, size: int, seed: int = 1) -> list[int]:
    batches = itertools.islice(packed.batches(first=first, batch_size=size, seed=seed), count)
    return [int(token) for batch in batches for token in batch.input_ids[:, 0]]


def test_sizes_come_from_the_files(packed: PackedRows) -> None:
    assert (packed.num_rows, packed.length, packed.max_documents) == (37, LENGTH, DOCUMENTS)


def test_every_epoch_has_every_row_once_in_an_order_of_its_own(packed: PackedRows) -> None:
    tokens = first_tokens(packed, 0, 37, 4)  # 37 batches of 4: four epochs, batches lie across their borders
    epochs = [tokens[start : start + 37] for start in range(0, 148, 37)]
    assert all(sorted(epoch) == list(range(37)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    assert tokens != first_tokens(packed, 0, 37, 4, seed=2)


def test_phases_follow_each_other_in_every_epoch(packed: PackedRows) -> None:
    """Rows 0-9, 10-29 and 30-36: each mixed inside of itself, also where a run starts in the middle."""
    phased = replace(packed, phases=(0, 10, 30))
    tokens = first_tokens(phased, 0, 74, 1)
    for epoch in (tokens[:37], tokens[37:]):
        assert [sorted(epoch[:10]), sorted(epoch[10:30]), sorted(epoch[30:])] == [list(range(10)), list(range(10, 30)), list(range(30, 37))]
        assert epoch[10:30] != sorted(epoch[10:30])
    assert tokens[:37] != tokens[37:]
    assert first_tokens(phased, 33, 3, 4) == tokens[33:45]


@pytest.mark.parametrize("first", [0, 8, 36, 60, 111])
def test_reading_from_any_row_on_gives_what_would_have_come(packed: PackedRows, first: int) -> None:
    whole = first_tokens(packed, 0, 148, 1)
    assert first_tokens(packed, first, 8, 4) == whole[first : first + 32]


def test_batches_larger_than_the_data_are_filled_by_later_epochs(packed: PackedRows) -> None:
    tokens = first_tokens(packed, 0, 1, 100)
    assert sorted(tokens[:37]) == sorted(tokens[37:74]) == list(range(37))


def test_validation_reads_each_row_once_in_the_files_order(packed: PackedRows) -> None:
    whole = join(list(packed.once(batch_size=8)))
    assert whole.num_rows == 40, "the last batch is filled up"
    assert whole.input_ids[:37, 0].tolist() == list(range(37))
    assert (whole.labels[37:] == IGNORED).all()
    assert join(list(packed.once(8, limit=10))).num_valid == 10 * LENGTH


def test_chosen_rows_are_all_there_is(packed: PackedRows) -> None:
    few = packed.choose([3, 10, 36])
    assert join(list(few.once(2))).input_ids[:3, 0].tolist() == [3, 10, 36]
    assert sorted(first_tokens(few, 0, 3, 1)) == [3, 10, 36]


def test_batches_split_into_micro_batches_in_order() -> None:
    ids = np.arange(12, dtype=np.int32).reshape(4, 3)
    parts = Batch(ids, ids, ids).split(2)
    assert [part.input_ids.tolist() for part in parts] == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"input_ids": np.full((2, LENGTH), VOCABULARY, np.int32)}, "vocabulary of 1000"),
        ({"labels": np.full((2, LENGTH), -1, np.int32)}, "label -1"),
        ({"actual_seq_len": np.array([[9, 4, LENGTH, LENGTH]] * 2, np.int32)}, r"document ends \[9, 4, 16, 16\]"),
        ({"actual_seq_len": np.array([[4, 9, 12, 12]] * 2, np.int32)}, "do not ascend to 16"),
    ],
)
def test_a_row_that_breaks_the_format_is_named(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    files = write_files(tmp_path / "broken", rows(range(2), **changes))
    with pytest.raises(InputError, match=said):
        PackedRows.open(files, vocab_size=VOCABULARY)


def test_a_broken_row_in_the_middle_stops_there(tmp_path: Path) -> None:
    labels = np.full((6, LENGTH), 5, np.int32)
    labels[4, 7] = -7
    packed = PackedRows.open(write_files(tmp_path / "later", rows(range(6), labels=labels)), vocab_size=VOCABULARY)
    with pytest.raises(InputError, match=r"row 4 of .* has the label -7"):
        list(packed.once(2))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train-9\.mindrecord"):
        PackedRows.open([tmp_path / "train-9.mindrecord"], vocab_size=10)
