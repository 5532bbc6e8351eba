"""Train a Llama-style decoder on packed rows.

In: mindrecord (training rows, and validation rows where it has some); with `--init` a model to start from (of the same tokenizer; its shape is kept).

Out: model, a training run: checkpoints/step-NNNNNNNN/ (each opens in transformers as it lies, and holds all that an exact resume needs),
checkpoints/best, metrics.jsonl (every step), tensorboard/ and events.jsonl. The run exists from its first step; the same command resumes it, killed
at any moment, with the same bits. How a step is computed: core/nn/step.py; how the run goes on: core/nn/trainer.py.
"""

from __future__ import annotations

import json
import math
import statistics
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mspt.core.config import parse_count, setting
from mspt.core.errors import MsptError
from mspt.core.stage import Job, Read, Stage

if TYPE_CHECKING:
    from mspt.core.artifact import Artifact
    from mspt.core.engine import Bar
    from mspt.core.nn.checkpoint import Checkpoint
    from mspt.core.nn.config import ModelConfig
    from mspt.core.nn.evaluate import Score
    from mspt.core.nn.metrics import StepMetrics
    from mspt.core.nn.reader import PackedRows
    from mspt.core.nn.schedule import Schedule
    from mspt.core.nn.trainer import Trainer, Validation
    from mspt.core.tokens.tokenizer import Tokenizer

# 256 wide and 4 deep: 3 M parameters beside the embedding, minutes on two cores.
HIDDEN_SIZE, LAYERS = 256, 4
WARMUP_SHARE = 0.02  # of the steps; 1-5 % is usual
WSD_SHARE = 0.2  # of the steps: the fall at the end (Hägele et al. 2024, section 3)
CHECK_BEFORE = 2**30  # bytes that are hashed before the first step (a second)
CACHE = Path(".cache") / "compile"  # of the workspace: other runs of the same shape start faster too
LAST = 10  # steps that the last loss is a mean of
SHAPE = ("hidden_size", "layers", "heads", "kv_heads", "intermediate_size", "tie_embeddings", "rope_theta")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    hidden_size: Annotated[int | None, setting("width of the model; default 256, with --init the model's", ge=2)] = None
    layers: Annotated[int | None, setting("decoder layers; default 4", ge=1)] = None
    heads: Annotated[int | None, setting("attention heads; default: heads of 64", ge=1)] = None
    kv_heads: Annotated[int | None, setting("key and value heads; default: as many as heads", ge=1)] = None
    intermediate_size: Annotated[int | None, setting("width of the feed-forward block; default 8/3 of hidden_size", ge=1)] = None
    tie_embeddings: Annotated[bool | None, setting("output and embedding share one matrix; default true")] = None
    rope_theta: Annotated[float | None, setting("base of the rotary positions; default 10000", gt=0)] = None
    batch_size: Annotated[int, setting("rows in a step", ge=1)] = 32
    accumulation: Annotated[int, setting("micro-batches that a step's rows are cut into, to save memory", ge=1)] = 1
    steps: Annotated[int | None, setting("length of the run in steps", ge=1)] = None
    tokens: Annotated[int | None, setting("length of the run in positions read (20M, 2B)", ge=1, convert=parse_count, metavar="COUNT")] = None
    epochs: Annotated[float | None, setting("length of the run in passes over the rows; default 1, where neither steps nor tokens is set", gt=0)] = None
    lr: Annotated[float, setting("peak learning rate", gt=0)] = 1e-3
    schedule: Annotated[Literal["cosine", "linear", "constant", "wsd"], setting("how the rate goes on after warm-up")] = "cosine"
    warmup: Annotated[int | None, setting("steps of warm-up; default 2 % of the run", ge=0)] = None
    floor: Annotated[float, setting("last rate as a share of the peak", ge=0, le=1)] = 0.1
    decay_steps: Annotated[int | None, setting("wsd: steps of the fall at the end; default 20 % of the run", ge=1)] = None
    weight_decay: Annotated[float, setting("AdamW weight decay of matrices; norms and embeddings have none", ge=0)] = 0.1
    beta1: Annotated[float, setting("AdamW beta1, decay of the first moment", ge=0, lt=1)] = 0.9
    beta2: Annotated[float, setting("AdamW beta2, decay of the second moment", ge=0, lt=1)] = 0.95
    clip: Annotated[float, setting("largest gradient norm; 0: no clipping", ge=0)] = 1.0
    precision: Annotated[Literal["float32", "float16"], setting("compute dtype of products and activations; weights, moments and loss are float32")] = "float32"
    seed: Annotated[int, setting("of the initial weights and of the order of rows", ge=0, lt=2**63)] = 0
    checkpoint_every: Annotated[int, setting("steps between checkpoints; 0: the last step only", ge=0)] = 500
    keep: Annotated[int, setting("last checkpoints that are kept, beside the best", ge=1)] = 3
    validation_every: Annotated[int, setting("steps between validations; 0: at the end only", ge=0)] = 500
    validation_rows: Annotated[int | None, setting("validation rows to use, evenly from all; default all", ge=1)] = None
    log_every: Annotated[int, setting("steps between lines on the console; 0: none", runtime=True, ge=0)] = 50
    compile_cache: Annotated[bool, setting("keep compiled graphs for the next start", runtime=True)] = True


