"""A model that tells the domain of a text: news, code, encyclopaedia, forum, literature, documentation, other.

In: docs and which of their sources are of which domain (--domain NAME=SOURCE, several times), or LABELS.jsonl or .csv (rows of `text` and `domain`). Out: a
domain model: `domains.bin` (fastText) and `domains.json`. `mspt score` labels documents with it; what it is not sure of, under --min-confidence, is `other`.
It can only tell domains that it was shown: name at least two, and what is none of them as `other`. Every source and domain counts alike, however many
documents it has. A fifth of the documents is held out: they give the confusion table, precision, recall and F1 in the statistics.
fastText: Joulin et al. 2016; trained in a process of its own, on one thread, with a fixed seed, so that equal inputs give equal bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, setting, unknown_name
from mspt.core.errors import MsptError
from mspt.core.stage import Files, Job, Read, Stage, Unit, UnitOutput

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.quality.scorer import TrainingSettings
    from mspt.core.shards import Docs

EXAMPLES, MODEL = "examples.parquet", "domains.bin"
FEW_DOCUMENTS = 20  # of a domain, below which its figures say little
WEAK_ACCURACY = 0.8


@dataclass(frozen=True, kw_only=True)
class TrainDomainsConfig(SampleSettings):
    """Settings of train-domains."""

    domain: Annotated[tuple[str, ...], setting("a source whose documents are of this domain; may repeat", metavar="NAME=SOURCE")] = ()
    max_documents: Annotated[int, setting("documents of a source to learn from, chosen by the hash of their id", ge=1)] = 2000
    held_out: Annotated[float, setting("share of the documents that only measure the model", ge=0, lt=1)] = 0.2
    min_confidence: Annotated[float, setting("probability under which a text is `other`", ge=0, le=1)] = 0.5
    vocabulary: Annotated[int, setting("tokens that count by themselves, the most frequent ones; others count by their shape", ge=1)] = 8000
    dimension: Annotated[int, setting("size of fastText's vectors", ge=1)] = 8
    ngrams: Annotated[int, setting("longest n-gram of tokens (a Han character, a word, a punctuation mark)", ge=1, le=5)] = 3
    buckets: Annotated[int, setting("hash buckets for n-grams; the model takes 4 * dimension bytes for each", ge=1)] = 1 << 18
    epochs: Annotated[int, setting("passes over the examples", ge=1)] = 10
    rate: Annotated[float, setting("learning rate", gt=0)] = 0.5
    seed: Annotated[int, setting("seed of choice and training", ge=0, lt=2**31)] = 1


def run(job: Job[TrainDomainsConfig]) -> None:
    """Make examples, train in a fresh process, measure on the documents that were held out."""
    import pyarrow.compute as pc

    from mspt.core.quality.domains import DESCRIPTION, Description, DomainModel, measure

    examples = _labelled(job) if job.files.get("labels") else _of_sources(job)
    held_out = examples.filter(examples.column("held_out"))
    known = _check(job, examples.filter(pc.invert(examples.column("held_out"))))
    _train(job, examples)
    description = Description(min_confidence=job.config.min_confidence, domains=known)
    with job.write(DESCRIPTION) as path:
        description.write(path)
    measured = measure(DomainModel.load(job.directory), held_out)
    with job.write(DESCRIPTION) as path:
        replace(description, measured=measured).write(path)
    job.stats |= {"examples": examples.num_rows - held_out.num_rows, "domains": list(known), "held_out": measured}
    _judge(job, measured)


# --- examples ----------------------------------------------------------------------------------------------------------


def _labelled(job: Job[TrainDomainsConfig]) -> pa.Table:
    """Examples of the labelled texts."""
    import pyarrow as pa

    from mspt.core.quality.domains import EXAMPLES as SCHEMA
    from mspt.core.quality.domains import make_examples, read_domain_labels

    if job.config.domain:
        raise MsptError("--domain names sources of docs, and there are labels too", "leave out one of them")
    if "docs" in job.inputs:
        job.note("the labels teach the model; the documents are not read")
    texts = read_domain_labels([Path(file.location) for file in job.files["labels"]])
    job.stats["labels"] = sum(map(len, texts.values()))
    rows = [row for name, own in texts.items() for row in make_examples(name, "labels", {text: text for text in own}, job.config.held_out, job.config.seed)]
    return pa.Table.from_pylist(rows, SCHEMA)


def _of_sources(job: Job[TrainDomainsConfig]) -> pa.Table:
    """Examples of the documents of the named sources."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mspt.core.quality.domains import EXAMPLES as SCHEMA

    if "docs" not in job.inputs:
        raise MsptError("train-domains needs labels or documents, and there are none yet", "mspt train-domains LABELS.jsonl, or give --docs REF")
    domains = _parse_domains(job.config.domain)
    docs = job.docs()
    chosen = _choose(docs, domains, job.config)
    tasks = [(docs, shard, rows, domains, job.config.held_out, job.config.seed) for shard, rows in enumerate(chosen) if rows]
    results = job.map_units(examples_of_shard, [Unit(f"{task[1]:05d}", task, docs.bytes(task[1])) for task in tasks], what="examples", group="examples")
    return pa.concat_tables([SCHEMA.empty_table(), *(pq.read_table(result.path(EXAMPLES)).cast(SCHEMA) for result in results)])


