"""docs/dedup.md: its examples run, and it names every setting and every rule."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from mspt.core.config import WorkerSettings, field_specs
from mspt.core.dedup import overlaps, paragraphs, report, substrings
from mspt.core.stage import find
from mspt.stages.dedup import MIN_SUBSTRING, contamination
from mspt.stages.dedup import paragraphs as paragraph_level
from mspt.stages.dedup import substrings as substring_level

PAGE = (Path(__file__).parents[3] / "docs" / "dedup.md").read_text(encoding="utf-8")


def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(PAGE, {}, "dedup.md", "dedup.md", 0)
    assert len(test.examples) >= 9
    assert doctest.DocTestRunner().run(test).failed == 0


def test_settings_are_all_named_and_nothing_else():
    stage = find("dedup")
    common = {spec.flag for spec in field_specs(WorkerSettings)}
    own = {spec.flag for spec in field_specs(stage.config)} - common - {"--sample"}
    inputs = {f"--{name}" for name in stage.reads if name != "docs"}
    views = {"--rejected", "--removed", "--cluster", "--where", "--docs", "--name", "--no-exact", "--no-near"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE))
    assert own | inputs <= named
    assert named <= own | inputs | common | views


def test_rules_are_all_named():
    rules = (report.EXACT, report.NEAR, contamination.RULE, paragraph_level.PARAGRAPH, paragraph_level.BOILERPLATE, paragraph_level.LEVEL)
    for rule in (*rules, substring_level.SUBSTRING, substring_level.LEVEL):
        assert f"`{rule}`" in PAGE


def test_numbers_are_those_of_the_code():
    config = find("dedup").config()
    assert f"`--boilerplate-documents` ({config.boilerplate_documents};" in PAGE
    assert f"({config.paragraph_width} columns" in PAGE
    assert f"`--characters` units in a row ({config.characters})" in PAGE
    assert f"`--words` ({config.words})" in PAGE
    assert f"`--bands {config.bands} --rows {config.rows}`" in PAGE
    assert config.threshold == 0.8
    assert (overlaps.UNITS, overlaps.MIN_UNITS, MIN_SUBSTRING) == (13, 8, 20)
    assert paragraphs.MIN_LEFT == substrings.MIN_LEFT == contamination.MIN_LEFT == 0.1
    assert sorted(paragraphs.LEFT_ALONE) == ["code", "table", "verse"]
    assert (report.WEB_SHARES, report.MIN_JUDGED) == ((0.05, 0.40), 100)
    assert f"({', '.join(f'`{criterion}`' for criterion in config.order)};" in PAGE
