"""Calibration and measures, against hand calculation and slow definitions."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import numpy as np
import pytest

from mspt.core.quality.calibration import Calibration, auc, calibration_error, class_of, confusion, fit, reliability, spearman


def test_auc_by_hand_and_by_counting_pairs():
    good, bad = np.array([0.9, 0.5, 0.5], np.float32), np.array([0.5, 0.1], np.float32)
    assert auc(good, bad) == (2 + 1.5 + 1.5) / 6  # 0.9 beats both, each 0.5 ties one and beats one
    assert math.isnan(auc(good, bad[:0]))
    chooser = random.Random(1)
    good, bad = (np.array([chooser.randrange(9) / 8 for _ in range(n)], np.float32) for n in (37, 53))
    pairs = sum(1.0 if g > b else 0.5 if g == b else 0.0 for g in good for b in bad)
    assert auc(good, bad) == pytest.approx(pairs / (37 * 53), abs=1e-12)


def test_the_identity_and_a_score_by_hand():
    values = np.array([0.0, 0.2, 0.5, 0.9, 1.0], np.float32)
    assert Calibration().apply(values) == pytest.approx(np.clip(values, 1e-4, 1 - 1e-4), abs=1e-6)
    # 2 ln .5 - 1 ln .5 + 1 = 1 - ln 2 = .306853; sigmoid = .576117
    assert float(Calibration(2, 1, 1).apply(np.array([0.5]))[0]) == pytest.approx(0.576117, abs=1e-6)


def test_a_distorted_score_is_set_right():
    """Labels drawn with the probability p, shown as p^2: a = 1/2 undoes the first half of it, so the tenths agree again and the order stays."""
    chooser = random.Random(2)
    true = [chooser.random() for _ in range(4000)]
    labels = np.array([float(chooser.random() < p) for p in true])
    shown = np.array(true) ** 2
    fitted = fit(shown, labels)
    scores = fitted.apply(shown)
    assert calibration_error(reliability(shown, labels)) > 0.15  # the mean of p - p^2 is 1/6
    assert calibration_error(reliability(scores, labels)) < 0.03
    assert np.abs(scores - np.array(true)).max() < 0.08
    assert (np.diff(scores[np.argsort(shown)]) >= 0).all()
    assert fit(shown, labels) == fitted


def test_what_three_parameters_cannot_undo_is_undone_by_the_line():
    """Labels with the probability of a staircase over fifths of the values."""
    chooser = random.Random(3)
    shown = np.array([chooser.random() for _ in range(4000)])
    true = np.array([0.05, 0.1, 0.15, 0.9, 0.95])[np.minimum((shown * 5).astype(int), 4)]
    labels = np.array([float(chooser.random() < p) for p in true])
    fitted = fit(shown, labels)
    scores, curve = fitted.apply(shown), dataclasses.replace(fitted, line=()).apply(shown)
    inside = np.abs(shown * 5 % 1 - 0.5) < 0.2  # away from the steps
    assert np.abs(curve - true)[inside].max() > 0.15
    assert np.abs(scores - true)[inside].max() < 0.08


def test_a_line_rises_everywhere_and_is_left_out_where_labels_are_few():
    chooser = random.Random(4)
    shown = np.array([chooser.random() for _ in range(600)])
    labels = np.array([float(chooser.random() < 0.5) for _ in range(600)])  # nothing to learn: pools
    fitted = fit(shown, labels)
    assert len(fitted.line) == 10
    assert len({round(y - 0.02 * x, 5) for x, y in fitted.line}) < 8  # pools
    corners = [(0.0, 0.0), *fitted.line, (1.0, 1.0)]
    assert all(x0 < x1 and y0 < y1 for (x0, y0), (x1, y1) in itertools.pairwise(corners))
    assert len(fit(shown, (shown > 0.5).astype(float)).line) >= 3  # separated: corners short of 0 and 1
    assert fit(shown[:499], labels[:499]).line == ()


def test_a_line_by_hand():
    made = Calibration(line=((0.2, 0.4), (0.6, 0.5)))
    assert made.apply(np.array([0.1, 0.2, 0.4, 0.8])) == pytest.approx([0.2, 0.4, 0.45, 0.75])
    assert Calibration.of({"a": 1.0, "line": [[0.2, 0.4], [0.6, 0.5]]}) == made
    assert Calibration.of({"a": 2.0}) == Calibration(2.0)


def test_soft_labels_and_separated_classes_and_few_labels():
    expected = np.array([0.1, 0.5, 0.9] * 20)
    scores = fit(expected, np.array([0.0, 0.5, 1.0] * 20)).apply(expected[:3])
    assert scores[1] == pytest.approx(0.5, abs=0.02)
    assert scores[0] < 0.1 < 0.9 < scores[2]
    assert fit(expected[:19], expected[:19]) == Calibration()


def test_an_order_that_is_wrong_is_never_turned():
    expected = np.linspace(0.05, 0.95, 100)
    scores = fit(expected, 1 - expected).apply(expected)
    assert (np.diff(scores) >= 0).all()
    assert np.isfinite(scores).all()


def test_reliability_confusion_and_error_by_hand():
    scores, labels = np.array([0.05, 0.15, 0.15, 1.0]), np.array([0.0, 0.5, 0.0, 1.0])
    rows = reliability(scores, labels)
    assert rows == [
        {"from": 0.0, "texts": 1, "score": 0.05, "label": 0.0},
        {"from": 0.1, "texts": 2, "score": 0.15, "label": 0.25},
        {"from": 0.9, "texts": 1, "score": 1.0, "label": 1.0},
    ]
    assert calibration_error(rows) == pytest.approx((0.05 + 2 * 0.1 + 0) / 4)
    assert confusion(scores, labels) == {
        "low": {"low": 2, "middle": 0, "high": 0},
        "middle": {"low": 1, "middle": 0, "high": 0},
        "high": {"low": 0, "middle": 0, "high": 1},
    }
    assert [class_of(value) for value in (0, 0.33, 0.34, 0.5, 0.66, 0.67, 1)] == ["low", "low", "middle", "middle", "middle", "high", "high"]


def test_spearman_by_hand():
    # ranks 1 2.5 2.5 4 and 2 1 3 4: deviations (-1.5 0 0 1.5), (-.5 -1.5 .5 1.5): 3 / sqrt(4.5 * 5)
    assert spearman(np.array([1, 5, 5, 9]), np.array([2, 1, 3, 4])) == pytest.approx(3 / math.sqrt(22.5))
    assert spearman(np.array([1, 2, 3]), np.array([10, 20, 30])) == pytest.approx(1)
    assert math.isnan(spearman(np.array([1, 1]), np.array([1, 2])))
