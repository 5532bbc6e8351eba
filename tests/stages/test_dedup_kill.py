"""dedup ended with SIGKILL anywhere and resumed writes the same bytes; so do other numbers of workers and other bounds of memory."""

from __future__ import annotations

import json
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
from support.units import finished_units

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


QUESTION = "小明有十二个苹果，给了小红三个，又买了五个，请问小明现在一共有多少个苹果？"
LEVELS = {"paragraphs": True, "boilerplate_documents": 20, "substrings": 50, "decontaminate_by": "cut"}
LEVEL_FLAGS = ["--paragraphs", "--boilerplate-documents", "20", "--substrings", "50", "--decontaminate-by", "cut"]
LEVEL_UNITS = {"contamination", "sketch", "merge", "paragraphs", "anchors", "stretches", "suffixes", "write", "rewrite"}


def pages(first, number):
    """Texts with near-copies, lines of others, boilerplate, quotes, a test question and long repetitions."""
    chooser = random.Random(first)
    lines = ["".join(random.Random(i).choices(LETTERS, k=60)) for i in range(number)]
    quotes = ["".join(random.Random(-1 - i).choices(LETTERS, k=90)) for i in range(50)]
    texts = {}
    for name, text in families(number, 400).items():
        if chooser.random() < 0.5:  # near-copies
            texts[f"{first}-{name}"] = text
            continue
        parts = [
            text,
            chooser.choice(lines) + chooser.choice(quotes),
            chooser.choice(lines),
            *(["版权归原作者所有，转载请注明出处，如有侵权请联系本站删除。"] * (chooser.random() < 0.2)),
        ]
        parts += [f"例题：{QUESTION}"] * (chooser.random() < 0.02) + ["-=" * chooser.randrange(40, 900)] * (chooser.random() < 0.05)
        texts[f"{first}-{name}"] = "\n".join(parts)
    return texts


def kill_again_and_again(command, partial, seed):
    """Starts the command and kills it when it has finished the first unit of another group or two to six more units, and a moment later, until it ends by
    itself: the groups of units that were reached by then."""
    chooser, reached, kills = random.Random(seed), set(), 0
    while True:
        wanted = len(finished_units(partial)) + chooser.randrange(2, 7)
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(done := finished_units(partial)) < wanted and {group for group, _ in done} <= reached:
            time.sleep(0.005)
        time.sleep(chooser.uniform(0, 0.1))
        if process.poll() is not None:
            assert process.returncode == 0, process.stderr.read().decode()
            return reached, kills
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        reached |= {group for group, _ in finished_units(partial)}
        kills += 1


def same_but_for_names(first, second):
    """Bytes of both by path; rejected and removed parts name the stage's artifact in their paths alone."""
    return {path.replace(second.name, first.name): sha for path, sha in hashes(second).items()} == hashes(first)


@pytest.mark.soak
@pytest.mark.parametrize("small_bytes", [0, 2**40], ids=["pools", "one process"])
def test_kills_at_many_moments_change_nothing(workspace, small_bytes):
    given(workspace, families(4000, 600), shards=5)
    whole = workspace.run("dedup", {"workers": 2}, references={"docs": "given"}, name="dedup")
    command = [sys.executable, "-c", START, str(small_bytes), "--workspace", str(workspace.path), "dedup", "--docs", "given", "--name", "killed"]
    _, kills = kill_again_and_again([*command, "--workers", "2"], workspace.path / "killed" / "v1.partial", 1)
    assert kills > 3
    assert same_but_for_names(whole, workspace.run("dedup", {"workers": 2}, references={"docs": "given"}, name="killed"))


@pytest.mark.soak
@pytest.mark.parametrize("small_bytes", [0, 2**40], ids=["pools", "one process"])
def test_kills_at_any_level_change_nothing(workspace, small_bytes):
    """All levels against an older artifact: killed after every few units, so in each level, in workers as in the parent."""
    task = workspace.path.parent / "task.jsonl"
    task.write_text(json.dumps({"question": QUESTION}, ensure_ascii=False) + "\n", encoding="utf-8")
    files = {"decontaminate": [task]}
    given(workspace, pages(1, 150), name="before", shards=2)
    workspace.run("dedup", {"workers": 1, **LEVELS}, references={"docs": "before"}, files=files, name="old")
    given(workspace, pages(2, 400), shards=4)
    references = {"docs": "given", "against": "old"}
    whole = workspace.run("dedup", {"workers": 2, **LEVELS}, references=references, files=files, name="dedup")
    assert set(whole.manifest["counts"]["removed"]) == {"boilerplate", "repeated-paragraph", "repeated-substring", "contaminated"}
    assert set(whole.manifest["counts"]["rejected"]) >= {"near-duplicate"}
    command = [sys.executable, "-c", START, str(small_bytes), "--workspace", str(workspace.path), "dedup", "--docs", "given", "--against", "old"]
    command += ["--name", "killed", "--workers", "2", "--decontaminate", str(task), *LEVEL_FLAGS]
    reached, kills = kill_again_and_again(command, workspace.path / "killed" / "v1.partial", 2)
    assert kills >= 8
    assert reached >= LEVEL_UNITS - {"rewrite"}  # the last group may be done before a kill falls into it
    killed = workspace.run("dedup", {"workers": 2, **LEVELS}, references=references, files=files, name="killed")
    assert killed.manifest["version"] == 1
    assert same_but_for_names(whole, killed)
