from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.nn.checkpoint import best_step, list_checkpoints, open_checkpoint
from mspt.core.nn.metrics import METRICS, read_metrics
from mspt.core.nn.model import initial_weights
from mspt.core.nn.schedule import Schedule
from mspt.core.nn.trainer import CHECKPOINTS
from mspt.core.tokens.mindrecord import write
from mspt.core.tokens.rows import RowBatch

from .train_process import CONFIG, EVERY, STEPS, Quiet, make

PROGRAM = Path(__file__).parent / "train_process.py"
TIMES = ("time", "step_seconds", "tokens_per_second", "data_wait_seconds")


@pytest.fixture(scope="module")
def rows_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """14 rows of 16 tokens that count upwards, two documents each."""
    folder = tmp_path_factory.mktemp("rows")
    ids = ((np.arange(14)[:, None] * 5 + np.arange(17)[None, :]) % 64).astype(np.int32)
    ends = np.tile(np.array([[7, 16, 16]], np.int32), (14, 1))
    write(folder / "train-00000.mindrecord", [RowBatch(ids[:, :-1], ids[:, 1:], ends)], 14, 16, 3)
    return folder


@pytest.fixture(scope="module")
def whole(rows_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from the first step to the last in a process of its own."""
    directory = tmp_path_factory.mktemp("whole")
    subprocess.run([sys.executable, str(PROGRAM), str(directory), str(rows_folder)], check=True, capture_output=True)
    return directory


def numbers(directory: Path) -> list[dict[str, Any]]:
    """metrics.jsonl without what a clock says."""
    return [{name: value for name, value in line.items() if name not in TIMES} for line in read_metrics(directory / METRICS)]


def kill_after(step: int, directory: Path, rows_folder: Path) -> None:
    """SIGKILL as soon as the process has told of this step."""
    command = [sys.executable, str(PROGRAM), str(directory), str(rows_folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == step:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL


def test_killed_and_resumed_is_the_same_run_in_every_bit(whole: Path, rows_folder: Path, tmp_path: Path) -> None:
    kill_after(EVERY + 2, tmp_path, rows_folder)
    assert [path.name for path in list_checkpoints(tmp_path / CHECKPOINTS)] == ["step-00000004"]
    subprocess.run([sys.executable, str(PROGRAM), str(tmp_path), str(rows_folder)], check=True, capture_output=True)
    assert numbers(tmp_path) == numbers(whole)
    for name in ("step-00000008", "step-00000012"):
        for file in ("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"):
            assert (tmp_path / CHECKPOINTS / name / file).read_bytes() == (whole / CHECKPOINTS / name / file).read_bytes(), (name, file)


def test_the_run_learns_writes_each_step_and_keeps_what_it_should(whole: Path) -> None:
    lines = [line for line in read_metrics(whole / METRICS) if "loss" in line]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert lines[-1]["tokens"] == STEPS * 4 * 16
    checkpoints = list_checkpoints(whole / CHECKPOINTS)
    assert [path.name for path in checkpoints] == ["step-00000008", "step-00000012"]
    assert best_step(whole / CHECKPOINTS) == STEPS, "the loss fell to the end"
    state = open_checkpoint(checkpoints[-1]).state
    assert state is not None
    assert state.validation_loss == [line["validation_loss"] for line in read_metrics(whole / METRICS) if "validation_loss" in line][-1]
    skipped = [line for line in lines if not line["finite"]]
    assert state.updates == STEPS - len(skipped)
    assert state.loss_scale["overflows"] == len(skipped)


def test_a_later_process_compiles_from_the_cache(whole: Path, rows_folder: Path) -> None:
    (key,) = [path for path in (rows_folder / "cache").iterdir() if path.is_dir()]
    assert (key / "complete.json").is_file()
    assert len(list(key.rglob("*.mindir"))) == 3, "add, last and validation"


def test_validation_loss_is_the_mean_over_all_labels(whole: Path, rows_folder: Path, tmp_path: Path) -> None:
    trainer = make(tmp_path, rows_folder, precision="float32", cache=None, accumulation=1)
    validation = trainer.validation
    assert validation is not None
    trainer.start(initial_weights(CONFIG, seed=3))
    score = trainer.validate(validation)
    assert score.loss == pytest.approx(np.log(64), abs=0.02), "near uniform before training"
    assert score.tokens == 14 * 16, "the rows that fill the last batch do not count"
    assert score.bits_per_byte == pytest.approx(score.loss / np.log(2) * 16 / 8), "16 labels and 8 bytes a row"
    trainer.resume(list_checkpoints(whole / CHECKPOINTS)[-1])
    assert trainer.validate(validation).loss == pytest.approx(trainer.state.validation_loss, rel=5e-3), "float32 beside float16"
    few = validation.spread(4)
    assert few.rows.chosen == (0, 3, 7, 10)
    assert few.segments.id.tolist() == ["d0", "d1", "d6", "d7", "d14", "d15", "d20", "d21"]
    assert trainer.validate(few).tokens == 4 * 16


def test_what_is_not_finite_stops_the_run_before_anything_is_saved(rows_folder: Path, tmp_path: Path) -> None:
    trainer = make(tmp_path, rows_folder, precision="float32", cache=None, accumulation=1)
    weights = initial_weights(CONFIG, seed=3)
    weights["model.norm.weight"][:] = np.nan
    trainer.start(weights)
    observer = Quiet()
    with pytest.raises(CheckFailed, match="step 1: loss nan") as error:
        trainer.run(observer)
    assert "--accept lr" in error.value.hint
    assert observer.events == ["not-finite"]
    assert list_checkpoints(tmp_path / CHECKPOINTS) == []


def test_settings_that_do_not_fit_are_refused_by_name(rows_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MsptError, match="accumulation 3"):
        make(tmp_path, rows_folder, accumulation=3)
    with pytest.raises(MsptError, match="precision 'bfloat16'"):
        make(tmp_path, rows_folder, precision="bfloat16")
    assert Schedule(peak=1.0, steps=1).rate(1) >= 0
