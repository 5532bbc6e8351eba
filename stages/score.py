"""Quality, perplexity and weight of every document.

In: docs (usually of dedup), a scorer (where there is none, the one that ships with mspt) and, where one is named (--perplexity REF), an n-gram model of a
reference text. Out: docs with a layer: `quality` (0 to 1, by the scorer), `characters`, `weight`, and with a reference `perplexity`, `paragraph_perplexity` (of
the worst paragraph), `perplexity_bucket` (head, middle or tail of the language), `entropy`, `stop_word_share`, all of the text as it came in. The weight says
how much a document is wanted beside the others of its source: sigmoid(0.5 * quality + 0.2 * ln(characters) - 0.1 * repeat_ratio), --weight strong, or any
expression over the columns. Documents below --min-quality and beyond the limits of perplexity are dropped with a row, by default none; with --paragraphs such
paragraphs are cut too, else the text shards are the same. Text is measured once: where an earlier version measured the same docs with the same scorer and
reference, its columns are taken, and other weights and limits cost seconds. The effective spread of the weights and what a mixture would come to are printed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, identity, parse_count, setting
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.artifact import Artifact
    from mspt.core.quality.judging import Settings
    from mspt.core.shards import Docs

LAYER, SIGNALS, REJECTED_ROWS, TEXT, REMOVED_ROWS = "attributes.parquet", "signals.parquet", "rejected.parquet", "docs.parquet", "removed.parquet"
# Settings that are about what was measured, not about measuring: an earlier version that differs in these only has the same signals.
JUDGING = frozenset({"quality", "length", "repeat", "weight", "min_quality", "max_perplexity", "max_perplexity_percentile", "min_perplexity", "paragraphs"})
MEASURED_FROM = ("docs", "scorer", "perplexity")


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(SampleSettings):
    """Settings of score."""

    weight: Annotated[str, setting("default (by the coefficients), strong, or an expression over the columns", metavar="EXPRESSION")] = "default"
    quality: Annotated[float, setting("coefficient of quality in the default weight")] = 0.5
    length: Annotated[float, setting("coefficient of ln(characters) in the default weight")] = 0.2
    repeat: Annotated[float, setting("coefficient of repeat_ratio in the default weight")] = -0.1
    min_quality: Annotated[float | None, setting("drop documents of lower quality", ge=0, le=1)] = None
    max_perplexity: Annotated[tuple[str, ...], setting("drop documents of higher perplexity, of a language or of all", metavar="[LANG=]NUMBER")] = ()
    max_perplexity_percentile: Annotated[
        float | None, setting("drop documents above this percentile of their language's perplexities, as 95", gt=0, lt=100, metavar="PERCENTILE")
    ] = None
    min_perplexity: Annotated[
        tuple[str, ...], setting("drop documents of lower perplexity (boilerplate, repeats), of a language or of all", metavar="[LANG=]NUMBER")
    ] = ()
    paragraphs: Annotated[bool, setting("cut single paragraphs that are beyond the limits of perplexity out of documents that stay")] = False
    target_tokens: Annotated[int | None, setting("tokens wanted, for the forecast of the mixture", runtime=True, ge=1, convert=parse_count)] = None
    shares: Annotated[tuple[str, ...], setting("share of a source, for the forecast of the mixture", runtime=True, metavar="NAME=SHARE")] = ()


@dataclass(frozen=True)
class MeasureTask:
    """What a worker needs to measure one shard."""

    docs: Docs
    shard: int
    scorer: Path | None  # None: the one that ships with mspt
    reference: Path | None


@dataclass(frozen=True)
class JudgeTask:
    """What a worker needs to judge one shard. signals: a row-aligned file that holds the columns `names`; reference: where paragraphs are to be cut."""

    docs: Docs
    shard: int
    stage: str
    signals: Path
    names: tuple[str, ...]
    settings: Settings
    reference: Path | None


def run(job: Job[ScoreConfig]) -> None:
    """Measure every shard or find its signals in an earlier version, judge them, publish the layer, say how far the weights reach."""
    from mspt.core.quality.signals import perplexities, signal_names
    from mspt.core.shards import shard_name

    docs, names = job.docs(), tuple(signal_names("perplexity" in job.inputs))
    settings = read_settings(job.config, [*docs.columns(), *names, "repeat_ratio"], measured="perplexity" in names)
    signals = earlier_signals(job, docs) or measure_all(job, docs)
    if "perplexity" in names:
        _warn_of_own_reference(job)
        columns = (perplexity_columns(docs, shard, path) for shard, path in enumerate(signals))
        settings = settings.with_percentiles(perplexities(columns), job.config.max_perplexity_percentile)
    reference = model_folder(job, "perplexity") if job.config.paragraphs and not settings.limits.empty else None
    tasks = [JudgeTask(docs, shard, job.stage, path, names, settings, reference) for shard, path in enumerate(signals)]
    results = job.map_units(judge_shard, [Unit(f"{task.shard:05d}", task, docs.num_rows(task.shard)) for task in tasks], what="judging", group="judging")
    job.link_docs(docs)
    for shard, result in enumerate(results):
        job.link(result.path(LAYER), job.layer_file(shard), result.record(LAYER))
        if any(file.path == TEXT for file in result.files):
            job.link(result.path(TEXT), shard_name(shard), result.record(TEXT))
    job.collect(results, REJECTED_ROWS, "rejected/rejected-{:05d}.parquet")
    job.collect(results, REMOVED_ROWS, "removed/removed-{:05d}.parquet")
    rejected = _sum(result.stats["rules"] for result in results)
    records_in = sum(counts["in"] for result in results for counts in result.stats["sources"].values())
    removed = _sum(result.stats["removed"] for result in results)
    job.count(records_in=records_in, out=records_in - sum(rejected.values()), rejected=rejected, removed=removed)
    report(job, docs, results)
    report_mixture(job, docs, results)


# --- settings ----------------------------------------------------------------------------------------------------------


def read_settings(config: ScoreConfig, known: Sequence[str], *, measured: bool) -> Settings:
    """What a person set, but for percentiles, which need all documents. MsptError where it cannot be."""
    from mspt.core.quality.forecast import parse_shares
    from mspt.core.quality.judging import Settings
    from mspt.core.quality.perplexity import Limits, parse_by_language
    from mspt.core.quality.weights import Coefficients, parse_weight

    parse_shares(config.shares)
    limited = config.max_perplexity or config.min_perplexity or config.max_perplexity_percentile is not None
    if config.paragraphs and not limited:
        raise MsptError("--paragraphs without a limit cuts nothing", "give --max-perplexity, --max-perplexity-percentile or --min-perplexity")
    if limited and not measured:
        hint = "mspt train-perplexity --docs REF, then mspt score --perplexity train-perplexity"
        raise MsptError("limits of perplexity are set, but nothing measures it", hint)
    expression = parse_weight(config.weight)
    if expression is not None:
        expression.check(known)
    most, least = (parse_by_language(name, getattr(config, name)) for name in ("max_perplexity", "min_perplexity"))
    return Settings(Coefficients(config.quality, config.length, config.repeat), expression, config.min_quality, Limits(most=most, least=least))


def _warn_of_own_reference(job: Job[ScoreConfig]) -> None:
    """What a model has learned by heart it finds likely, whatever it is."""
    docs, reference = job.inputs["docs"], job.inputs["perplexity"]
    if any(record.name == "docs" and record.fingerprint == docs.digests.get("text") for record in reference.inputs):
        job.warn(f"{reference.ref} was trained on {docs.ref} itself: their perplexities are far too low; train it on a reference of its own")


def perplexity_columns(docs: Docs, shard: int, signals: Path) -> pa.Table:
    """lang, keep, perplexity of a shard."""
    import pyarrow.parquet as pq

    return docs.read(shard, ["lang", "keep"], check=False).append_column("perplexity", pq.read_table(signals, columns=["perplexity"]).column(0))


# --- signals -----------------------------------------------------------------------------------------------------------


def earlier_signals(job: Job[ScoreConfig], docs: Docs) -> list[Path] | None:
    """The layer files of an earlier version that measured the same documents with the same scorer and reference; None where there is none."""
    from mspt.core.shards import layer_name

    for version in job.earlier:
        if _measured_the_same(version, job):
            try:
                found = [version.checked(layer_name(version.name, shard)) for shard in range(docs.num_shards)]
            except (CheckFailed, MsptError) as error:
                job.warn(f"{version.ref} measured the same, but cannot be used: {error.message}")
                continue
            job.note(f"quality and perplexity are those of {version.ref}: no text is read for them")
            return found
    return None


def _measured_the_same(version: Artifact, job: Job[ScoreConfig]) -> bool:
    before = {record.name: record.fingerprint for record in version.inputs if record.name in MEASURED_FROM}
    now = {name: artifact.fingerprint for name, artifact in job.inputs.items() if name in MEASURED_FROM}
    chosen = {**identity(job.config), **_default_scorer(job.config, job.base)}
    settings = [{name: value for name, value in found.items() if name not in JUDGING} for found in (version.manifest["identity"], chosen)]
    return before == now and settings[0] == settings[1]


def measure_all(job: Job[ScoreConfig], docs: Docs) -> list[Path]:
    """Files of signals, one for each shard."""
    reference = model_folder(job, "perplexity") if "perplexity" in job.inputs else None
    folder = _scorer(job)
    tasks = [MeasureTask(docs, shard, folder, reference) for shard in range(docs.num_shards)]
    results = job.map_units(measure_shard, [Unit(f"{task.shard:05d}", task, docs.bytes(task.shard)) for task in tasks], what="documents")
    return [result.path(SIGNALS) for result in results]


def _scorer(job: Job[ScoreConfig]) -> Path | None:
    """The directory of the scorer, its files checked; None where there is no artifact: said aloud, since the default knows nothing of these texts."""
    from mspt.core.quality.scorer import Scorer

    if "scorer" in job.inputs:
        return model_folder(job, "scorer")
    about = Scorer.default().description.about
    job.note(f"there is no scorer: the default one of mspt judges, which learned from {about}; `mspt train-scorer` makes one of your own texts")
    job.stats["scorer"] = "default"
    return None


def _default_scorer(config: ScoreConfig, base: Path) -> dict[str, str]:
    """The default scorer decides bytes as a setting does."""
    files = sorted(Path(__file__).parent.parent.glob("core/quality/default_scorer.*"))
    return {"default_scorer": hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]}


def model_folder(job: Job[ScoreConfig], name: str) -> Path:
    """Where the files of an input lie, after they were checked."""
    from mspt.core.quality import perplexity, scorer

    files = {"scorer": (scorer.MODEL, scorer.DESCRIPTION), "perplexity": (perplexity.MODEL, perplexity.DESCRIPTION)}
    return {job.inputs[name].checked(file).parent for file in files[name]}.pop()


# --- in workers --------------------------------------------------------------------------------------------------------


def measure_shard(task: MeasureTask, out: UnitOutput) -> dict[str, Any]:
    """Signals of the live documents of a shard; nulls for those dropped before."""
    from mspt.core.quality.perplexity import Reference
    from mspt.core.quality.scorer import Scorer
    from mspt.core.quality.signals import measure, row_aligned
    from mspt.core.shards import write_table

    table = task.docs.read(task.shard, ["text", "lang", "form", "keep"])
    live = table.filter(table.column("keep"))
    scorer = Scorer.load(task.scorer) if task.scorer is not None else Scorer.default()
    reference = Reference.load(task.reference) if task.reference is not None else None
    measured = measure(live, scorer.score(live.column("text")), reference)
    write_table(out.path(SIGNALS), row_aligned(measured, table.column("keep").to_numpy()))
    return {}


def judge_shard(task: JudgeTask, out: UnitOutput) -> dict[str, Any]:
    """The layer of a shard, and rejection rows for what is dropped. Returns counts by source and rule, and the size of what stays."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from mspt.core.quality import judging
    from mspt.core.shards import write_table

    known, asked = task.docs.columns(), ["source", *(name for name in task.settings.columns if name not in task.names)]
    table = task.docs.read(task.shard, [*(name for name in asked if name in known), "keep"], check=False)
    for name in asked:
        table = table if name in known else table.append_column(name, pa.nulls(table.num_rows, pa.float64()))
    signals = pq.read_table(task.signals, columns=list(task.names))
    for name in task.names:
        table = table.append_column(name, signals.column(name))
    live = table.filter(table.column("keep"))
    judgement = judging.judge(live, task.settings)
    write_table(out.path(LAYER), judging.layer(live, task.names, judgement, table.column("keep").to_numpy(), task.settings))
    if pc.any(pc.invert(judgement.kept)).as_py():
        write_table(out.path(REJECTED_ROWS), judging.rejection_rows(task.docs.read_live(task.shard, ["id", "ref", "source", "text"]), judgement, task.stage))
    removed = cut_shard(task, judging.rows_to_cut(table, judgement, task.settings), out) if task.reference is not None else {}
    return judging.tally(live, judgement) | {"removed": removed}


