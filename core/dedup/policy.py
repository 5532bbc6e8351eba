"""Which of several copies stays: the order in which documents are considered.

Longest first (code points of the folded text, so that blanks do not win); then the source that stands first in the person's list, sources not
listed after those; ties by id. The order is total, so the outcome is the same in every run and with any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def policy_order(lengths: npt.NDArray[np.int64], sources: pa.Array, ids: pa.Array, source_priority: Sequence[str]) -> npt.NDArray[np.int64]:
    """Positions of documents, first the one that is never removed in favour of a later one. `ids` must be unique."""
    ranks = pc.fill_null(pc.index_in(sources, pa.array(source_priority, pa.string())), len(source_priority))
    table = pa.table({"shortness": -lengths, "source": ranks.cast(pa.int64()), "id": ids})
    order = pc.sort_indices(table, sort_keys=[("shortness", "ascending"), ("source", "ascending"), ("id", "ascending")])
    positions: npt.NDArray[np.int64] = order.to_numpy().astype(np.int64)
    return positions
