"""The training loop: rows in, steps, metrics, checkpoints; and back to any checkpoint, exactly.

    trainer = Trainer(config, settings, rows, directory, validation=Validation(rows, segments))
    trainer.start(weights)                 # or trainer.resume(list_checkpoints(directory / "checkpoints")[-1])
    trainer.run(observer)                  # up to settings.steps

Resuming is exact because a step is a function of (weights, moments, step number, rows): the schedule is a function of the step, the order of
rows one of (seed, epoch), and the checkpoint holds the rest. Killed and resumed or not, the bits are the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from mindspore import Tensor

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.nn.batch import Batch
from mspt.core.nn.checkpoint import Arrays, Checkpoint, TrainState, best_step, list_checkpoints, open_checkpoint, point_best, retain, save_checkpoint
from mspt.core.nn.compile_cache import compile_cache
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.evaluate import RowScorer, Score, Segments, measure
from mspt.core.nn.metrics import METRICS, MetricsLog, StepMetrics, read_metrics
from mspt.core.nn.model import LlamaForCausalLM, load_weights, model_weights
from mspt.core.nn.optimizer import AdamW, LossScale
from mspt.core.nn.reader import PackedRows
from mspt.core.nn.runtime import DTYPES, machine_facts
from mspt.core.nn.schedule import Schedule
from mspt.core.nn.step import Outcome, TrainStep
from mspt.core.nn.watch import WINDOW, Watch

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to train. `batch_size` rows make a step, cut into `accumulation` micro-batches; 0 for an `_every` means never (but at the end)."""

    schedule: Schedule
    optimizer: AdamW
    batch_size: int
    accumulation: int = 1
    precision: str = "float32"
    seed: int = 0
    checkpoint_every: int = 0
    keep: int = 3
    validate_every: int = 0
    tokenizer_files: Sequence[Path] = ()
    cache: Path | None = None  # parent of the compile caches

    def __post_init__(self) -> None:
        if self.batch_size % self.accumulation:
            raise MsptError(
                f"batch_size {self.batch_size} does not divide into accumulation {self.accumulation}", "set batch_size to a multiple of accumulation"
            )
        if self.precision not in DTYPES:
            raise MsptError(f"there is no precision {self.precision!r}", f"set precision to one of {', '.join(DTYPES)}")

    @property
    def micro_batch(self) -> int:
        """Rows that go through the network at once."""
        return self.batch_size // self.accumulation


