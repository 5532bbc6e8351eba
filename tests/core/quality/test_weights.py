"""The weight formula by hand."""

from __future__ import annotations

import math

import pytest

from mspt.core.quality.weights import Coefficients, Spread, percentile, spread, weight


@pytest.mark.parametrize(
    ("quality", "characters", "repeat_ratio", "expected"),
    [
        (0.0, 1, 0.0, 0.5),  # sigmoid(0)
        (0.0, 0, 0.0, 0.5),  # nothing counts as one character
        (1.0, 1, 1.0, 1 / (1 + math.exp(-0.4))),
        (1.0, 1000, 0.5, 0.8619),  # 0.5 + 0.2 * 6.9078 - 0.05 = 1.8316; e^-1.8316 = .16016
        (0.5, 50, 0.0, 0.7374),  # 0.25 + 0.2 * 3.9120 = 1.0324; e^-1.0324 = .35615
    ],
)
def test_default_formula(quality, characters, repeat_ratio, expected):
    assert weight(quality, characters, repeat_ratio, Coefficients()) == pytest.approx(expected, abs=1e-4)


def test_figures_of_the_docstring():
    texts = [(1.0, 0.0), (0.5, 0.5), (0.2, 1.0)]
    assert [round(weight(q, 2000, r, Coefficients(4, 0.1, -2)), 2) for q, r in texts] == [0.99, 0.85, 0.39]
    assert [round(weight(q, 2000, r, Coefficients()), 2) for q, r in texts] == [0.88, 0.85, 0.82]


def test_extreme_coefficients_stay_positive_and_finite():
    assert 0 < weight(1, 10, 1, Coefficients(0, 0, -700)) < 1e-300
    assert weight(1, 10, 0, Coefficients(5000, 0, 0)) == 1.0


def test_spread_is_nearest_rank():
    values = [i / 100 for i in range(1, 101)]
    found = spread(values[::-1])
    assert found == Spread(0.05, 0.5, 0.95)
    assert found.ratio == pytest.approx(19)
    assert not found.flat
    assert spread([0.8, 0.81]).flat
    assert spread([]) is None
    assert percentile([7.0], 0.05) == 7.0
