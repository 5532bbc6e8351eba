from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.nn.checkpoint import (
    OPTIMIZER,
    WEIGHTS,
    TrainState,
    best_step,
    list_checkpoints,
    open_checkpoint,
    point_best,
    retain,
    save_checkpoint,
)
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.model import initial_weights
from support.disks import small_disk

CONFIG = ModelConfig(vocab_size=16, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
STATE = TrainState(step=7, updates=6, rows=28, tokens=300, seed=5, loss_scale={"value": 2.0}, validation_loss=1.25)


def save(parent: Path, step: int, **more: object) -> Path:
    return save_checkpoint(parent, step, CONFIG, initial_weights(CONFIG, seed=step), **more)  # type: ignore[arg-type]


def test_all_comes_back_and_the_files_open_elsewhere(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text("{}")
    moments = {"exp_avg.x": np.arange(4, dtype=np.float32)}
    old_mask = os.umask(0o077)
    try:
        path = save(tmp_path / "run", 7, moments=moments, state=STATE, files=[tokenizer])
    finally:
        os.umask(old_mask)
    assert path.name == "step-00000007"
    assert (path / WEIGHTS).stat().st_mode & 0o777 == 0o644
    assert (path / "tokenizer.json").stat().st_ino == tokenizer.stat().st_ino, "hard-linked"
    with safe_open(path / WEIGHTS, "np") as file:
        assert file.metadata() == {"format": "pt"}
    checkpoint = open_checkpoint(path)
    assert (checkpoint.step, checkpoint.config, checkpoint.state) == (7, CONFIG, STATE)
    weights = checkpoint.weights()
    assert weights.keys() == CONFIG.parameter_shapes().keys()
    assert all(np.array_equal(value, weights[name]) for name, value in initial_weights(CONFIG, seed=7).items())
    assert np.array_equal(checkpoint.moments()["exp_avg.x"], moments["exp_avg.x"])


def test_two_writings_have_the_same_bytes(tmp_path: Path) -> None:
    one, other = (save(tmp_path / name, 3, state=STATE) for name in ("a", "b"))
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {path.name: path.read_bytes() for path in other.iterdir()}


def test_damage_is_found_and_named(tmp_path: Path) -> None:
    path = save(tmp_path, 1)
    content = bytearray((path / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (path / WEIGHTS).write_bytes(content)
    with pytest.raises(CheckFailed, match=rf"{WEIGHTS} is corrupt"):
        open_checkpoint(path)
    open_checkpoint(path, verify=False)  # sizes alone do not tell
    (path / WEIGHTS).write_bytes(content[:-1])
    with pytest.raises(CheckFailed, match=rf"{WEIGHTS} is missing or not"):
        open_checkpoint(path, verify=False)


def test_what_is_no_checkpoint_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(MsptError) as error:
        open_checkpoint(tmp_path)
    assert "train@v1" in error.value.hint
    path = save(tmp_path, 1)
    with pytest.raises(MsptError, match="no optimizer state"):
        open_checkpoint(path).moments()
    assert open_checkpoint(path).state is None
    assert not (path / OPTIMIZER).exists()


def test_unfinished_writings_are_no_checkpoints_and_steps_sort_as_numbers(tmp_path: Path) -> None:
    for step in (9, 10, 200000000):  # the last name is longer than the padding
        save(tmp_path, step)
    (tmp_path / "step-00000011.tmp-1-0").mkdir()
    (tmp_path / "step-00000012").mkdir()  # no manifest: a copy that was cut off
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-00000009", "step-00000010", "step-200000000"]


def test_a_failed_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(tmp_path, 1, files=[tmp_path / "absent"])
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_so_and_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        big = {"x": np.zeros(100_000, np.float32)}
        with pytest.raises(OSError, match="No space left") as error:
            save_checkpoint(disk, 1, CONFIG, initial_weights(CONFIG, seed=1), moments=big)
        assert error.value.errno == errno.ENOSPC
        assert list(disk.iterdir()) == []


def test_retention_keeps_the_last_and_the_best(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4, 5):
        save(tmp_path, step)
    point_best(tmp_path, 2)
    assert retain(tmp_path, keep=2) == [1, 3]
    assert [path.name[-1] for path in list_checkpoints(tmp_path)] == ["2", "4", "5"]
    point_best(tmp_path, 5)
    assert best_step(tmp_path) == 5
    assert retain(tmp_path, keep=2) == [2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "step-00000004", "step-00000005"]


def test_going_over_a_step_again_replaces_its_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, 4)
    weights = initial_weights(CONFIG, seed=99)
    path = save_checkpoint(tmp_path, 4, CONFIG, weights)
    assert np.array_equal(open_checkpoint(path).weights()["lm_head.weight"], weights["lm_head.weight"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["step-00000004"]


def test_a_manifest_lists_all_files_but_itself(tmp_path: Path) -> None:
    path = save(tmp_path, 1, state=STATE)
    listed = [record["path"] for record in json.loads((path / "manifest.json").read_text())["files"]]
    assert listed == ["config.json", "model.safetensors", "state.json"]
