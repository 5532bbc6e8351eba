"""score ended anywhere, by SIGKILL too, and resumed writes the same bytes; texts may hold any character."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from support.given import given, hashes, read_all
from support.inline import work_inline
from support.prose import corpus
from support.units import finished_units

CONFIG = {"workers": 1, "block_documents": 7, "min_quality": 0.05}
ODD = [
    "",
    "\0",
    "a\0b",
    "\n\n\n",
    "\u2028\u2029",
    "__label__high </s> <unk>",
    "\r",
    "\ufffe\ufdd0",
    "\U0001f600" * 3000,
    "x" * 30_000,
    "\u202e\u200b",
    "¶ax ¤H",
]


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def docs(workspace):
    """40 texts in prose and a dozen odd ones."""
    texts = corpus(40, seed=8) | {f"odd{i}": text for i, text in enumerate(ODD)}
    given(workspace, [{"ref": ref, "text": text, "source": ref[:3], "lang": "en"} for ref, text in texts.items()], shards=3)
    return workspace


def score(workspace, name, **config):
    return workspace.run("score", CONFIG | config, references={"docs": "given"}, name=name)


def plain(made, name):
    return {path.replace(f"attributes-{name}-", "attributes-score-"): sha256 for path, sha256 in hashes(made).items() if "rejected" not in path}


@pytest.mark.parametrize("phase", ["judging.judge_all", "blocks.as_table", "publishing.publish", "reporting.report"])
def test_a_run_that_ends_in_any_phase_is_resumed(docs, monkeypatch, phase):
    work_inline(monkeypatch)
    whole = score(docs, "score")
    with monkeypatch.context() as patch:
        patch.setattr(f"mspt.stages.score.{phase}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            score(docs, "again")
    resumed = score(docs, "again")
    assert any("resuming" in note for note in docs.notes.notes)
    assert plain(resumed, "again") == plain(whole, "score")
    assert (len(read_all(resumed)), resumed.manifest["counts"]) == (52, whole.manifest["counts"])


def test_odd_texts_have_a_score_each(docs, monkeypatch):
    work_inline(monkeypatch)
    rows = {row["ref"]: row for row in read_all(score(docs, "score", min_quality=None))}
    odd = [rows[f"odd{i}"] for i in range(len(ODD))]
    assert all(0 <= row["quality"] <= 1 and row["weight"] > 0 and row["domain"] for row in odd)
    assert [row["characters"] for row in odd] == [len(text) for text in ODD]
    assert {row["quality"] for row, text in zip(odd, ODD, strict=True) if not text.strip("\n\r\u2028\u2029\0")} == {0.0}
    assert odd[0]["entropy"] is None
    assert odd[9]["entropy"] == 0


@pytest.mark.soak
def test_kills_at_many_moments_change_nothing(workspace):
    given(workspace, [{"ref": ref, "text": text * 20, "source": ref[:2], "lang": "en"} for ref, text in corpus(6000, seed=3).items()], shards=6)
    whole = score(workspace, "score", workers=2)
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "score", "--docs", "given", "--name", "killed"]
    command += ["--workers", "2", "--block-documents", "7", "--min-quality", "0.05"]
    partial, kills = workspace.path / "killed" / "v1.partial", 0
    for done in range(0, 20, 2):  # killed when so many units have a record, and a moment later
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and (not partial.is_dir() or len(finished_units(partial)) < done):
            time.sleep(0.005)
        time.sleep(random.Random(done).uniform(0, 0.1))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    resumed = score(workspace, "killed", workers=2)
    assert kills > 3
    assert resumed.manifest["version"] == 1
    assert plain(resumed, "killed") == plain(whole, "score")
