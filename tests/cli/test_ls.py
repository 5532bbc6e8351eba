"""`mspt ls` names every version and says truly in which state it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mspt.core.errors import CheckFailed, InputError, MsptError
from support.inline import work_inline
from support.shelf import COURSE, SIEVE, look, look_json, shelf


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    work_inline(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")


def states(capsys, workspace) -> dict[str, str]:
    return {entry["ref"]: entry["state"] for entry in look_json(capsys, workspace, "ls")["artifacts"]}


def test_an_empty_workspace_says_how_to_start(capsys, workspace):
    code, out, _ = look(capsys, workspace, "ls")
    assert code == 0
    assert "start with `mspt clean" in out


def test_versions_records_and_latest(capsys, workspace):
    shelf(workspace)
    shelf(workspace, shortest=6)
    entries = look_json(capsys, workspace, "ls")["artifacts"]
    assert [(e["ref"], e["kind"], e["records"], e["latest"]) for e in entries] == [("shelf@v1", "docs", 4, False), ("shelf@v2", "docs", 4, True)]
    unlisted = ("artifact.json", "log.jsonl")
    for entry in entries:
        files = [p for p in (workspace.path / "shelf" / f"v{entry['version']}").rglob("*") if p.is_file() and p.name not in unlisted]
        assert entry["bytes"] == sum(p.stat().st_size for p in files)
    code, out, _ = look(capsys, workspace, "ls")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if "shelf@" in line] == ["shelf@v1", "shelf@v2"]
    assert "latest" in next(line for line in out.splitlines() if "shelf@v2" in line)


def test_a_name_shows_what_changed_from_version_to_version(capsys, workspace):
    shelf(workspace)
    shelf(workspace, shortest=6, shout=True)
    _, out, _ = look(capsys, workspace, "ls", "shelf")
    assert "shortest 10 -> 6; shout False -> True" in out
    code, _, err = look(capsys, workspace, "ls", "shelv")
    assert (code, "did you mean `shelf`?" in err) == (2, True)


def test_an_interrupted_version_is_abandoned_once_a_newer_one_is_there(capsys, workspace):
    with pytest.raises(InputError):
        shelf(workspace, max_rejected=0.01)
    assert states(capsys, workspace) == {"shelf@v1.partial": "interrupted"}
    shelf(workspace, shortest=6)
    assert states(capsys, workspace) == {"shelf@v1.partial": "abandoned", "shelf@v2": "finished"}
    _, out, _ = look(capsys, workspace, "ls")
    assert "mspt gc" in out


HOLD = """
import sys, json
from pathlib import Path
from mspt.core.lock import Lock
with Lock(Path(sys.argv[1]), ["mspt", "shelf", "raw"]):
    print("held", flush=True)
    sys.stdin.readline()
    if sys.argv[2] == "die":
        import os; os._exit(9)
"""


def hold(workspace, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(workspace.path / "shelf" / ".lock"), how]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("how", ["leave", "die"])
def test_running_is_what_a_live_process_holds_and_no_longer(capsys, workspace, how):
    with pytest.raises(InputError):
        shelf(workspace, max_rejected=0.01)
    process = hold(workspace, how)
    assert states(capsys, workspace) == {"shelf@v1.partial": "running"}
    assert f"process {process.pid}" in look(capsys, workspace, "ls")[1]
    process.communicate("\n")
    assert states(capsys, workspace) == {"shelf@v1.partial": "interrupted"}


def test_training_runs_say_their_step_and_why_they_stopped(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    with pytest.raises(KeyboardInterrupt):
        workspace.run(COURSE, {"steps": 6, "fails_at": 5})
    entry = look_json(capsys, workspace, "ls", "course")["artifacts"][0]
    assert (entry["ref"], entry["state"], entry["step"]) == ("course@v1", "stopped", 4)
    run = workspace.path / "course" / "v1" / "run.json"
    run.write_text(run.read_text().replace('"stopped"', '"running"'))  # as a SIGKILL leaves it
    assert states(capsys, workspace)["course@v1"] == "interrupted"


def test_samples_are_marked(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE, {"sample": "2"})
    entry = next(e for e in look_json(capsys, workspace, "ls")["artifacts"] if e["name"] == "sieve")
    assert (entry["sample"], entry["latest"]) == ("2", False)
    assert "sample 2" in look(capsys, workspace, "ls")[1]


def test_listing_writes_nothing(capsys, workspace):
    shelf(workspace)

    def tree() -> list[tuple[str, int]]:
        return sorted((str(p), p.stat().st_mtime_ns) for p in workspace.path.rglob("*"))

    before = tree()
    for command in (["ls"], ["ls", "shelf"], ["show", "shelf"], ["sample", "shelf"], ["verify", "--all"], ["gc"], ["pin"], ["diff", "shelf", "shelf@v1"]):
        assert look(capsys, workspace, *command)[0] == 0
    assert tree() == before


def test_markup_and_control_characters_of_data_stay_text(capsys, workspace):
    shelf(workspace, ["[bold]not markup[/bold] \x1b[31mred\x1b[0m \u202egnirts and more"])
    _, out, _ = look(capsys, workspace, "sample", "shelf")
    assert "[bold]not markup[/bold] \\x1b[31mred\\x1b[0m \\u202egnirts" in out
    assert "\x1b" not in out


def test_json_of_all_views_is_one_object(capsys, workspace):
    shelf(workspace)
    for command in (["ls"], ["show", "shelf"], ["sample", "shelf"], ["diff", "shelf", "shelf", "--documents"], ["verify", "shelf"], ["gc"], ["pin"]):
        code, out, _ = look(capsys, workspace, "--json", *command)
        assert code == 0
        assert isinstance(json.loads(out), dict)
    assert os.listdir(workspace.path) == ["shelf"]


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 999}', '{"schema": 1, "kind": "docs"}', None])
def test_one_damaged_version_hides_no_other(capsys, workspace, content):
    """A manifest that is no JSON, no object, not whole, or gone: ls shows it, its neighbours stay usable, gc does not guess."""
    manifest = shelf(workspace).root / "artifact.json"
    second = shelf(workspace, shortest=6)
    manifest.unlink()
    if content is not None:
        manifest.write_text(content, encoding="utf-8")
    assert states(capsys, workspace) == {"shelf@v1": "damaged", "shelf@v2": "finished"}
    assert workspace.run(SIEVE).inputs[0].ref == "shelf@v2"
    assert shelf(workspace, shortest=6).ref == second.ref
    for arguments in (("show", "shelf@v1"), ("gc",), ("verify", "--all")):
        code, out, err = look(capsys, workspace, *arguments)
        assert code == 5
        assert "shelf@v1" in out + err
    assert shelf(workspace, shortest=7).version == 3
    assert any("shelf@v1 is damaged" in warning for warning in workspace.notes.warnings)


def test_a_damaged_latest_is_not_passed_over_in_silence(capsys, workspace):
    made = shelf(workspace)
    (made.root / "artifact.json").write_text("{", encoding="utf-8")
    assert states(capsys, workspace) == {"shelf@v1": "damaged"}
    with pytest.raises(MsptError):
        workspace.run(SIEVE)


def test_a_damaged_run_does_not_begin_again(workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    run = workspace.run(COURSE)
    (run.root / "artifact.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckFailed, match="course@v1 is damaged"):
        workspace.run(COURSE)
