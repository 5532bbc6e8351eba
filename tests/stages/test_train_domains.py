"""The train-domains stage, and score with the model that it makes."""

from __future__ import annotations

import inspect
import json
import os
import pydoc_data.topics
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Workspace

from mspt.core.errors import MachineError, MsptError
from mspt.core.quality.domains import MODEL, DomainModel
from support.disks import resize, small_disk
from support.given import given, hashes, read_all
from support.inline import work_inline
from support.prose import corpus
from support.scorers import score_by_length
from support.units import finished_units

SMALL = {"buckets": 1 << 12, "epochs": 10, "workers": 1}
SOURCES = ["documentation=topics", "literature=tales", "code=modules"]


def rows(count=60):
    """Topics of `help()`, tales of support/prose.py, functions of the standard library."""
    topics = [(f"t{i}", text, "topics") for i, text in enumerate(list(pydoc_data.topics.topics.values())[:count])]
    tales = [(ref, text, "tales") for ref, text in corpus(count, seed=2).items()]
    library = [value for module in (statistics, random, json, inspect) for value in vars(module).values() if inspect.isfunction(value)]
    code = [(f"c{i}", inspect.getsource(value), "modules") for i, value in enumerate(library[:count])]
    return [{"ref": ref, "text": text, "source": source, "lang": "en", "form": "prose"} for ref, text, source in (*topics, *tales, *code)]


@pytest.fixture
def docs(workspace, monkeypatch):
    work_inline(monkeypatch)
    given(workspace, rows(), shards=3, dropped=["t0"])
    return workspace


def train(workspace, name=None, **config):
    return workspace.run("train-domains", {**SMALL, "domain": SOURCES, **config}, references={"docs": "given"}, name=name)


def test_a_model_and_its_confusion_table(docs):
    made = train(docs)
    held_out = made.stats["held_out"]
    assert made.stats["domains"] == ["code", "literature", "documentation"]
    assert held_out["accuracy"] > 0.9
    assert sum(n for row in held_out["confusion"].values() for n in row.values()) == held_out["documents"]
    assert sum(facts["documents"] for facts in held_out["by_domain"].values()) == held_out["documents"]
    assert 15 < held_out["documents"] < 60  # a fifth of 179
    model = DomainModel.load(made.root)
    assert model.description.measured == held_out
    assert any("fewer than 20 documents held out" in line for line in docs.notes.warnings)


def test_its_bytes_depend_on_nothing_else(docs, monkeypatch):
    inline = train(docs)
    monkeypatch.undo()
    again = docs.run("train-domains", {**SMALL, "domain": SOURCES, "workers": 2}, references={"docs": "given"}, name="again")
    assert hashes(again) == hashes(inline)
    other = docs.run("train-domains", {**SMALL, "domain": SOURCES, "seed": 2}, references={"docs": "given"}, name="other")
    assert hashes(other)[MODEL] != hashes(inline)[MODEL]


def test_score_labels_with_it(docs, monkeypatch):
    score_by_length(monkeypatch)
    made = train(docs)
    scored = docs.run("score", {"workers": 1}, references={"docs": "given"})
    assert [record.ref for record in scored.inputs if record.name == "domains"] == [made.ref]
    found = read_all(scored)
    live = [row for row in found if row["keep"]]
    right = {"topics": "documentation", "tales": "literature", "modules": "code"}
    assert sum(row["domain"] == right[row["source"]] for row in live) > 0.95 * len(live)
    assert all(row["domain"] == "other" for row in live if row["domain_confidence"] < 0.5)
    assert {(row["domain"], row["domain_confidence"]) for row in found if not row["keep"]} == {(None, None)}
    stats = scored.stats["domains"]
    assert (stats["model"], stats["known"]) == (made.ref, ["code", "literature", "documentation"])
    assert stats["measured"] == made.stats["held_out"]
    assert sum(stats["by_source"]["topics"].values()) == 59
    assert stats["by_source"]["tales"]["literature"] == sum(row["domain"] == "literature" for row in live if row["source"] == "tales")


