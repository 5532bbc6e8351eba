"""What shapes cost, against a plain implementation of the definition, and how unusual a text is, by hand."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.quality.features import read_tokens
from mspt.core.quality.shapes import (
    BEGIN,
    MIN_TEXTS,
    STRANGENESS,
    WEIGHT,
    Measured,
    Usual,
    cost_table,
    count_shapes,
    lowered,
    measure,
    unusual,
    usual,
)
from mspt.core.quality.token_kernel import DIGITS, HAN, LINES, MARK_GROUPS, MARKS, OTHER_CHARACTER, SPOKEN, UNSPOKEN


def tokens_of(*texts):
    (tokens,) = read_tokens(pa.array(texts, pa.string()), 1000)
    return tokens


def mark(character):
    return MARKS + next(number for number, group in enumerate(MARK_GROUPS) if character in group)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("我は", [HAN, OTHER_CHARACTER, LINES + 2 * 1 + 1]),
        ("a the cattle.", [SPOKEN, SPOKEN + 1, SPOKEN + 2, mark("."), LINES + 2 * 2]),  # 1, 3, 6 letters; a line of four tokens, a full stop
        ("xkcd strengthens", [UNSPOKEN + 2, UNSPOKEN + 3, LINES + 2 * 1 + 1]),
        ("7 2024 1234567890123456", [DIGITS, DIGITS + 2, DIGITS + 4, LINES + 2 * 1 + 1]),
        ("“，”", [mark("“"), mark(","), mark("”"), LINES + 2 * 1]),  # width does not count
        ("☃\n\n。", [63, LINES + 1, mark("。"), LINES]),
        ("", []),
    ],
)
def test_shapes_by_hand(text, shapes):
    assert tokens_of(text).shapes.tolist() == shapes


def test_shapes_do_not_depend_on_the_vocabulary_nor_on_what_stands_before():
    from mspt.core.quality.features import Vocabulary

    text = "我 wrote 3 lines,\nof TEXT"
    alone = tokens_of(text).shapes.tolist()
    (known,) = read_tokens(pa.array(["x 1", text]), 1000, Vocabulary.of(["wrote", ","]))
    assert known.shapes[known.ends[1] : known.ends[2]].tolist() == alone


def test_costs_are_those_of_the_definition():
    chooser = random.Random(1)
    texts = [[chooser.choice((0, 3, 5, 17, 30, 63)) for _ in range(chooser.randint(1, 40))] for _ in range(30)]
    counts = np.zeros((64, 64, 64), np.uint32)
    three, two, one = Counter(), Counter(), Counter()
    for text in texts:
        row = [BEGIN, BEGIN, *text]
        for a, b, c in zip(row, row[1:], row[2:], strict=False):
            counts[a, b, c] += 1
            three[a, b, c] += 1
            two[b, c] += 1
            one[c] += 1

    def discounted(own, key, lower):
        behind = {k: n for k, n in own.items() if k[:-1] == key[:-1]}
        if not behind:
            return lower
        return max(own[key] - 0.5, 0) / sum(behind.values()) + 0.5 * len(behind) / sum(behind.values()) * lower

    table = cost_table(counts)
    assert table.dtype == np.uint8
    for _ in range(300):
        a, b, c = (chooser.choice((0, 3, 5, 17, 30, 63, 7, BEGIN)) for _ in range(3))
        p1 = (one[c] + 0.5) / (one.total() + 32)
        p = discounted(three, (a, b, c), discounted(two, (b, c), p1))
        assert table[a, b, c] == min(255, round(-math.log(p) * 16)), (a, b, c)


def test_a_text_costs_the_mean_of_its_tokens():
    tokens = tokens_of("我们 ok", "", "12")
    counts = count_shapes([tokens])
    assert counts.sum() == len(tokens.shapes)
    assert counts[BEGIN, BEGIN, HAN] == 1
    table = np.full((64, 64, 64), 8, np.uint8)
    table[BEGIN, BEGIN, HAN] = 40
    found = measure(tokens, table)
    assert found.strange.tolist() == [0, 0, 0]  # every token is known where there is no vocabulary
    assert found.tokens.tolist() == [4, 0, 2]
    assert found.costs.tolist() == [(40 + 3 * 8) / 4 / 16, 0, 0.5]
    assert found.han[0] == pytest.approx(2 / 3)
    assert np.isnan(found.han[1:]).all()  # no letter


def good(costs, han):
    return Measured(np.array(costs, float), np.array(han, float), np.full(len(costs), 100), np.zeros(len(costs)))


def test_what_is_usual_by_script():
    english, chinese = [1.0, 2.0] * 15, [0.5, 0.7] * 15
    found = usual(good(english + chinese, [0.0] * 30 + [0.9] * 30))
    assert [one.han for one in found] == [0.0, 0.9]
    assert [one.cost for one in found] == [1.5, 0.6]
    assert found[0].deviation == pytest.approx(math.sqrt(30 / 29) / 2, abs=1e-4)
    assert usual(good([1.0] * (MIN_TEXTS - 1), [0.0] * (MIN_TEXTS - 1))) == ()  # too few say nothing


@pytest.mark.parametrize(
    ("cost", "han", "deviations"),
    [
        (3.0, 0.0, 2.0),
        (1.0, 0.0, 0.0),  # cheaper than usual is no fault
        (1.4, 0.9, 8.0),
        (1.8, 0.45, 1.0),  # half-way: mean 1.5, deviation .3
        (3.0, 1.0, 20.0),  # beyond the last text that was seen: as there; at most MOST_UNUSUAL
        (3.0, math.nan, 2.0),  # no letter: beside the script that costs most
    ],
)
def test_how_unusual_by_hand(cost, han, deviations):
    known = (Usual(0.0, 2.0, 0.5), Usual(0.9, 1.0, 0.05))
    if han == 0.45:
        known = (Usual(0.0, 2.0, 0.5), Usual(0.9, 1.0, 0.1))
    assert unusual(good([cost], [han]), known).tolist() == pytest.approx([deviations])


def test_of_a_script_without_good_texts_nothing_is_said():
    only_chinese = (Usual(0.9, 1.0, 0.1),)
    assert unusual(good([5.0, 5.0, 5.0], [0.1, 0.8, math.nan]), only_chinese).tolist() == [0.0, 20.0, 20.0]
    assert unusual(good([5.0], [0.1]), ()).tolist() == [0.0]


def test_what_is_unusual_costs_logit():
    found = lowered(np.array([0.5, 0.9, 0.3]), np.array([2.0, 0.0, 20.0]), np.zeros(3))
    assert found[0] == pytest.approx(1 / (1 + math.exp(2 * WEIGHT)))  # two standard deviations: WEIGHT * 4 / 2
    assert found[1] == 0.9
    assert found[2] == pytest.approx(1 / (1 + math.exp(-math.log(0.3 / 0.7) + 200 * WEIGHT)))


def test_strange_words_are_those_outside_the_vocabulary_that_can_be_spoken():
    from mspt.core.quality.features import Vocabulary

    texts = ["the cat xkcd 42, 龘 gato", "the the", ""]
    (tokens,) = read_tokens(pa.array(texts), 1000, Vocabulary.of(["the", ","]))
    assert tokens.strange.tolist() == [2, 0, 0]  # cat and gato; xkcd cannot be spoken, 42 is a number, 龘 no word
    found = measure(tokens, np.zeros((64, 64, 64), np.uint8))
    assert found.strange.tolist() == [2 / 8, 0, 0]  # seven tokens and the end of the line


def test_strange_words_make_a_low_value_less_sure_and_no_other():
    found = lowered(np.array([0.1, 0.9, 0.5]), np.zeros(3), np.array([0.5, 0.5, 0.5]))
    assert found[0] == pytest.approx(1 / (1 + math.exp(math.log(9) * 0.5**STRANGENESS)))  # ln odds of .1: -ln 9
    assert found[1:].tolist() == [pytest.approx(0.9), 0.5]
    assert lowered(np.array([0.1]), np.array([2.0]), np.array([1.0]))[0] == pytest.approx(1 / (1 + math.exp(2 * WEIGHT)))  # the shape alone has the word
