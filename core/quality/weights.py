"""How often a document is wanted: a positive weight, relative to the other documents of its source.

The field's formula is nearly flat: between 50 and 100,000 characters the best and the worst document differ by a factor of 1.05 to 1.18, and
repeat_ratio moves it by 2 %. So the effective spread is printed with it. Stronger coefficients: quality 4, length 0.1, repeat -2
give texts of 2,000 characters .99 at quality 1 without repeats, .85 at .5 with half of it repeated, .39 at .2 with all of it repeated; the default
formula gives .88, .85, .82.

Computed with `math`, one document at a time: NumPy's exp and log differ in the last bit between machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FLAT_BELOW = 1.5  # p95 / p5 under which weights hardly choose anything


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


def percentile(ordered: Sequence[float], share: float) -> float:
    """Nearest-rank percentile of sorted values (not empty)."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
