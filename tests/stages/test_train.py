from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import Notes, Workspace

from mspt.core.artifact import Artifact
from mspt.core.config import parse_count
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.nn.checkpoint import CONFIG, list_checkpoints, open_checkpoint
from mspt.core.nn.metrics import read_metrics
from mspt.stages.train import TrainConfig, Watcher, schedule_of
from support.small_model import CONFIG as MADE
from support.small_model import made_model, packed, sentences, tokenizer, tokenizer_directory

TRAIN = {"web": sentences(40, 1), "books": sentences(30, 2)}
VALIDATION = {"web": sentences(6, 3), "books": sentences(4, 4)}
SETTINGS: dict[str, Any] = {
    "hidden_size": 32, "layers": 1, "heads": 4, "kv_heads": 2, "batch_size": 4, "steps": 9, "checkpoint_every": 3, "keep": 9, "validation_every": 3,
    "lr": 1e-2, "warmup": 2, "seed": 7, "log_every": 4,
}  # fmt: skip
CLOCK = ("time", "step_seconds", "tokens_per_second", "data_wait_seconds")
# What happens when transformers opens a checkpoint as it lies: ids of a text, and the logits for them.
READER = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, text = sys.argv[1:]
ids = AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
with torch.no_grad():
    logits = AutoModelForCausalLM.from_pretrained(folder)(torch.tensor([ids])).logits[0, -1]
