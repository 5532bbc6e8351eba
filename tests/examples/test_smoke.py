"""The whole chain on 200 kB of messy files: it ends in a model, a second run does nothing, and kills change no byte."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mspt.core.store import Store
from support.chain import chain_command, course, data_hashes, demo, weight_hashes


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    workspace = tmp_path_factory.mktemp("smoke") / "work"
    return workspace, demo(workspace)


def listing(workspace: Path) -> dict[str, int]:
    """Every file with the time of its last change; locks are opened by each run."""
    return {str(p.relative_to(workspace)): p.lstat().st_mtime_ns for p in sorted(workspace.rglob("*")) if p.name != ".lock" and not p.is_dir()}


def test_report_says_what_came_out(smoke):
    _, text = smoke
    for title in ("Documents", "Tokens", "Training loss", "Validation", "Quantised", "Samples", "Export"):
        assert f"\n{title}\n" in text
    bits = {name: float(value) for name, value in re.findall(r"(this model|unigram|interpolated bigram|lzma, preset 9) +(\d\.\d+)", text)}
    assert bits["this model"] < bits["unigram"]
    assert bits["interpolated bigram"] < bits["unigram"]


def test_every_step_accounts_for_every_document(smoke):
    workspace, _ = smoke
    store = Store(workspace)
    clean, dedup, score = (store.resolve(name).manifest["counts"] for name in ("clean", "dedup", "score"))
    assert clean["in"] == clean["out"] + sum(clean["rejected"].values())
    assert (dedup["in"], score["in"]) == (clean["out"], dedup["out"])


def test_second_run_writes_nothing_even_after_a_move(smoke):
    workspace, _ = smoke
    before = listing(workspace)
    moved = workspace.rename(workspace.with_name("moved"))
    try:
        done = subprocess.run(chain_command(moved), capture_output=True, text=True, check=True)
        assert done.stdout.count("up to date") == 11
        assert listing(moved) == before
    finally:
        moved.rename(workspace)


def test_export_opens_in_transformers_with_equal_ids_and_logits(smoke):
    """convert-hf has asked transformers in a process of its own: its answer stands in verification.json."""
    checks = Store(smoke[0]).resolve("convert-hf").stats["verification"]
    assert checks["weights"] == "bit-equal"
    assert checks["transformers_logits"] <= 1e-4


@pytest.mark.soak
@pytest.mark.parametrize("whole_group", [True, False], ids=["all-processes", "main-process"])
def test_kill_storm_changes_no_byte(smoke, tmp_path, whole_group):
    """SIGKILL at random moments until the chain is through; everything must equal the undisturbed run, bit for bit."""
    undisturbed, _ = smoke
    workspace = tmp_path / "work"
    chance = random.Random(7 if whole_group else 8)
    kills = 0
    for attempt in range(60):
        process = subprocess.Popen(chain_command(workspace), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(chance.uniform(1.0, 12.0 + 2 * attempt))  # longer and longer, so that a slow machine gets through too
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL) if whole_group else process.kill()
            process.wait()
            kills += 1
            time.sleep(0.5)  # the workers follow their parent
            continue
        break
    assert process.returncode == 0
    assert kills >= 3
    assert data_hashes(workspace) == data_hashes(undisturbed)
    assert weight_hashes(workspace) == weight_hashes(undisturbed)
    assert course(workspace) == course(undisturbed)
    shutil.rmtree(workspace)
