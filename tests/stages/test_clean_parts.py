"""One huge file is shared by all workers, part by part, and gives the same documents as one worker reading it through."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.inline import work_inline
from support.made import data_hashes, rows
from support.packing import tar

SENTENCE = "第{}天，村里的人都到河边看水，老人说今年的水比往年高，孩子们却只顾着在岸上跑来跑去，谁也不肯先回家吃饭。"
PART = "16KiB"


def lines(number: int) -> bytes:
    return b"".join(json.dumps({"text": SENTENCE.format(i) * 2}, ensure_ascii=False).encode() + b"\n" for i in range(number))


@pytest.fixture
def huge(tmp_path) -> Path:
    """Small files around a stream of 270 kB in a gzip of 12 kB, and a tar of many members: about 30 parts of 16 KiB."""
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "a.txt").write_text(SENTENCE.format("前"), encoding="utf-8")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(900)) + gzip.compress(b"{broken\n"))
    members = {f"{i:03}.txt": (SENTENCE.format(f"丙{i}") * 3).encode("gb18030") for i in range(300)}
    (folder / "c.tar").write_bytes(tar(members))
    (folder / "d.gz").write_bytes(gzip.compress(lines(300))[:-9])
    return folder


def test_parts_hold_together_what_one_piece_holds(huge, workspace, monkeypatch):
    work_inline(monkeypatch)
    whole = workspace.run("clean", {"unit_bytes": "64MiB"}, paths=[huge], name="whole")
    cut = workspace.run("clean", {"unit_bytes": PART}, paths=[huge], name="cut")
    assert len(list(whole.root.glob("docs-*.parquet"))) == 1
    assert len(list(cut.root.glob("docs-*.parquet"))) > 20
    assert rows(cut) == rows(whole)
    assert rows(cut, "rejected/*.parquet") == rows(whole, "rejected/*.parquet")
    for name in ("counts", "stats"):
        assert cut.manifest[name] == whole.manifest[name]
    assert cut.manifest["counts"]["in"] == 1 + 901 + 300 + 300 + 1  # the last: that d.gz is cut
    for made in (whole, cut):
        recorded = {row["path"]: row["sha256"] for row in rows(made, "inputs.parquet")}
        assert recorded == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in huge.iterdir()}


def test_workers_share_one_file_and_change_no_byte(huge, workspace):
    made = [workspace.run("clean", {"unit_bytes": PART, "workers": n}, paths=[huge], name=f"by-{n}") for n in (1, 2, 3)]
    assert data_hashes(made[0]) == data_hashes(made[1]) == data_hashes(made[2])


def test_parts_of_unchanged_files_are_taken_over(huge, workspace, monkeypatch):
    work_inline(monkeypatch)
    workspace.run("clean", {"unit_bytes": PART}, paths=[huge])
    other = huge.parent / "other"
    other.mkdir()
    (other / "e.txt").write_text(SENTENCE.format("后"), encoding="utf-8")
    second = workspace.run("clean", {"unit_bytes": PART}, paths=[huge, other])
    assert any("units are unchanged" in note and not note.startswith("0 of") for note in workspace.notes.notes)
    scratch = workspace.run("clean", {"unit_bytes": PART}, paths=[huge, other], name="scratch")
    assert data_hashes(second) == data_hashes(scratch)


@pytest.mark.soak
@pytest.mark.parametrize("seconds", [4, 9])
def test_a_kill_in_the_middle_of_a_large_gzip_changes_nothing(tmp_path, workspace, seconds):
    """20 MB of text in one gzip, parts of 2 MiB; `bench/clean_scale.py --megabytes 1000 --kill` does it at full size."""
    path = tmp_path / "one.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as handle:
        for start in range(0, 60_000, 1000):
            handle.write(b"".join(json.dumps({"text": SENTENCE.format(i) * 2}, ensure_ascii=False).encode() + b"\n" for i in range(start, start + 1000)))
    whole = workspace.run("clean", {"unit_bytes": "2MiB", "workers": 2}, paths=[path], name="whole")
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "clean", str(path), "--name", "killed", "--unit-bytes", "2MiB"]
    process = subprocess.Popen([*command, "--workers", "2"], start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    resumed = workspace.run("clean", {"unit_bytes": "2MiB", "workers": 2}, paths=[path], name="killed")
    assert resumed.manifest["version"] == 1
    assert data_hashes(resumed) == data_hashes(whole)
