"""Rows for masked language models: one piece of one document each, in rows of a few lengths.

    input_ids        prefix t1 .. tn eos pad pad          unmasked: what is masked is chosen when a batch is made, from (seed, row, epoch)
    labels           -100   t1 .. tn -100 -100 -100       the id to restore; -100 where nothing is ever masked
    attention_mask   1      1  .. 1  1   0   0
    token_type_ids   0      0  .. 0  0   0   0            one segment
    span_ids         0      1  .. 4  0   0   0            a masked phrase has one span_id throughout (masking.py)
    mask_rates       0     1500 .. 0 0   0   0            of 10,000

All columns int32 [L], L the row length of the bucket.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mspt.core.tokens.masking import RUN, Runs, expand
from mspt.core.tokens.rows import IGNORED, Segments

COLUMNS = ("input_ids", "labels", "attention_mask", "token_type_ids", "span_ids", "mask_rates")
SPECIALS = 2  # prefix and eos
WHOLE = 10_000  # of mask_rates
_PLACE = np.dtype([("offset", "<i8"), ("count", "<i4")])

Array = npt.NDArray[np.int32]


@dataclass(frozen=True)
class RunFile:
    """Runs of all documents one after another in `path`, and in `path`.places where those of each document lie (none: count 0)."""

    path: Path

    @property
    def places(self) -> Path:
        return self.path.with_suffix(".places")


class RunWriter:
    """Fills a RunFile of `number` documents, in any order."""

    def __init__(self, file: RunFile, number: int) -> None:
        self.runs: BinaryIO = file.path.open("wb")
        self.places: BinaryIO = file.places.open("w+b")
        self.places.truncate(number * _PLACE.itemsize)
        self.at = 0

    def add(self, document: int, runs: Runs) -> None:
        self.runs.write(runs.tobytes())
        self.places.seek(document * _PLACE.itemsize)
        self.places.write(np.array([(self.at, len(runs))], _PLACE).tobytes())
        self.at += len(runs)

    def close(self) -> None:
        self.runs.close()
        self.places.close()


class RunReader:
    """Runs by document, two reads each."""

    def __init__(self, file: RunFile) -> None:
        self.runs = os.open(file.path, os.O_RDONLY)
        self.places = os.open(file.places, os.O_RDONLY)

    def at(self, document: int) -> Runs:
        """A document without spans is one run without a tag."""
        offset, count = np.frombuffer(os.pread(self.places, _PLACE.itemsize, document * _PLACE.itemsize), _PLACE)[0].tolist()
        if not count:
            return np.array([(0, -1)], RUN)
        return np.frombuffer(os.pread(self.runs, count * RUN.itemsize, offset * RUN.itemsize), RUN)

    def close(self) -> None:
        os.close(self.runs)
        os.close(self.places)


def fill_rows(segments: Segments, length: int, prefix_id: int, eos_id: int, pad_id: int, runs: RunReader, rates: Sequence[int]) -> Mapping[str, Array]:
    """One row for each piece, as `COLUMNS` of int32 [pieces, length]."""
    number = len(segments.pieces)
    found: dict[str, Any] = {name: np.zeros((number, length), np.int32) for name in COLUMNS}
    found["input_ids"][:] = pad_id
    found["labels"][:] = IGNORED
    for r, (document, start, size) in enumerate(segments.pieces[["document", "start", "length"]].tolist()):
        tokens = segments.labels(r)
        inside = slice(1, size + 1)
        found["input_ids"][r, 0], found["input_ids"][r, inside], found["input_ids"][r, size + 1] = prefix_id, tokens, eos_id
        found["attention_mask"][r, : size + SPECIALS] = 1
        if size:
            span_ids, mask_rates = expand(runs.at(document), start, size, rates)
            found["span_ids"][r, inside], found["mask_rates"][r, inside] = span_ids, mask_rates
            found["labels"][r, inside] = np.where(mask_rates > 0, tokens, IGNORED)
    return found


def parse_rates(default: float, named: Mapping[str, float], tags: Sequence[str]) -> list[int]:
    """Rates in ten-thousandths by tag, the last one without a tag."""
    return [round(named.get(tag, default) * WHOLE) for tag in tags] + [round(default * WHOLE)]
