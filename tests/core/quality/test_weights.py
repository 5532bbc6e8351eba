"""The weight formula by hand."""

from __future__ import annotations

import doctest
import math
import re
from pathlib import Path

import pyarrow as pa
import pytest

from mspt.core.errors import InputError, MsptError
from mspt.core.quality.weights import Coefficients, Spread, parse_weight, percentile, spread, weight, weights


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


def table(**columns):
    rows = len(next(iter(columns.values())))
    return pa.table({"ref": [f"r{i}" for i in range(rows)], "repeat_ratio": pa.nulls(rows, pa.float32()), **columns})


def test_figures_of_the_docstring():
    texts = table(quality=[1.0, 0.5, 0.5, 0.2, 0.2], repeat_ratio=[None, 0.0, 0.5, None, 1.0], characters=[2000] * 5)
    found = {name: weights(texts, parse_weight(name), Coefficients()).to_pylist() for name in ("default", "strong")}
    assert [round(w, 2) for w in found["default"]] == [0.88, 0.85, 0.85, 0.83, 0.82]
    assert [round(w, 2) for w in found["strong"]] == [0.96, 0.52, 0.28, 0.15, 0.02]


def test_strong_chooses_where_the_default_does_not():
    qualities = [i / 100 for i in range(35, 96)]
    texts = table(quality=qualities, characters=[1500] * len(qualities))
    default, strong = (spread(weights(texts, parse_weight(name), Coefficients()).to_pylist()) for name in ("default", "strong"))
    assert default.flat
    assert strong.ratio > 2


def test_any_expression_over_columns_by_hand():
    texts = table(quality=[0.25, 1.0], perplexity=[100.0, 400.0], domain=["news", "code"], characters=[0, 10])
    found = weights(texts, parse_weight("sqrt(quality) * clip(200 / perplexity, 0.1, 1) + min(characters, 3)"), Coefficients())
    assert found.to_pylist() == [0.5, 3.5]
    assert weights(texts, parse_weight("strong"), Coefficients())[0].as_py() == pytest.approx(1 / (1 + math.exp(1.5 + 0.1 * math.log(1000))))


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("quality + repeat_ratio", r"no value for r0: repeat_ratio is null there", r"coalesce\(repeat_ratio, 0\)"),
        ("quality - 0.5", r"-0\.25 for r0, a weight must be positive", "sigmoid"),
        ("ln(quality - 0.25) + 9", r"no value for r0: ln of 0", "max"),
        ("quality + perplexity", r"there is no column `perplexity`", "quality"),
        ("quality + domain", r"`domain` is text, where a number is needed", ""),
    ],
)
def test_what_gives_no_weight_is_named(expression, message, hint):
    texts = table(quality=[0.25, 1.0], domain=["news", "code"])
    with pytest.raises(MsptError, match=message) as error:
        weights(texts, parse_weight(expression), Coefficients())
    assert error.value.message.startswith(f"[score] weight `{expression}`")
    assert re.search(hint, error.value.hint)


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


def test_the_examples_of_the_page_are_true():
    page = Path(__file__).parents[3] / "docs" / "perplexity.md"
    assert doctest.testfile(str(page), module_relative=False) == (0, 6)


@pytest.mark.parametrize(
    ("expression", "message"), [("1e400", "inf for a, a weight must be finite"), ("quality * 1e308 * 1e308", "no value for a"), ("exp(-9999)", "0 for a")]
)
def test_a_weight_is_a_finite_number(expression, message):
    table = pa.table({"ref": ["a"], "quality": [0.5]})
    with pytest.raises(InputError, match=message):
        weights(table, parse_weight(expression), Coefficients())


@pytest.mark.parametrize("coefficients", [Coefficients(quality=-1e6), Coefficients(quality=math.inf, length=-math.inf)])
def test_coefficients_that_leave_nothing_of_a_weight_are_an_error(coefficients):
    table = pa.table({"ref": ["a"], "quality": [0.5], "characters": [10], "repeat_ratio": [None]})
    with pytest.raises(InputError, match=r"weight default: .* for a, a weight must be positive"):
        weights(table, None, coefficients)
