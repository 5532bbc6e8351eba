"""dedup ended with SIGKILL anywhere and resumed writes the same bytes; so do other numbers of workers and other bounds of memory."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from mspt.core.errors import MachineError
from mspt.core.files import is_disk_full
from support.disks import resize, small_disk
from support.given import given, hashes, read_rejected
from support.inline import work_inline

LETTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


def families(number, length):
    chooser = random.Random(number)
    texts = {}
    for i in range(number):
        text = "".join(chooser.choices(LETTERS, k=length))
        for j in range(chooser.randrange(1, 4)):
            place = chooser.randrange(length)
            texts[f"{i}-{j}"] = text[:place] + chooser.choice("甲乙丙") * j + text[place:]
    return texts


def test_ranges_of_keys_and_pools_of_workers_change_no_byte(workspace, monkeypatch):
    """The same with one range of keys as with many, and in a pool of workers as in this process."""
    given(workspace, families(60, 80), shards=3)
    with monkeypatch.context() as patch:
        work_inline(patch)
        made = [workspace.run("dedup", {"workers": 1}, references={"docs": "given"}, name="dedup")]
        patch.setattr("mspt.stages.dedup.merging.merge_bytes", lambda job: 1000)
        made.append(workspace.run("dedup", {"workers": 1}, references={"docs": "given"}, name="ranges"))
    with monkeypatch.context() as patch:
        patch.setattr("mspt.stages.dedup.small.SMALL_BYTES", 0)
        made.append(workspace.run("dedup", {"workers": 2}, references={"docs": "given"}, name="pools"))
    first, *others = [{path.replace(m.name, "dedup"): sha for path, sha in hashes(m).items() if "rejected" not in path} for m in made]
    assert others == [first] * 2
    rejected = [[row | {"stage": ""} for row in read_rejected(m)] for m in made]
    assert rejected[0] == rejected[1] == rejected[2]
    assert len(rejected[0]) > 20


@pytest.mark.parametrize("phase", ["merging.merge", "verifying.decide_batch", "verifying.fetch_sets", "publishing.make_marks", "publishing.report"])
def test_a_run_that_ends_in_any_phase_is_resumed(workspace, monkeypatch, phase):
    work_inline(monkeypatch)
    given(workspace, families(30, 60), shards=2)
    whole = workspace.run("dedup", {"workers": 1}, references={"docs": "given"}, name="whole")
    module, name = phase.split(".")
    with monkeypatch.context() as patch:
        patch.setattr(f"mspt.stages.dedup.{module}.{name}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workspace.run("dedup", {"workers": 1}, references={"docs": "given"}, name="whole2")
    resumed = workspace.run("dedup", {"workers": 1}, references={"docs": "given"}, name="whole2")
    assert any("resuming" in note for note in workspace.notes.notes)
    assert {path.replace("whole2", "whole"): sha for path, sha in hashes(resumed).items()} == hashes(whole)


def test_a_full_disk_is_said_and_the_run_goes_on_when_there_is_room(workspace, tmp_path, monkeypatch):
    """NumPy's short writes carry no error number."""
    assert is_disk_full(OSError("36824 requested and 11760 written"))
    assert not is_disk_full(OSError("something else"))
    work_inline(monkeypatch)
    with small_disk(tmp_path / "disk", "3m") as disk:
        full = type(workspace)(disk / "work")
        texts = {str(i): families(1, 4000 + i)["0-0"] + "\n" + "".join(random.Random(i // 2).choices(LETTERS, k=300)) for i in range(120)}
        given(full, texts, shards=2)
        config = {"workers": 1, "paragraphs": True, "substrings": 50}
        with pytest.raises(MachineError, match="is full"):
            full.run("dedup", config, references={"docs": "given"})
        resize(disk, "60m")
        made = full.run("dedup", config, references={"docs": "given"})
        assert any("resuming" in note for note in full.notes.notes)
        assert made.manifest["counts"]["in"] == 120


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


START = "import sys, mspt.stages.dedup.small as small; small.SMALL_BYTES = int(sys.argv.pop(1)); from mspt.cli.app import main; main()"


@pytest.mark.soak
@pytest.mark.parametrize("small_bytes", [0, 2**40], ids=["pools", "one process"])
def test_kills_at_many_moments_change_nothing(workspace, small_bytes):
    given(workspace, families(4000, 600), shards=5)
    whole = workspace.run("dedup", {"workers": 2}, references={"docs": "given"}, name="dedup")
    command = [sys.executable, "-c", START, str(small_bytes), "--workspace", str(workspace.path), "dedup", "--docs", "given", "--name", "killed"]
    command += ["--workers", "2"]
    partial, kills = workspace.path / "killed" / "v1.partial", 0
    for done in range(0, 24, 2):  # killed when so many units have a record, and a moment later
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and not (partial.is_dir() and len(list(partial.rglob("*.json"))) >= done):
            time.sleep(0.005)
        time.sleep(random.Random(done).uniform(0, 0.1))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    resumed = workspace.run("dedup", {"workers": 2}, references={"docs": "given"}, name="killed")
    assert kills > 0
    assert resumed.manifest["version"] == 1
    assert {path.replace("killed", "dedup"): sha for path, sha in hashes(resumed).items()} == hashes(whole)
