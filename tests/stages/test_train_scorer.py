"""The train-scorer stage."""

from __future__ import annotations

import json

import pytest

from mspt.core.errors import InputError, MsptError
from mspt.core.quality.scorer import MODEL, Scorer
from mspt.core.shards import open_docs
from support.given import given, hashes
from support.inline import work_inline
from support.prose import corpus

SMALL = {"buckets": 1 << 12, "epochs": 20, "window": 1000, "draws": 1, "held_out": 0.3, "rejected": False}


def train(workspace, **config):
    return workspace.run("train-scorer", {"workers": 1, **SMALL, **config}, references={"docs": "given"})


def train_on(workspace, path, **config):
    return workspace.run("train-scorer", {"workers": 1, **SMALL, **config}, files={"labels": [path]})


def labels(tmp_path, rows):
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def labelled(seed, count=120):
    """Texts that a person might label: prose high, prose of one word in two missing middle, numbers low."""
    rows = []
    for i, text in enumerate(corpus(count, seed).values()):
        words = text.split(" ") if " " in text else list(text)
        rows.append(
            [{"text": text, "label": "high"}, {"text": " ".join(words[::2]) + "\0\n", "label": "middle"}, {"text": f"{i} 17 {i * 7} | 23.5 " * 9, "label": 0}][
                i % 3
            ]
        )
    return rows


def test_scorer_tells_kept_from_corrupted_and_its_bytes_depend_on_nothing_else(workspace, tmp_path, monkeypatch):
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
    assert stats["by_kind"]["kept"] == 120
    assert sum(stats["by_kind"].values()) == stats["examples"]
    held_out = stats["held_out"]
    assert 15 <= held_out["by_class"]["high"] <= 60  # .3 of 120 documents
    assert held_out["auc"]["high_low"] > 0.9
    assert held_out["spearman"] > 0.6
    texts = open_docs(own.store.resolve("given")).read_live(0, ["text"]).column("text")
    assert Scorer.load(made[1].root).score(texts).mean() > 0.6
    assert Scorer.load(made[1].root).description.max_characters == 10_000
    assert not own.notes.warnings


def test_only_live_documents_of_good_sources_teach_and_max_documents_limits_them(workspace, monkeypatch):
    work_inline(monkeypatch)
    texts = corpus(40, seed=2)
    rows = [{"ref": ref, "text": text, "source": "good" if i % 2 else "other"} for i, (ref, text) in enumerate(texts.items())]
    given(workspace, rows, dropped=sorted(texts)[:20])
    assert train(workspace, good=("good",)).stats["documents"] == 10
    made = train(workspace, max_documents=6)
    assert made.stats["documents"] == made.stats["by_kind"]["kept"] == 6
    assert (made.root / MODEL).is_file()
    assert train(workspace, max_documents=6, draws=0).stats["by_kind"]["kept"] == 96  # few documents: 16 draws
    with pytest.raises(MsptError, match="there is no source `goood`"):
        train(workspace, good=("goood",))


def test_nothing_to_learn_from_is_an_error(workspace, monkeypatch):
    work_inline(monkeypatch)
    with pytest.raises(MsptError, match="needs labels or documents"):
        workspace.run("train-scorer", SMALL)
    given(workspace, {"a": "短", "b": ""})
    with pytest.raises(InputError, match="no kept text of 20 characters"):
        train(workspace)


def test_labels_teach_their_three_classes(workspace, tmp_path, monkeypatch):
    work_inline(monkeypatch)
    made = train_on(workspace, labels(tmp_path, labelled(seed=3)))
    assert made.stats["labels"] == made.stats["by_kind"]["label"] == 120
    assert made.stats["held_out"]["auc"]["high_low"] > 0.95
    import pyarrow as pa

    fresh = labelled(seed=4, count=60)
    scores = Scorer.load(made.root).score(pa.array([row["text"] for row in fresh]))
    by_label = {label: [score for score, row in zip(scores, fresh, strict=True) if row["label"] == label] for label in ("high", "middle", 0)}
    assert min(by_label["high"]) > max(by_label[0])
    assert sum(by_label["high"]) > sum(by_label["middle"]) > sum(by_label[0])
    again = workspace.outcome("train-scorer", {"workers": 1, **SMALL}, files={"labels": [tmp_path / "labels.jsonl"]})
    assert again.status == "up-to-date"


def test_labels_of_one_class_or_too_few_to_split(workspace, tmp_path, monkeypatch):
    work_inline(monkeypatch)
    with pytest.raises(MsptError, match="one class teaches nothing"):
        train_on(workspace, labels(tmp_path, [{"text": "好文章", "label": "high"}, {"text": "另一篇", "label": 1}]))
    few = labels(tmp_path, [{"text": "一篇很好的文章", "label": "high"}, {"text": "点击 购买 优惠", "label": "low"}])
    made = train_on(workspace, few, held_out=0.0)
    assert made.stats["held_out"] == {}
    assert any("calibrate nothing" in line for line in workspace.notes.warnings)
    with pytest.raises(MsptError, match="not held out are of one class"):
        train_on(workspace, few, held_out=0.99)


def test_what_clean_rejected_and_cut_out_is_low(workspace, tmp_path, monkeypatch):
    """Through the lineage, and only what a rule of quality rejected."""
    work_inline(monkeypatch)
    raw = tmp_path / "raw"
    raw.mkdir()
    rows = [{"text": text} for text in corpus(60, seed=5).values()]
    rows += [{"text": f"{i} 8841 2210 7763 {i * 31} 5512 | 90 " * 12} for i in range(12)]  # digits
    rows += [{"text": "短"}, {"text": "another"}]  # too short: says nothing of quality
    (raw / "a.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    workspace.run("clean", {"workers": 1}, paths=[raw])
    workspace.run("dedup", {"workers": 1})
    rejected = workspace.store.resolve("clean").manifest["counts"]["rejected"]
    judged = sum(count for rule, count in rejected.items() if rule != "too-short")
    assert judged > 0
    made = workspace.run("train-scorer", {"workers": 1, **SMALL, "rejected": True})
    assert made.stats["by_kind"]["rejected"] == judged
    without = workspace.run("train-scorer", {"workers": 1, **SMALL})
    assert "rejected" not in without.stats["by_kind"]
    workspace.store.resolve("clean").root.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="which is not here"):
        workspace.run("train-scorer", {"workers": 1, **SMALL, "rejected": True, "seed": 2})
