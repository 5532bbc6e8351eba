"""Documents with the verdict that a reader gave them (labelled/*.toml): what is cut out of each, which rule rejects it, or that it stays."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mspt.core.text.form import detect_form
from mspt.core.text.normal.normalize import normalize
from mspt.core.text.rules.document_rules import PROFILES, judge
from mspt.core.text.rules.line_rules import cut_lines, without_cuts

FILES = sorted((Path(__file__).parent / "labelled").glob("*.toml"))


def documents() -> list[tuple[str, dict[str, Any]]]:
    return [(file.stem, document) for file in FILES for document in tomllib.loads(file.read_text(encoding="utf-8"))["document"]]


def written(document: dict[str, Any]) -> str:
    """The text; `pattern` (before, unit, times) stands in for what is too long to write out."""
    before, unit, times = document.get("pattern", ("", "", 0))
    text: str = document["text"]
    return (before + unit * times + "\n" + text).strip("\n")


def outcome(document: dict[str, Any]) -> tuple[list[str], str, str, float]:
    """The rules of the cuts, the rule that rejects ("" when none does), the programming language, the value."""
    text, file = written(document), document.get("file", "")
    form = detect_form(text, name=file.rsplit("/", 1)[-1])
    text = normalize(text, form=form.form).text
    cuts = [] if document.get("uncut") else cut_lines(text, form=form.form)
    found = judge(
        without_cuts(text, cuts),
        form=form.form,
        language=document.get("language", "zxx"),
        private_use=document.get("private_use", 0),
        name=file,
        profile=PROFILES[document.get("profile", "default")],
    )
    return [cut.rule for cut in cuts], found.rule, form.programming_language, found.value


@pytest.mark.parametrize(("kind", "document"), documents(), ids=lambda value: value["name"] if isinstance(value, dict) else value)
def test_the_verdict_is_the_reader_s(kind: str, document: dict[str, Any]) -> None:
    cuts, rule, programming_language, value = outcome(document)
    assert rule == document["rule"], f"measured {value}"
    assert cuts == document.get("cuts", cuts if kind == "none" else [])
    if "programming_language" in document:
        assert programming_language == document["programming_language"]


def test_the_set_is_large_and_covers_what_it_should() -> None:
    found = documents()
    rules = Counter(document["rule"] for _, document in found)
    assert len(found) >= 120
    assert {kind for kind, _ in found} == {"zh", "en", "code", "mixed"}
    assert 0.3 * len(found) <= rules[""] <= 0.7 * len(found)
    scripts = Counter(document.get("language", "zxx") for _, document in found)
    assert min(scripts["zh-Hans"], scripts["zh-Hant"], scripts["en"]) >= 10
    assert len({document["programming_language"] for _, document in found if "programming_language" in document}) >= 12
