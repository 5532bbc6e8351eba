"""What a runner must do: up to date, resume, next version with the reason, reuse of unchanged units, determinism."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mspt.core.artifact import Artifact
from mspt.core.config import build_config
from mspt.core.errors import Busy, CheckFailed, InputError, MachineError, MsptError
from mspt.core.memory import forget_children, largest_child
from mspt.core.raw import RawPath
from mspt.core.runner import HOST_FILES, Request, run_stage
from mspt.core.shards import open_docs
from mspt.core.worker import Limits, run_alone
from support.disks import resize, small_disk
from support.toy import JUDGE, TOY


def make_raw(folder: Path, count: int = 200) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number:04d}.txt").write_text(f"document {number}" + (" bad" if number % 10 == 0 else ""))
    return folder


def data_hashes(artifact: Artifact) -> dict[str, str]:
    return {name: record.sha256 for name, record in artifact.files.items() if name not in HOST_FILES}


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p.relative_to(folder)): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(folder.rglob("*")) if p.is_file()}


def test_second_run_writes_nothing_and_says_up_to_date(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw")
    first = workspace.outcome(TOY, paths=[raw])
    assert (first.status, first.artifact.ref) == ("done", "toy@v1")
    assert first.artifact.manifest["counts"] == {"in": 200, "out": 180, "rejected": {"bad": 20}, "removed": {}}
    before = tree(workspace.path)
    second = workspace.outcome(TOY, paths=[raw])
    assert (second.status, second.artifact.ref) == ("up-to-date", "toy@v1")
    assert {k: v for k, v in tree(workspace.path).items() if not k.endswith(".lock")} == {k: v for k, v in before.items() if not k.endswith(".lock")}


def test_runtime_settings_change_nothing_and_worker_count_changes_no_byte(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw")
    one = workspace.run(TOY, {"workers": 1}, paths=[raw])
    assert workspace.outcome(TOY, {"workers": 2}, paths=[raw]).status == "up-to-date"
    two = workspace.run(TOY, {"workers": 2}, paths=[raw], name="toy-two")
    assert data_hashes(one) == data_hashes(two)
    assert one.fingerprint == two.fingerprint


def test_memory_bounds_the_workers_and_changes_no_byte(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 40)
    seen = []

    def watch(job):
        seen.append(job.workers)
        TOY.run(job)

    small = workspace.run(replace(TOY, run=watch), {"workers": 8, "memory": "2GiB"}, paths=[raw])
    large = workspace.run(replace(TOY, run=watch), {"workers": 3, "memory": "64GiB"}, paths=[raw], name="large")
    assert seen == [2, 3]
    assert data_hashes(small) == data_hashes(large)


def test_changed_setting_makes_the_next_version_and_says_which(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 5)
    workspace.run(TOY, paths=[raw])
    second = workspace.outcome(TOY, {"suffix": "?"}, paths=[raw])
    assert second.artifact.ref == "toy@v2"
    assert any("suffix '!' -> '?'" in note for note in workspace.notes.notes)
    back = workspace.outcome(TOY, paths=[raw])
    assert (back.status, back.artifact.ref) == ("up-to-date", "toy@v1")
    assert os.readlink(workspace.path / "toy" / "latest") == "v1"


def test_a_job_knows_the_earlier_versions_of_its_own_stage_and_revision(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 5)
    seen = []

    def watch(job):
        seen.append([version.ref for version in job.earlier])
        TOY.run(job)

    watched = replace(TOY, run=watch)
    for suffix in "abc":
        workspace.run(watched, {"suffix": suffix}, paths=[raw])
    workspace.run(replace(watched, revision=2), {"suffix": "c"}, paths=[raw])
    workspace.run(watched, {"suffix": "d"}, paths=[raw], name="other")
    assert seen == [[], ["toy@v1"], ["toy@v2", "toy@v1"], [], []]


def test_added_file_costs_only_its_unit_and_equals_from_scratch(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 600)
    first = workspace.run(TOY, paths=[raw])
    (raw / "0100a.txt").write_text("an added document")
    second = workspace.run(TOY, paths=[raw])
    assert any("1 added" in note for note in workspace.notes.notes)
    reused = next(note for note in workspace.notes.notes if "taken over" in note)
    units = len([n for n in second.files if n.startswith("docs-")])
    assert int(reused.split()[0]) >= units - 2
    inode = {p.stat().st_ino for p in first.root.glob("docs-*.parquet")}
    assert sum(p.stat().st_ino in inode for p in second.root.glob("docs-*.parquet")) >= units - 2
    scratch = workspace.run(TOY, paths=[raw], name="scratch")
    assert data_hashes(second) == data_hashes(scratch)
    assert second.fingerprint == scratch.fingerprint


def test_touched_file_with_equal_content_is_no_change(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 5)
    workspace.run(TOY, paths=[raw])
    os.utime(raw / "0001.txt", (1, 1))
    assert workspace.outcome(TOY, paths=[raw]).status == "up-to-date"


def test_same_size_and_time_but_other_bytes_is_found_by_verify_inputs(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 5)
    workspace.run(TOY, paths=[raw])
    stat = (raw / "0001.txt").stat()
    (raw / "0001.txt").write_text("document X")
    os.utime(raw / "0001.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert workspace.outcome(TOY, paths=[raw]).status == "up-to-date"
    assert workspace.outcome(TOY, paths=[raw], verify_inputs=True).artifact.ref == "toy@v2"


def test_moved_workspace_and_inputs_change_nothing(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 5)
    workspace.run(TOY, paths=[raw])
    (tmp_path / "elsewhere").mkdir()
    raw = raw.rename(tmp_path / "elsewhere" / "raw")
    workspace.path = workspace.path.rename(tmp_path / "elsewhere" / "work")
    assert workspace.outcome(TOY, paths=[raw]).status == "up-to-date"


def test_killed_worker_changes_nothing(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 30)
    (raw / "0013.txt").write_text("I die once")
    clean = workspace.run(TOY, paths=[raw], name="clean-run")
    trigger = tmp_path / "trigger"
    trigger.touch()
    killed = workspace.run(TOY, {"kill_once": str(trigger)}, paths=[raw], name="killed")
    assert not trigger.exists()
    assert data_hashes(clean) == data_hashes(killed)
    assert killed.manifest["stopped"] == []


@pytest.mark.parametrize(("word", "rule"), [("crash", "crash"), ("forever", "time-limit"), ("huge", "memory-limit")])
def test_only_the_document_that_kills_alone_is_rejected_and_named(workspace, tmp_path, word, rule):
    raw = make_raw(tmp_path / "raw", 9)
    (raw / "0004.txt").write_text(word)
    artifact = workspace.run(TOY, paths=[raw])
    assert artifact.manifest["counts"]["rejected"] == {"bad": 1, rule: 1}
    assert artifact.manifest["counts"]["out"] == 7
    assert [stop["rule"] for stop in artifact.manifest["stopped"]] == [rule]


RUN = """
import sys; sys.path.insert(0, {tests!r})
from pathlib import Path
from conftest import Workspace
from support.toy import TOY
if __name__ == "__main__":
    Workspace(Path({work!r})).run(TOY, {{"slow": 0.01, "workers": 2}}, paths=[Path({raw!r})])