def cut_shard(task: JudgeTask, rows: list[int], out: UnitOutput) -> dict[str, int]:
    """The text shard without the paragraphs of these rows that are beyond the limits, and what was removed; by rule."""
    import pyarrow.parquet as pq

    from mspt.core.quality.paragraphs import cut_paragraphs
    from mspt.core.quality.perplexity import Reference
    from mspt.core.shards import write_docs, write_table

    assert task.reference is not None
    table = pq.read_table(task.docs.root / task.docs.text[task.shard].path, use_threads=False, partitioning=None)
    found = cut_paragraphs(table, rows, Reference.load(task.reference), task.settings.limits, task.stage)
    if found is None:
        return {}
    changed, removed = found
    write_docs(out.path(TEXT), changed)
    write_table(out.path(REMOVED_ROWS), removed)
    return {count["values"]: count["counts"] for count in removed.column("rule").value_counts().to_pylist()}


# --- in the parent -----------------------------------------------------------------------------------------------------


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for own in counts:
        for name, number in own.items():
            total[name] = total.get(name, 0) + number
    return total


def report(job: Job[ScoreConfig], docs: Docs, results: Sequence[UnitResult]) -> None:
    """Quantiles by source and language, and the effective spread of the weights of what stays."""
    from mspt.core.quality.summary import Summary
    from mspt.core.quality.weights import FLAT_BELOW, spread

    columns = ["quality", "weight", *(["perplexity"] if "perplexity" in job.inputs else [])]
    summary = Summary((_scored(docs, shard, result, columns) for shard, result in enumerate(results)), columns)
    job.stats |= summary.plain()
    reach = spread(summary.column("weight"))
    if reach is None:
        return
    line = f"effective spread of the weights p95/p5 = {reach.ratio:.2f} (p5 {reach.p5:.3f}, p50 {reach.p50:.3f}, p95 {reach.p95:.3f})"
    job.stats["weight_p95_over_p5"] = round(reach.ratio, 4)
    if reach.flat:
        job.warn(f"{line}: under {FLAT_BELOW}, they hardly choose anything; --weight strong chooses more")
    else:
        job.note(line)


