"""docs/scorer.md: its examples run, and the figures of the method that it gives are those of the code."""

from __future__ import annotations

import doctest
from pathlib import Path

from mspt.core.quality.shapes import MIN_TEXTS, WEIGHT
from mspt.core.quality.token_kernel import SHAPES

PAGE = (Path(__file__).parents[3] / "docs" / "scorer.md").read_text(encoding="utf-8")


def test_the_examples_run():
    test = doctest.DocTestParser().get_doctest(PAGE, {}, "scorer.md", "scorer.md", 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_figures_are_those_of_the_code():
    assert f"one of {SHAPES} shapes" in PAGE
    assert f"fewer than {MIN_TEXTS} good examples" in PAGE
    assert f"loses u²/{2 / WEIGHT:.0f} of the logit" in PAGE
