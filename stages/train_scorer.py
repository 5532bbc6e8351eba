"""A quality scorer: it learns what the kept documents have that their shuffled copies lack.

In: docs (usually of dedup). Out: a scorer: `scorer.bin` (fastText) and `scorer.json` (how texts become tokens). Windows of kept documents are the good
examples, the same windows with their words or characters shuffled the bad ones; a tenth of the documents is held out and measures the scorer (AUC).
fastText: Joulin et al. 2016; trained in a process of its own, on one thread, with a fixed seed, so that equal inputs give equal bytes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, setting
from mspt.core.errors import InputError
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    from mspt.core.quality.examples import Example, ExampleSettings
    from mspt.core.quality.scorer import TrainingSettings
    from mspt.core.shards import Docs

EXAMPLES, MODEL = "examples.parquet", "scorer.bin"
WEAK_AUC = 0.8  # kept against shuffled should be easy: .97 and more on half a million characters


@dataclass(frozen=True, kw_only=True)
class TrainScorerConfig(SampleSettings):
    """Settings of train-scorer."""

    max_documents: Annotated[int, setting("documents to learn from, chosen by the hash of their id", ge=1)] = 10_000
    window: Annotated[int, setting("characters of one example", ge=50)] = 1000
    windows_per_document: Annotated[int, setting("examples that a document gives at most", ge=1)] = 4
    held_out: Annotated[float, setting("share of the documents that only measure the scorer", ge=0, lt=1)] = 0.1
    max_characters: Annotated[int, setting("a text is scored by its first so many characters", ge=100)] = 10_000
    dimension: Annotated[int, setting("size of fastText's vectors", ge=1)] = 8
    ngrams: Annotated[int, setting("longest n-gram of tokens (a Han character, a word, a punctuation mark)", ge=1, le=5)] = 3
    buckets: Annotated[int, setting("hash buckets for n-grams; the model takes 4 * dimension bytes for each", ge=1)] = 1 << 18
    epochs: Annotated[int, setting("passes over the examples", ge=1)] = 5
    rate: Annotated[float, setting("learning rate", gt=0)] = 1.0
    min_count: Annotated[int, setting("tokens that occur less often count by their n-grams only", ge=1)] = 2
    seed: Annotated[int, setting("seed of choice, shuffling and training", ge=0, lt=2**31)] = 1


def run(job: Job[TrainScorerConfig]) -> None:
    """Choose documents, make examples of them, train in a fresh process, measure on what was held out."""
    from mspt.core.quality.examples import choose
    from mspt.core.quality.scorer import DESCRIPTION, Description, Scorer

    docs = job.docs()
    ids = [docs.read_live(shard, ["id"]).column("id").to_pylist() for shard in range(docs.num_shards)]
    chosen = choose([id_ for shard in ids for id_ in shard], job.config.max_documents, job.config.seed)
    results = job.map_units(examples_of_shard, list(_units(job.config, docs, ids, chosen)), what="examples", group="examples")
    examples = _load(results)
    trained = _train(job, [example for example in examples if not example.held_out])
    job.link(trained.path(MODEL), MODEL, trained.record(MODEL))
    with job.write(DESCRIPTION) as path:
        Description(job.config.max_characters).write(path)
    scorer = Scorer.load(job.directory)
    job.stats |= {"documents": len(chosen), "examples": len(examples), "held_out": _measure(job, scorer, examples)}


def _units(config: TrainScorerConfig, docs: Docs, ids: Sequence[list[str]], chosen: set[str]) -> Iterator[Unit]:
    from mspt.core.quality.examples import ExampleSettings

    settings = ExampleSettings(config.window, config.windows_per_document, config.held_out, config.seed)
    for shard, own in enumerate(ids):
        rows = [row for row, id_ in enumerate(own) if id_ in chosen]
        if rows:
            yield Unit(f"{shard:05d}", (docs, shard, rows, settings), docs.bytes(shard))


def examples_of_shard(payload: tuple[Docs, int, list[int], ExampleSettings], out: UnitOutput) -> dict[str, Any]:
    """The examples of the chosen live rows of a shard."""
    import pyarrow as pa

    from mspt.core.quality.examples import make_examples
    from mspt.core.shards import write_table

    docs, shard, rows, settings = payload
    table = docs.read_live(shard, ["id", "text"]).take(rows)
    texts = [text or "" for text in table.column("text").to_pylist()]
    made = make_examples(table.column("id").to_pylist(), texts, settings)
    columns = {"kind": [e.kind for e in made], "held_out": [e.held_out for e in made], "line": [e.line for e in made]}
    schema = pa.schema([("kind", pa.string()), ("held_out", pa.bool_()), ("line", pa.string())])
    write_table(out.path(EXAMPLES), pa.table(columns, schema))
    return {"examples": len(made)}


def train_alone(payload: tuple[Path, TrainingSettings], out: UnitOutput) -> dict[str, Any]:
    """Training, as the only unit of a worker process of its own."""
    from mspt.core.quality.scorer import train

    path, settings = payload
    train(path, out.path(MODEL), settings)
    return {}


def _load(results: Sequence[UnitResult]) -> list[Example]:
    import pyarrow.parquet as pq

    from mspt.core.quality.examples import Example

    return [Example(**row) for result in results for row in pq.read_table(result.path(EXAMPLES)).to_pylist()]


def _train(job: Job[TrainScorerConfig], examples: list[Example]) -> UnitResult:
    """Stochastic descent follows the order of the examples: mixed by the seed, good beside bad."""
    from mspt.core.quality.examples import MIN_CHARACTERS
    from mspt.core.quality.scorer import TrainingSettings, write_examples

    if not examples:
        ref = job.inputs["docs"].ref
        raise InputError(f"{ref} has no kept text of {MIN_CHARACTERS} characters or more to learn from", f"look at what was rejected: mspt show {ref}")
    random.Random(job.config.seed).shuffle(examples)
    path = job.scratch("training") / "examples.txt"
    write_examples(path, [(example.label, example.line) for example in examples])
    config = job.config
    settings = TrainingSettings(config.dimension, config.ngrams, config.buckets, config.epochs, config.rate, config.min_count, config.seed)
    return job.map_units(train_alone, [Unit("scorer", (path, settings), path.stat().st_size)], what="training", group="training")[0]


def _measure(job: Job[TrainScorerConfig], scorer: Any, examples: Sequence[Example]) -> dict[str, Any]:
    """AUC of held-out windows, kept against each kind of shuffling; None where nothing was held out."""
    import numpy as np

    from mspt.core.quality.scorer import auc

    held_out = [example for example in examples if example.held_out]
    scores = scorer.score_lines([example.line for example in held_out])
    if not np.isfinite(scores).all():
        raise RuntimeError("the trained scorer answers NaN")
    kinds = np.array([example.kind for example in held_out], dtype=str)
    good = scores[kinds == "kept"]
    measured = {kind: auc(good, scores[kinds == kind]) for kind in ("shuffled-words", "shuffled-characters")}
    measured["all"] = auc(good, scores[kinds != "kept"])
    if measured["all"] < WEAK_AUC:
        job.warn(f"the scorer hardly tells kept texts from shuffled ones: AUC {measured['all']:.3f} on {len(good)} held-out windows; it needs more text")
    return {"windows": len(good), "auc": {kind: None if math.isnan(value) else round(value, 4) for kind, value in measured.items()}}


STAGE = Stage(
    order=30,
    config=TrainScorerConfig,
    run=run,
    writes="scorer",
    reads={"docs": Read("docs", producer="dedup", digest="text", help="documents to learn from")},
    libraries=("fasttext", "pyarrow", "python", "xxhash"),
    next="score",
)
