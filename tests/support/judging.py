"""Near-duplicate search over texts in memory, step by step as the dedup stage does it over shards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.lsh import Verdicts, candidates, first_copies, select, verdicts
from mspt.core.dedup.policy import policy_order
from mspt.core.dedup.shingles import shingle_sets
from mspt.core.dedup.sketch import Sketch, SketchSettings, sketch


def judge(texts: list[str], threshold: float, settings: SketchSettings, ids: list[int] | None = None) -> tuple[Verdicts, npt.NDArray[np.int64], Sketch]:
    """Verdicts, policy order and sketches; ids in order of the texts unless they are given."""
    column = pa.array(texts, pa.string())
    sketches = sketch(column, settings)
    names = pa.array([f"{i:06d}" for i in ids or range(len(texts))], pa.string())
    order = policy_order(sketches.lengths, pa.array(["s"] * len(texts), pa.string()), names, ())
    firsts = first_copies(sketches.exact, order)
    grouped = candidates(sketches, firsts, order)
    sets = shingle_sets(column, settings.size).select(grouped.members)
    return verdicts(firsts, grouped, *select(grouped, sets, threshold)), order, sketches
