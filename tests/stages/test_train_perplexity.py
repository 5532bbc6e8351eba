"""train-perplexity on small docs."""

from __future__ import annotations

import json

import pytest

from mspt.core.errors import InputError
from mspt.core.quality.perplexity import DESCRIPTION, MODEL, Reference
from support.given import given, hashes
from support.inline import work_inline
from support.prose import corpus


def rows(count: int, lang: str = "en"):
    return [{"ref": ref, "text": text, "lang": lang} for ref, text in corpus(count, seed=1).items()]


def train(workspace, **config):
    return workspace.run("train-perplexity", {"min_count": 1, **config}, references={"docs": "given"})


@pytest.fixture
def inline(workspace, monkeypatch):
    work_inline(monkeypatch)
    return workspace


def test_the_model_knows_its_languages_and_tells_prose_from_noise(inline):
    few = [{"ref": f"few{i}", "text": "你好" * 20, "lang": "zh-Hans"} for i in range(5)]
    given(inline, [*rows(150), *few, {"ref": "empty", "text": ""}], shards=3, dropped=["0001"])
    made = train(inline, held_out=0.1)
    assert (made.kind, set(made.files)) == ("ngram-model", {MODEL, DESCRIPTION})
    languages = json.loads((made.root / DESCRIPTION).read_text())["languages"]
    held_out = languages["en"]["held_out"]["documents"]
    assert 5 <= held_out <= 30
    assert languages["en"]["documents"] + held_out == 149
    assert made.stats["documents"] == languages["en"]["documents"] + languages["zh-Hans"]["documents"]
    assert made.stats["characters"] == sum(own["characters"] for own in languages.values())
    reference = Reference.load(made.root)
    good, bad = (reference.measure(text, "en").perplexity for text in ("The old sailor opened the green door.", "door green. opened the sailor old The"))
    assert bad > 5 * good
    assert reference.measure("你好", "zh-Hans").perplexity is None
    assert any(line.startswith("en: ") and "p95" in line for line in inline.notes.notes)
    assert any("zh-Hans" in line and "too few" in line for line in inline.notes.warnings)


def test_characters_are_a_limit_and_the_choice_depends_on_the_seed(inline):
    given(inline, rows(60))
    total = sum(len(row["text"]) for row in rows(60))
    small = train(inline, max_characters=total // 4, held_out=0)
    longest = max(len(row["text"]) for row in rows(60))
    assert total // 4 - longest <= small.stats["characters"] <= total // 4
    other = train(inline, max_characters=total // 4, held_out=0, seed=2)
    assert hashes(other) != hashes(small)


def test_worker_processes_and_shards_do_not_change_the_bytes(inline, monkeypatch):
    given(inline, rows(40))
    first = hashes(train(inline))
    monkeypatch.undo()
    given(inline, rows(40), shards=4)
    assert hashes(train(inline)) == first


def test_nothing_to_learn_from_is_an_error(inline):
    given(inline, {"a": "", "b": "text"}, dropped=["0001", "b"])
    with pytest.raises(InputError, match="no kept text"):
        train(inline)
