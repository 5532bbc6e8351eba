"""What follows from what was measured: which documents are dropped, their weights, the paragraphs that are cut; shard by shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mspt.core.errors import MsptError
from mspt.core.quality import blocks, judging
from mspt.core.quality.forecast import parse_shares
from mspt.core.quality.judging import Settings
from mspt.core.quality.paragraphs import cut_paragraphs
from mspt.core.quality.perplexity import Limits, Reference, parse_by_language
from mspt.core.quality.signals import perplexities
from mspt.core.quality.weights import Coefficients, parse_weight
from mspt.core.shards import Docs, write_docs, write_table
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.score import ScoreConfig
from mspt.stages.score.files import LAYER, REJECTED_ROWS, REMOVED_ROWS, RUN, TEXT


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


def judge_all(job: Job[ScoreConfig], docs: Docs, signals: Sequence[Path], names: Sequence[str], settings: Settings) -> list[UnitResult]:
    """Percentiles need all documents, the rest is done shard by shard."""
    from mspt.stages.score.measuring import model_folder  # loads fastText, which judging does not need

    if "perplexity" in names:
        _warn_of_own_reference(job)
        columns = (_perplexity_columns(docs, shard, path) for shard, path in enumerate(signals))
        settings = settings.with_percentiles(perplexities(columns), job.config.max_perplexity_percentile)
    reference = model_folder(job, "perplexity") if job.config.paragraphs and not settings.limits.empty else None
    tasks = [JudgeTask(docs, shard, job.stage, path, tuple(names), settings, reference) for shard, path in enumerate(signals)]
    return job.map_units(judge_shard, [Unit(f"{task.shard:05d}", task, docs.num_rows(task.shard)) for task in tasks], what="judging", group="judging")


def read_settings(config: ScoreConfig, known: Sequence[str], *, measured: bool) -> Settings:
    """What a person set, but for percentiles, which need all documents. MsptError where it cannot be."""
    parse_shares(config.shares)
    limits_text = config.max_perplexity or config.min_perplexity or config.max_perplexity_percentile is not None
    limited = limits_text or config.max_relative_perplexity
    if config.paragraphs and not limits_text:
        raise MsptError("--paragraphs without a limit cuts nothing", "give --max-perplexity, --max-perplexity-percentile or --min-perplexity")
    if limited and not measured:
        hint = "mspt train-perplexity --docs REF, then mspt score --perplexity train-perplexity"
        raise MsptError("limits of perplexity are set, but nothing measures it", hint)
    expression = parse_weight(config.weight)
    if expression is not None:
        expression.check(known)
    names = ("max_perplexity", "min_perplexity", "max_relative_perplexity")
    most, least, relative = (parse_by_language(name, getattr(config, name)) for name in names)
    limits = Limits(most=most, least=least, relative=relative)
    return Settings(Coefficients(config.quality, config.length, config.repeat), expression, config.min_quality, limits)


def _warn_of_own_reference(job: Job[ScoreConfig]) -> None:
    """What a model has learned by heart it finds likely, whatever it is."""
    docs, reference = job.inputs["docs"], job.inputs["perplexity"]
    if any(record.name == "docs" and record.fingerprint == docs.digests.get("text") for record in reference.inputs):
        job.warn(f"{reference.ref} was trained on {docs.ref} itself: their perplexities are far too low; train it on a reference of its own")


def _perplexity_columns(docs: Docs, shard: int, signals: Path) -> pa.Table:
    """lang, keep, perplexity of a shard."""
    return docs.read(shard, ["lang", "keep"], check=False).append_column("perplexity", pq.read_table(signals, columns=["perplexity"]).column(0))


# --- in workers --------------------------------------------------------------------------------------------------------


def judge_shard(task: JudgeTask, out: UnitOutput) -> dict[str, Any]:
    """The layer of a shard, and rejection rows for what is dropped. Returns counts by source and rule, and the size of what stays."""
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
    firsts = blocks.write_run(out.path(RUN), _for_blocks(table, judgement))
    return judging.tally(live, judgement) | {"removed": removed, "firsts": firsts}


def _for_blocks(table: pa.Table, judgement: judging.Judgement) -> pa.Table:
    """What blocks are cut by (RUN of core/quality/blocks.py), of the documents that stay."""
    numbered = table.select(["source", "ref", "quality", "characters", "keep"]).append_column("row", pa.array(range(table.num_rows), pa.int64()))
    return numbered.filter(numbered.column("keep")).filter(judgement.kept)


def cut_shard(task: JudgeTask, rows: list[int], out: UnitOutput) -> dict[str, int]:
    """The text shard without the paragraphs of these rows that are beyond the limits, and what was removed; by rule."""
    assert task.reference is not None
    table = pq.read_table(task.docs.root / task.docs.text[task.shard].path, use_threads=False, partitioning=None)
    found = cut_paragraphs(table, rows, Reference.load(task.reference), task.settings.limits, task.stage)
    if found is None:
        return {}
    changed, removed = found
    write_docs(out.path(TEXT), changed)
    write_table(out.path(REMOVED_ROWS), removed)
    return {count["values"]: count["counts"] for count in removed.column("rule").value_counts().to_pylist()}