def _scored(docs: Docs, shard: int, result: UnitResult, columns: Sequence[str]) -> pa.Table:
    """Source, language and judged columns of the documents of a shard that stay."""
    import pyarrow.parquet as pq

    table, layer = docs.read(shard, ["source", "lang", "keep"], check=False), pq.read_table(result.path(LAYER))
    for name in columns:
        table = table.append_column(name, layer.column(name))
    return table.filter(layer.column("keep") if "keep" in layer.column_names else table.column("keep"))


def report_mixture(job: Job[ScoreConfig], docs: Docs, results: Sequence[UnitResult]) -> None:
    """What the sources that stay would give pack-mindrecord."""
    from dataclasses import asdict

    from mspt.core.quality.forecast import add_sizes, as_table, forecast, measure_characters, parse_shares

    sizes, measured = add_sizes(result.stats["sizes"] for result in results), None
    if not sizes:
        return
    if "tokenizer" in job.inputs:
        from mspt.core.tokens.tokenizer import TOKENIZER_FILES, load

        artifact = job.inputs["tokenizer"]
        for name in TOKENIZER_FILES:
            if name in artifact.files:
                artifact.checked(name)
        tokenizer = load(artifact.directory)
        texts = ((row["text"] or "", row["lang"] or "") for table in docs.iterate_live(["text", "lang"]) for row in table.to_pylist())
        measured = measure_characters(texts, {lang for _, lang in sizes}, lambda text: len(tokenizer.encode(text)))
    try:
        rows = forecast(sizes, measured=measured, target_tokens=job.config.target_tokens, shares=parse_shares(job.config.shares))
    except MsptError as error:
        job.warn(f"no forecast of the mixture: {error.message}")  # it decides nothing: what was scored is sound
        return
    job.stats["forecast"] = [asdict(row) for row in rows]
    job.note("what the mixture would come to" + ("" if measured else " (characters per token estimated by language; --tokenizer REF measures them)"))
    for line in as_table(rows):
        job.note(line)


STAGE = Stage(
    order=40,
    config=ScoreConfig,
    run=run,
    writes="docs",
    reads={
        "docs": Read("docs", producer="dedup", help="documents to score"),
        "scorer": Read("scorer", producer="train-scorer", optional=True, help="what scores them; without one, the scorer that ships with mspt"),
        "perplexity": Read("ngram-model", producer="train-perplexity", optional=True, automatic=False, help="reference to measure perplexity with"),
        "tokenizer": Read("tokenizer", producer="train-tokenizer", optional=True, automatic=False, help="counts the tokens of the forecast"),
    },
    libraries=("fasttext", "numba", "numpy", "pyarrow", "python"),
    revision=2,
    also_identity=_default_scorer,
    next="train-tokenizer",
)