"""


def start(workspace, raw, script):
    tests = str(Path(__file__).resolve().parents[1])
    script.write_text(RUN.format(tests=tests, work=str(workspace.path), raw=str(raw)))
    return subprocess.Popen([sys.executable, str(script)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_sigkill_in_the_middle_then_resume_is_byte_identical(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 400)
    process = start(workspace, raw, tmp_path / "run.py")
    units = workspace.path / "toy" / "v1.partial" / "units"
    deadline = time.time() + 60
    while len(list(units.glob("*.json"))) < 2 and time.time() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len(list(units.glob("*.json")))
    assert finished >= 2
    resumed = workspace.run(TOY, paths=[raw])
    assert any("resuming" in note for note in workspace.notes.notes)
    assert resumed.ref == "toy@v1"
    scratch = workspace.run(TOY, paths=[raw], name="scratch")
    assert data_hashes(resumed) == data_hashes(scratch)


def test_killed_while_intermediate_files_go_away_then_resumed_is_byte_identical(workspace, tmp_path, monkeypatch):
    """Records of units whose files are gone must not be believed."""
    raw = make_raw(tmp_path / "raw", 50)
    whole = workspace.run(TOY, paths=[raw], name="whole")

    def remove_some(folder):
        for path in sorted(folder.rglob("*.parquet")):
            path.unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mspt.core.finishing.shutil.rmtree", remove_some)
        with pytest.raises(KeyboardInterrupt):
            workspace.run(TOY, paths=[raw])
    assert list((workspace.path / "toy" / "v1.partial" / "units").glob("*.json"))
    resumed = workspace.run(TOY, paths=[raw])
    assert resumed.ref == "toy@v1"
    assert data_hashes(resumed) == data_hashes(whole)
    assert not [path for path in resumed.root.iterdir() if path.is_dir() and path.name.startswith("units")]
    assert not [name for name in resumed.files if name.startswith("units/")]


def test_two_runs_of_one_name_one_is_refused(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 400)
    process = start(workspace, raw, tmp_path / "run.py")
    deadline = time.time() + 60
    while not (workspace.path / "toy" / "v1.partial" / "units").exists() and time.time() < deadline:
        time.sleep(0.02)
    with pytest.raises(Busy, match=f"process {process.pid}"):
        workspace.run(TOY, paths=[raw])
    process.kill()
    process.wait()


def test_judge_links_text_and_layers_win(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 20)
    toy = workspace.run(TOY, paths=[raw])
    judge = workspace.run(JUDGE)
    assert [p.stat().st_ino for p in sorted(toy.root.glob("docs-*"))] == [p.stat().st_ino for p in sorted(judge.root.glob("docs-*"))]
    docs = open_docs(judge)
    assert docs.layer_names == ["judge"]
    live = [i for shard in range(docs.num_shards) for i in docs.read_live(shard, ["id"]).column("id").to_pylist()]
    assert live == [f"{n:04d}.txt" for n in range(1, 10)]  # "document 9!" has 11 characters, "document 11!" has 12
    assert judge.digests["text"] != toy.digests["text"]


def test_corrupted_shard_is_named_by_the_next_stage(workspace, tmp_path):
    toy = workspace.run(TOY, paths=[make_raw(tmp_path / "raw", 20)])
    path = next(iter(sorted(toy.root.glob("docs-*"))))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CheckFailed, match=r"toy@v1: docs-\d+\.parquet is corrupt"):
        workspace.run(JUDGE)


def test_wrong_kind_names_both_kinds(workspace, tmp_path):
    from mspt.core.stage import Read

    workspace.run(TOY, paths=[make_raw(tmp_path / "raw", 3)])
    other = replace(JUDGE, name="other", reads={"tokens": Read("tokens", producer="tokenize")})
    with pytest.raises(MsptError, match=r"wants an artifact of kind tokens, toy@v1 is of kind docs"):
        workspace.run(other, references={"tokens": "toy"})


def test_a_missing_input_names_what_there_is_of_its_kind(workspace, tmp_path):
    workspace.run(TOY, paths=[make_raw(tmp_path / "raw", 3)])
    judge = replace(JUDGE, reads={"docs": replace(JUDGE.reads["docs"], producer="dedup")})
    with pytest.raises(MsptError, match=r"needs docs \(kind docs\) of dedup, and there is none yet") as raised:
        workspace.run(judge)
    assert raised.value.hint == "run `mspt dedup` first, or take what there is of this kind: --docs toy"


def test_max_rejected_stops_the_source_that_goes_wrong(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 50)
    with pytest.raises(InputError, match=r"source raw: 5 of 50 documents rejected \(10\.0%\), the limit is 5\.0%"):
        workspace.run(TOY, {"max_rejected": "5%"}, paths=[raw])
    assert workspace.outcome(TOY, {"max_rejected": "50%"}, paths=[raw]).status == "done"


def test_sample_is_deterministic_never_latest_and_extrapolates(workspace, tmp_path):
    workspace.run(TOY, paths=[make_raw(tmp_path / "raw", 400)])
    sample = workspace.run(JUDGE, {"sample": "10%"})
    rows = sum(r.rows or 0 for n, r in sample.files.items() if n.startswith("docs-"))
    assert 18 <= rows <= 58  # 360 live documents, 10 % of them: 36 +- 4 standard deviations of a binomial
    assert not (workspace.path / "judge" / "latest").exists()
    assert sample.manifest["forecast"]["share"] == 0.1
    child = workspace.run(replace(JUDGE, name="child", reads={"docs": replace(JUDGE.reads["docs"], producer="judge")}), references={"docs": sample.ref})
    assert child.manifest["sampled"]  # what is made of a sample is one itself
    assert not (workspace.path / "child" / "latest").exists()
    with pytest.raises(MsptError, match="there is no child@latest"):
        workspace.store.resolve("child")
    again = workspace.run(JUDGE, {"sample": "50"})
    assert sum(r.rows or 0 for n, r in again.files.items() if n.startswith("docs-")) == 50


def test_abandoned_partial_is_kept_beside_the_new_version(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 50)
    with pytest.raises(InputError):
        workspace.run(TOY, {"max_rejected": "1%"}, paths=[raw])
    artifact = workspace.run(TOY, {"suffix": "?"}, paths=[raw])
    assert artifact.ref == "toy@v2"
    assert [p.version for p in workspace.store.partials("toy")] == [1]


def make_random_raw(folder: Path, count: int, size: int) -> Path:
    """Text that does not compress, so that what is written takes room."""
    import random

    folder.mkdir()
    source = random.Random(1)
    for number in range(count):
        (folder / f"{number:04d}.txt").write_text(f"{source.getrandbits(size * 4):x}")
    return folder


def test_full_disk_is_a_clear_error_and_leaves_a_partial_to_resume(workspace, tmp_path):
    raw = make_random_raw(tmp_path / "raw", 300, 10_000)
    with small_disk(tmp_path / "disk", "1200k") as disk:
        here = type(workspace)(disk / "work", workspace.notes)
        with pytest.raises(MachineError) as caught:
            here.run(TOY, {"workers": 1}, paths=[raw])
        assert caught.value.exit_code == 4
        assert "MB" in caught.value.message
        assert "finished units are kept" in caught.value.hint
        assert here.store.versions("toy") == []
        (partial,) = here.store.partials("toy")
        done = len(list((partial.root / "units").glob("*.json")))
        resize(disk, "64m")
        finished = here.run(TOY, {"workers": 1}, paths=[raw])
        assert finished.ref == "toy@v1"
        assert done >= 1
        assert data_hashes(finished) == data_hashes(workspace.run(TOY, paths=[raw]))


def test_disk_full_in_the_middle_of_a_unit(workspace, tmp_path):
    """One unit larger than the disk: no forecast can warn, the write itself fails."""
    raw = make_random_raw(tmp_path / "raw", 1, 3_000_000)
    with small_disk(tmp_path / "disk", "1m") as disk:
        here = type(workspace)(disk / "work", workspace.notes)
        with pytest.raises(MachineError, match="is full"):
            here.run(TOY, paths=[raw])
        resize(disk, "64m")
        assert here.run(TOY, paths=[raw]).ref == "toy@v1"


@pytest.mark.parametrize("looked", [False, True], ids=["at once", "after a look at the input"])
def test_a_mistake_found_before_any_work_leaves_no_version(workspace, tmp_path, looked):
    def refuse(job):
        if looked:
            (job.scratch("plan") / "copies").write_text("what was looked at")
        raise MsptError("no", "never")

    raw = make_raw(tmp_path / "raw", 3)
    with pytest.raises(MsptError, match="no"):
        workspace.run(replace(TOY, run=refuse), paths=[raw])
    assert workspace.store.partials("toy") == []
    assert workspace.run(TOY, paths=[raw]).ref == "toy@v1"


@pytest.mark.parametrize("name", ["../outside", "Two Words", "", ".hidden", "a/b"])
def test_a_name_that_no_reference_could_give_is_refused_before_anything_is_written(workspace, tmp_path, name):
    raw = make_raw(tmp_path / "raw", 3)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(MsptError, match="cannot be the name of an artifact"):
        run_stage(workspace.store, TOY, Request(name, build_config(TOY.config, {}), paths=[RawPath(str(raw))]), workspace.notes)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_workspace_that_cannot_be_written_to_is_named(workspace, tmp_path):
    raw = make_raw(tmp_path / "raw", 3)
    (tmp_path / "file").write_text("no folder")
    for place in (tmp_path / "file", Path("/proc/nowhere")):
        with pytest.raises(MachineError, match=f"cannot write to {place}") as caught:
            type(workspace)(place, workspace.notes).run(TOY, paths=[raw])
        assert "--workspace" in caught.value.hint


def test_a_file_system_that_refuses_is_no_bug(workspace, tmp_path):
    """What a stage meets in the middle of its work: exit 4 with the file's name, from a worker as well."""

    def refuse(job):
        raise OSError(errno.EROFS, "Read-only file system", "/data/x")

    raw = make_raw(tmp_path / "raw", 3)
    with pytest.raises(MachineError, match="/data/x: Read-only file system"):
        workspace.run(replace(TOY, run=refuse), paths=[raw])


