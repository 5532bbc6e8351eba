"""Checkpoints: a directory that transformers opens as it lies, with everything that an exact resume needs beside it.

    step-00001000/
    ├── config.json            transformers' LlamaConfig
    ├── model.safetensors      float32, Hugging Face names, metadata {"format": "pt"}
    ├── tokenizer.json ...     the tokenizer's files, hard-linked
    ├── optimizer.safetensors  exp_avg.NAME, exp_avg_sq.NAME (float32); absent where no training goes on (import)
    ├── state.json             step, updates, rows read, tokens, loss scale, seed, schedule, validation loss
    └── manifest.json          name, bytes and sha256 of each file above: written last

It is written under a temporary name, fsynced and renamed, so a directory called step-NNNNNNNN is whole; the manifest tells later damage.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.files import fsync_directory, fsync_file, link_or_copy, sha256_file, temporary_name
from mspt.core.nn.config import ModelConfig

FORMAT = 1
CONFIG, WEIGHTS, OPTIMIZER, STATE, MANIFEST = "config.json", "model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"
BEST = "best"  # a symbolic link to the checkpoint with the lowest validation loss
MODE = 0o644  # MindSpore's own writer leaves 0400, which neither copies nor uploads well

Array = npt.NDArray[np.generic]
Arrays = Mapping[str, Array]


@dataclass(frozen=True, kw_only=True)
class TrainState:
    """Where a run stands after `step` steps. There is no generator state: order and initial weights are functions of the seed."""

    step: int = 0
    updates: int = 0  # steps that changed the weights: bias correction counts these
    rows: int = 0  # rows read: the reader's position
    tokens: int = 0  # labels that counted
    seed: int = 0
    loss_scale: Mapping[str, Any] = field(default_factory=dict)
    schedule: Mapping[str, Any] = field(default_factory=dict)
    loss: float | None = None
    validation_loss: float | None = None


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint on disk. `state` is None where it is no point of a training run."""

    directory: Path
    config: ModelConfig
    state: TrainState | None

    @property
    def step(self) -> int:
        """The number in the name."""
        return step_of(self.directory)

    def weights(self) -> dict[str, Array]:
        """Every tensor of the model."""
        return read_tensors(self.directory / WEIGHTS)

    def moments(self) -> dict[str, Array]:
        """The optimizer's state. Raises MsptError where the checkpoint has none."""
        if not (self.directory / OPTIMIZER).is_file():
            raise MsptError(f"{self.directory} has no optimizer state", "it can start a run (--init), but not resume one")
        return read_tensors(self.directory / OPTIMIZER)


def step_name(step: int) -> str:
    """step-00001000."""
    return f"step-{step:08d}"


def step_of(directory: Path) -> int:
    """The number in a checkpoint's name."""
    return int(directory.name.removeprefix("step-"))


def list_checkpoints(parent: Path) -> list[Path]:
    """The whole checkpoints below `parent`, by step as a number."""
    found = [path for path in parent.glob("step-*") if path.name.removeprefix("step-").isdigit() and (path / MANIFEST).is_file()]
    return sorted(found, key=step_of)


