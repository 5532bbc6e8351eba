"""The life of a training run, with a stage whose training is counting."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from mspt.core.config import setting
from mspt.core.errors import MsptError
from mspt.core.stage import Job, Stage
from mspt.core.store import Store


@dataclass(frozen=True, kw_only=True)
class CountConfig:
    steps: Annotated[int, setting("how far to count", ge=1)] = 4
    lr: Annotated[float, setting("learning rate", gt=0)] = 0.1
    width: Annotated[int, setting("shape", ge=1)] = 8
    stop_at: Annotated[int, setting("die here", runtime=True)] = -1


def count(job: Job[CountConfig]) -> None:
    folder = job.directory / "checkpoints"
    done = max((int(p.name[5:]) for p in folder.glob("step-*")), default=0)
    for step in range(done + 1, job.config.steps + 1):
        if step == job.config.stop_at:
            raise KeyboardInterrupt
        path = folder / f"step-{step:08d}"
        path.mkdir()
        (path / "state.json").write_text(json.dumps({"step": step, "lr": job.config.lr}))


COUNT = Stage(
    order=1, config=CountConfig, run=count, writes="model", reads={}, lifecycle="run", acceptable=frozenset({"steps", "lr"}), name="train", doc="Counts."
)


def run_json(root: Path) -> dict:
    return json.loads((root / "run.json").read_text())


def events(root: Path) -> list[dict]:
    return [json.loads(line) for line in (root / "events.jsonl").read_text().splitlines()]


def interrupted(workspace, **config):
    with pytest.raises(KeyboardInterrupt):
        workspace.run(COUNT, {"stop_at": 3} | config)


def test_run_exists_from_the_first_step_and_resumes_when_identity_is_equal(workspace):
    interrupted(workspace)
    root = workspace.path / "train" / "v1"
    assert run_json(root)["status"] == "stopped"
    assert Store(workspace.path).resolve("train@v1/step-2").directory.name == "step-00000002"
    done = workspace.outcome(COUNT)
    assert (done.status, done.artifact.ref, run_json(root)["status"]) == ("done", "train@v1", "finished")
    assert workspace.outcome(COUNT).status == "up-to-date"
    assert Store(workspace.path).resolve("train").ref == "train@v1/step-00000004"


def test_other_identity_is_refused_with_both_commands(workspace):
    interrupted(workspace)
    with pytest.raises(MsptError) as caught:
        workspace.run(COUNT, {"lr": 0.2})
    assert caught.value.exit_code == 2
    assert "lr 0.1 -> 0.2" in caught.value.message
    assert "mspt train --new" in caught.value.hint
    assert "--resume v1 --accept lr" in caught.value.hint


def test_accepted_change_acts_from_the_next_step_and_is_written_down(workspace):
    interrupted(workspace)
    artifact = workspace.run(COUNT, {"lr": 0.2}, resume="v1", accept=("lr",))
    assert artifact.ref == "train@v1"
    rates = [json.loads(p.read_text())["lr"] for p in sorted(artifact.root.glob("checkpoints/*/state.json"))]
    assert rates == [0.1, 0.1, 0.2, 0.2]
    (event,) = events(artifact.root)
    assert {k: event[k] for k in ("event", "step", "field", "old", "new")} == {"event": "accepted", "step": 2, "field": "lr", "old": 0.1, "new": 0.2}
    assert workspace.outcome(COUNT, {"lr": 0.2}).status == "up-to-date"


def test_shape_cannot_change_within_a_run(workspace):
    interrupted(workspace)
    with pytest.raises(MsptError, match="width cannot change within a run"):
        workspace.run(COUNT, {"width": 16}, resume="v1", accept=("width",))


def test_new_starts_beside_the_unfinished_one(workspace):
    interrupted(workspace)
    assert workspace.run(COUNT, {"lr": 0.2}, new=True).ref == "train@v2"
    assert run_json(workspace.path / "train" / "v1")["status"] == "stopped"


def test_more_steps_on_a_finished_run_make_the_next_version_from_its_last_checkpoint(workspace):
    first = workspace.run(COUNT)
    second = workspace.run(COUNT, {"steps": 6}, resume="v1", accept=("steps",))
    assert second.ref == "train@v2"
    assert sorted(p.name for p in (second.root / "checkpoints").iterdir()) == ["step-00000004", "step-00000005", "step-00000006"]
    state = "checkpoints/step-00000004/state.json"
    assert (second.root / state).stat().st_ino == (first.root / state).stat().st_ino
    assert len(list((first.root / "checkpoints").iterdir())) == 4


def test_step_9_sorts_before_step_10(workspace):
    workspace.run(COUNT, {"steps": 10})
    assert Store(workspace.path).resolve("train@v1").directory.name == "step-00000010"
    with pytest.raises(MsptError, match="no checkpoint `step-11`"):
        Store(workspace.path).resolve("train@v1/step-11")
