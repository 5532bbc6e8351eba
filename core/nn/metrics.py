"""What a run writes down of every step: metrics.jsonl for programs and people, TensorBoard events for curves.

    {"step": 12, "time": "2026-01-31T12:00:00+00:00", "loss": 5.31, "lr": 3e-4, "grad_norm": 0.8, "loss_scale": 1.0, "tokens": 49152, ...}

A resumed run first cuts the file back to the step of its checkpoint, so that every step stands there once; steps without losses (an
overflow, skipped) are there too.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tensorboardX import SummaryWriter

from mspt.core.files import atomic_path

METRICS = "metrics.jsonl"
TENSORBOARD = "tensorboard"
CURVES = ("loss", "lr", "grad_norm", "loss_scale", "tokens_per_second", "validation_loss", "bits_per_byte")


@dataclass(frozen=True, kw_only=True)
class StepMetrics:
    """One line of metrics.jsonl. `loss` is the unsmoothed mean over valid tokens in nats; `tokens` counts labels so far."""

    step: int
    loss: float
    lr: float
    grad_norm: float
    loss_scale: float
    finite: bool
    tokens: int
    tokens_per_second: float
    step_seconds: float
    data_wait_seconds: float


class MetricsLog:
    """Appends to metrics.jsonl and to TensorBoard events below `directory`. A context manager."""

    def __init__(self, directory: Path, *, after_step: int) -> None:
        """Continue behind step `after_step`: later lines, of a run that was cut off, go."""
        self.path = directory / METRICS
        cut_back(self.path, after_step)
        self.file = self.path.open("a", encoding="utf-8")
        # purge_step tells TensorBoard to forget what an earlier process wrote from that step on.
        self.events = SummaryWriter(str(directory / TENSORBOARD), purge_step=after_step + 1)

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.file.close()
        self.events.close()

    def step(self, metrics: StepMetrics) -> None:
        """Write down a training step."""
        self.write(asdict(metrics))

    def write(self, values: Mapping[str, Any]) -> None:
        """One line; the curves among the values go to TensorBoard too. It is flushed, so a killed run loses none."""
        sound = {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()}  # JSON has no NaN
        line = {"step": sound.pop("step"), "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **sound}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        for name in CURVES:
            if line.get(name) is not None:
                self.events.add_scalar(name, line[name], line["step"])


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of metrics.jsonl; a last line that was cut off by a kill is left out."""
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                yield dict(json.loads(line))
            except ValueError:
                return


def cut_back(path: Path, step: int) -> None:
    """Keep the lines up to `step`."""
    if path.is_file():
        kept = [json.dumps(line) + "\n" for line in read_metrics(path) if line["step"] <= step]
        with atomic_path(path) as temporary:
            temporary.write_text("".join(kept), encoding="utf-8")