def test_without_a_model_the_default_one_labels_and_says_what_it_knows(docs, monkeypatch):
    score_by_length(monkeypatch)
    scored = docs.run("score", {"workers": 1}, references={"docs": "given"})
    assert scored.stats["domains"]["model"] == "default"
    assert any("default model of mspt, which knows" in note for note in docs.notes.notes)
    assert len(scored.manifest["identity"]["default_domains"]) == 16
    without = docs.run("score", {"workers": 1, "label_domain": False}, references={"docs": "given"})
    assert "domain" not in read_all(without)[0]
    assert "domains" not in without.stats
    weighted = docs.run("score", {"workers": 1, "weight": "1 + domain_confidence"}, references={"docs": "given"})
    assert any("no text is read" in note for note in docs.notes.notes)  # measured by the first
    assert {row["domain"] for row in read_all(weighted)} == {row["domain"] for row in read_all(scored)}


def test_labels_of_a_file(docs, tmp_path):
    path: Path = tmp_path / "labels.jsonl"
    name_of = {"topics": "documentation", "tales": "literature", "modules": "code"}
    path.write_text("".join(json.dumps({"text": row["text"], "domain": name_of[row["source"]]}) + "\n" for row in rows(30)), encoding="utf-8")
    made = docs.run("train-domains", SMALL, files={"labels": [path]})
    assert made.stats["labels"] == len(rows(30))
    assert made.stats["held_out"]["accuracy"] > 0.8


@pytest.mark.parametrize(("free", "what"), [(40, "is full"), (1200, "written whole")])  # kB: no room for the examples; for them, and half of the model
def test_a_full_disk_is_said_and_room_is_enough_to_go_on(docs, tmp_path, monkeypatch, free, what):
    whole = train(docs, buckets=1 << 15)
    monkeypatch.undo()  # workers, which clear up before a unit begins again
    assert whole.path(MODEL).stat().st_size > 1_000_000
    with small_disk(tmp_path / "disk", "16m") as disk:
        shutil.copytree(docs.path / "given", disk / "work/given", symlinks=True)
        used = sum(path.stat().st_blocks * 512 for path in disk.rglob("*") if path.is_file())
        resize(disk, f"{used // 1024 + free}k")
        workspace = Workspace(disk / "work")
        with pytest.raises(MachineError, match=what):
            train(workspace, buckets=1 << 15)
        resize(disk, "64m")
        assert hashes(train(workspace, buckets=1 << 15)) == hashes(whole)


@pytest.mark.soak
def test_killed_among_the_examples_and_in_training_it_is_resumed_to_the_same_bytes(docs):
    whole = train(docs, epochs=100)
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(docs.path), "train-domains", "--docs", "given", "--name", "killed", "--workers", "1"]
    command += ["--buckets", str(SMALL["buckets"]), "--epochs", "100", *(part for pair in SOURCES for part in ("--domain", pair))]
    partial = docs.path / "killed" / "v1.partial"
    for done in (1, 3):  # shards whose examples are written; after the third nothing but training is left
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and (not partial.is_dir() or len(finished_units(partial)) < done):
            time.sleep(0.002)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert {group for group, _ in finished_units(partial)} == {"examples"}
    resumed = train(docs, epochs=100, name="killed")
    assert any("resuming" in note for note in docs.notes.notes)
    assert resumed.manifest["version"] == 1
    assert hashes(resumed) == hashes(whole)


def test_mistakes_are_named(docs, tmp_path):
    for domain, words in (
        (["news=topics"], "two at least"),
        (["news=topics", "news=tales"], "two at least"),
        (["news=topics", "code=tails"], "tails"),
        (["weather=topics", "code=tales"], "no domain 'weather'"),
        (["news=topics", "code=topics"], "topics is news already"),
        (["news", "code=topics"], "expected NAME=SOURCE"),
    ):
        with pytest.raises(MsptError, match=words):
            train(docs, domain=domain)
    path = tmp_path / "labels.jsonl"
    path.write_text('{"text": "a", "domain": "news"}\n{"text": "b", "domain": "news"}\n', encoding="utf-8")
    with pytest.raises(MsptError, match="text of news only"):
        docs.run("train-domains", {**SMALL, "held_out": 0.0}, files={"labels": [path]})
    with pytest.raises(MsptError, match="labels too"):
        docs.run("train-domains", {**SMALL, "domain": SOURCES}, files={"labels": [path]})