print(json.dumps({"ids": ids, "logits": logits.tolist()}))
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with rows, and a run in it from the first step to the last."""
    workspace = Workspace(tmp_path_factory.mktemp("train") / "work")
    packed(workspace, {"train": TRAIN, "validation": VALIDATION})
    train(workspace)
    return workspace


def train(workspace: Workspace, settings: dict[str, Any] | None = None, **request: Any) -> Artifact:
    references = {"mindrecord": "packed"} | request.pop("references", {})
    return workspace.run("train", SETTINGS if settings is None else settings, references=references, **request)


def numbers(root: Path) -> list[dict[str, Any]]:
    """metrics.jsonl without what a clock says."""
    return [{name: value for name, value in line.items() if name not in CLOCK} for line in read_metrics(root / "metrics.jsonl")]


def events(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "events.jsonl").read_text().splitlines()]


def assert_same_checkpoints(one: Path, other: Path, names: list[str]) -> None:
    for name in names:
        for file in ("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"):
            assert (one / "checkpoints" / name / file).read_bytes() == (other / "checkpoints" / name / file).read_bytes(), (name, file)


def test_a_run_learns_and_tells_what_it_did(shop: Workspace) -> None:
    run = shop.store.resolve("train@v1")
    root = run.root
    assert [path.name for path in list_checkpoints(root / "checkpoints")] == ["step-00000003", "step-00000006", "step-00000009"]
    checkpoint = open_checkpoint(run.directory)
    assert checkpoint.config.num_key_value_heads == 2
    assert checkpoint.config.vocab_size == tokenizer().vocab_size
    assert checkpoint.config.tie_word_embeddings
    stats = run.stats
    assert stats["training"]["first_loss"] == pytest.approx(np.log(tokenizer().vocab_size), abs=0.1)
    assert stats["training"]["mean_loss_of_last_steps"] < stats["training"]["first_loss"] - 0.3
    assert [row["step"] for row in stats["validation"]] == [3, 6, 9]
    assert stats["validation"][-1]["bits_per_byte"] < stats["validation"][0]["bits_per_byte"]
    assert stats["machine"]["device"] == "CPU"
    assert [event["event"] for event in events(root)] == ["started"]
    assert run.digests["tokenizer"] == shop.store.resolve("packed").digests["tokenizer"]


def test_the_same_command_again_does_nothing(shop: Workspace) -> None:
    before = numbers(shop.path / "train/v1")
    outcome = shop.outcome("train", SETTINGS, references={"mindrecord": "packed"})
    assert (outcome.status, outcome.artifact.ref) == ("up-to-date", "train@v1")
    assert numbers(shop.path / "train/v1") == before


def test_killed_and_resumed_by_the_command_line_it_is_the_same_run(shop: Workspace) -> None:
    flags = [text for name, value in SETTINGS.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(shop.path), "train", "--name", "killed", "--mindrecord", "packed", *flags]
    root = shop.path / "killed/v1"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(numbers(root)) < 5:
            pass
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert list_checkpoints(root / "checkpoints")[-1].name in ("step-00000003", "step-00000006")
    assert not (root / "artifact.json").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert numbers(root) == numbers(shop.path / "train/v1")
    assert_same_checkpoints(root, shop.path / "train/v1", ["step-00000003", "step-00000006", "step-00000009"])
    assert [event["event"] for event in events(root)] == ["started", "resumed"]


def test_a_finished_run_goes_on_from_its_last_checkpoint_as_a_new_version(shop: Workspace) -> None:
    more = SETTINGS | {"steps": 12}
    with pytest.raises(MsptError, match="12"):
        train(shop, more, resume="v1")
    longer = train(shop, more, resume="v1", accept=("steps",))
    assert longer.version > 1
    lines, old = numbers(longer.root), numbers(shop.path / "train/v1")
    assert lines[: len(old)] == old
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 13))
    assert events(longer.root)[-1] | {"machine": None, "time": None} == {"event": "resumed", "step": 9, "machine": None, "time": None}
    assert {"event": "accepted", "field": "steps", "old": 9, "new": 12, "step": 9}.items() <= events(longer.root)[-2].items()


def test_transformers_opens_a_checkpoint_as_it_lies(shop: Workspace) -> None:
    from mindspore import Tensor

    from mspt.core.nn.open_model import open_model

    folder, text = shop.store.resolve("train@v1/step-9").directory, "the old sailor 春天的花园"
    done = subprocess.run([sys.executable, "-c", READER, str(folder), text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["ids"] == tokenizer().encode(text).tolist()
    ids = np.array([answer["ids"]], np.int32)
    logits = open_model(folder).network(Tensor(ids), Tensor(np.array([[ids.shape[1]]], np.int32))).asnumpy()[0, -1]
    np.testing.assert_allclose(logits, answer["logits"], atol=1e-4)


def test_a_run_starts_from_a_model_and_keeps_its_shape(shop: Workspace) -> None:
    start = made_model(shop)
    settings = {"steps": 2, "batch_size": 4, "lr": 1e-6, "warmup": 0, "validation_rows": 3}
    run = train(shop, settings, references={"init": "made-model"}, name="tuned")
    assert json.loads((run.root / "checkpoints/step-00000002" / CONFIG).read_text())["hidden_size"] == MADE.hidden_size
    before, after = (open_checkpoint(path).weights() for path in (start.directory, run.root / "checkpoints/step-00000002"))
    for name, value in before.items():
        np.testing.assert_allclose(after[name], value, atol=1e-5)
    with pytest.raises(MsptError, match="--init keeps the shape of made-model@v1/step-00000000, but hidden_size is set"):
        train(shop, settings | {"hidden_size": 64}, references={"init": "made-model"}, name="other")


def test_rows_of_another_tokenizer_are_refused(shop: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    for path in tokenizer_directory().iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"add_bos_token": True}))
    other = Workspace(tmp_path / "work")
    packed(other, {"train": TRAIN, "validation": VALIDATION}, tokenizer_=folder)
    made_model(other)
    with pytest.raises(MsptError, match="different tokenizers"):
        train(other, {"steps": 1}, references={"init": "made-model"})


def test_a_damaged_shard_is_named_before_anything_is_learnt(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "work")
    made = packed(workspace, {"train": TRAIN, "validation": VALIDATION})
    path = made.root / "train-00000.mindrecord"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.chmod(0o644)
    path.write_bytes(content)
    with pytest.raises(CheckFailed, match=r"train-00000\.mindrecord is corrupt"):
        train(workspace)
    assert not (workspace.path / "train/v1/metrics.jsonl").exists()


class Rows:
    """What schedule_of looks at."""

    num_rows, length = 1000, 128


@pytest.mark.parametrize(
    ("settings", "steps", "warmup"),
    [
        ({"batch_size": 10}, 100, 2),
        ({"batch_size": 32, "epochs": 2.5}, 78, 2),  # 2500 rows hold 78 whole batches
        ({"batch_size": 10, "tokens": 12_801}, 11, 1),  # 1280 positions a step
        ({"steps": 7, "warmup": 20}, 7, 7),
        ({"batch_size": 4000}, 1, 1),
    ],
)
def test_the_length_of_the_run(settings: dict[str, Any], steps: int, warmup: int) -> None:
    schedule = schedule_of(TrainConfig(**settings), Rows())  # type: ignore[arg-type]
    assert (schedule.steps, schedule.warmup) == (steps, warmup)


def test_a_length_that_is_set_twice_is_refused() -> None:
    with pytest.raises(MsptError, match="steps and tokens both"):
        schedule_of(TrainConfig(steps=3, tokens=5), Rows())  # type: ignore[arg-type]
    assert [parse_count(value) for value in ("20M", "1.5k", 7)] == [20_000_000, 1500, 7]


def test_what_stands_out_is_warned_of_in_four_digits_and_recorded_in_all(tmp_path):
    notes = Notes()
    job: Any = SimpleNamespace(directory=tmp_path, warn=notes.warn)
    watcher = Watcher(job, None, None, 1)  # type: ignore[arg-type]
    watcher.event("gradient-spike", step=81, value=14.108128547668457, median=0.9250161647796631)
    watcher.event("not-finite", step=82, loss="nan")
    assert notes.warnings == ["gradient-spike: step 81, value 14.11, median 0.925", "not-finite: step 82, loss nan"]
    assert json.loads((tmp_path / "events.jsonl").read_text().splitlines()[0])["value"] == 14.108128547668457
