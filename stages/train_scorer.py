"""A quality scorer, from a person's labels or from the documents themselves.

In: LABELS.jsonl or .csv (rows of `text` and `label`: high, middle, low or a number from 0 to 1; `mspt sample REF --export FILE` makes one to fill in), or docs,
usually of dedup. Out: a scorer: `scorer.bin` (fastText), `scorer.shapes.bin` (how usual the shape of a text is: core/quality/shapes.py) and `scorer.json`
(how texts become tokens, calibration). Without labels it is bootstrapped: windows of documents of the good sources (--good, default all) are the high class,
the same windows corrupted the low and the middle ones (core/quality/corruptions.py and middle.py list the kinds), and what clean rejected or cut out on the way
to these docs is low too. A tenth of the documents is held out: they calibrate the score and measure it (AUC by kind, reliability, confusion, Spearman in the
statistics).
fastText: Joulin et al. 2016; trained in a process of its own, on one thread, with a fixed seed, so that equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, setting, unknown_name
from mspt.core.errors import InputError, MsptError
from mspt.core.stage import Files, Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.artifact import Artifact
    from mspt.core.quality.examples import Example, ExampleSettings
    from mspt.core.quality.scorer import TrainingSettings
    from mspt.core.shards import Docs

EXAMPLES, MODEL = "examples.parquet", "scorer.bin"
ENOUGH_DOCUMENTS, MAX_DRAWS = 1000, 16  # a handful of documents has too few examples for descent to get anywhere: other corruptions of the same
WEAK_AUC = 0.8  # high against low should be easy: .97 and more on half a million characters
UNINFORMATIVE = frozenset({"too-short", "few-words", "few-sentences"})  # rules about size: a short text may be a good one


@dataclass(frozen=True, kw_only=True)
class TrainScorerConfig(SampleSettings):
    """Settings of train-scorer."""

    good: Annotated[tuple[str, ...], setting("a source whose documents are good; may repeat; default: all", metavar="SOURCE")] = ()
    rejected: Annotated[bool, setting("learn from what clean rejected and cut out on the way to these documents, too")] = True
    skip_unlabelled: Annotated[bool, setting("leave out rows of the labels file whose label is empty")] = False
    max_documents: Annotated[int, setting("documents to learn from, chosen by the hash of their id", ge=1)] = 5000
    window: Annotated[int, setting("characters of one example", ge=50)] = 500
    windows_per_document: Annotated[int, setting("examples that a document gives at most", ge=1)] = 8
    draws: Annotated[int, setting("times that each window is corrupted; 0: 1, or as many as few documents need (up to 16)", ge=0)] = 0
    held_out: Annotated[float, setting("share of the documents that only calibrate and measure the scorer", ge=0, lt=1)] = 0.1
    max_characters: Annotated[int, setting("a text is scored by its first so many characters", ge=100)] = 10_000
    vocabulary: Annotated[int, setting("tokens that count by themselves, the most frequent ones; others count by their shape", ge=1)] = 4000
    dimension: Annotated[int, setting("size of fastText's vectors", ge=1)] = 4
    ngrams: Annotated[int, setting("longest n-gram of tokens (a Han character, a word, a punctuation mark)", ge=1, le=5)] = 3
    buckets: Annotated[int, setting("hash buckets for n-grams; the model takes 4 * dimension bytes for each", ge=1)] = 1 << 18
    epochs: Annotated[int, setting("passes over the examples", ge=1)] = 10
    rate: Annotated[float, setting("learning rate", gt=0)] = 0.5
    seed: Annotated[int, setting("seed of choice, corruption and training", ge=0, lt=2**31)] = 1


def run(job: Job[TrainScorerConfig]) -> None:
    """Make examples, train in a fresh process, calibrate and measure on what was held out."""
    import pyarrow.compute as pc

    from mspt.core.quality.learning import calibrate, learn_shapes
    from mspt.core.quality.scorer import DESCRIPTION, SHAPE_COSTS, Description, Scorer

    examples = _labelled(job) if job.files.get("labels") else _bootstrapped(job)
    held_out = examples.filter(examples.column("held_out"))
    _check(job, examples.filter(pc.invert(examples.column("held_out"))))
    trained = _train(job, examples)
    job.link(trained.path(MODEL), MODEL, trained.record(MODEL))
    with job.write(SHAPE_COSTS) as path:
        path.write_bytes(learn_shapes(examples).tobytes())
    with job.write(DESCRIPTION) as path:
        Description(job.config.max_characters).write(path)
    found = calibrate(Scorer.load(job.directory), held_out)
    with job.write(DESCRIPTION) as path:
        found.describe(job.config.max_characters).write(path)
    job.stats |= {"examples": examples.num_rows, "by_kind": _counts(examples), "held_out": _measure(job, found.scores, held_out)}


# --- examples ----------------------------------------------------------------------------------------------------------


def _settings(config: TrainScorerConfig) -> ExampleSettings:
    from mspt.core.quality.examples import ExampleSettings

    return ExampleSettings(config.window, config.windows_per_document, config.held_out, config.seed)


def _labelled(job: Job[TrainScorerConfig]) -> pa.Table:
    """Windows of the labelled texts."""
    from mspt.core.quality.examples import given_examples
    from mspt.core.quality.labels import read_labels

    if "docs" in job.inputs:
        job.note("the labels teach the scorer; the documents are not read")
    found = read_labels([Path(file.location) for file in job.files["labels"]], skip_unlabelled=job.config.skip_unlabelled)
    if found.unlabelled:
        job.note(f"{found.unlabelled:,} rows have no label and are left out")
        job.stats["unlabelled"] = found.unlabelled
    labels = found.labels
    texts = [label.text for label in labels]
    job.stats["labels"] = len(labels)
    return _table(given_examples("label", texts, texts, [label.value for label in labels], _settings(job.config)))


def _bootstrapped(job: Job[TrainScorerConfig]) -> pa.Table:
    """Windows of documents and their corruptions, and what clean rejected."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mspt.core.quality.examples import choose
    from mspt.core.quality.learning import EXAMPLES as SCHEMA

    if "docs" not in job.inputs:
        raise MsptError(
            "train-scorer needs labels or documents, and there are none yet", "mspt train-scorer LABELS.jsonl, or run `mspt dedup` first, or give --docs REF"
        )
    docs, settings = job.docs(), _settings(job.config)
    good = _good_rows(docs, job.config.good)
    chosen = choose([id_ for own in good for id_ in own.values()], job.config.max_documents, job.config.seed)
    draws = job.config.draws or min(MAX_DRAWS, -(-ENOUGH_DOCUMENTS // max(1, len(chosen))))
    units = [
        Unit(f"{shard:05d}", (docs, shard, draws, [row for row, id_ in own.items() if id_ in chosen], settings), docs.bytes(shard))
        for shard, own in enumerate(good)
        if any(id_ in chosen for id_ in own.values())
    ]
    results = job.map_units(examples_of_shard, units, what="examples", group="examples")
    if job.config.rejected:
        junk = [(path, kind) for artifact in _cleans(job.inputs["docs"]) for path, kind in _junk_files(artifact)]
        limit = max(1, job.config.max_documents // max(1, len(junk)))
        units = [Unit(f"{number:05d}", (path, kind, limit, settings), path.stat().st_size) for number, (path, kind) in enumerate(junk)]
        results += job.map_units(examples_of_junk, units, what="rejected texts", group="rejected") if units else []
    job.stats["documents"] = len(chosen)
    return pa.concat_tables([SCHEMA.empty_table(), *(pq.read_table(result.path(EXAMPLES)).cast(SCHEMA) for result in results)])


def _good_rows(docs: Docs, sources: Sequence[str]) -> list[dict[int, str]]:
    """For each shard: id by number of the live row, of the good sources."""
    found: list[dict[int, str]] = []
    known: set[str] = set()
    for shard in range(docs.num_shards):
        table = docs.read_live(shard, ["id", "source"])
        of_rows = table.column("source").to_pylist()
        known.update(source or "" for source in of_rows)
        found.append({row: id_ for row, id_ in enumerate(table.column("id").to_pylist()) if not sources or of_rows[row] in sources})
    for source in sources:
        if source not in known:
            raise unknown_name("source", source, known, "train-scorer --good")
    return found


def _cleans(docs: Artifact) -> Iterator[Artifact]:
    """The artifacts of clean that these docs were made of, nearest first."""
    from mspt.core.store import Store

    store, waiting = Store(docs.root.parent.parent), [docs]
    while waiting:
        artifact = waiting.pop()
        if artifact.stage == "clean":
            yield artifact
        for record in artifact.inputs:
            if record.kind != "docs":
                continue
            try:
                parent = store.resolve(record.ref)
            except MsptError:
                parent = None
            if parent is None or record.fingerprint not in (parent.fingerprint, *parent.digests.values()):
                raise InputError(f"{artifact.ref} was made of {record.ref}, which is not here: what it rejected cannot be read", "--no-rejected goes without")
            waiting.append(parent)


def _junk_files(artifact: Artifact) -> Iterator[tuple[Path, str]]:
    for name in sorted(artifact.files):
        if name.startswith(("rejected/", "removed/")):
            yield artifact.checked(name), name.split("/")[0]


# --- in workers --------------------------------------------------------------------------------------------------------


def examples_of_shard(payload: tuple[Docs, int, int, list[int], ExampleSettings], out: UnitOutput) -> dict[str, Any]:
    """The examples of the chosen live rows of a shard, each window corrupted `draws` times."""
    from dataclasses import replace

    from mspt.core.quality.examples import make_examples

    docs, shard, draws, rows, settings = payload
    table = docs.read_live(shard, ["id", "text"]).take(rows)
    ids, texts = table.column("id").to_pylist(), [text or "" for text in table.column("text").to_pylist()]
    return _write([example for draw in range(draws) for example in make_examples(ids, texts, replace(settings, draw=draw))], out)


def examples_of_junk(payload: tuple[Path, str, int, ExampleSettings], out: UnitOutput) -> dict[str, Any]:
    """Low examples of a file of rejected documents, or of removed parts: those of a document together. At most `limit` documents."""
    import pyarrow.parquet as pq

    from mspt.core.quality.examples import MIN_CHARACTERS, choose, given_examples
    from mspt.core.text.rules.document_rules import BY_NAME, PROSE

    path, kind, limit, settings = payload
    texts: dict[str, list[str]] = {}
    for row in pq.read_table(path, columns=["id", "rule", "text"], partitioning=None).to_pylist():
        judged = row["rule"] in BY_NAME and BY_NAME[row["rule"]].forms >= PROSE and row["rule"] not in UNINFORMATIVE
        if row["text"] and (judged or kind == "removed"):
            texts.setdefault(row["id"], []).append(row["text"])
    joined = {id_: "\n".join(parts) for id_, parts in texts.items()}
    joined = {id_: text for id_, text in joined.items() if len(text) >= MIN_CHARACTERS}
    chosen = choose(list(joined), limit, settings.seed)
    kept = {id_: text for id_, text in joined.items() if id_ in chosen}
    return _write(given_examples(kind, list(kept), list(kept.values()), [0.0] * len(kept), settings), out)


def train_alone(payload: tuple[Path, TrainingSettings], out: UnitOutput) -> dict[str, Any]:
    """Training, as the only unit of a worker process of its own."""
    from mspt.core.quality.scorer import train

    path, settings = payload
    train(path, out.path(MODEL), settings)
    return {}


def _write(examples: Sequence[Example], out: UnitOutput) -> dict[str, Any]:
    from mspt.core.shards import write_table

    write_table(out.path(EXAMPLES), _table(examples))
    return {"examples": len(examples)}


def _table(examples: Sequence[Example]) -> pa.Table:
    import pyarrow as pa

    from mspt.core.quality.learning import EXAMPLES as SCHEMA

    return pa.Table.from_pydict({name: [getattr(example, name) for example in examples] for name in SCHEMA.names}, schema=SCHEMA)


# --- training and measuring --------------------------------------------------------------------------------------------


def _check(job: Job[TrainScorerConfig], training: pa.Table) -> None:
    """Something of two classes must be left to learn from."""
    from mspt.core.quality.calibration import class_of
    from mspt.core.quality.examples import MIN_CHARACTERS

    classes = {class_of(value) for value in training.column("value").to_pylist()}
    if job.files.get("labels") and len(classes) < 2:
        raise MsptError("the labels that are not held out are of one class only", "label more texts, or hold out fewer: --held-out 0")
    if len(classes) < 2:
        ref = job.inputs["docs"].ref
        raise InputError(f"{ref} has no kept text of {MIN_CHARACTERS} characters or more to learn from", f"look at what was rejected: mspt show {ref}")


def _train(job: Job[TrainScorerConfig], examples: pa.Table) -> UnitResult:
    from mspt.core.quality.learning import write_training_file
    from mspt.core.quality.scorer import TrainingSettings

    config = job.config
    path = job.scratch("training") / "examples.txt"
    write_training_file(path, examples, config.vocabulary, config.seed)
    settings = TrainingSettings(config.dimension, config.ngrams, config.buckets, config.epochs, config.rate, config.seed)
    return job.map_units(train_alone, [Unit("scorer", (path, settings), path.stat().st_size)], what="training", group="training")[0]


def _measure(job: Job[TrainScorerConfig], scores: Any, held_out: pa.Table) -> dict[str, Any]:
    """The measures of the held-out examples, each scored by a calibration that has not seen it; {} where nothing was held out."""
    import numpy as np

    from mspt.core.quality.calibration import MIN_LABELS
    from mspt.core.quality.learning import measures

    if not np.isfinite(scores).all():
        raise RuntimeError("the trained scorer answers NaN")
    if held_out.num_rows < 2 * MIN_LABELS:
        job.warn(
            f"{held_out.num_rows} held-out examples calibrate nothing: the score is the expected class value as it comes; at least {2 * MIN_LABELS} are needed"
        )
    if not held_out.num_rows:
        return {}
    found = measures(scores, held_out)
    separation = found["auc"]["high_low"]
    if separation is not None and separation < WEAK_AUC:
        job.warn(f"the scorer hardly tells good texts from bad ones: AUC {separation:.3f} on {held_out.num_rows} held-out examples; it needs more text")
    return found


def _counts(examples: pa.Table) -> dict[str, int]:
    import pyarrow.compute as pc

    return {row["values"]: row["counts"] for row in sorted(pc.value_counts(examples.column("kind")).to_pylist(), key=lambda row: str(row["values"]))}


STAGE = Stage(
    order=30,
    config=TrainScorerConfig,
    run=run,
    writes="scorer",
    reads={
        "labels": Files("labelled texts in JSONL or CSV: `text` and `label` (high, middle, low or 0 to 1)", optional=True, positional=True),
        "docs": Read("docs", producer="dedup", optional=True, help="documents to learn from where there are no labels"),
    },
    libraries=("fasttext", "numpy", "pyarrow", "python", "xxhash"),
    revision=4,
    next="score",
)