# What may change within a run: DESIGN.md section 3. The shape, the seed, the data and the optimizer's memory may not.
ACCEPTABLE = frozenset(
    {
        "lr", "schedule", "warmup", "floor", "decay_steps", "steps", "tokens", "epochs", "batch_size", "accumulation", "clip",
        "checkpoint_every", "keep", "validation_every", "validation_rows", "revision", "libraries",
    }
)  # fmt: skip


def run(job: Job[TrainConfig]) -> None:
    from mspt.core.nn.runtime import prepare
    from mspt.core.tokens.tokenizer import load

    data, init = job.artifact("mindrecord"), job.inputs.get("init")
    prepare()
    check = InputCheck(data)
    check.start()
    tokenizer = load(data.directory)
    rows = open_rows(data, tokenizer)
    start = open_init(job.config, init, data) if init else None
    config = start.config if start else shape_of(job.config, tokenizer, rows.length)
    trainer = make_trainer(job, config, rows, open_validation_rows(job.config, data, config))
    place(job, trainer, start)
    train(job, trainer, check)
    job.digest("tokenizer", data.digest("tokenizer"))
    report(job, config, trainer)


# --- inputs ------------------------------------------------------------------------------------------------------------


class InputCheck:
    """Compares the files of the rows with their recorded hashes: before the first step where that takes a second or so, else beside the training."""

    def __init__(self, data: Artifact) -> None:
        self.data = data
        self.error: MsptError | None = None
        self.thread = threading.Thread(target=self.compare, daemon=True)

    def start(self) -> None:
        """Sizes of all files now, hashes now or later. Raises CheckFailed naming the damaged file."""
        for record in self.data.files.values():
            path = self.data.root / record.path
            if not path.is_file() or path.stat().st_size != record.bytes:
                self.data.checked(record.path)  # says what is wrong
        self.thread.start()
        if sum(record.bytes for record in self.data.files.values()) <= CHECK_BEFORE:
            self.finish()

    def compare(self) -> None:
        try:
            for name in sorted(self.data.files):
                self.data.checked(name)
        except MsptError as error:
            self.error = error

    def look(self) -> None:
        """Raise what was found so far."""
        if self.error is not None:
            raise self.error

    def finish(self) -> None:
        """Wait for the rest."""
        self.thread.join()
        self.look()


def check_form(data: Artifact) -> None:
    """MsptError where pack-mindrecord wrote another form than the one that is trained on."""
    usual = {"format": "mindrecord", "objective": "causal", "layout": "segments"}
    other = next((name for name, value in usual.items() if data.config.get(name, value) != value), None)
    if other is not None:
        raise MsptError(
            f"{data.ref} was packed with --{other} {data.config[other]}, which mspt train does not read",
            f"pack with --{other} {usual[other]} (mspt pack-mindrecord --name ...), and give that: --mindrecord NAME",
        )


def open_rows(data: Artifact, tokenizer: Tokenizer) -> PackedRows:
    """The training rows, with the phases that they were packed in."""
    from mspt.core.nn.reader import PackedRows

    check_form(data)
    files = [data.path(name) for name in sorted(data.files) if name.startswith("train-") and name.endswith(".mindrecord")]
    phases = tuple(phase["first_row"] for phase in data.stats.get("phases", ()) if "first_row" in phase)
    return PackedRows.open(files, vocab_size=tokenizer.vocab_size, phases=phases or (0,))


def open_validation_rows(config: TrainConfig, data: Artifact, model: ModelConfig) -> Validation | None:
    """The validation rows, where the data has some."""
    from mspt.core.nn.evaluate import open_validation, validation_names
    from mspt.core.nn.trainer import Validation

    names = validation_names(data.files)
    if not names:
        return None
    validation = Validation(*open_validation(data.directory, names, model))
    return validation.spread(config.validation_rows or validation.rows.num_rows)


