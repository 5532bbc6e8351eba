"""From signals to weights, buckets and drops, by hand."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.quality.judging import LOW_QUALITY, Settings, judge, layer, rejection_rows, tally
from mspt.core.quality.perplexity import HIGH_RULE, Buckets, Limits, Violation, parse_by_language
from mspt.core.quality.signals import measure, perplexities, row_aligned, signal_names
from mspt.core.quality.weights import parse_weight

LIVE = pa.table(
    {
        "ref": ["a", "b", "c", "d"],
        "lang": ["en", "en", "zh-Hans", None],
        "repeat_ratio": [0.5, None, None, None],
        "quality": pa.array([0.9, 0.1, 0.5, 0.7], pa.float32()),
        "characters": [100, 1, 1, 0],
        "perplexity": pa.array([10.0, 20.0, 300.0, None], pa.float32()),
    }
)


def test_weights_buckets_and_what_is_dropped():
    settings = Settings(
        min_quality=0.5,
        limits=Limits(most=parse_by_language("max_perplexity", ["zh-Hans=200"])),
        buckets=Buckets.of({"en": [10.0, 20.0], "zh-Hans": [300.0]}),
    )
    found = judge(LIVE, settings)
    assert found.violations == [None, Violation(LOW_QUALITY, pytest.approx(0.1), 0.5), Violation(HIGH_RULE, 300.0, 200.0), None]
    assert found.kept.to_pylist() == [True, False, False, True]
    assert found.columns.column("perplexity_bucket").to_pylist() == ["head", "middle", "head", None]
    x = 0.5 * LIVE.column("quality")[0].as_py() + 0.2 * math.log(100) - 0.1 * 0.5
    assert found.columns.column("weight")[0].as_py() == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-12)


def test_a_quality_of_exactly_the_limit_stays_whatever_its_float32_is():
    table = LIVE.set_column(3, "quality", pa.array([0.3, 0.3, 0.29999, 0.31], pa.float32()))
    assert judge(table, Settings(min_quality=0.3)).kept.to_pylist() == [True, True, False, True]


def test_nothing_is_dropped_by_default_and_other_columns_are_asked_for():
    assert not Settings().drops
    assert judge(LIVE, Settings()).kept.to_pylist() == [True] * 4
    assert judge(LIVE, Settings()).columns.column_names == ["weight"]
    assert Settings(expression=parse_weight("domain_share + quality")).columns == ["ref", "lang", "repeat_ratio", "domain_share", "quality"]


def test_signals_without_a_reference_and_their_places():
    live = pa.table({"text": ["天地玄黄", None], "lang": ["zh", "en"], "form": ["prose", None]})
    measured = measure(live, np.array([0.5, 0.25], np.float32), None)
    assert measured.to_pylist() == [
        {"quality": 0.5, "characters": 4, "entropy": 2.0, "stop_word_share": None},
        {"quality": 0.25, "characters": 0, "entropy": None, "stop_word_share": None},
    ]
    aligned = row_aligned(measured, np.array([False, True, False, True, False]))
    assert aligned.column("quality").to_pylist() == [None, 0.5, None, 0.25, None]
    assert signal_names(with_reference=False, with_domain=False) == measured.column_names
    table = pa.table({"lang": ["en", None, "en", "en"], "keep": [True, True, True, False], "perplexity": pa.array([1.0, 2.0, None, 4.0], pa.float32())})
    assert {lang: values.tolist() for lang, values in perplexities([table, table]).items()} == {"": [2.0, 2.0], "en": [1.0, 1.0]}


def test_what_is_written_of_a_shard():
    live = LIVE.append_column("id", pa.array(list("1234"))).append_column("source", pa.array(["x", "x", "y", "y"]))
    live = live.append_column("text", pa.array(["text a", "text b", "x" * 300, None]))
    settings = Settings(min_quality=0.6)
    judgement = judge(live, settings)
    written = layer(live, ["quality", "characters"], judgement, np.array([True, True, False, True, True]), settings)
    assert written.column_names == ["quality", "characters", "weight", "keep"]
    assert written.column("keep").to_pylist() == [True, False, False, False, True]
    assert written.column("characters").to_pylist() == [100, 1, None, 1, 0]
    assert "keep" not in layer(live, ["quality"], judgement, np.array([True] * 4), Settings()).column_names
    rows = rejection_rows(live, judgement, "score").to_pylist()
    assert [(row["id"], row["threshold"], row["excerpt"]) for row in rows] == [("2", 0.6, "text b"), ("3", 0.6, "x" * 200)]
    assert {row["rule"] for row in rows} == {LOW_QUALITY}
    assert tally(live, judgement) == {
        "sources": {"x": {"in": 2, "rejected": 1}, "y": {"in": 2, "rejected": 1}},
        "rules": {LOW_QUALITY: 2},
        "sizes": {"x": {"en": [1, 100]}, "y": {"": [1, 0]}},
    }