@dataclass(frozen=True)
class Validation:
    """Held-out rows, and where each document lies in them."""

    rows: PackedRows
    segments: Segments

    def spread(self, count: int) -> Validation:
        """`count` rows at equal distances: rows of one source lie together, so the first ones would tell of few sources."""
        if count >= self.rows.num_rows:
            return self
        numbers = [index * self.rows.num_rows // count for index in range(count)]
        old, kept = self.segments, np.isin(self.segments.row, numbers)
        row = np.searchsorted(numbers, old.row[kept])
        segments = Segments(row, old.start[kept], old.end[kept], old.num_bytes[kept], old.id[kept], old.source[kept])
        return Validation(self.rows.choose(numbers), segments)


class Observer(Protocol):
    """Who wants to know how it goes."""

    def step(self, metrics: StepMetrics) -> None: ...
    def validated(self, step: int, score: Score) -> None: ...
    def event(self, kind: str, **fields: Any) -> None: ...


class Trainer:
    """A network, its optimizer and where they stand. `directory` gets checkpoints/, metrics.jsonl and tensorboard/."""

    def __init__(self, config: ModelConfig, settings: TrainSettings, rows: PackedRows, directory: Path, *, validation: Validation | None = None) -> None:
        check_rows(config, rows, validation.rows if validation else None)
        self.config, self.settings, self.rows, self.validation = config, settings, rows, validation
        self.directory = directory
        self.checkpoints = directory / CHECKPOINTS
        self.model = LlamaForCausalLM(config, DTYPES[settings.precision])
        self.train_step = TrainStep(self.model, settings.optimizer, accumulation=settings.accumulation)
        self.scorer = RowScorer(self.model)
        self.state = TrainState(seed=settings.seed, loss_scale=asdict(LossScale() if settings.precision == "float16" else LossScale.off()))

    # --- where it stands ---------------------------------------------------------------------------------------------

    def start(self, weights: Arrays) -> None:
        """Begin at step 0 with these weights and empty moments."""
        load_weights(self.model, weights)

    def resume(self, directory: Path) -> None:
        """Stand where the checkpoint stood. Raises CheckFailed where it is damaged, MsptError where it is of another shape."""
        checkpoint: Checkpoint = open_checkpoint(directory)
        if checkpoint.state is None:
            raise MsptError(f"{directory} is no point of a training run", "start a run from it: --init")
        load_weights(self.model, checkpoint.weights())
        self.train_step.load_moments(checkpoint.moments())
        self.state = checkpoint.state

    # --- the loop ----------------------------------------------------------------------------------------------------

    def run(self, observer: Observer) -> TrainState:
        """Train up to the schedule's last step. Raises CheckFailed where a gradient is not finite and no loss scale can help."""
        settings, watch = self.settings, self.remember()
        if self.state.step >= settings.schedule.steps:
            return self.state
        self.compile()
        batches = self.rows.batches(first=self.state.rows, batch_size=settings.batch_size, seed=settings.seed)
        with MetricsLog(self.directory, after_step=self.state.step) as log:
            for step in range(self.state.step + 1, settings.schedule.steps + 1):
                began = time.perf_counter()
                batch = next(batches)
                waited = time.perf_counter() - began
                scale, rate = LossScale(**self.state.loss_scale), settings.schedule.rate(step)
                outcome = self.train_step(batch, rate=rate, update=self.state.updates + 1, loss_scale=scale.value)
                self.advance(batch, outcome, scale)
                metrics = self.metrics(outcome, rate, scale, batch.num_valid, time.perf_counter() - began, waited)
                log.step(metrics)
                guard(outcome, scale, step, observer)
                for spike in watch.see(outcome.loss, outcome.grad_norm):
                    observer.event(spike.kind, step=step, value=spike.value, median=spike.median)
                observer.step(metrics)
                self.rest(step, log, observer)
        return self.state

    def compile(self) -> None:
        """Compile all graphs before the first step, through the cache where one is set."""
        settings, rows = self.settings, self.rows
        shape = (settings.micro_batch, rows.length, rows.max_documents)
        graph = {
            "config": self.config.to_hf(),
            "shape": shape,
            "precision": settings.precision,
            "optimizer": asdict(settings.optimizer),
            "phases": sorted(set(self.train_step.phases)),
            "validates": self.validation is not None,
            **machine_facts(),
        }
        blank = blank_batch(*shape)
        with compile_cache(settings.cache, graph) if settings.cache else nullcontext():
            self.train_step.compile(blank)
            if self.validation is not None:
                self.scorer.token_loss.compile(*tensors(blank))

    def advance(self, batch: Batch, outcome: Outcome, scale: LossScale) -> None:
        """The state after a step: a skipped one reads its rows too, but is no update."""
        state = self.state
        self.state = replace(
            state,
            step=state.step + 1,
            updates=state.updates + outcome.finite,
            rows=state.rows + batch.num_rows,
            tokens=state.tokens + batch.num_valid,
            loss_scale=asdict(scale.after(outcome.finite)),
            schedule=asdict(self.settings.schedule),
            loss=outcome.loss if math.isfinite(outcome.loss) else None,
            validation_loss=None,
        )

    def metrics(self, outcome: Outcome, rate: float, scale: LossScale, num_valid: int, seconds: float, waited: float) -> StepMetrics:
        """What is written down of the step just taken."""
        return StepMetrics(
            step=self.state.step,
            loss=outcome.loss,
            lr=rate,
            grad_norm=outcome.grad_norm,
            loss_scale=scale.value,
            finite=outcome.finite,
            tokens=self.state.tokens,
            tokens_per_second=num_valid / seconds,
            step_seconds=seconds,
            data_wait_seconds=waited,
        )

    def remember(self) -> Watch:
        """The last steps before this one, from metrics.jsonl, so that a resumed run judges spikes as the whole one would."""
        watch = Watch()
        lines = [line for line in read_metrics(self.directory / METRICS) if "grad_norm" in line and line["step"] <= self.state.step]
        for line in lines[-WINDOW:]:
            if line["finite"]:
                watch.losses.append(line["loss"])
                watch.norms.append(line["grad_norm"])
        return watch

    # --- beside the steps --------------------------------------------------------------------------------------------

    def rest(self, step: int, log: MetricsLog, observer: Observer) -> None:
        """Validate and save where this step is due, and after the last one."""
        last = step == self.settings.schedule.steps
        if self.validation is not None and (last or due(step, self.settings.validate_every)):
            score = self.validate(self.validation)
            self.state = replace(self.state, validation_loss=score.loss)
            log.write({"step": step, "validation_loss": score.loss, "bits_per_byte": score.bits_per_byte})
            observer.validated(step, score)
        if last or due(step, self.settings.checkpoint_every):
            self.save()

    def validate(self, validation: Validation) -> Score:
        """Loss and bits per byte over the validation rows, each row once."""
        return measure(self.scorer, validation.rows, validation.segments, batch_size=self.settings.micro_batch).total

    def save(self) -> Path:
        """Write the checkpoint of this step, move `best` if it is, drop those that retention does not keep."""
        files = self.settings.tokenizer_files
        weights, moments = model_weights(self.model), self.train_step.moments()
        path = save_checkpoint(self.checkpoints, self.state.step, self.config, weights, moments=moments, state=self.state, files=files)
        if self.state.validation_loss is not None and self.state.validation_loss < best_loss(self.checkpoints):
            point_best(self.checkpoints, self.state.step)
        retain(self.checkpoints, self.settings.keep)
        return path


def check_rows(config: ModelConfig, rows: PackedRows, validation: PackedRows | None) -> None:
    """Rows must fit the model's positions, and validation rows the compiled shape."""
    if rows.length > config.max_position_embeddings:
        raise MsptError(
            f"rows of {rows.length} positions, the model has {config.max_position_embeddings}", f"set max_position_embeddings to at least {rows.length}"
        )
    if validation is not None and (validation.length, validation.max_documents) != (rows.length, rows.max_documents):
        raise MsptError("training and validation rows differ in length or in documents per row", "pack both in one run of pack-mindrecord")


def guard(outcome: Outcome, scale: LossScale, step: int, observer: Observer) -> None:
    """An overflow of float16 is noted; what no smaller loss scale can mend ends the run before anything of it is saved."""
    if outcome.finite:
        return
    facts = {"step": step, "loss": str(outcome.loss), "grad_norm": str(outcome.grad_norm), "loss_scale": scale.value}
    if not scale.exhausted:
        observer.event("overflow", **facts)
        return
    observer.event("not-finite", **facts)
    raise CheckFailed(
        f"step {step}: loss {outcome.loss}, gradient norm {outcome.grad_norm}: not finite",
        "the last checkpoint is sound: go on from it with a lower rate (--resume vN --accept lr) or look at the rows of this step",
    )


def due(step: int, every: int) -> bool:
    """Whether something that happens every so many steps (0: never) happens now."""
    return every > 0 and step % every == 0


def best_loss(checkpoints: Path) -> float:
    """Validation loss of the best checkpoint so far; infinite without one."""
    step = best_step(checkpoints)
    found = next((path for path in list_checkpoints(checkpoints) if step is not None and path.name.endswith(f"{step:08d}")), None)
    state = open_checkpoint(found, verify=False).state if found else None
    return math.inf if state is None or state.validation_loss is None else state.validation_loss


def blank_batch(rows: int, length: int, max_documents: int) -> Batch:
    """A batch of this shape, for compiling."""
    ids = np.zeros((rows, length), np.int32)
    return Batch(ids, ids, np.full((rows, max_documents), length, np.int32))


def tensors(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Input ids, labels and document ends as TokenLoss takes them."""
    return Tensor(batch.input_ids), Tensor(batch.labels), Tensor(batch.actual_seq_len)