def open_init(config: TrainConfig, init: Artifact, data: Artifact) -> Checkpoint:
    """The checkpoint to start from. Raises MsptError where its tokenizer is not the rows', or another shape is asked for."""
    from mspt.core.nn.checkpoint import open_checkpoint
    from mspt.core.tokens.tokenizer import digest

    given = [name for name in SHAPE if getattr(config, name) is not None]
    if given:
        raise MsptError(f"--init keeps the shape of {init.ref}, but {', '.join(given)} is set", "leave the shape out, or train without --init")
    if digest(init.directory) != data.digest("tokenizer"):
        raise MsptError(f"{init.ref} and {data.ref} have different tokenizers", f"tokenise and pack with its own: mspt tokenize --tokenizer {init.ref}")
    return open_checkpoint(init.directory)


def shape_of(config: TrainConfig, tokenizer: Tokenizer, length: int) -> ModelConfig:
    """The model's shape: what is not set follows from the width, the vocabulary from the tokenizer, the positions from the rows."""
    from mspt.core.nn.config import ModelConfig, default_intermediate_size, default_num_heads

    hidden = config.hidden_size or HIDDEN_SIZE
    return ModelConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=hidden,
        intermediate_size=config.intermediate_size or default_intermediate_size(hidden),
        num_hidden_layers=config.layers or LAYERS,
        num_attention_heads=config.heads or default_num_heads(hidden),
        num_key_value_heads=config.kv_heads or 0,
        max_position_embeddings=length,
        rope_theta=config.rope_theta or ModelConfig.rope_theta,
        tie_word_embeddings=config.tie_embeddings is not False,
        bos_token_id=tokenizer.special.bos,
        eos_token_id=tokenizer.eos_id,
        pad_token_id=tokenizer.special.pad,
    )


# --- the run -----------------------------------------------------------------------------------------------------------


def schedule_of(config: TrainConfig, rows: PackedRows) -> Schedule:
    """Length and rates of the run. Raises MsptError where its length is set twice."""
    from mspt.core.nn.schedule import Schedule

    given = [name for name in ("steps", "tokens", "epochs") if getattr(config, name) is not None]
    if len(given) > 1:
        raise MsptError(f"{' and '.join(given)} both say how long to train", "set one of steps, tokens, epochs")
    epochs = config.epochs or 1.0
    per_step = config.batch_size * rows.length
    steps = config.steps or (math.ceil(config.tokens / per_step) if config.tokens else max(1, math.floor(epochs * rows.num_rows / config.batch_size)))
    warmup = math.ceil(WARMUP_SHARE * steps) if config.warmup is None else config.warmup
    fall = (config.decay_steps or math.ceil(WSD_SHARE * steps)) if config.schedule == "wsd" else 0
    return Schedule(kind=config.schedule, peak=config.lr, steps=steps, warmup=min(warmup, steps), floor=config.floor, decay_steps=fall)


def make_trainer(job: Job[TrainConfig], config: ModelConfig, rows: PackedRows, validation: Validation | None) -> Trainer:
    """Everything that the loop needs."""
    from mspt.core.nn.optimizer import AdamW
    from mspt.core.nn.trainer import Trainer, TrainSettings
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES

    own, data = job.config, job.artifact("mindrecord")
    settings = TrainSettings(
        schedule=schedule_of(own, rows),
        optimizer=AdamW(beta1=own.beta1, beta2=own.beta2, weight_decay=own.weight_decay, clip=own.clip),
        batch_size=own.batch_size,
        accumulation=own.accumulation,
        precision=own.precision,
        seed=own.seed,
        checkpoint_every=own.checkpoint_every,
        keep=own.keep,
        validate_every=own.validation_every,
        tokenizer_files=[data.path(name) for name in TOKENIZER_FILES if name in data.files],
        cache=job.directory.parents[1] / CACHE if own.compile_cache else None,
    )
    return Trainer(config, settings, rows, job.directory, validation=validation)