def _parse_domains(named: tuple[str, ...]) -> dict[str, str]:
    """Domain by source."""
    from mspt.core.quality.domains import check_domain

    found: dict[str, str] = {}
    for pair in named:
        name, equals, source = pair.partition("=")
        if not equals or not source:
            raise MsptError(f"--domain {pair}: expected NAME=SOURCE", "for example --domain news=zh_news")
        if found.setdefault(source, check_domain(name, f"--domain {pair}")) != name:
            raise MsptError(f"--domain {pair}: {source} is {found[source]} already", "a source is of one domain; label single texts in a file instead")
    if len(set(found.values())) < 2:
        raise MsptError("a domain is told from others: name sources of two at least", "--domain news=SOURCE --domain other=SOURCE")
    return found


def _choose(docs: Docs, domains: dict[str, str], config: TrainDomainsConfig) -> list[list[int]]:
    """For each shard the live rows to learn from."""
    from mspt.core.quality.domains import choose

    ids: dict[str, list[tuple[int, int, str]]] = {}
    for shard in range(docs.num_shards):
        table = docs.read_live(shard, ["id", "source"])
        for row, (id_, source) in enumerate(zip(table.column("id").to_pylist(), table.column("source").to_pylist(), strict=True)):
            ids.setdefault(source, []).append((shard, row, id_))
    chosen: list[list[int]] = [[] for _ in range(docs.num_shards)]
    for source in domains:
        if source not in ids:
            raise unknown_name("source", source, ids, "train-domains --domain")
        wanted = choose([id_ for _, _, id_ in ids[source]], config.max_documents, config.seed)
        for shard, row, id_ in ids[source]:
            if id_ in wanted:
                chosen[shard].append(row)
    return [sorted(rows) for rows in chosen]


# --- in workers --------------------------------------------------------------------------------------------------------


def examples_of_shard(payload: tuple[Docs, int, list[int], dict[str, str], float, int], out: UnitOutput) -> dict[str, Any]:
    """Examples of the chosen live rows of a shard."""
    import pyarrow as pa

    from mspt.core.quality.domains import EXAMPLES as SCHEMA
    from mspt.core.quality.domains import make_examples
    from mspt.core.shards import write_table

    docs, shard, rows, domains, held_out, seed = payload
    found = []
    for row in docs.read_live(shard, ["id", "source", "text"]).take(rows).to_pylist():
        found += make_examples(domains[row["source"]], row["source"], {row["id"]: row["text"] or ""}, held_out, seed)
    write_table(out.path(EXAMPLES), pa.Table.from_pylist(found, SCHEMA))
    return {"examples": len(found)}


def train_alone(payload: tuple[Path, TrainingSettings], out: UnitOutput) -> dict[str, Any]:
    """Training, as the only unit of a worker process of its own."""
    from mspt.core.quality.scorer import train

    path, settings = payload
    train(path, out.path(MODEL), settings)
    return {}


# --- training and measuring --------------------------------------------------------------------------------------------


def _check(job: Job[TrainDomainsConfig], training: pa.Table) -> tuple[str, ...]:
    """The domains that there is something to learn of, two at least."""
    from mspt.core.quality.domains import DOMAINS

    counts = {name: number for name in DOMAINS if (number := training.column("domain").to_pylist().count(name))}
    if len(counts) < 2:
        raise MsptError(f"there is text of {' and '.join(counts) or 'no domain'} only", "a domain is told from others: give texts of two at least")
    return tuple(counts)


def _train(job: Job[TrainDomainsConfig], examples: pa.Table) -> None:
    from mspt.core.quality.domains import write_training_file
    from mspt.core.quality.scorer import TrainingSettings

    config = job.config
    path = job.scratch("training") / "examples.txt"
    write_training_file(path, examples, config.vocabulary, config.seed)
    settings = TrainingSettings(config.dimension, config.ngrams, config.buckets, config.epochs, config.rate, config.seed)
    (trained,) = job.map_units(train_alone, [Unit("domains", (path, settings), path.stat().st_size)], what="training", group="training")
    job.link(trained.path(MODEL), MODEL, trained.record(MODEL))


def _judge(job: Job[TrainDomainsConfig], measured: dict[str, Any]) -> None:
    """Says what the held-out documents say, and where they say little."""
    if not measured:
        job.warn("no document was held out: nothing says how well the model does")
        return
    few = [f"{name} {facts['documents']}" for name, facts in measured["by_domain"].items() if facts["documents"] < FEW_DOCUMENTS]
    if few:
        job.warn(f"fewer than {FEW_DOCUMENTS} documents held out: {', '.join(few)}; their figures say little")
    line = f"accuracy {measured['accuracy']:.3f} on {measured['documents']:,} documents held out"
    if measured["accuracy"] < WEAK_ACCURACY:
        job.warn(f"{line}: the model hardly tells these domains apart")
    else:
        job.note(line)


STAGE = Stage(
    order=32,
    config=TrainDomainsConfig,
    run=run,
    writes="domain-model",
    reads={
        "labels": Files("texts labelled with their domain in JSONL or CSV: `text` and `domain`", optional=True, positional=True),
        "docs": Read("docs", producer="dedup", optional=True, help="documents to learn from where there are no labels"),
    },
    libraries=("fasttext", "numpy", "pyarrow", "python", "xxhash"),
    next="score",
)
