"""Quality and weight of every document.

In: docs (usually of dedup) and a scorer. Out: docs with the same text shards and a layer `quality` (0 to 1, by the scorer) and `weight`, how much a
document is wanted beside the others of its source: sigmoid(0.5 * quality + 0.2 * ln(characters) - 0.1 * repeat_ratio). With --min-quality documents
below it are dropped (rejected as low-quality); by default none is. The effective spread of the weights is printed: the default formula is nearly flat,
core/quality/weights.py names stronger coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, setting
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.quality.weights import Coefficients
    from mspt.core.shards import Docs

LAYER, REJECTED_ROWS = "attributes.parquet", "rejected.parquet"
RULE = "low-quality"


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(SampleSettings):
    """Settings of score."""

    quality: Annotated[float, setting("coefficient of quality in the weight")] = 0.5
    length: Annotated[float, setting("coefficient of ln(characters) in the weight")] = 0.2
    repeat: Annotated[float, setting("coefficient of repeat_ratio in the weight")] = -0.1
    min_quality: Annotated[float | None, setting("drop documents of lower quality", ge=0, le=1)] = None


@dataclass(frozen=True)
class Task:
    """What a worker needs to judge one shard."""

    docs: Docs
    shard: int
    stage: str
    scorer: Path
    coefficients: Coefficients
    min_quality: float | None


def run(job: Job[ScoreConfig]) -> None:
    """Score every shard, publish the layer, say how far the weights reach."""
    from mspt.core.quality.scorer import DESCRIPTION, MODEL
    from mspt.core.quality.weights import Coefficients

    docs, scorer = job.docs(), job.inputs["scorer"]
    files = [scorer.checked(name) for name in (MODEL, DESCRIPTION)]
    config = job.config
    coefficients = Coefficients(config.quality, config.length, config.repeat)
    tasks = [Task(docs, shard, job.stage, files[0].parent, coefficients, config.min_quality) for shard in range(docs.num_shards)]
    units = [Unit(f"{task.shard:05d}", task, docs.bytes(task.shard)) for task in tasks]
    results = job.map_units(score_shard, units, what="documents")
    job.link_docs(docs)
    for shard, result in enumerate(results):
        job.link(result.path(LAYER), job.layer_file(shard), result.record(LAYER))
    job.collect(results, REJECTED_ROWS, "rejected/rejected-{:05d}.parquet")
    records_in, rejected = (sum(counts[key] for r in results for counts in r.stats["sources"].values()) for key in ("in", "rejected"))
    job.count(records_in=records_in, out=records_in - rejected, rejected={RULE: rejected} if rejected else {})
    _report(job, docs, results)


# --- in workers --------------------------------------------------------------------------------------------------------


def score_shard(task: Task, out: UnitOutput) -> dict[str, Any]:
    """Quality and weight of the live documents of a shard, and rejection rows for those below min_quality. Returns counts by source."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from mspt.core.quality.scorer import Scorer
    from mspt.core.shards import write_table

    optional = [name for name in ("repeat_ratio",) if name in task.docs.columns()]
    table = task.docs.read(task.shard, ["id", "ref", "source", "text", "keep", *optional])
    live = table.filter(table.column("keep"))
    quality = pa.array(Scorer.load(task.scorer).score(live.column("text")), pa.float32())
    kept = pc.greater_equal(quality, pa.scalar(task.min_quality, pa.float32())) if task.min_quality is not None else pa.array([True] * len(quality), pa.bool_())
    write_table(out.path(LAYER), _layer(table, quality, pa.array(_weights(live, quality, task.coefficients), pa.float64()), kept, task.min_quality))
    if kept.false_count:
        write_table(out.path(REJECTED_ROWS), _rejected(live, quality, kept, task))
    return {"sources": _by_source(live, kept)}


def _weights(live: pa.Table, quality: pa.Array, coefficients: Coefficients) -> list[float]:
    """One after another in plain floats, so that every machine gets the same bits. An unknown repeat_ratio (a very short text) counts as 0."""
    import pyarrow.compute as pc

    from mspt.core.quality.weights import weight

    lengths = pc.fill_null(pc.utf8_length(live.column("text")), 0).to_pylist()
    repeats = pc.fill_null(live.column("repeat_ratio"), 0.0).to_pylist() if "repeat_ratio" in live.column_names else [0.0] * len(lengths)
    return [weight(q, n, r, coefficients) for q, n, r in zip(quality.to_pylist(), lengths, repeats, strict=True)]


