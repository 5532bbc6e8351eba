"""`mspt gc` and `mspt pin`: what may go goes, what anything kept was made of stays, and the bytes are honest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from mspt.cli.views.gc import freed_bytes
from mspt.core.errors import InputError
from support.inline import work_inline
from support.shelf import COURSE, SIEVE, look, look_json, shelf


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    work_inline(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")


def going(capsys, workspace, *arguments: str) -> list[str]:
    return [version["ref"] for version in look_json(capsys, workspace, "gc", *arguments)["versions"]]


def present(workspace) -> list[str]:
    return sorted(f"{p.parent.name}/{p.name}" for p in workspace.path.glob("*/v*") if any(p.iterdir()))


@pytest.fixture
def grown(workspace):
    """shelf: v1, v2, v3 (latest); sieve@v1 of shelf@v1; course@v1 of it."""
    shelf(workspace)
    workspace.run(SIEVE)
    workspace.run(COURSE)
    shelf(workspace, shortest=5)
    shelf(workspace, shortest=4)
    return workspace


def test_superseded_versions_go_and_ancestors_of_what_is_kept_stay(capsys, grown):
    found = look_json(capsys, grown, "gc")
    assert [version["ref"] for version in found["versions"]] == ["shelf@v2"]
    reasons = {kept["ref"]: kept["because"] for kept in found["kept"]}
    assert reasons.pop("shelf@v1") in ("sieve@v1 was made of it", "course@v1 was made of it")
    assert reasons == {"shelf@v3": "latest", "sieve@v1": "latest", "course@v1": "latest"}


def test_nothing_is_removed_without_yes(capsys, grown):
    before = present(grown)
    _, out, _ = look(capsys, grown, "gc")
    assert "mspt gc --yes" in out
    assert present(grown) == before
    code, out, _ = look(capsys, grown, "gc", "--yes")
    assert (code, "removed 1 versions" in out) == (0, True)
    assert present(grown) == [p for p in before if p != "shelf/v2"]
    assert look(capsys, grown, "verify", "--all")[0] == 0
    assert going(capsys, grown) == []


def test_keep_names_and_pins(capsys, grown):
    assert going(capsys, grown, "--keep", "2") == []
    assert going(capsys, grown, "sieve") == []
    assert look(capsys, grown, "pin", "shelf@v2", "--note", "the good one")[0] == 0
    assert going(capsys, grown) == []
    assert look_json(capsys, grown, "pin")["pins"] == [{"ref": "shelf@v2", "note": "the good one"}]
    assert "the good one" in look(capsys, grown, "show", "shelf@v2")[1]
    assert look(capsys, grown, "pin", "--remove", "shelf@v2")[0] == 0
    assert going(capsys, grown) == ["shelf@v2"]
    assert look(capsys, grown, "pin", "--remove", "shelf@v2")[0] == 2


def test_what_a_pinned_version_was_made_of_stays(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    shelf(workspace, shortest=5)
    workspace.run(SIEVE)
    assert going(capsys, workspace) == ["shelf@v1", "sieve@v1"]
    look(capsys, workspace, "pin", "sieve@v1")
    assert going(capsys, workspace) == []


def test_a_pin_of_a_name_means_the_version_it_stands_for_now(capsys, grown):
    assert look_json(capsys, grown, "pin", "shelf")["ref"] == "shelf@v3"
    assert look_json(capsys, grown, "pin", "course")["ref"] == "course@v1"
    assert look_json(capsys, grown, "pin", "course@v1/step-2")["ref"] == "course@v1/step-00000002"
    assert next(e for e in look_json(capsys, grown, "ls", "course")["artifacts"])["pinned"]


def test_abandoned_partials_go_and_those_that_can_be_resumed_stay(capsys, workspace):
    with pytest.raises(InputError):
        shelf(workspace, max_rejected=0.01)
    assert going(capsys, workspace) == []
    shelf(workspace, shortest=6)
    assert going(capsys, workspace) == ["shelf@v1.partial"]
    look(capsys, workspace, "gc", "--yes")
    assert present(workspace) == ["shelf/v2"]


def test_inputs_of_an_unfinished_version_stay(capsys, workspace):
    shelf(workspace)
    with pytest.raises(KeyboardInterrupt):
        workspace.run(COURSE, {"fails_at": 2}, references={"docs": "shelf@v1"})
    shelf(workspace, shortest=6)
    assert going(capsys, workspace) == []


def test_a_copy_of_an_input_under_another_name_counts_as_it(capsys, workspace):
    """Inputs are found by fingerprint too: after a name was moved, what was made of it still protects it."""
    shelf(workspace)
    workspace.run(SIEVE)
    shelf(workspace, shortest=6)
    (workspace.path / "moved").mkdir()
    (workspace.path / "shelf" / "v1").rename(workspace.path / "moved" / "v1")
    (workspace.path / "moved" / "v2").mkdir()
    shutil.copytree(workspace.path / "shelf" / "v2", workspace.path / "moved" / "v2", dirs_exist_ok=True)
    assert "shelf@v1" not in going(capsys, workspace)


def test_samples_go_but_their_number_is_not_given_again(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    workspace.run(SIEVE, {"sample": "2"})
    assert going(capsys, workspace) == ["sieve@v2"]
    look(capsys, workspace, "gc", "--yes")
    assert [e["ref"] for e in look_json(capsys, workspace, "ls", "sieve")["artifacts"]] == ["sieve@v1"]
    assert workspace.run(SIEVE, {"without": "other"}).ref == "sieve@v3"
    look(capsys, workspace, "gc", "--yes")
    assert sorted(p.name for p in (workspace.path / "sieve").iterdir() if not p.name.startswith(".")) == ["latest", "v3"]


HOLD = """
import sys
from pathlib import Path
from mspt.core.lock import Lock
with Lock(Path(sys.argv[1]), ["mspt", "sieve"]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_name_that_somebody_has_just_started_on_stops_gc(capsys, grown):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(grown.path / "sieve" / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    code, _, err = look(capsys, grown, "gc", "--yes")
    assert (code, f"process {process.pid}" in err) == (6, True)
    assert "shelf/v2" in present(grown)
    process.communicate("\n")
    assert look(capsys, grown, "gc", "--yes")[0] == 0
    assert "shelf/v2" not in present(grown)


def test_what_an_interrupted_gc_left_is_swept(capsys, grown):
    (grown.path / "shelf" / "v2").rename(grown.path / "shelf" / ".going-v2")  # killed between the rename and the end of the deletion
    assert "shelf@v2" not in [e["ref"] for e in look_json(capsys, grown, "ls")["artifacts"]]
    look(capsys, grown, "gc", "--yes")
    assert not (grown.path / "shelf" / ".going-v2").exists()


def test_freed_bytes_count_a_hard_link_only_when_all_of_it_goes(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a" / "own").write_bytes(b"x" * 1000)
    (tmp_path / "a" / "shared").write_bytes(b"y" * 5000)
    os.link(tmp_path / "a" / "shared", tmp_path / "b" / "shared")
    assert freed_bytes([tmp_path / "a"]) == 1000
    assert freed_bytes([tmp_path / "b"]) == 0
    assert freed_bytes([tmp_path / "a", tmp_path / "b"]) == 6000


def test_listed_bytes_are_what_the_removal_frees(capsys, grown):
    grown.run(SIEVE, references={"docs": "shelf@v2"})  # links the text of shelf@v2
    grown.run(SIEVE, references={"docs": "shelf@v3"})
    promised = look_json(capsys, grown, "gc", "--yes")
    assert [v["ref"] for v in promised["versions"]] == ["shelf@v2", "sieve@v2"]
    together, alone = promised["frees_bytes"], [v["frees_bytes"] for v in promised["versions"]]
    assert together > sum(alone)  # the text is freed only because both of them go


def test_unknown_names_are_refused(capsys, grown):
    code, _, err = look(capsys, grown, "gc", "shelv")
    assert (code, "did you mean `shelf`?" in err) == (2, True)
