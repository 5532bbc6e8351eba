"""Which of several copies stays: the order in which documents are considered.

    longest    code points of the folded text, so that blanks do not win: more first
    source     the source that stands first in the person's list; sources not listed after those
    newest     column `date` as it is written, year to second, what is not stated counting as 0; documents without a date last
    quality    column `quality` (of score): higher first, documents without one last

A person may change their order or leave some out. Ties by id, so the order is total: the outcome is the same in every run and with any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Criterion = Literal["longest", "source", "newest", "quality"]
# ISO 8601 as far as it goes, without the zone.
_DATE = r"^(?P<y>\d{4})(?:-(?P<m>\d\d)(?:-(?P<d>\d\d)(?:[T ](?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d))?)?)?)?"
_PARTS = (("y", 10**10), ("m", 10**8), ("d", 10**6), ("H", 10**4), ("M", 100), ("S", 1))
_WORST = -np.inf


@dataclass(frozen=True)
class Standing:
    """What decides between documents, each [documents]: `source_ranks` 0 is best, `dates` 0 is none, `qualities` -inf is none, `ids` 16 bytes each."""

    lengths: npt.NDArray[np.int64]
    source_ranks: npt.NDArray[np.int32]
    dates: npt.NDArray[np.int64]
    qualities: npt.NDArray[np.float64]
    ids: npt.NDArray[np.uint8]


def policy_order(standing: Standing, criteria: Sequence[Criterion]) -> npt.NDArray[np.int64]:
    """Positions of documents, first the one that is never removed in favour of a later one. Ids must be unique."""
    halves = standing.ids.view(">u8")  # [documents, 2]
    columns: dict[str, npt.NDArray[Any]] = {  # smaller is better
        "longest": -standing.lengths,
        "source": standing.source_ranks,
        "newest": -standing.dates,
        "quality": -standing.qualities,
    }
    keys: list[npt.NDArray[Any]] = [halves[:, 1], halves[:, 0]]  # np.lexsort: the last key counts first
    keys += [columns[criterion] for criterion in reversed(criteria)]
    order: npt.NDArray[np.int64] = np.lexsort(keys)
    return order


def source_ranks(sources: Sequence[str], priority: Sequence[str]) -> npt.NDArray[np.int32]:
    """The rank of each source."""
    return np.array([priority.index(source) if source in priority else len(priority) for source in sources], np.int32)


def date_numbers(dates: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """ "2019-05-03" as 20190503000000; 0 for what is no date."""
    parts = pc.extract_regex(pc.cast(dates, pa.string()), _DATE)
    numbers = np.zeros(len(dates), np.int64)
    for name, factor in _PARTS:
        digits = pc.struct_field(parts, name)
        digits = pc.if_else(pc.equal(pc.fill_null(digits, ""), ""), "0", pc.fill_null(digits, "0"))
        numbers += pc.cast(digits, pa.int64()).to_numpy() * factor
    return numbers


def quality_numbers(qualities: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Nulls and NaN as -inf."""
    found = pc.fill_null(pc.cast(qualities, pa.float64()), np.nan).to_numpy()
    return np.where(np.isnan(found), _WORST, found)
