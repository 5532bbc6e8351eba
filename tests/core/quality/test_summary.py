"""Quantiles by hand."""

from __future__ import annotations

import pyarrow as pa

from mspt.core.quality.summary import Summary


def table(**columns):
    return pa.table({"source": pa.array(columns.pop("source"), pa.string()), "lang": pa.array(columns.pop("lang"), pa.string()), **columns})


def test_quantiles_by_source_and_language_over_shards():
    first = table(source=["b", "a"], lang=["en", None], quality=pa.array([0.5, 0.25], pa.float32()), perplexity=pa.array([7.0, None], pa.float32()))
    second = table(source=["a"] * 20, lang=["en"] * 20, quality=pa.array([1.0] * 20, pa.float32()), perplexity=pa.array([None] * 20, pa.float32()))
    found = Summary([first, second, first.slice(0, 0)], ["quality", "perplexity"])
    plain = found.plain()
    perplexity = {"perplexity_p5": 7.0, "perplexity_p50": 7.0, "perplexity_p95": 7.0}
    assert plain["all"] == {"documents": 22, "quality_p5": 0.5, "quality_p50": 1.0, "quality_p95": 1.0, **perplexity}
    assert list(plain["by_source"]) == ["a", "b"]
    assert plain["by_source"]["a"] == {"documents": 21, "quality_p5": 1.0, "quality_p50": 1.0, "quality_p95": 1.0}  # rank 2 of 21
    assert plain["by_lang"][""] == {"documents": 1, "quality_p5": 0.25, "quality_p50": 0.25, "quality_p95": 0.25}
    assert sorted(found.column("quality")) == [0.25, 0.5, *[1.0] * 20]


def test_nothing():
    assert Summary([], ["quality"]).plain() == {"all": {"documents": 0}, "by_source": {}, "by_lang": {}}
