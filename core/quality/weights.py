"""How often a document is wanted: a positive weight, relative to the other documents of its source.

The field's formula is nearly flat: between 50 and 100,000 characters the best and the worst document differ by a factor of 1.05 to 1.18, and
repeat_ratio moves it by 2 %. So the effective spread is printed with it. A weight may be any expression over the columns instead (core/grammar.py), and
`strong` is one that chooses. Texts of 2,000 characters:

    quality  repeat_ratio   default   strong
    1.0      0.0            .88       .96
    0.5      0.0            .85       .52
    0.5      0.5            .85       .28
    0.2      0.0            .83       .15
    0.2      1.0            .82       .02

The default is computed with `math`, one document at a time: NumPy's exp and log differ in the last bit between machines. Expressions are computed by
pyarrow, whose exp and ln are those of the C library too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mspt.core.errors import InputError
from mspt.core.expression import Expression, parse

FLAT_BELOW = 1.5  # p95 / p5 under which weights hardly choose anything
DEFAULT = "default"
PRESETS = {"strong": "sigmoid(6 * quality - 3 + 0.1 * ln(max(characters, 1) / 1000) - 2 * coalesce(repeat_ratio, 0))"}
WHERE = "[score] weight"


@dataclass(frozen=True)
class Coefficients:
    """weight = sigmoid(quality * q + length * ln(characters) + repeat * repeat_ratio)."""

    quality: float = 0.5
    length: float = 0.2
    repeat: float = -0.1


def weight(quality: float, characters: int, repeat_ratio: float, coefficients: Coefficients) -> float:
    """Weight in (0, 1) of one document; an empty one counts as one character."""
    x = coefficients.quality * quality + coefficients.length * math.log(max(1, characters)) + coefficients.repeat * repeat_ratio
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def parse_weight(text: str) -> Expression | None:
    """What `[score] weight` says: None for the default formula, a preset by name, or an expression. MsptError where it is none of these."""
    return None if text == DEFAULT else parse(PRESETS.get(text, text), WHERE)


def weights(table: pa.Table, expression: Expression | None, coefficients: Coefficients) -> pa.Array:
    """float64, one for each row, all > 0 and finite. Columns: quality, characters, repeat_ratio (null counts as 0), or those of the expression, and `ref`.

    InputError where a row gets no weight, or one that is not positive: it names the row and the columns that are null in it.
    """
    if expression is None:
        columns = [table.column(name).to_pylist() for name in ("quality", "characters", "repeat_ratio")]
        numbers = pa.array([weight(q, n, r or 0.0, coefficients) for q, n, r in zip(*columns, strict=True)], pa.float64())
    else:
        numbers = expression.numbers(table)
        numbers = numbers.combine_chunks() if isinstance(numbers, pa.ChunkedArray) else numbers
    sound = pc.fill_null(pc.and_(pc.greater(numbers, 0.0), pc.is_finite(numbers)), False)
    if sound.false_count:
        raise _no_weight(table, expression, numbers, int(pc.index(sound, False).as_py()))
    return numbers


def _no_weight(table: pa.Table, expression: Expression | None, numbers: pa.Array, row: int) -> InputError:
    value, ref = numbers[row].as_py(), table.column("ref")[row].as_py()
    if expression is None:
        return InputError(
            f"[score] weight default: {value:g} for {ref}, a weight must be positive", "quality, length and repeat are its coefficients: nearer to 0"
        )
    place = f"{expression.where} `{expression.text}`"
    if value is not None and value > 0:
        return InputError(f"{place}: {value:g} for {ref}, a weight must be finite", "min(..., 100) sets a ceiling")
    if value is not None:
        return InputError(f"{place}: {value:g} for {ref}, a weight must be positive", "sigmoid(...) and exp(...) are; max(..., 0.01) sets a floor")
    missing = [name for name in expression.columns if table.column(name)[row].as_py() is None]
    if missing:
        return InputError(f"{place}: no value for {ref}: {', '.join(missing)} is null there", f"coalesce({missing[0]}, 0) puts a number in its place")
    return InputError(f"{place}: no value for {ref}: ln of 0, division by 0 or overflow", "clip(...) or max(...) keeps arguments within bounds")


@dataclass(frozen=True)
class Spread:
    """Nearest-rank percentiles of weights and their ratio p95 / p5."""

    p5: float
    p50: float
    p95: float

    @property
    def ratio(self) -> float:
        return self.p95 / self.p5

    @property
    def flat(self) -> bool:
        return self.ratio < FLAT_BELOW


def spread(weights: Sequence[float]) -> Spread | None:
    """The effective spread of the weights of live documents; None without any."""
    if not weights:
        return None
    ordered = sorted(weights)
    return Spread(*(percentile(ordered, share) for share in (0.05, 0.50, 0.95)))


def percentile(ordered: Sequence[float] | NDArray[np.floating[Any]], share: float) -> float:
    """Nearest-rank percentile of sorted values (not empty)."""
    return float(ordered[max(0, math.ceil(share * len(ordered)) - 1)])
