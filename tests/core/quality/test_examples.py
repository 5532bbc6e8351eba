"""Which documents teach a scorer, and what is made of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from mspt.core.quality.corruptions import CORRUPTIONS
from mspt.core.quality.examples import ExampleSettings, changed, choose, given_examples, make_examples
from mspt.core.quality.middle import MIDDLE

IDS = [f"{i:032x}" for i in range(600)]
TEXT = "北风与太阳正在争论谁比较有本事，他们正好看到有个人走过，那个人穿着一件斗篷。" * 5


def test_the_choice_does_not_depend_on_order_and_grows_by_adding():
    few, more = choose(IDS, 100, 1), choose(IDS[::-1], 200, 1)
    assert len(few) == 100
    assert len(more) == 200
    assert few < more
    assert choose(IDS, 100, 2) != few
    assert choose(IDS, 5000, 1) == set(IDS)


def test_every_window_comes_with_two_low_copies_and_a_middle_one_on_the_same_side():
    made = make_examples(IDS, [TEXT] * 600, ExampleSettings(window=100, per_document=1))
    windows = [i for i, example in enumerate(made) if example.kind == "kept"]
    assert len(windows) == 600
    for start, end in zip(windows, [*windows[1:], len(made)], strict=True):
        group = made[start:end]
        assert len({example.held_out for example in group}) == 1
        assert [example.value for example in group] in ([1, 0, 0, 0.5], [1, 0, 0.5], [1, 0, 0], [1, 0])
    kinds = Counter(example.kind for example in made)
    assert set(kinds) == {"kept", *CORRUPTIONS, *MIDDLE}
    assert all(60 < kinds[kind] < 160 for kind in CORRUPTIONS if kind != "disordered")  # 1,200 draws of 10 kinds: 120, 3 standard deviations are 31
    assert 38 < sum(made[i].held_out for i in windows) < 82  # a tenth: 60, 3 standard deviations are 22


def test_examples_are_the_same_each_time_and_others_with_another_seed_draw_or_without_a_kind():
    settings = ExampleSettings(window=100)
    made = make_examples(IDS[:20], [TEXT] * 20, settings)
    assert made == make_examples(IDS[:20], [TEXT] * 20, settings)
    for other in (replace(settings, seed=2), replace(settings, draw=1)):
        assert made != make_examples(IDS[:20], [TEXT] * 20, other)
    fewer = make_examples(IDS[:20], [TEXT] * 20, replace(settings, kinds=("mojibake",)))
    assert {example.kind for example in fewer if example.value == 0} == {"mojibake"}


def test_windows_that_no_corruption_changes_or_too_short_teach_nothing():
    assert make_examples(IDS[:3], ["", "太短了", " " * 50], ExampleSettings()) == []


def test_given_texts_keep_their_value_and_their_side():
    made = given_examples("label", ["a", "b"], ["x" * 250, "y"], [0.25, 1.0], ExampleSettings(window=100, per_document=2))
    assert [(e.kind, e.value, len(e.text)) for e in made] == [("label", 0.25, 100), ("label", 0.25, 100), ("label", 1.0, 1)]
    assert made[0].held_out == made[1].held_out


def test_changed_by_hand():
    assert changed("abcdef", "abcdef") == 0
    assert changed("abcdef", "abcdefg") == pytest.approx(1 / 3)  # abcde bcdef, and cdefg which is new
    assert changed("abcde", "abcdeabcde") == pytest.approx(5 / 6)  # twice: five of its six 5-grams, among them the second abcde, are more than there were
    assert changed("ab", "xy") == 1
