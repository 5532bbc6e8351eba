"""Which documents teach a scorer, and what is made of them."""

from __future__ import annotations

from collections import Counter

from mspt.core.quality.examples import ExampleSettings, choose, make_examples

IDS = [f"{i:032x}" for i in range(2000)]


def test_the_choice_does_not_depend_on_order_and_grows_by_adding():
    few, more = choose(IDS, 100, 1), choose(IDS[::-1], 200, 1)
    assert len(few) == 100
    assert len(more) == 200
    assert few < more
    assert choose(IDS, 100, 2) != few
    assert choose(IDS, 5000, 1) == set(IDS)


def test_every_window_comes_with_its_shuffled_twin_on_the_same_side():
    text = "北风与太阳正在争论谁比较有本事，他们正好看到有个人走过，那个人穿着一件斗篷。" * 5
    made = make_examples(IDS, [text] * 2000, ExampleSettings(window=100, per_document=1))
    assert len(made) == 4000
    for good, bad in zip(made[::2], made[1::2], strict=True):
        assert good.held_out == bad.held_out
        assert (good.kind, good.label, bad.label) == ("kept", "__label__good", "__label__bad")
        assert Counter(good.line) == Counter(bad.line)
        assert good.line != bad.line
    kinds = Counter(example.kind for example in made)
    assert 900 < kinds["shuffled-words"] < 1100  # half: 3 standard deviations are 67
    assert 160 < sum(e.held_out for e in made[::2]) < 240  # a tenth: 200, 3 standard deviations are 40


def test_windows_without_order_or_too_short_teach_nothing():
    assert make_examples(IDS[:3], ["哈" * 200, "", "太短了"], ExampleSettings()) == []
