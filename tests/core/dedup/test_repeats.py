"""repeat_ratio against an exact count over all shingles."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa

from mspt.core.dedup.shingles import ShingleSize, shingle_sets
from support.judging import repeat_ratios_of


def test_estimates_agree_with_the_exact_count():
    chooser = random.Random(7)
    letters = [chr(0x4E00 + i) for i in range(2000)]
    pool = ["".join(chooser.choices(letters, k=200)) for _ in range(60)]  # paragraphs that several documents share
    texts = []
    for _ in range(80):
        shared = [chooser.choice(pool) for _ in range(chooser.randrange(8))]
        own = ["".join(chooser.choices(letters, k=200)) for _ in range(chooser.randrange(1, 8))]
        texts.append("".join(shared + own))
    sets = [set(values.tolist()) for values in map(shingle_sets(pa.array(texts), ShingleSize()).__getitem__, range(len(texts)))]
    holders = Counter(value for own in sets for value in own)
    exact = np.array([sum(holders[value] > 1 for value in own) / len(own) for own in sets])
    estimate = repeat_ratios_of(texts, shards=3)
    error = estimate - exact
    standard = np.sqrt(exact * (1 - exact) / np.array([len(own) / 16 for own in sets]))
    assert exact.min() < 0.05
    assert exact.max() > 0.8
    assert np.abs(error).max() < 0.25
    assert abs(error.mean()) < 3 * np.sqrt((standard**2).mean() / len(texts))  # unbiased
    assert np.sqrt((error**2).mean()) < 1.3 * np.sqrt((standard**2).mean())  # and as sharp as the docstring says


def test_a_short_text_inside_a_long_one_is_found():
    chooser = random.Random(1)
    words = [f"w{i}" for i in range(100_000)]
    part = " ".join(chooser.choices(words, k=600))
    long = part + " " + " ".join(chooser.choices(words, k=20_000))
    ratios = repeat_ratios_of([part, long])
    assert ratios[0] == 1.0
    assert 0.01 < ratios[1] < 0.06  # 596 of 20,596 shingles: .029


def test_repeats_inside_one_document_do_not_count_and_short_ones_are_unknown():
    ratios = repeat_ratios_of(["春眠不觉晓处处闻啼鸟" * 100, "一二三", ""])
    assert ratios[0] == 0 or np.isnan(ratios[0])  # ten distinct shingles, sampled or not
    assert np.isnan(ratios[1:]).all()
