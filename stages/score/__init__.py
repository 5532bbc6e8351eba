"""Quality, domain, perplexity and weight of every document.

In: docs (usually of dedup), a scorer and a domain model (where there is none, those that ship with mspt) and, where one is named (--perplexity REF), an n-gram
model of a reference text. Out: docs with a layer: `quality` (0 to 1, by the scorer), `characters`, `entropy` (of the characters, in bits), `stop_word_share`,
`domain` (news, code, encyclopaedia, forum, literature, documentation, other), `domain_confidence`, `weight`, and with a reference `perplexity`,
`paragraph_perplexity` (of the worst paragraph), `relative_perplexity` (of known words, over theirs one by one: order alone), `perplexity_bucket` (head, middle
or tail of the language), all of the text as it came in. The weight says how
much a document is wanted beside the others of its source: sigmoid(0.5 * quality + 0.2 * ln(characters) - 0.1 * repeat_ratio), --weight strong, or any
expression over the columns. Documents below --min-quality and beyond the limits of perplexity are dropped with a row, by default none; with --paragraphs such
paragraphs are cut too, else the text shards are the same. What stays is cut into blocks of 1,000 consecutive documents of one source: `block` is the number
of a document's block, `block_quality` its mean quality; blocks.parquet lists them, and low ones are named with the command that cleans them again. Text is
measured once: where an earlier version measured the same docs with the same scorer and reference, its columns are taken, and other weights and limits cost
seconds. The effective spread of the weights and what a mixture would come to are printed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mspt.core.config import SampleSettings, parse_count, setting
from mspt.core.stage import Job, Read, Stage


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
    max_relative_perplexity: Annotated[
        tuple[str, ...], setting("drop documents of higher relative perplexity (words in no order), of a language or of all", metavar="[LANG=]NUMBER")
    ] = ()
    block_documents: Annotated[int, setting("consecutive documents of a source, in the order of (source, ref), that are a block", ge=1)] = 1000
    low_block: Annotated[float, setting("blocks of lower mean quality are listed with the command that cleans them again", ge=0, le=1)] = 0.35
    label_domain: Annotated[bool, setting("label the domain of each document")] = True
    paragraphs: Annotated[bool, setting("cut single paragraphs that are beyond the limits of perplexity out of documents that stay")] = False
    target_tokens: Annotated[int | None, setting("tokens wanted, for the forecast of the mixture", runtime=True, ge=1, convert=parse_count)] = None
    shares: Annotated[tuple[str, ...], setting("share of a source, for the forecast of the mixture", runtime=True, metavar="NAME=SHARE")] = ()


def run(job: Job[ScoreConfig]) -> None:
    """Measure every shard or find its signals in an earlier version, judge them, cut what stays into blocks, publish the layer, report."""
    from mspt.core.quality.signals import signal_names
    from mspt.stages.score.blocks import add_blocks
    from mspt.stages.score.judging import judge_all, read_settings
    from mspt.stages.score.measuring import earlier_signals, measure_all
    from mspt.stages.score.publishing import publish
    from mspt.stages.score.reporting import report

    docs, names = job.docs(), signal_names(with_reference="perplexity" in job.inputs, with_domain=job.config.label_domain)
    settings = read_settings(job.config, [*docs.columns(), *names, "repeat_ratio"], measured="perplexity" in names)
    signals = earlier_signals(job, docs) or measure_all(job, docs)
    judged = judge_all(job, docs, signals, names, settings)
    layers = add_blocks(job, docs, judged)
    publish(job, docs, judged, layers)
    report(job, docs, judged, layers)


def also_identity(config: ScoreConfig, base: Path) -> dict[str, str]:
    """The models that ship with mspt decide bytes as settings do."""
    folder = Path(__file__).parents[2] / "core" / "quality"
    found = {name: b"".join(file.read_bytes() for file in sorted(folder.glob(f"{name}.*"))) for name in ("default_scorer", "default_domains")}
    return {name: hashlib.sha256(content).hexdigest()[:16] for name, content in found.items()}


STAGE = Stage(
    order=40,
    config=ScoreConfig,
    run=run,
    writes="docs",
    reads={
        "docs": Read("docs", producer="dedup", help="documents to score"),
        "scorer": Read("scorer", producer="train-scorer", optional=True, help="what scores them; without one, the scorer that ships with mspt"),
        "domains": Read("domain-model", producer="train-domains", optional=True, help="what tells domains; without one, the model that ships with mspt"),
        "perplexity": Read("ngram-model", producer="train-perplexity", optional=True, automatic=False, help="reference to measure perplexity with"),
        "tokenizer": Read("tokenizer", producer="train-tokenizer", optional=True, automatic=False, help="counts the tokens of the forecast"),
    },
    libraries=("fasttext", "numba", "numpy", "pyarrow", "python"),
    revision=5,
    also_identity=also_identity,
    next="train-tokenizer",
)