@pytest.mark.parametrize("content", ["", "[]", "{", '{"schema": 1}'])
def test_a_damaged_manifest_is_named_with_what_may_be_removed(workspace, tmp_path, content):
    made = workspace.run(TOY, paths=[make_raw(tmp_path / "raw", 3)])
    (made.root / "artifact.json").write_text(content)
    assert workspace.store.versions("toy") == []
    (broken,) = workspace.store.damaged("toy")
    assert (broken.root, broken.version, "artifact.json" in broken.reason) == (made.root, 1, True)
    for ref in ("toy@v1", "toy"):
        with pytest.raises(CheckFailed, match=r"artifact\.json") as caught:
            workspace.store.resolve(ref)
        assert str(made.root) in caught.value.hint


def test_damaged_pins_and_partials_are_named_with_no_more_than_they_hold(workspace, tmp_path):
    partial = workspace.path / "toy" / "v1.partial"
    partial.mkdir(parents=True)
    (partial / "partial.json").write_text("{")
    with pytest.raises(CheckFailed) as caught:
        workspace.store.partials("toy")
    assert caught.value.hint.endswith(f"remove {partial}")
    (workspace.path / "pins.json").write_text("[")
    with pytest.raises(CheckFailed) as caught:
        workspace.store.pins()
    assert caught.value.hint.endswith(f"remove {workspace.path / 'pins.json'}")