def save_checkpoint(
    parent: Path, step: int, config: ModelConfig, weights: Arrays, *, moments: Arrays | None = None, state: TrainState | None = None,
    files: Sequence[Path] = (),
) -> Path:  # fmt: skip
    """Write parent/step-NNNNNNNN in one stroke and return it. `files` (the tokenizer's) are hard-linked under their own names."""
    target = parent / step_name(step)
    temporary = temporary_name(target)
    temporary.mkdir(parents=True)
    try:
        write_json(temporary / CONFIG, config.to_hf())
        write_tensors(temporary / WEIGHTS, weights)
        if moments is not None:
            write_tensors(temporary / OPTIMIZER, moments)
        if state is not None:
            write_json(temporary / STATE, asdict(state))
        for file in files:
            link_or_copy(file, temporary / file.name)
        seal(temporary)
        replace_directory(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def seal(directory: Path) -> None:
    """Write the manifest over all that lies in `directory`, everything fsynced."""
    records = []
    for path in sorted(directory.iterdir()):
        fsync_file(path)
        records.append({"path": path.name, "bytes": path.stat().st_size, "sha256": sha256_file(path)})
    write_json(directory / MANIFEST, {"format": FORMAT, "files": records})
    fsync_file(directory / MANIFEST)
    fsync_directory(directory)


def replace_directory(temporary: Path, target: Path) -> None:
    """Rename; an older directory of that name (a run that went over the same steps again) goes."""
    try:
        os.rename(temporary, target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        old = temporary_name(target)
        os.rename(target, old)
        os.rename(temporary, target)
        shutil.rmtree(old)
    fsync_directory(target.parent)


def open_checkpoint(directory: Path, *, verify: bool = True) -> Checkpoint:
    """Read what the checkpoint is, after comparing its files with the manifest (`verify`: sha256 too, else sizes only).

    Raises CheckFailed naming the damaged file, MsptError where `directory` is no checkpoint.
    """
    if not (directory / MANIFEST).is_file() or not (directory / CONFIG).is_file():
        raise MsptError(f"{directory} is no checkpoint (it lacks {MANIFEST} or {CONFIG})", "name a model: train@v1, train@v1/step-N, or a checkpoint directory")
    for record in read_json(directory / MANIFEST)["files"]:
        check_record(directory, record, verify)
    state = TrainState(**read_json(directory / STATE)) if (directory / STATE).is_file() else None
    return Checkpoint(directory, ModelConfig.from_hf(read_json(directory / CONFIG)), state)


def check_record(directory: Path, record: Mapping[str, Any], verify: bool) -> None:
    """Compare one file with its line in the manifest."""
    path = directory / record["path"]
    hint = "use an older checkpoint (ref/step-N), or restore this one from a copy"
    if not path.is_file() or path.stat().st_size != record["bytes"]:
        raise CheckFailed(f"{path} is missing or not {record['bytes']:,} bytes long", hint)
    if verify and sha256_file(path) != record["sha256"]:
        raise CheckFailed(f"{path} is corrupt (sha256 differs from the manifest)", hint)


def point_best(parent: Path, step: int) -> None:
    """Let parent/best name the checkpoint of `step`."""
    link = temporary_name(parent / BEST)
    link.symlink_to(step_name(step))
    os.replace(link, parent / BEST)


def best_step(parent: Path) -> int | None:
    """The step that parent/best names, None without one."""
    link = parent / BEST
    return step_of(Path(os.readlink(link))) if link.is_symlink() else None


def retain(parent: Path, keep: int) -> list[int]:
    """Remove all but the last `keep` checkpoints and the best one; returns the steps that went."""
    steps = [step_of(path) for path in list_checkpoints(parent)]
    gone = [step for step in steps[: max(0, len(steps) - keep)] if step != best_step(parent)]
    for step in gone:
        doomed = temporary_name(parent / step_name(step))
        os.rename(parent / step_name(step), doomed)  # first out of sight, so that a kill leaves no half checkpoint
        shutil.rmtree(doomed)
    return gone


def write_tensors(path: Path, tensors: Arrays) -> None:
    """A safetensors file that torch-side readers accept. A full disk is the usual OSError, which safetensors wraps in its own."""
    try:
        save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, path, metadata={"format": "pt"})
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error
    path.chmod(MODE)


def read_tensors(path: Path) -> dict[str, Array]:
    """All tensors of a safetensors file. Raises CheckFailed where it cannot be read."""
    try:
        return dict(load_file(path))
    except (SafetensorError, OSError) as error:
        raise CheckFailed(f"{path} cannot be read: {error}", "use an older checkpoint, or restore this one from a copy") from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Raises CheckFailed where the file is not JSON."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise CheckFailed(f"{path} is not valid JSON: {error}", "use an older checkpoint, or restore this one from a copy") from error
