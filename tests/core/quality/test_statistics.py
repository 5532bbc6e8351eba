"""Entropy and function words by hand."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from mspt.core.quality.statistics import entropy, stop_word_share


@pytest.mark.parametrize(("text", "bits"), [("aaaa", 0.0), ("ab", 1.0), ("abcdabcd", 2.0), ("aab天", 1.5), ("a" * 3 + "b", 2 - 0.75 * math.log2(3))])
def test_entropy_by_hand(text, bits):
    assert entropy(text) == pytest.approx(bits, abs=1e-12)
    assert entropy(text) == pytest.approx(bits, abs=1e-12)  # the second time as the first


def test_entropy_of_a_longer_text_is_the_sum_over_its_characters():
    text = "天地玄黄，宇宙洪荒。" * 7 + "日月盈昃 the quick brown fox" * 3
    shares = [n / len(text) for n in Counter(text).values()]
    assert entropy(text) == pytest.approx(-sum(p * math.log2(p) for p in shares), rel=1e-12)
    assert entropy("") is None


def test_stop_word_share_counts_function_words_and_not_names():
    words = "the mountain of gold is far and deep " * 10  # the, of, is, and: 4 of 8
    assert stop_word_share(words, None) == pytest.approx(0.5)
    assert stop_word_share("gold mountain " * 30, "prose") == 0
    assert stop_word_share("too short", None) is None