def _layer(table: pa.Table, quality: pa.Array, weights: pa.Array, kept: pa.Array, min_quality: float | None) -> pa.Table:
    """Row-aligned columns: null for documents that were dropped before. `keep` only where this stage drops any."""
    import numpy as np
    import pyarrow as pa

    live = table.column("keep").to_numpy()
    place = pa.array(np.cumsum(live) - 1, mask=~live)
    columns = {"quality": quality.take(place), "weight": weights.take(place)}
    if min_quality is not None:
        columns["keep"] = kept.take(place).fill_null(False)
    return pa.table(columns)


def _rejected(live: pa.Table, quality: pa.Array, kept: pa.Array, task: Task) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS, REJECTED, clip

    dropped = pc.invert(kept)
    rows = []
    for document, value in zip(live.select(["id", "ref", "source", "text"]).filter(dropped).to_pylist(), quality.filter(dropped).to_pylist(), strict=True):
        text = document["text"] or ""
        rows.append(
            {**document, "stage": task.stage, "rule": RULE, "value": value, "threshold": task.min_quality, "detail": "",
             "excerpt": text[:MAX_EXCERPT_CHARACTERS], "text": clip(text)}
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=REJECTED)


def _by_source(live: pa.Table, kept: pa.Array) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for source, keep in zip(live.column("source").to_pylist(), kept.to_pylist(), strict=True):
        of_source = counts.setdefault(source, {"in": 0, "rejected": 0})
        of_source["in"] += 1
        of_source["rejected"] += not keep
    return counts


# --- in the parent -----------------------------------------------------------------------------------------------------


def _report(job: Job[ScoreConfig], docs: Docs, results: Sequence[UnitResult]) -> None:
    """Quantiles by source and language, and the effective spread of the weights of what stays."""
    from mspt.core.quality.weights import FLAT_BELOW, spread

    by_group: dict[str, dict[str, list[tuple[float, float]]]] = {"source": {}, "lang": {}}
    for shard, result in enumerate(results):
        for row in _scored(docs, shard, result):
            for group, found in by_group.items():
                found.setdefault(row[group] or "", []).append((row["quality"], row["weight"]))
    pairs = [pair for found in by_group["source"].values() for pair in found]
    job.stats |= {f"by_{group}": {name: _quantiles(own) for name, own in sorted(found.items())} for group, found in by_group.items()}
    job.stats["all"] = _quantiles(pairs)
    reach = spread([weight for _, weight in pairs])
    if reach is None:
        return
    line = f"effective spread of the weights p95/p5 = {reach.ratio:.2f} (p5 {reach.p5:.3f}, p50 {reach.p50:.3f}, p95 {reach.p95:.3f})"
    job.stats["weight_p95_over_p5"] = round(reach.ratio, 4)
    if reach.flat:
        job.warn(f"{line}: under {FLAT_BELOW}, they hardly choose anything; --quality 4 --length 0.1 --repeat -2 is a stronger formula")
    else:
        job.note(line)


def _scored(docs: Docs, shard: int, result: UnitResult) -> list[dict[str, Any]]:
    """Source, language, quality and weight of the documents of a shard that stay."""
    import pyarrow.parquet as pq

    table = docs.read(shard, ["source", "lang", "keep"], check=False)
    layer = pq.read_table(result.path(LAYER))
    for name in layer.column_names:
        table = table.drop_columns([name]) if name in table.column_names else table
        table = table.append_column(name, layer.column(name))
    return list(table.filter(table.column("keep")).to_pylist())


def _quantiles(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    from mspt.core.quality.weights import percentile

    found: dict[str, Any] = {"documents": len(pairs)}
    for name, values in (("quality", [q for q, _ in pairs]), ("weight", [w for _, w in pairs])):
        ordered = sorted(values)
        if ordered:
            found |= {f"{name}_p{round(100 * share)}": round(percentile(ordered, share), 4) for share in (0.05, 0.5, 0.95)}
    return found


STAGE = Stage(
    order=40,
    config=ScoreConfig,
    run=run,
    writes="docs",
    reads={
        "docs": Read("docs", producer="dedup", help="documents to score"),
        "scorer": Read("scorer", producer="train-scorer", help="what scores them"),
    },
    libraries=("fasttext", "pyarrow", "python"),
    next="train-tokenizer",
)
