from __future__ import annotations

import json
import math
from pathlib import Path

from tensorboardX.proto.event_pb2 import Event

from mspt.core.nn.metrics import METRICS, TENSORBOARD, MetricsLog, StepMetrics, read_metrics


def metrics(step: int, loss: float = 2.0) -> StepMetrics:
    return StepMetrics(
        step=step, loss=loss, lr=1e-3, grad_norm=0.5, loss_scale=1.0, finite=math.isfinite(loss), tokens=10 * step, tokens_per_second=100.0,
        step_seconds=0.1, data_wait_seconds=0.01,
    )  # fmt: skip


def events(folder: Path) -> list[tuple[str, int]]:
    """(tag, step) of the scalars, read record by record: length (8), checksum (4), event, checksum (4)."""
    found = []
    for path in sorted(folder.glob("events.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 8], "little")
            event = Event.FromString(data[at + 12 : at + 12 + size])
            found += [(value.tag, event.step) for value in event.summary.value]
            at += 16 + size
    return found


def test_each_step_is_a_line_with_its_time_and_a_point_on_the_curves(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, after_step=0) as log:
        log.step(metrics(1))
        log.write({"step": 1, "validation_loss": 1.5})
    lines = [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()]
    assert (lines[0]["step"], lines[0]["loss"], lines[0]["tokens"], lines[1]["validation_loss"]) == (1, 2.0, 10, 1.5)
    assert all(line["time"][4] == "-" and line["time"][10] == "T" for line in lines)
    assert {("loss", 1), ("lr", 1), ("grad_norm", 1), ("validation_loss", 1)} <= set(events(tmp_path / TENSORBOARD))


def test_a_resumed_run_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, after_step=0) as log:
        for step in (1, 2, 3):
            log.step(metrics(step))
    with (tmp_path / METRICS).open("a") as file:
        file.write('{"step": 4, "lo')  # killed while writing
    with MetricsLog(tmp_path, after_step=2) as log:
        log.step(metrics(3, loss=1.0))
    assert [(line["step"], line["loss"]) for line in read_metrics(tmp_path / METRICS)] == [(1, 2.0), (2, 2.0), (3, 1.0)]


def test_what_is_not_finite_is_null_in_json(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, after_step=0) as log:
        log.step(metrics(1, loss=math.nan))
    line = json.loads((tmp_path / METRICS).read_text(), parse_constant=lambda name: f"not JSON: {name}")
    assert line["loss"] is None
    assert line["finite"] is False
