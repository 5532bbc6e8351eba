"""From a classifier's expected class value to a score that means what it says, and how well it does so.

Beta calibration (Kull, Silva Filho, Flach 2017, eq. 5): score = sigmoid(a ln e - b ln(1 - e) + c) of the expected value e in (0, 1); a = b = 1, c = 0 is the
identity, and with a, b >= 0 the order of scores never turns. Fitted to held-out labels in [0, 1] by maximum likelihood. Where labels are many, what is left is
taken out by isotonic regression (Zadrozny and Elkan 2002; pool adjacent violators) over tenths of them, as a broken line that rises
everywhere: equal scores come of equal values only. With three classes and two halves of a scorer no curve of three parameters fits: held-out
error .014 with beta calibration, .005 with the line (documents that bench/quality.py trains on).
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.floating[Any]]

MIN_LABELS = 20  # fewer say nothing about three parameters
CLASSES = ("low", "middle", "high")
CLASS_VALUES = {"low": 0.0, "middle": 0.5, "high": 1.0}
_EDGE = 1e-4  # expected values are kept that far from 0 and 1: fastText's probabilities are float32
_PRIOR = 1.0  # weight of the identity, in examples: keeps perfectly separated labels finite
_STEPS = 50
_BINS = 10  # of the line; 20 and 40 measured alike where labels are many, and follow chance where they are few
_IN_BIN = 50  # labels that a bin needs at least
_RISE = 0.02  # share of the score itself in a corner


@dataclass(frozen=True)
class Calibration:
    """The three parameters, and the corners (score of the three, score) of the line, both ascending; rounded so that machines whose sums differ in the last
    bits agree."""

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    line: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Calibration:
        """As it was read from JSON."""
        return cls(**{**plain, "line": tuple((float(x), float(y)) for x, y in plain.get("line", ()))})

    def apply(self, expected: Values) -> npt.NDArray[np.float32]:
        """Scores of expected values. In plain floats one after another: the same bits on every machine."""
        return np.array([self._one(value) for value in expected.tolist()], np.float32)

    def _one(self, value: float) -> float:
        value = min(max(value, _EDGE), 1 - _EDGE)
        z = self.a * math.log(value) - self.b * math.log1p(-value) + self.c
        return self._on_line(1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z)))

    def _on_line(self, x: float) -> float:
        if not self.line:
            return x
        corners = [(0.0, 0.0), *self.line, (1.0, 1.0)]
        place = min(max(1, bisect.bisect_right(corners, (x, math.inf))), len(corners) - 1)
        (x0, y0), (x1, y1) = corners[place - 1], corners[place]
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def fit(expected: Values, labels: Values) -> Calibration:
    """Calibration of expected values to labels in [0, 1]; the identity below MIN_LABELS, without a line below _BINS * _IN_BIN."""
    curve = _fit_curve(expected, labels)
    if len(labels) < _BINS * _IN_BIN:
        return curve
    return dataclasses.replace(curve, line=_fit_line(curve.apply(expected), labels))


def _fit_line(scores: Values, labels: Values) -> tuple[tuple[float, float], ...]:
    """Corners at bins of equally many: mean score, and mean label of the pool that the bin is in, with a little of the score: the line rises in pools too."""
    means, pools = [], list[tuple[int, int, float]]()  # bins, labels and their sum
    for chosen in np.array_split(np.argsort(scores, kind="stable"), _BINS):
        means.append(math.fsum(scores[chosen].tolist()) / len(chosen))
        pools.append((1, len(chosen), math.fsum(labels[chosen].tolist())))
        while len(pools) > 1 and pools[-2][2] * pools[-1][1] >= pools[-1][2] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = (pools[-1][0] + last[0], pools[-1][1] + last[1], pools[-1][2] + last[2])
    pooled = [total / number for bins, number, total in pools for _ in range(bins)]
    found: list[tuple[float, float]] = []
    for mean, label in zip(means, pooled, strict=True):
        x, y = round(mean, 6), round((1 - _RISE) * label + _RISE * mean, 6)
        x0, y0 = found[-1] if found else (0.0, 0.0)
        if x0 < x < 1 and y0 < y < 1:  # rounded they may be equal
            found.append((x, y))
    return tuple(found)


def _fit_curve(expected: Values, labels: Values) -> Calibration:
    if len(labels) < MIN_LABELS:
        return Calibration()
    e = np.clip(np.asarray(expected, np.float64), _EDGE, 1 - _EDGE)
    features = np.stack([np.log(e), -np.log1p(-e), np.ones_like(e)], axis=1)
    found = _newton(features, labels, np.array([True, True, True]))
    if min(found[:2]) < 0:  # the order would turn somewhere: without the feature that says so
        found = _newton(features, labels, np.array([found[0] >= 0, found[1] >= 0, True]))
    a, b, c = (round(float(value), 6) for value in found)
    return Calibration(max(0.0, a), max(0.0, b), c)


def _newton(features: Values, labels: Values, used: npt.NDArray[np.bool_]) -> Values:
    """Logistic regression on soft labels by Newton's method, drawn to the identity by _PRIOR."""
    prior = np.where(used, [1.0, 1.0, 0.0], 0.0)
    weights = prior.copy()
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-features @ weights))
        gradient = features.T @ (p - labels) + _PRIOR * (weights - prior)
        hessian = (features * (p * (1 - p))[:, None]).T @ features + _PRIOR * np.eye(3)
        step = np.zeros(3)
        step[used] = np.linalg.solve(hessian[np.ix_(used, used)], gradient[used])
        weights = weights - step * min(1.0, 4.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-9:
            break
    return weights


# --- how good it is ----------------------------------------------------------------------------------------------------


def class_of(value: float) -> str:
    """high from 2/3, middle from 1/3, else low."""
    return "high" if value >= 2 / 3 else "middle" if value >= 1 / 3 else "low"


def auc(good: Values, bad: Values) -> float:
    """Probability that a good text scores above a bad one, ties half (Mann-Whitney U / (m n)); NaN without both."""
    if not len(good) or not len(bad):
        return float("nan")
    ordered = np.sort(bad)
    below = np.searchsorted(ordered, good, "left")
    upto = np.searchsorted(ordered, good, "right")
    return float((below + upto).sum() / (2 * len(good) * len(bad)))


def reliability(scores: Values, labels: Values, bins: int = 10) -> list[dict[str, float]]:
    """Mean score and mean label of the texts in each tenth of [0, 1]; empty tenths are left out."""
    places = np.minimum((np.asarray(scores) * bins).astype(int), bins - 1)
    rows = []
    for place in sorted(set(places.tolist())):
        chosen = places == place
        rows.append(
            {
                "from": place / bins,
                "texts": int(chosen.sum()),
                "score": round(math.fsum(scores[chosen].tolist()) / int(chosen.sum()), 4),
                "label": round(math.fsum(labels[chosen].tolist()) / int(chosen.sum()), 4),
            }
        )
    return rows


def calibration_error(rows: Sequence[dict[str, float]]) -> float:
    """Expected calibration error: |mean score - mean label| over the tenths, by their texts."""
    total = sum(row["texts"] for row in rows)
    return sum(row["texts"] * abs(row["score"] - row["label"]) for row in rows) / total if total else math.nan


def confusion(scores: Values, labels: Values) -> dict[str, dict[str, int]]:
    """Texts by class of the label (outer) and class of the score (inner)."""
    table = {label: dict.fromkeys(CLASSES, 0) for label in CLASSES}
    for score, label in zip(scores.tolist(), labels.tolist(), strict=True):
        table[class_of(label)][class_of(score)] += 1
    return table


def spearman(first: Values, second: Values) -> float:
    """Correlation of ranks, ties their mean rank; NaN where either has no spread."""
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean() if len(a) else a, b - b.mean() if len(b) else b
    spread = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / spread if spread else math.nan


def _ranks(values: Values) -> npt.NDArray[np.float64]:
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") + 1) / 2.0