def test_peak_memory_is_this_process_alone():
    """A caller of 300 MB starts a small process: that one's peak is its own, which ru_maxrss would not say."""
    import subprocess
    import sys

    child = "from mspt.core.memory import own_peak_rss; print(own_peak_rss())"
    caller = (
        f"import subprocess, sys; held = b'x' * 300_000_000; print(subprocess.run([sys.executable, '-c', {child!r}], capture_output=True, text=True).stdout)"
    )
    done = subprocess.run([sys.executable, "-c", caller], capture_output=True, text=True, check=True)
    assert 5_000_000 < int(done.stdout) < 200_000_000


def test_peak_memory_of_workers_is_theirs_alone(workspace, tmp_path):
    """This process holds 400 MB when it starts them."""
    held = b"x" * 400_000_000
    made = workspace.run(TOY, {"workers": 2}, paths=[make_raw(tmp_path / "raw")])
    peak = made.manifest["peak_rss_bytes"]
    assert len(held) < peak["main"]
    assert 5_000_000 < peak["largest_child"] < 300_000_000


def test_peak_memory_of_a_document_alone_counts():
    """A suspect's own process, started by a worker, is one of those that the run took."""
    forget_children()
    assert run_alone(eval, ("len(b'x' * int('200000000'))",), Limits()) == 200_000_000
    assert 200_000_000 < largest_child() < 500_000_000
    forget_children()
    assert largest_child() == 0
