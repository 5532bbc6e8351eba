"""The score stage behind a scorer that was trained once."""

from __future__ import annotations

import math
import random

import pytest

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.quality.corruptions import CORRUPTIONS
from mspt.core.quality.features import shuffle_words
from mspt.core.quality.scorer import MODEL
from support.given import given, hashes, read_all, read_rejected
from support.inline import work_inline
from support.prose import corpus


@pytest.fixture
def scored(workspace, monkeypatch):
    """A workspace with docs (half of them shuffled, one dropped, one empty) and a scorer that knows the real ones."""
    work_inline(monkeypatch)
    given(workspace, corpus(100, seed=1), name="real")
    workspace.run("train-scorer", {"buckets": 1 << 12, "epochs": 20, "rejected": False}, references={"docs": "real"})
    chooser = random.Random(3)
    texts = corpus(20, seed=9)
    rows = [{"ref": ref, "text": text, "source": "real", "lang": "zh-Hans"} for ref, text in texts.items()]
    rows += [{"ref": f"bad{ref}", "text": shuffle_words(text, chooser), "source": "bad", "lang": "en"} for ref, text in texts.items()]
    rows.append({"ref": "empty", "text": "", "source": "bad"})
    given(workspace, rows, shards=2, dropped=["0000"])
    return workspace


def score(workspace, docs="given", **config):
    return workspace.run("score", {"workers": 1, **config}, references={"docs": docs})


def test_quality_and_weight_of_every_live_document(scored):
    made = score(scored)
    rows = {row["ref"]: row for row in read_all(made)}
    dropped = rows.pop("0000")
    assert (dropped["keep"], dropped["quality"], dropped["weight"]) == (False, None, None)
    good = [row["quality"] for row in rows.values() if row["source"] == "real"]
    bad = [row["quality"] for row in rows.values() if row["source"] == "bad"]
    assert min(good) > 0.5 > max(bad)
    assert (rows["empty"]["quality"], rows["empty"]["weight"]) == (0.0, 0.5)
    for row in rows.values():
        x = 0.5 * row["quality"] + 0.2 * math.log(max(1, len(row["text"])))
        assert row["weight"] == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-12)
    assert made.manifest["counts"] == {"in": 40, "out": 40, "rejected": {}, "removed": {}}
    assert made.manifest["layers"] == ["given", "score"]
    assert (made.stats["by_source"]["real"]["documents"], made.stats["by_lang"]["zh-Hans"]["documents"], made.stats["all"]["documents"]) == (19, 19, 40)
    assert made.stats["by_source"]["real"]["quality_p50"] == round(sorted(good)[9], 4)
    weights = sorted(row["weight"] for row in rows.values())
    assert made.stats["weight_p95_over_p5"] == round(weights[37] / weights[1], 4)  # ranks 38 and 2 of 40
    assert any("under 1.5" in line for line in scored.notes.warnings)


def test_min_quality_drops_with_a_row_and_never_brings_back(scored):
    made = score(scored, min_quality=0.5, quality=4.0, length=0.0)
    rows = {row["ref"]: row for row in read_all(made)}
    assert {row["source"] for row in rows.values() if row["keep"]} == {"real"}
    assert not rows["0000"]["keep"]
    rejected = read_rejected(made)
    assert len(rejected) == 21
    assert {(row["rule"], row["stage"], row["threshold"]) for row in rejected} == {("low-quality", "score", 0.5)}
    assert all(row["value"] == rows[row["ref"]]["quality"] < 0.5 for row in rejected)
    assert made.manifest["counts"] == {"in": 40, "out": 19, "rejected": {"low-quality": 21}, "removed": {}}
    assert made.digests["text"] != scored.store.resolve("given").digests["text"]
    good = next(row for row in rows.values() if row["keep"])
    assert good["weight"] == pytest.approx(1 / (1 + math.exp(-4 * good["quality"])))


def test_repeat_ratio_of_dedup_enters_the_weight(scored):
    text = "".join(random.Random(5).choices("天地玄黄宇宙洪荒日月盈昃辰宿列张", k=2000))
    given(scored, [{"ref": "a", "text": text}, {"ref": "b", "text": text + text[::-1][:50]}, {"ref": "c", "text": "短"}])
    scored.run("dedup", {"threshold": 1.0}, references={"docs": "given"})
    rows = read_all(score(scored, docs="dedup"))
    a, b, c = (row["repeat_ratio"] for row in rows)
    assert (a, c) == (1.0, None)
    assert 0.9 < b < 1
    for row in rows:
        x = 0.5 * row["quality"] + 0.2 * math.log(len(row["text"])) - 0.1 * (row["repeat_ratio"] or 0)
        assert row["weight"] == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-12)


def test_worker_processes_write_the_same_bytes(scored, monkeypatch):
    inline = score(scored, min_quality=0.4)
    monkeypatch.undo()
    again = scored.run("score", {"workers": 2, "min_quality": 0.4}, references={"docs": "given"}, name="score-again")
    plain = {name.replace("score-again", "score"): sha256 for name, sha256 in hashes(again).items()}
    assert plain == hashes(inline)


def test_without_a_scorer_the_default_one_judges_and_says_so(workspace, monkeypatch):
    work_inline(monkeypatch)
    text = (
        "We went to the market in the morning and bought bread, apples and a small cake for the children. It was cold, but the sun came out later. On the way "
        "home we met an old friend of my father, who told us that the library will be closed for two weeks because the roof has to be repaired. He asked us "
        "to return the books before the end of the month. In the afternoon we read to the children, and then we all walked down to the river together."
    )
    given(workspace, {"good": text, "bad": CORRUPTIONS["keyword-stuffing"](text, random.Random(3)), "empty": ""})
    made = score(workspace)
    assert any("default one of mspt judges, which learned from" in line for line in workspace.notes.notes)
    assert made.stats["scorer"] == "default"
    rows = {row["ref"]: row["quality"] for row in read_all(made)}
    assert rows["good"] > 0.5 > rows["bad"]
    assert rows["empty"] == 0
    assert len(made.manifest["identity"]["default_scorer"]) == 16  # other bytes of it are another identity


def test_a_damaged_scorer_and_a_wrong_kind_are_refused(scored):
    with pytest.raises(MsptError, match="kind"):
        scored.run("score", references={"docs": "given", "scorer": "given"})
    path = scored.store.resolve("train-scorer").root / MODEL
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CheckFailed, match=MODEL):
        score(scored)
