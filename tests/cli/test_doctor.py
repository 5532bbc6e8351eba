"""`mspt doctor` proves: a probe that hangs, dies or says nothing is a failure, and what it leaves running is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from mspt.cli.views import doctor
from mspt.cli.views.doctor import check_devices, check_limits, check_versions, check_workspace, run_limited
from support.shelf import look


def script(tmp_path, code: str) -> list[str]:
    path = tmp_path / "probe.py"
    path.write_text(code)
    return [sys.executable, str(path)]


def test_the_answer_is_the_last_line_of_json(tmp_path):
    ran = run_limited(script(tmp_path, "print('[WARNING] x'); print('{\"device\": \"CPU\"}'); print('bye')"), tmp_path, 30)
    assert (ran.answer, ran.problem) == ({"device": "CPU"}, "")


@pytest.mark.parametrize(("code", "problem"), [
    ("raise ImportError('numpy.core.multiarray failed to import')", "exit 1: ImportError: numpy.core.multiarray failed to import"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV: it said nothing"),
    ("print('no answer')", "exit 0: no answer"),
    ("print('{\"half\": 1}'); raise SystemExit('wrong numbers')", "exit 1: wrong numbers"),
])  # fmt: skip
def test_why_a_probe_failed(tmp_path, code, problem):
    ran = run_limited(script(tmp_path, code), tmp_path, 30)
    assert (ran.answer, ran.problem) == (None, problem)


def test_a_probe_that_hangs_is_killed_with_all_that_it_started(tmp_path):
    code = (
        f"import subprocess, sys, time\nchild = subprocess.Popen(['sleep', '600'])\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\ntime.sleep(600)"
    )
    started = time.monotonic()
    ran = run_limited(script(tmp_path, code), tmp_path, 2)
    assert (ran.answer, ran.problem) == (None, "not done within 2 s")
    assert time.monotonic() - started < 20
    pid = (tmp_path / "pid").read_text()
    for _ in range(50):  # a loaded machine takes a moment to end what was killed
        state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout.strip()
        if state[:1] in ("", "Z"):  # gone, or waiting to be reaped
            break
        time.sleep(0.1)
    assert state[:1] in ("", "Z")


def test_quick_proves_a_training_step_and_mindrecord(capsys, workspace, monkeypatch):
    monkeypatch.setattr(doctor, "LIMITS", dict.fromkeys(doctor.LIMITS, 120.0))
    code, out, _ = look(capsys, workspace, "--json", "doctor", "--quick")
    value = json.loads(out)
    proofs = {finding["name"]: finding for finding in value["proofs"]}
    assert proofs.pop("all-reduce of two ranks")["verdict"] == "skipped"
    assert {finding["verdict"] for finding in proofs.values()} == {"ok"}
    assert list(proofs) == ["compiled training step", "torch beside MindSpore", "MindRecord write and read", "workspace"]
    assert (code, value["ok"]) == (0, True)
    assert proofs["compiled training step"]["seconds"] > 0


def test_a_failed_proof_ends_with_exit_4(capsys, workspace, monkeypatch, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise ImportError('no MindSpore')")
    monkeypatch.setattr(doctor, "PROBE", broken)
    code, out, err = look(capsys, workspace, "doctor", "--quick")
    assert code == 4
    assert "ImportError: no MindSpore" in " ".join(out.split())
    assert "✗ failed" in out
    assert "failed: compiled training step, MindRecord write and read" in err


@pytest.mark.soak
def test_two_ranks_reduce(capsys, workspace):
    code, out, _ = look(capsys, workspace, "--json", "doctor")
    assert code == 0
    assert {finding["name"]: finding["verdict"] for finding in json.loads(out)["proofs"]}["all-reduce of two ranks"] == "ok"


def test_torch_in_the_process_that_trains_is_a_failure(monkeypatch, tmp_path):
    fake = tmp_path / "fake.py"
    fake.write_text('print(\'{"device": "CPU", "torch": true, "rows": 4}\')')
    monkeypatch.setattr(doctor, "PROBE", fake)
    verdicts = {finding.name: finding.verdict for finding in doctor.proofs(True, lambda note: None)}
    assert verdicts["torch beside MindSpore"] == "failed"


# --- versions and settings ---------------------------------------------------------------------------------------------


def test_versions_here_are_those_that_are_tested():
    verdicts = {finding.name: finding.verdict for finding in check_versions()}
    assert {name: verdicts[name] for name in doctor.TESTED} == dict.fromkeys(doctor.TESTED, "ok")
    assert "no GPU build" in next(finding.detail for finding in check_versions() if finding.name == "GPU")


@pytest.mark.parametrize(
    ("name", "version", "verdict"),
    [("numpy", "2.4.1", "failed"), ("pyarrow", "23.0.0", "not tested"), ("pyarrow", "", "failed"), ("mindspore", "2.10.0", "ok")],
)
def test_other_versions_are_marked(monkeypatch, name, version, verdict):
    installed = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda asked: version if asked == name else installed(asked))
    finding = next(finding for finding in check_versions() if finding.name == name)
    assert finding.verdict == verdict
    assert bool(finding.hint) == (verdict != "ok")


VISIBLE, DEVICE = "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_DEVICE_ID"


@pytest.mark.parametrize(("environment", "devices", "verdicts"), [
    ({}, 0, ["skipped"]),
    ({DEVICE: "0"}, 0, ["skipped", "failed"]),
    ({VISIBLE: "0,1", DEVICE: "1"}, 8, ["ok", "ok", "ok"]),
    ({VISIBLE: "0,9"}, 8, ["ok", "failed"]),
    ({VISIBLE: ""}, 8, ["ok", "failed"]),
    ({VISIBLE: "6,7", DEVICE: "7"}, 8, ["ok", "ok", "ok", "attention"]),  # ids count within the visible ones
    ({"DEVICE_ID": "x"}, 8, ["ok", "failed"]),
])  # fmt: skip
def test_device_variables_must_name_devices_that_are_there(environment, devices, verdicts):
    assert [finding.verdict for finding in check_devices(environment, range(devices))] == verdicts


def test_the_open_file_limit_is_told_in_files():
    (low,) = check_limits(1024, 65536)
    assert (low.verdict, "204 MindRecord files" in low.detail, "ulimit -n 65536" in low.hint) == ("attention", True, True)
    assert check_limits(20000, 20000)[0].verdict == "ok"


def test_the_workspace_need_not_exist_and_stays_as_it_is(tmp_path):
    (finding,) = check_workspace(tmp_path / "not" / "yet")
    assert finding.verdict == "ok"
    assert os.listdir(tmp_path) == []