def place(job: Job[TrainConfig], trainer: Trainer, start: Checkpoint | None) -> None:
    """Stand at the last checkpoint, else at the beginning; an event says where, and on what machine."""
    from mspt.core.nn.checkpoint import list_checkpoints
    from mspt.core.nn.model import initial_weights
    from mspt.core.nn.runtime import machine_facts
    from mspt.core.training_run import append_event

    found = list_checkpoints(trainer.checkpoints)
    if found:
        trainer.resume(found[-1])
        job.note(f"going on after step {trainer.state.step:,}")
    else:
        trainer.start(start.weights() if start else initial_weights(trainer.config, job.config.seed))
        job.note(f"{trainer.config.num_parameters:,} parameters, {trainer.settings.schedule.steps:,} steps of {job.config.batch_size} rows")
    if trainer.state.step > trainer.settings.schedule.steps:
        raise MsptError(f"the run stands at step {trainer.state.step:,}, steps is {trainer.settings.schedule.steps:,}", "raise steps, tokens or epochs")
    machine, before = machine_facts(), last_machine(job.directory)
    if before is not None and before != machine:
        changed = ", ".join(f"{name} {before.get(name)} -> {machine[name]}" for name in machine if before.get(name) != machine[name])
        job.warn(f"this machine differs from the one before ({changed}): results may differ in their last bits")
    append_event(job.directory, "resumed" if found else "started", step=trainer.state.step, machine=machine)


def last_machine(directory: Path) -> dict[str, str] | None:
    """The machine of the latest start in events.jsonl."""
    path = directory / "events.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    return next((dict(line["machine"]) for line in reversed(lines) if "machine" in line), None)


class Watcher:
    """Tells the person and events.jsonl how the run goes."""

    def __init__(self, job: Job[TrainConfig], check: InputCheck, bar: Bar, first: int) -> None:
        self.job, self.check, self.bar = job, check, bar
        self.first = first  # the first step of this process is always told: it says that training has begun, and where

    def step(self, metrics: StepMetrics) -> None:
        self.check.look()
        self.bar.advance(1)
        every = self.job.config.log_every
        if every and (metrics.step % every == 0 or metrics.step == self.first):
            self.job.note(
                f"step {metrics.step:,}: loss {metrics.loss:.4f}, rate {metrics.lr:.2e}, gradient norm {metrics.grad_norm:.3f},"
                f" {metrics.tokens_per_second:,.0f} tokens/s"
            )

    def validated(self, step: int, score: Score) -> None:
        self.job.note(f"step {step:,}: validation loss {score.loss:.4f}, {score.bits_per_byte:.4f} bits per byte")

    def event(self, kind: str, **fields: Any) -> None:
        from mspt.core.training_run import append_event

        append_event(self.job.directory, kind, **fields)
        if kind != "overflow":  # of float16: expected, and told by the loss scale
            said = (f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in fields.items())
            self.job.warn(f"{kind}: {', '.join(said)}")


def train(job: Job[TrainConfig], trainer: Trainer, check: InputCheck) -> None:
    """Run to the end; the files must have proved whole by then."""
    with job.progress("steps", total=trainer.settings.schedule.steps) as bar:
        bar.advance(trainer.state.step)
        trainer.run(Watcher(job, check, bar, trainer.state.step + 1))
    check.finish()


def report(job: Job[TrainConfig], config: ModelConfig, trainer: Trainer) -> None:
    """What `mspt show` tells, from metrics.jsonl."""
    from mspt.core.nn.checkpoint import best_step
    from mspt.core.nn.metrics import METRICS, read_metrics
    from mspt.core.nn.runtime import machine_facts

    lines = list(read_metrics(job.directory / METRICS))
    steps = [line for line in lines if line.get("loss") is not None]
    validations = [{name: line[name] for name in ("step", "validation_loss", "bits_per_byte")} for line in lines if "validation_loss" in line]
    job.stats["model"] = {
        "parameters": config.num_parameters,
        "layers": config.num_hidden_layers,
        "hidden_size": config.hidden_size,
        "heads": config.num_attention_heads,
        "kv_heads": config.num_key_value_heads,
        "vocab_size": config.vocab_size,
    }
    job.stats["training"] = {
        "steps": trainer.state.step,
        "tokens": trainer.state.tokens,
        "epochs": round(trainer.state.rows / trainer.rows.num_rows, 3),
        "first_loss": steps[0]["loss"],
        "mean_loss_of_last_steps": statistics.fmean(line["loss"] for line in steps[-LAST:]),
        "tokens_per_second": round(statistics.median(line["tokens_per_second"] for line in steps)),
        "skipped_steps": trainer.state.step - trainer.state.updates,
        "best_step": best_step(trainer.checkpoints),
    }
    job.stats["validation"] = validations
    job.stats["machine"] = machine_facts()


STAGE = Stage(
    order=90,
    config=TrainConfig,
    run=run,
    writes="model",
    libraries=("mindspore", "numpy"),
    reads={
        "mindrecord": Read("mindrecord", producer="pack-mindrecord", help="rows to train on"),
        "init": Read("model", producer="import-hf", optional=True, automatic=False, help="a model to start from, instead of random weights"),
    },
    lifecycle="run",
    acceptable=ACCEPTABLE,
    revision=2,
    next="eval",
)
