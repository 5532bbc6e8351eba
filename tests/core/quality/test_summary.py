"""Quantiles by hand."""

from __future__ import annotations

import pyarrow as pa

from mspt.core.quality.summary import Summary


def table(**columns):
    return pa.table({"source": pa.array(columns.pop("source"), pa.string()), "lang": pa.array(columns.pop("lang"), pa.string()), **columns})


def same(column, value):
    return {f"{column}_p{p}": value for p in (5, 25, 50, 75, 95)}


def test_quantiles_by_source_and_language_over_shards():
    first = table(source=["b", "a"], lang=["en", None], quality=pa.array([0.5, 0.25], pa.float32()), perplexity=pa.array([7.0, None], pa.float32()))
    second = table(source=["a"] * 20, lang=["en"] * 20, quality=pa.array([1.0] * 20, pa.float32()), perplexity=pa.array([None] * 20, pa.float32()))
    found = Summary([first, second, first.slice(0, 0)], ["quality", "perplexity"])
    plain = found.plain()
    perplexity = same("perplexity", 7.0)
    assert plain["all"] == {"documents": 22, "quality_p5": 0.5, **{f"quality_p{p}": 1.0 for p in (25, 50, 75, 95)}, **perplexity}
    assert list(plain["by_source"]) == ["a", "b"]
    assert plain["by_source"]["a"] == {"documents": 21, **same("quality", 1.0)}  # rank 2 of 21
    assert plain["by_lang"][""] == {"documents": 1, **same("quality", 0.25)}
    assert sorted(found.column("quality")) == [0.25, 0.5, *[1.0] * 20]


def test_nothing():
    assert Summary([], ["quality"]).plain() == {"all": {"documents": 0}, "by_source": {}, "by_lang": {}}


def test_histograms_by_hand():
    values = [0.0, 0.04, 0.05, 0.5, 0.999, 1.0]
    found = Summary([table(source=list("aabbbb"), lang=["en"] * 6, quality=pa.array(values, pa.float64()))], ["quality"]).histograms("quality")
    assert found["all"] == [2, 1, *[0] * 7, 0, 1, *[0] * 8, 2]
    assert found["by_source"] == {"a": [2, *[0] * 19], "b": [0, 1, *[0] * 8, 1, *[0] * 8, 2]}
    assert found["by_lang"] == {"en": found["all"]}
    assert found["tenths"] == [0.0, 0.04, 0.04, 0.05, 0.05, 0.5, 0.999, 0.999, 1.0]  # ranks 1 2 2 3 3 4 5 5 6 of 6
    assert Summary([], ["quality"]).histograms("quality") == {"all": [0] * 20, "by_source": {}, "by_lang": {}, "tenths": []}
