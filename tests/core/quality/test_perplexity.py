"""Buckets, limits and what a reference measures."""

from __future__ import annotations

import json
import math
import random

import pytest

from mspt.core.errors import InputError, MsptError
from mspt.core.quality.ngram_model import train
from mspt.core.quality.perplexity import (
    DESCRIPTION,
    HIGH_RULE,
    LOW_RULE,
    MODEL,
    NOT_MEASURED,
    RELATIVE_RULE,
    Buckets,
    ByLanguage,
    Description,
    Limits,
    Reference,
    Violation,
    parse_by_language,
    percentiles,
)
from support.prose import corpus


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    train(corpus(60, seed=1).values(), 4, 2).save(folder / MODEL)
    Description(4, 2, {"en": {"characters": 10_000}, "fr": {"characters": 9_999}}).write(folder / DESCRIPTION)
    return Reference.load(folder)


def test_a_document_and_its_worst_paragraph(reference):
    chooser = random.Random(5)
    good = "the old sailor opened the green door and my younger sister walked down to the river. " * 2
    words = good.split()
    chooser.shuffle(words)
    bad = " ".join(words)
    alone = [reference.measure(text, "en").perplexity for text in (good, bad)]
    assert alone[1] > 3 * alone[0]
    assert reference.measure(good, "en").relative < 0.5 < 1 < reference.measure(bad, "en").relative
    both = reference.measure(f"{good}\n{bad}\nshort line", "en")
    assert alone[0] < both.perplexity < alone[1]
    assert both.worst_paragraph == pytest.approx(alone[1], rel=0.2)  # it does not begin the document there
    assert reference.measure("short line", "en").worst_paragraph is None
    assert reference.measure(" \n", "en").perplexity is None


def test_languages_that_the_reference_lacks_are_not_measured(reference):
    assert [reference.measure("the old sailor", lang) for lang in ("fr", "zh-Hans", None)] == [NOT_MEASURED] * 3


def test_a_reference_of_another_format_is_refused(reference, tmp_path):
    with pytest.raises(InputError, match="no reference"):
        Reference.load(tmp_path)
    (tmp_path / DESCRIPTION).write_text(json.dumps({"order": 3, "min_count": 1, "format": 9}))
    with pytest.raises(InputError, match="format 9"):
        Reference.load(tmp_path)


def test_percentiles_and_buckets_by_language_by_hand():
    values = {"en": [float(v) for v in range(10, 110, 10)], "zh-Hans": [5.0, 1.0, 3.0]}
    assert percentiles(values, 0.9) == ByLanguage(None, (("en", 90.0), ("zh-Hans", 5.0)))
    buckets = Buckets.of(values)
    assert [buckets.name(v, "en") for v in (10, 30, 31, 60, 61, 1e9)] == ["head", "head", "middle", "middle", "tail", "tail"]
    assert [buckets.name(v, "zh-Hans") for v in (1.0, 3.0, 5.0)] == ["head", "middle", "tail"]
    assert (buckets.name(None, "en"), buckets.name(5.0, "fr"), buckets.name(5.0, None)) == (None, None, None)


def test_numbers_by_language():
    both = parse_by_language("max_perplexity", ["2000", "zh-Hans=800"])
    assert [both.of(lang) for lang in ("en", "zh-Hans", None)] == [2000, 800, 2000]
    assert parse_by_language("max_perplexity", ["en=1e3"]).of("fr") is None
    assert parse_by_language("max_perplexity", []).empty
    for wrong in ("en=", "much", "=3", "en=-1", "nan"):
        with pytest.raises(MsptError, match="max_perplexity"):
            parse_by_language("max_perplexity", [wrong])


def test_limits():
    limits = Limits(parse_by_language("max", ["en=100"]), ByLanguage(None, (("en", 80.0), ("fr", 50.0))), parse_by_language("min", ["4"]), 90)
    assert limits.judge(101.0, "en") == Violation(HIGH_RULE, 101.0, 100.0)
    assert limits.judge(90.0, "en") == Violation(HIGH_RULE, 90.0, 80.0, "percentile 90 of en")
    assert limits.judge(51.0, "fr") == Violation(HIGH_RULE, 51.0, 50.0, "percentile 90 of fr")
    assert limits.judge(3.9, "de") == Violation(LOW_RULE, 3.9, 4.0)
    assert [limits.judge(v, "en") for v in (4.0, 80.0, None)] == [None] * 3
    relative = Limits(relative=parse_by_language("max_relative", ["en=0.9"]))
    assert relative.judge(50.0, "en", 0.91) == Violation(RELATIVE_RULE, 0.91, 0.9)
    assert [relative.judge(50.0, lang, value) for lang, value in (("en", 0.9), ("en", None), ("fr", 5.0))] == [None] * 3
    assert not relative.empty
    assert limits.judge(math.inf, "de") is None
    assert Limits().empty
    assert not limits.empty
