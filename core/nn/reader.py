"""Packed rows out of MindRecord files, in an order that is a pure function of (seed, epoch).

    rows = PackedRows.open(files, vocab_size=32000)
    for batch in rows.batches(first=trained_rows, batch_size=64, seed=1):    # endless: epoch after epoch, each in an order of its own

Phases of a mixture follow each other in every epoch; rows are mixed inside of each.

Row number r of a run (from 0) is row `order(seed, r // n)[r % n]` of the files in the given order, whatever was read before: a run resumes at
row r by handing the sampler the indices from r on. (`dataset.skip` would read and drop every row before it: 29,000 rows/s.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import mindspore.dataset as ds
import numpy as np
import numpy.typing as npt

from mspt.core.errors import InputError
from mspt.core.nn.batch import IGNORED, Batch, join

COLUMNS = ("input_ids", "labels", "actual_seq_len")
# Rows that one MindDataset reads. A new one costs 5-50 ms, and its sampler refuses more indices than the files have rows.
ROWS_PER_DATASET = 8192
ROWS_AT_ONCE = 64  # that cross from C++ to Python together: one by one each costs 50 us more
READER_THREADS = 2  # 2048-token rows: 82 M tokens/s with two, far above any training step


@dataclass(frozen=True)
class PackedRows:
    """The rows of a set of MindRecord files."""

    files: tuple[Path, ...]
    num_rows: int
    length: int
    max_documents: int
    vocab_size: int
    chosen: tuple[int, ...] | None = None  # the rows of the files that these are; None: all
    phases: tuple[int, ...] = (0,)  # the first row of each phase, ascending from 0

    @classmethod
    def open(cls, files: Sequence[Path], *, vocab_size: int, phases: tuple[int, ...] = (0,)) -> PackedRows:
        """Read the sizes and check the first row. Raises InputError where the files are missing, empty or hold other columns."""
        missing = [file for file in files for part in (file, file.with_name(file.name + ".db")) if not part.is_file()]
        if missing or not files:
            raise InputError(f"no MindRecord file at {missing[0] if missing else '(none given)'}", "verify the mindrecord artifact, or pack again")
        dataset = ds.MindDataset([str(file) for file in files], shuffle=False)
        columns = dataset.get_col_names()
        if not set(COLUMNS) <= set(columns):
            raise InputError(f"{files[0].name} has the columns {', '.join(columns)}, packed rows need {', '.join(COLUMNS)}", "pack with the causal layout")
        first = next(read_rows(files, np.zeros(1, np.int64)), None)
        if first is None:
            raise InputError(f"{files[0].name} and its {len(files) - 1} sisters hold no row", "pack more documents")
        rows = cls(tuple(files), dataset.get_dataset_size(), first.input_ids.shape[1], first.actual_seq_len.shape[1], vocab_size, phases=phases)
        rows.check(first, 0)
        return rows

    def choose(self, numbers: Sequence[int]) -> PackedRows:
        """Only these rows, in this order, as one phase."""
        return replace(self, num_rows=len(numbers), chosen=tuple(numbers), phases=(0,))

    def read(self, numbers: npt.NDArray[np.int64]) -> Iterator[Batch]:
        """The rows of these numbers, each as a batch of one."""
        return read_rows(self.files, numbers if self.chosen is None else np.array(self.chosen)[numbers])

    def order(self, seed: int, epoch: int) -> npt.NDArray[np.int64]:
        """The permutation of the rows in an epoch: phase after phase."""
        random = np.random.Generator(np.random.Philox(key=[seed, epoch]))
        order: npt.NDArray[np.int64] = np.concatenate([start + random.permutation(end - start) for start, end in pairwise((*self.phases, self.num_rows))])
        return order

    def indices(self, first: int, count: int, seed: int) -> npt.NDArray[np.int64]:
        """Which rows of the files are the rows first .. first + count - 1 of the run."""
        numbers = np.arange(first, first + count)
        epochs = range(first // self.num_rows, (first + count - 1) // self.num_rows + 1)
        orders = np.concatenate([self.order(seed, epoch) for epoch in epochs])
        found: npt.NDArray[np.int64] = orders[numbers - epochs.start * self.num_rows]
        return found

    def batches(self, *, first: int, batch_size: int, seed: int) -> Iterator[Batch]:
        """Batches from row `first` on, without end. A batch may lie across two epochs, so every epoch has every row once.

        Raises InputError naming the row where one breaks the format.
        """
        held: list[Batch] = []
        step = max(1, min(ROWS_PER_DATASET, self.num_rows))
        while True:
            for offset, row in enumerate(self.read(self.indices(first, step, seed))):
                self.check(row, first + offset)
                held.append(row)
                if len(held) == batch_size:
                    yield join(held)
                    held = []
            first += step

    def once(self, batch_size: int, limit: int | None = None) -> Iterator[Batch]:
        """The first `limit` rows (default all) in the files' order, each once; the last batch is filled up with rows that have no label."""
        count = min(self.num_rows, limit or self.num_rows)
        for start in range(0, count, batch_size):
            rows = list(self.read(np.arange(start, min(start + batch_size, count))))
            for offset, row in enumerate(rows):
                self.check(row, start + offset)
            yield join(rows + [rows[-1].unlabelled()] * (batch_size - len(rows)))

    def check(self, row: Batch, number: int) -> None:
        """Shapes, ids in the vocabulary, labels in it or IGNORED, ends ascending up to the row's length."""
        ids, labels, ends = row.input_ids, row.labels, row.actual_seq_len
        problem = None
        if ids.shape != (1, self.length) or labels.shape != ids.shape or ends.shape != (1, self.max_documents):
            problem = f"shapes {ids.shape[1:]}, {labels.shape[1:]}, {ends.shape[1:]} beside rows of {self.length} with {self.max_documents} ends"
        elif ids.min() < 0 or max(ids.max(), labels.max()) >= self.vocab_size:
            problem = f"token ids from {ids.min()} to {max(ids.max(), labels.max())} in a vocabulary of {self.vocab_size}"
        elif ((labels < 0) & (labels != IGNORED)).any():
            problem = f"the label {labels[(labels < 0) & (labels != IGNORED)][0]}, neither a token nor {IGNORED}"
        elif (np.diff(ends) < 0).any() or ends[0, 0] < 0 or ends[0, -1] != self.length:
            problem = f"document ends {ends[0, :8].tolist()}... that do not ascend to {self.length}"
        if problem:
            raise InputError(f"row {number} of {self.files[0].parent} has {problem}", "run `mspt verify` on the mindrecord artifact, or pack again")


def read_rows(files: Sequence[Path], indices: npt.NDArray[np.int64]) -> Iterator[Batch]:
    """The rows of these numbers (over all files in order), in this order, each as a batch of one."""
    dataset = ds.MindDataset(
        [str(file) for file in files], columns_list=list(COLUMNS), num_parallel_workers=READER_THREADS, sampler=ds.SubsetSampler(indices.tolist())
    ).batch(min(ROWS_AT_ONCE, len(indices)))
    for columns in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True):
        for row in range(len(columns[0])):
            yield Batch(*(column[row : row + 1] for column in columns))
