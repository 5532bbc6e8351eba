"""The train-scorer stage."""

from __future__ import annotations

import pytest

from mspt.core.errors import InputError
from mspt.core.quality.scorer import MODEL, Scorer
from mspt.core.shards import open_docs
from support.given import given, hashes
from support.inline import work_inline
from support.prose import corpus

SMALL = {"buckets": 1 << 12, "epochs": 20, "held_out": 0.3}


def train(workspace, **config):
    return workspace.run("train-scorer", {"workers": 1, **SMALL, **config}, references={"docs": "given"})


def test_scorer_tells_kept_from_shuffled_and_its_bytes_depend_on_nothing_else(workspace, tmp_path, monkeypatch):
    made = []
    for workers in (1, 2):
        own = type(workspace)(tmp_path / str(workers) / "work")
        own.path.parent.mkdir()
        given(own, corpus(120, seed=1), shards=3)
        with monkeypatch.context() as patch:
            if workers == 1:
                work_inline(patch)
            made.append(train(own, workers=workers))
    assert hashes(made[0]) == hashes(made[1])
    stats = made[0].stats
    assert stats["documents"] == 120
    assert stats["examples"] == 240
    assert 15 <= stats["held_out"]["windows"] <= 60  # .3 of 120 documents
    assert min(stats["held_out"]["auc"].values()) > 0.95
    texts = open_docs(own.store.resolve("given")).read_live(0, ["text"]).column("text")
    assert Scorer.load(made[1].root).score(texts).mean() > 0.8
    assert Scorer.load(made[1].root).description.max_characters == 10_000
    assert not own.notes.warnings


def test_only_live_documents_teach_and_max_documents_limits_them(workspace, monkeypatch):
    work_inline(monkeypatch)
    texts = corpus(30, seed=2)
    given(workspace, texts, dropped=sorted(texts)[:20])
    made = train(workspace, max_documents=6, held_out=0.5)
    assert made.stats["documents"] == 6
    assert made.stats["examples"] == 12
    assert (made.root / MODEL).is_file()


def test_nothing_to_learn_from_is_an_error_of_the_input(workspace, monkeypatch):
    work_inline(monkeypatch)
    given(workspace, {"a": "短", "b": ""})
    with pytest.raises(InputError, match="no kept text of 20 characters"):
        train(workspace)
