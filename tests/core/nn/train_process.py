"""A training run in a process of its own: python train_process.py DIRECTORY ROWS_FOLDER. Resumes where a checkpoint lies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from mspt.core.nn.checkpoint import list_checkpoints
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.evaluate import Score, Segments
from mspt.core.nn.metrics import StepMetrics
from mspt.core.nn.model import initial_weights
from mspt.core.nn.optimizer import AdamW
from mspt.core.nn.reader import PackedRows
from mspt.core.nn.runtime import prepare
from mspt.core.nn.schedule import Schedule
from mspt.core.nn.trainer import CHECKPOINTS, Trainer, TrainSettings, Validation

CONFIG = ModelConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=16)
STEPS, EVERY = 12, 4


class Quiet:
    """An observer that keeps the kinds of events."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def step(self, metrics: StepMetrics) -> None:
        print(metrics.step, flush=True)

    def validated(self, step: int, score: Score) -> None:
        self.events.append("validated")

    def event(self, kind: str, **fields: Any) -> None:
        self.events.append(kind)


def make(directory: Path, rows_folder: Path, **changes: Any) -> Trainer:
    """A trainer over the rows of train-*.mindrecord, float16 with a loss scale that overflows at first, two micro-batches."""
    settings = {
        "schedule": Schedule(peak=1e-2, steps=STEPS, warmup=2), "optimizer": AdamW(), "batch_size": 4, "accumulation": 2, "precision": "float16",
        "seed": 3, "checkpoint_every": EVERY, "keep": 2, "validate_every": EVERY, "cache": rows_folder / "cache",
    }  # fmt: skip
    rows = PackedRows.open(sorted(rows_folder.glob("train-*.mindrecord")), vocab_size=CONFIG.vocab_size)
    return Trainer(CONFIG, TrainSettings(**{**settings, **changes}), rows, directory, validation=Validation(rows, segments_of(rows)))


def segments_of(rows: PackedRows) -> Segments:
    """Two documents a row, of 3 and 5 bytes, as the test writes them."""
    row, count = np.repeat(np.arange(rows.num_rows), 2), rows.num_rows
    start, end = np.tile([0, 7], count), np.tile([7, 16], count)
    return Segments(row, start, end, np.tile([3, 5], count), np.array([f"d{n}" for n in range(2 * count)]), np.repeat("numbers", 2 * count))


def main(directory: Path, rows_folder: Path) -> None:
    prepare()
    trainer = make(directory, rows_folder)
    found = list_checkpoints(directory / CHECKPOINTS)
    if found:
        trainer.resume(found[-1])
    else:
        trainer.start(initial_weights(CONFIG, seed=3))
    trainer.run(Quiet())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
