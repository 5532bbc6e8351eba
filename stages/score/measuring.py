"""What is read off the text of documents, once: by a scorer, a reference, a domain model; or taken from an earlier version that measured the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mspt.core.artifact import Artifact
from mspt.core.config import identity
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.quality import domains, perplexity, scorer
from mspt.core.quality.perplexity import Reference
from mspt.core.quality.signals import measure, row_aligned
from mspt.core.shards import Docs, layer_name, write_table
from mspt.core.stage import Job, Unit, UnitOutput
from mspt.stages.score import ScoreConfig, also_identity
from mspt.stages.score.files import SIGNALS

# Settings that are about what was measured, not about measuring: an earlier version that differs in these only has the same signals.
JUDGING = frozenset(
    {"quality", "length", "repeat", "weight", "min_quality", "max_perplexity", "max_perplexity_percentile", "min_perplexity",
     "max_relative_perplexity", "paragraphs", "block_documents", "low_block"}
)  # fmt: skip
MEASURED_FROM = ("docs", "scorer", "domains", "perplexity")


@dataclass(frozen=True)
class MeasureTask:
    """What a worker needs to measure one shard."""

    docs: Docs
    shard: int
    scorer: Path | None  # None: the one that ships with mspt
    domains: Path | None
    label_domain: bool
    reference: Path | None


# --- from an earlier version -----------------------------------------------------------------------------------------


def earlier_signals(job: Job[ScoreConfig], docs: Docs) -> list[Path] | None:
    """The layer files of an earlier version that measured the same documents with the same scorer and reference; None where there is none."""
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
    chosen = {**identity(job.config), **also_identity(job.config, job.base)}
    settings = [{name: value for name, value in found.items() if name not in JUDGING} for found in (version.manifest["identity"], chosen)]
    return before == now and settings[0] == settings[1]


def measure_all(job: Job[ScoreConfig], docs: Docs) -> list[Path]:
    """Files of signals, one for each shard."""
    reference = model_folder(job, "perplexity") if "perplexity" in job.inputs else None
    judge, telling = _scorer(job), model_folder(job, "domains") if "domains" in job.inputs else None
    tasks = [MeasureTask(docs, shard, judge, telling, job.config.label_domain, reference) for shard in range(docs.num_shards)]
    results = job.map_units(measure_shard, [Unit(f"{task.shard:05d}", task, docs.bytes(task.shard)) for task in tasks], what="documents")
    return [result.path(SIGNALS) for result in results]


def _scorer(job: Job[ScoreConfig]) -> Path | None:
    """The directory of the scorer, its files checked; None where there is no artifact: said aloud, since the default knows nothing of these texts."""
    if "scorer" in job.inputs:
        return model_folder(job, "scorer")
    about = scorer.Scorer.default().description.about
    job.note(f"there is no scorer: the default one of mspt judges, which learned from {about}; `mspt train-scorer` makes one of your own texts")
    job.stats["scorer"] = "default"
    return None


def model_folder(job: Job[ScoreConfig], name: str) -> Path:
    """Where the files of an input lie, after they were checked."""
    module = {"scorer": scorer, "perplexity": perplexity, "domains": domains}[name]
    return {job.inputs[name].checked(file).parent for file in (module.MODEL, module.DESCRIPTION)}.pop()


# --- in workers --------------------------------------------------------------------------------------------------------


def measure_shard(task: MeasureTask, out: UnitOutput) -> dict[str, Any]:
    """Signals of the live documents of a shard; nulls for those dropped before."""
    table = task.docs.read(task.shard, ["text", "lang", "form", "keep"])
    live = table.filter(table.column("keep"))
    judge = scorer.Scorer.load(task.scorer) if task.scorer is not None else scorer.Scorer.default()
    reference = Reference.load(task.reference) if task.reference is not None else None
    measured = measure(live, judge.score(live.column("text")), reference, _domain_model(task) if task.label_domain else None)
    write_table(out.path(SIGNALS), row_aligned(measured, table.column("keep").to_numpy()))
    return {}


def _domain_model(task: MeasureTask) -> domains.DomainModel:
    return domains.DomainModel.load(task.domains) if task.domains is not None else domains.DomainModel.default()
