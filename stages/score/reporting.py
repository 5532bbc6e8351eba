"""What a person is told about scored documents: quantiles and histograms, the effective spread of the weights, the mixture, what a second clean changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError
from mspt.core.quality.domains import DEFAULT_DIRECTORY, DEFAULT_STEM, DOMAINS, STEM, Description
from mspt.core.quality.forecast import add_sizes, as_table, forecast, measure_characters, parse_shares
from mspt.core.quality.summary import Summary
from mspt.core.quality.weights import FLAT_BELOW, spread
from mspt.core.shards import Docs
from mspt.core.stage import Job, UnitResult
from mspt.stages.score import ScoreConfig
from mspt.stages.score.files import LAYER

# Seen on Chinese encyclopaedia, documentation and manual pages under the scorer that ships: .18 to .28 each, whatever the rules thought of them.
NOT_BETTER = (
    "mean quality did not rise: by this scorer, what the rules took out was no worse than what stays. A scorer that never met such texts finds all of "
    "them low: look at some (mspt sample REF --where cleaned_again) and train one on good texts of their kind (mspt train-scorer)"
)
CLEANED_AGAIN = "cleaned_again"  # the column that `mspt clean --docs` marks the documents with that it cleaned


def report(job: Job[ScoreConfig], docs: Docs, judged: Sequence[UnitResult], layers: Sequence[UnitResult]) -> None:
    """Fills the stats. judged: with their counts; layers: with the columns as they are published."""
    columns = ["quality", "weight", *(["perplexity"] if "perplexity" in job.inputs else [])]
    summary = Summary((_scored(docs, shard, result, columns) for shard, result in enumerate(layers)), columns)
    job.stats |= {**summary.plain(), "quality_histograms": summary.histograms("quality")}
    _report_spread(job, summary)
    _report_mixture(job, docs, judged)
    if job.config.label_domain:
        _report_domains(job, docs, layers)
    report_second_clean(job, docs, layers)


def _report_domains(job: Job[ScoreConfig], docs: Docs, layers: Sequence[UnitResult]) -> None:
    """Documents by source and domain, and what was measured of the model when it was trained."""
    counts: Counter[tuple[str, str]] = Counter()
    for shard, result in enumerate(layers):
        table = _scored(docs, shard, result, ["domain"])
        counts.update(zip(table.column("source").to_pylist(), table.column("domain").to_pylist(), strict=True))
    model = job.inputs.get("domains")
    folder, stem = (model.directory, STEM) if model is not None else (DEFAULT_DIRECTORY, DEFAULT_STEM)
    described = Description.read(folder / f"{stem}.json")
    found = [name for name in DOMAINS if any(name == domain for _, domain in counts)]
    job.stats["domains"] = {
        "model": model.ref if model is not None else "default",
        "known": list(described.domains),
        "by_source": {source: {name: counts[source, name] for name in found} for source in sorted({source for source, _ in counts})},
        "measured": described.measured,
    }
    if model is None:
        known = ", ".join(described.domains)
        job.note(
            f"domains are told by the default model of mspt, which knows {known} only; `mspt train-domains --domain NAME=SOURCE` makes one that knows yours"
        )


def _scored(docs: Docs, shard: int, result: UnitResult, columns: Sequence[str], also: Sequence[str] = ()) -> pa.Table:
    """Source, language, `also` and judged columns of the documents of a shard that stay."""
    table, layer = docs.read(shard, ["source", "lang", "keep", *also], check=False), pq.read_table(result.path(LAYER))
    for name in columns:
        table = table.append_column(name, layer.column(name))
    return table.filter(layer.column("keep") if "keep" in layer.column_names else table.column("keep"))


def _report_spread(job: Job[ScoreConfig], summary: Summary) -> None:
    reach = spread(summary.column("weight"))
    if reach is None:
        return
    line = f"effective spread of the weights p95/p5 = {reach.ratio:.2f} (p5 {reach.p5:.3f}, p50 {reach.p50:.3f}, p95 {reach.p95:.3f})"
    job.stats["weight_p95_over_p5"] = round(reach.ratio, 4)
    if reach.flat:
        job.warn(f"{line}: under {FLAT_BELOW}, they hardly choose anything; --weight strong chooses more")
    else:
        job.note(line)


def _report_mixture(job: Job[ScoreConfig], docs: Docs, results: Sequence[UnitResult]) -> None:
    """What the sources that stay would give pack-mindrecord."""
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


# --- second clean ------------------------------------------------------------------------------------------------------


def report_second_clean(job: Job[ScoreConfig], docs: Docs, layers: Sequence[UnitResult]) -> None:
    """Where the documents come from a second clean of scored ones: their quality, number and characters before it and now."""
    given = job.inputs["docs"]
    before = given.stats.get("again", {}).get("before")
    if not before or "quality" not in before or CLEANED_AGAIN not in docs.columns():
        return
    now = _again_now(docs, layers)
    job.stats["second_clean"] = {"of": given.ref, "where": given.stats["again"]["where"], "before": before, "after": now}
    job.note(second_clean_line(given, before, now))
    if now["quality"] is not None and now["quality"] <= before["quality"] and 2 * now["documents"] >= before["documents"]:
        job.warn(NOT_BETTER)  # where most went, what is left may well be the rest of the junk


def _again_now(docs: Docs, layers: Sequence[UnitResult]) -> dict[str, Any]:
    """Documents, characters and mean quality of those that were cleaned again and stay."""
    documents, characters, quality = 0, 0, 0.0
    for shard, result in enumerate(layers):
        table = _scored(docs, shard, result, ["quality", "characters"], [CLEANED_AGAIN])
        table = table.filter(pc.fill_null(table.column(CLEANED_AGAIN), False))
        documents += table.num_rows
        characters += pc.sum(table.column("characters")).as_py() or 0
        quality += pc.sum(table.column("quality").cast(pa.float64())).as_py() or 0.0
    return {"documents": documents, "characters": characters, "quality": round(quality / documents, 4) if documents else None}


def second_clean_line(given: Artifact, before: dict[str, Any], now: dict[str, Any]) -> str:
    counts = ", ".join(f"{name} {before[name]:,} -> {now[name]:,}" for name in ("documents", "characters"))
    quality = "" if now["quality"] is None else f", mean quality {before['quality']:.3f} -> {now['quality']:.3f}"
    return f"second clean {given.ref}: {counts}{quality}"
