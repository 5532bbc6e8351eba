"""Perplexity and bits per byte on validation rows, and accuracy on multiple-choice tasks.

In: model (or quantised-model: `--model quantize`), mindrecord (its validation rows; optional) and task files (`--tasks FILE`, may repeat), JSONL of
{"id", "query", "choices", "gold"}. Model and mindrecord must have one tokenizer.

Out: evaluation: evaluation.json with perplexity, bits per byte (bytes of labelled tokens only) and its standard error, in all and by source; beside them
what a unigram, an interpolated bigram of the training tokens and Python's lzma make of the same positions; accuracy by sum of log-probabilities and
per byte, with standard errors, and tasks/NAME.jsonl with every prediction. Definitions: core/nn/evaluate.py, choices.py, core/tokens/baselines.py.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import setting
from mspt.core.errors import MsptError
from mspt.core.stage import Files, Job, Read, Stage

if TYPE_CHECKING:
    from mspt.core.artifact import Artifact
    from mspt.core.nn.choices import Question, Verdict
    from mspt.core.nn.evaluate import Evaluation, RowScorer, Score
    from mspt.core.nn.open_model import OpenModel
    from mspt.core.nn.reader import PackedRows

READ_ROWS = 256


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    validation: Annotated[bool, setting("evaluate the validation rows of mindrecord")] = True
    rows: Annotated[int | None, setting("evaluate this many validation rows only, evenly from all", ge=1)] = None
    baselines: Annotated[bool, setting("compare with unigram, bigram and lzma, which read the training rows")] = True
    batch_size: Annotated[int, setting("rows computed at once; sums may differ in their last digits with it", ge=1)] = 8


def run(job: Job[EvalConfig]) -> None:
    from mspt.core.nn.choices import read_questions
    from mspt.core.nn.evaluate import RowScorer
    from mspt.core.nn.open_model import check_same_tokenizer, open_model
    from mspt.core.nn.runtime import machine_facts

    model, tasks = job.artifact("model"), task_files(job)
    mindrecord = job.inputs.get("mindrecord") if job.config.validation else None
    if mindrecord is None and not tasks:
        raise MsptError("eval needs validation rows or tasks, and there are none", "give --mindrecord REF, --tasks FILE, or both")
    questions = {name: read_questions(path) for name, path in tasks.items()}
    opened = open_model(model.directory)  # first: a damaged tokenizer is named as such, not as another one
    if mindrecord is not None:
        check_same_tokenizer(model.directory, mindrecord.digest("tokenizer"), model.ref, mindrecord.ref)
    scorer = RowScorer(opened.network)
    report: dict[str, Any] = {"machine": machine_facts()}
    if mindrecord is not None:
        report |= evaluate_rows(job, opened, scorer, mindrecord)
    if questions:
        report["tasks"] = {name: evaluate_task(job, opened, scorer, name, asked) for name, asked in questions.items()}
        job.stats["tasks"] = [{"task": name, **figures} for name, figures in report["tasks"].items()]
    job.write_json("evaluation.json", report)


def task_files(job: Job[EvalConfig]) -> dict[str, Path]:
    """Task files by name: the file's, without its ending."""
    found: dict[str, Path] = {}
    for file in job.files.get("tasks", []):
        path = Path(file.location)
        if path.stem in found:
            raise MsptError(f"two tasks are called {path.stem}: {found[path.stem]} and {path}", "rename one of the files")
        found[path.stem] = path
    return found


# --- validation rows ---------------------------------------------------------------------------------------------------


def evaluate_rows(job: Job[EvalConfig], opened: OpenModel, scorer: RowScorer, mindrecord: Artifact) -> dict[str, Any]:
    """Validation figures and baselines, as they stand in evaluation.json; `mspt show` gets them as tables."""
    from mspt.core.nn.evaluate import measure, open_validation, validation_names
    from mspt.core.nn.trainer import Validation

    names = validation_names(mindrecord.files)
    for name in names:
        mindrecord.checked(name)
    validation = Validation(*open_validation(mindrecord.directory, names, opened.config))
    validation = validation.spread(job.config.rows or validation.rows.num_rows)
    rows = validation.rows
    with job.progress("validation rows", total=rows.num_rows) as bar:
        found = measure(scorer, rows, validation.segments, batch_size=job.config.batch_size, advance=bar.advance)
    sources = {name: plain(score) for name, score in found.by_source.items()}
    report: dict[str, Any] = {"validation": {"rows": rows.num_rows, "total": plain(found.total), "sources": sources}}
    job.stats["validation"] = [{"source": name, **plain(s)} for name, s in [("all", found.total), *found.by_source.items()]]
    job.note(f"{found.total.bits_per_byte:.4f} bits per byte, perplexity {found.total.perplexity:,.2f} on {found.total.tokens:,} tokens")
    if job.config.baselines:
        report["baselines"] = job.stats["baselines"] = compare(job, opened, mindrecord, rows, found)
    return report


