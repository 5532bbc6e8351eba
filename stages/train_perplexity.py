"""An n-gram model of a reference text: what score measures the perplexity of documents with.

In: docs that read as documents should (usually of dedup; better: a clean of texts that you trust, --docs REF). Out: an ngram-model: `ngrams.bin`, an
interpolated Kneser-Ney model of characters and frequent words, and `reference.json`, the languages that it knows. Documents are taken in the order of the
hash of their id until `max_characters` are full; a twentieth is held out, and its perplexities by language show where --max-perplexity of score may lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, parse_count, setting
from mspt.core.errors import InputError
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput

if TYPE_CHECKING:
    from mspt.core.quality.perplexity import Reference
    from mspt.core.shards import Docs


@dataclass(frozen=True, kw_only=True)
class TrainPerplexityConfig(SampleSettings):
    """Settings of train-perplexity."""

    max_characters: Annotated[
        int, setting("characters to learn from at most; each takes about 110 bytes of memory", ge=1, le=10**9, convert=parse_count, metavar="NUMBER")
    ] = 10_000_000
    ngram: Annotated[int, setting("symbols of the longest n-gram (a Han character, a word, a mark)", ge=2, le=8)] = 5
    min_count: Annotated[int, setting("words and characters that occur less often are spelled or unknown", ge=1)] = 3
    held_out: Annotated[float, setting("share of the documents that only measure the model", ge=0, lt=1)] = 0.05
    seed: Annotated[int, setting("seed of the choice of documents", ge=0, lt=2**63)] = 1


@dataclass(frozen=True)
class Task:
    """chosen: by shard, (row among the live ones, held out)."""

    docs: Docs
    chosen: tuple[tuple[tuple[int, bool], ...], ...]
    ngram: int
    min_count: int


def run(job: Job[TrainPerplexityConfig]) -> None:
    """Choose documents, train and measure in a worker of its own, publish."""
    from mspt.core.quality.perplexity import DESCRIPTION, MODEL

    docs = job.docs()
    task = Task(docs, choose(docs, job.config), job.config.ngram, job.config.min_count)
    if not any(not held_out for rows in task.chosen for _, held_out in rows):
        ref = job.inputs["docs"].ref
        raise InputError(f"{ref} has no kept text to learn from", f"look at what was rejected: mspt show {ref}")
    size = sum(docs.bytes(shard) for shard in range(docs.num_shards))
    (trained,) = job.map_units(train_alone, [Unit("model", task, size)], what="training", group="training")
    for name in (MODEL, DESCRIPTION):
        job.link(trained.path(name), name, trained.record(name))
    job.stats |= trained.stats
    report(job, trained.stats["languages"])


def choose(docs: Docs, config: TrainPerplexityConfig) -> tuple[tuple[tuple[int, bool], ...], ...]:
    """Live documents with text, in the order of a seeded hash of their id, until the characters are full; those to hold out by a second hash."""
    import pyarrow.compute as pc
    import xxhash

    found = []
    for shard in range(docs.num_shards):
        live = docs.read_live(shard, ["id", "text"])
        lengths = pc.fill_null(pc.utf8_length(live.column("text")), 0).to_pylist()
        ids = live.column("id").to_pylist()
        keys = [xxhash.xxh64_intdigest(id_.encode(), seed=config.seed) for id_ in ids]
        found += [(keys[row], ids[row], shard, row, length) for row, length in enumerate(lengths) if length]
    chosen: list[list[tuple[int, bool]]] = [[] for _ in range(docs.num_shards)]
    total = 0
    for _, id_, shard, row, length in sorted(found):
        held_out = xxhash.xxh64_intdigest(f"held out {id_}".encode(), seed=config.seed) < config.held_out * 2**64
        total += length
        if total > config.max_characters and total > length:
            break
        chosen[shard].append((row, held_out))
    return tuple(tuple(sorted(rows)) for rows in chosen)


# --- in a worker -------------------------------------------------------------------------------------------------------


def train_alone(task: Task, out: UnitOutput) -> dict[str, Any]:
    """Train and save; measure the held-out documents. Returns what is in the model and what was measured."""
    from mspt.core.quality.ngram_model import train
    from mspt.core.quality.perplexity import DESCRIPTION, MODEL, Description, Reference

    rows = [row for shard, chosen in enumerate(task.chosen) for row in read_rows(task.docs, shard, chosen)]
    texts = [text for text, _, held_out in rows if not held_out]
    model = train(texts, task.ngram, task.min_count)
    model.save(out.path(MODEL))
    languages = sizes(rows)
    measured = measure(Reference(model, Description(task.ngram, task.min_count, languages)), [(text, lang) for text, lang, held_out in rows if held_out])
    languages = {lang: own | measured.get(lang, {}) for lang, own in languages.items()}
    Description(task.ngram, task.min_count, languages).write(out.path(DESCRIPTION))
    return {
        "documents": len(texts),
        "characters": sum(map(len, texts)),
        "symbols": len(model.alphabet),
        "ngrams": model.sizes.tolist(),
        "languages": languages,
    }


def read_rows(docs: Docs, shard: int, chosen: Sequence[tuple[int, bool]]) -> list[tuple[str, str, bool]]:
    """(text, language, held out) of chosen live rows."""
    if not chosen:
        return []
    table = docs.read_live(shard, ["text", "lang"]).take([row for row, _ in chosen])
    pairs = zip(table.column("text").to_pylist(), table.column("lang").to_pylist(), chosen, strict=True)
    return [(text, lang or "", held_out) for text, lang, (_, held_out) in pairs]


def sizes(rows: Sequence[tuple[str, str, bool]]) -> dict[str, dict[str, Any]]:
    """Documents and characters learned from, by language."""
    found: dict[str, dict[str, Any]] = {}
    for text, lang, held_out in rows:
        if not held_out and lang:
            own = found.setdefault(lang, {"documents": 0, "characters": 0})
            own["documents"] += 1
            own["characters"] += len(text)
    return dict(sorted(found.items()))


def measure(reference: Reference, held_out: Sequence[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Quantiles of the perplexities of held-out documents, by language."""
    from mspt.core.quality.weights import percentile

    values: dict[str, list[float]] = {}
    for text, lang in held_out:
        found = reference.measure(text, lang).perplexity
        if found is not None:
            values.setdefault(lang, []).append(found)
    quantiles = {lang: {f"p{round(100 * s)}": round(percentile(sorted(own), s), 2) for s in (0.05, 0.5, 0.95)} for lang, own in values.items()}
    return {lang: {"held_out": {"documents": len(values[lang]), **found}} for lang, found in quantiles.items()}


# --- in the parent -----------------------------------------------------------------------------------------------------


def report(job: Job[TrainPerplexityConfig], languages: Mapping[str, Mapping[str, Any]]) -> None:
    from mspt.core.quality.perplexity import MIN_CHARACTERS

    for lang, own in languages.items():
        if own["characters"] < MIN_CHARACTERS:
            job.warn(f"{lang}: {own['characters']:,} characters are too few (under {MIN_CHARACTERS:,}); score will not measure its documents")
        elif found := own.get("held_out"):
            job.note(f"{lang}: {own['characters']:,} characters; perplexity of {found['documents']} held-out documents: "
                     f"p5 {found['p5']:g}, p50 {found['p50']:g}, p95 {found['p95']:g}")  # fmt: skip


STAGE = Stage(
    order=35,
    config=TrainPerplexityConfig,
    run=run,
    writes="ngram-model",
    reads={"docs": Read("docs", producer="dedup", digest="text", help="reference documents to learn from")},
    libraries=("numba", "numpy", "pyarrow", "python", "xxhash"),
    next="score",
)