def plain(score: Score) -> dict[str, Any]:
    """A score as JSON can hold it."""
    figures = {"documents": score.documents, "tokens": score.tokens, "bytes": score.num_bytes}
    values = {"loss": score.loss, "perplexity": score.perplexity, "bits_per_byte": score.bits_per_byte, "bits_per_byte_error": score.error}
    return figures | {name: rounded(value) for name, value in values.items()}


def rounded(value: float) -> float | None:
    """Six digits behind the point; None where there is no value (a single document has no standard error)."""
    return round(value, 6) if math.isfinite(value) else None


def compare(job: Job[EvalConfig], opened: OpenModel, mindrecord: Artifact, rows: PackedRows, found: Evaluation) -> dict[str, Any]:
    """Bits per byte of the baselines at the same positions."""
    from mspt.core.nn.evaluate import label_bytes
    from mspt.core.tokens import baselines
    from mspt.core.tokens.mindrecord import read
    from mspt.core.tokens.rows import RowBatch

    for name in mindrecord.files:
        if name.startswith("train-"):
            mindrecord.checked(name)
    files = sorted(mindrecord.directory.glob("train-*.mindrecord"))
    surfaces = opened.tokenizer.surfaces
    validation = [RowBatch(batch.input_ids, batch.labels, batch.actual_seq_len) for batch in rows.once(READ_ROWS)]
    ngrams = baselines.measure(read(files), validation, opened.config.vocab_size, opened.tokenizer.token_bytes)
    text = label_bytes(validation, surfaces)
    seen = label_bytes(read(files), surfaces, last=baselines.LZMA_WINDOW)
    with job.progress("training text through lzma", baselines.lzma_work(seen, text), "B") as bar:
        compressed = baselines.lzma_bits_per_byte(seen, text, bar.advance) * len(text)
    size = found.total.num_bytes

    def per_byte(nats: float) -> float:
        return nats / math.log(2) / size

    figures = {
        "model": found.total.bits_per_byte,
        "unigram": per_byte(ngrams.unigram.nats),
        "bigram": per_byte(ngrams.bigram.nats),
        "lzma": compressed / size,
        "model_below_unigram": per_byte(ngrams.unigram.nats) - found.total.bits_per_byte,
    }
    return {name: rounded(value) for name, value in figures.items()} | {"bigram_weight": ngrams.weight}


# --- tasks -------------------------------------------------------------------------------------------------------------


def evaluate_task(job: Job[EvalConfig], opened: OpenModel, scorer: RowScorer, name: str, questions: list[Question]) -> dict[str, Any]:
    """Accuracies of one task; its predictions go to tasks/NAME.jsonl."""
    from mspt.core.nn.choices import judge, summarise

    with job.progress(f"task {name}", total=sum(len(question.choices) for question in questions)) as bar:
        verdicts = judge(
            scorer,
            opened.tokenizer,
            questions,
            positions=opened.config.max_position_embeddings,
            batch_size=job.config.batch_size,
            advance=bar.advance,
        )
    write_verdicts(job, f"tasks/{name}.jsonl", verdicts)
    figures = {key: rounded(value) if isinstance(value, float) else value for key, value in asdict(summarise(verdicts)).items()}
    job.note(f"{name}: accuracy {figures['accuracy']:.3f} of {figures['questions']} questions, chance {figures['chance']:.3f}")
    return figures


def write_verdicts(job: Job[EvalConfig], name: str, verdicts: list[Verdict]) -> None:
    import json

    from mspt.core.nn.choices import verdict_line

    with job.write(name) as path:
        path.write_text("".join(json.dumps(verdict_line(v), ensure_ascii=False) + "\n" for v in verdicts), encoding="utf-8")


STAGE = Stage(
    order=100,
    config=EvalConfig,
    run=run,
    writes="evaluation",
    libraries=("mindspore", "numpy"),
    reads={
        "model": Read("model", producer="train", also=("quantised-model",), help="what to evaluate (a quantised-model too)"),
        "mindrecord": Read("mindrecord", producer="pack-mindrecord", optional=True, help="its validation rows are evaluated"),
        "tasks": Files("multiple-choice questions in JSONL; may repeat", optional=True, many=True),
    },
    next="convert-hf",
)
