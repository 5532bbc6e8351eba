"""Exact and near-duplicates: one of several copies stays, and every removed document names the one that was kept.

In: docs (usually of clean). Out: docs with the same text shards and a layer `keep`, `cluster` (id of the survivor; its own for documents that stay),
`similarity` (exact Jaccard of shingle sets with the survivor) and `repeat_ratio` (share of a document's shingles that other documents contain). Removed
documents stand in rejected/ as exact-duplicate or near-duplicate.

A document is removed if and only if a kept document before it, in the order longest, source priority, newest, quality, id (`--order`), has the same folded
text, or shares a MinHash band with it and is at least `threshold` similar. Documents too short for a shingle (fewer than five characters or words) are
compared exactly only. index/ holds what `--against` needs to remove copies of what stayed from later documents.
Method: Broder 1997, Indyk and Motwani 1998; what counts as the same text: core/dedup/folding.py, shingles.py.

Further levels, off unless asked for, change texts: repeated paragraphs, repeated substrings, test sets (docs/dedup.md). What they cut has rows in removed/.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from mspt.core.config import SampleSettings, setting
from mspt.core.errors import MsptError
from mspt.core.stage import Files, Job, Read, Stage

MIN_SUBSTRING = 20  # characters


@dataclass(frozen=True, kw_only=True)
class DedupConfig(SampleSettings):
    """Settings of dedup."""

    exact: Annotated[bool, setting("remove documents whose folded text is the same")] = True
    near: Annotated[bool, setting("remove near-duplicates (MinHash LSH, verified)")] = True
    threshold: Annotated[float, setting("Jaccard similarity of shingle sets from which documents are near-duplicates", gt=0, le=1)] = 0.8
    bands: Annotated[int, setting("bands of the signature; more find more pairs below the threshold too", ge=1, le=256)] = 14
    rows: Annotated[int, setting("permutations in a band; more make a band more selective", ge=1, le=64)] = 8
    characters: Annotated[int, setting("characters per shingle, in Han, Kana and other scripts without blanks", ge=1, le=64)] = 5
    words: Annotated[int, setting("words per shingle, in all other scripts", ge=1, le=64)] = 5
    seed: Annotated[int, setting("seed of the permutations", ge=0, lt=2**32)] = 3  # as core/dedup/minhash.py says
    order: Annotated[
        tuple[Literal["longest", "source", "newest", "quality"], ...],
        setting("which of several copies stays: the best by the first of these, ties by the next, at last by id"),
    ] = ("longest", "source", "newest", "quality")
    source_priority: Annotated[tuple[str, ...], setting("sources from best to worst; those not named come last")] = ()
    paragraphs: Annotated[bool, setting("remove lines that an earlier document has too")] = False
    boilerplate_documents: Annotated[int, setting("with --paragraphs: a line that so many documents have is removed from all of them; 0: never", ge=0)] = 20
    paragraph_width: Annotated[int, setting("with --paragraphs: shorter lines stay; a Han or Kana character counts 2, another letter or digit 1", ge=1)] = 40
    substrings: Annotated[int, setting("remove stretches of so many characters, or more, that stand earlier; 0: off, else at least 20", ge=0)] = 0
    decontaminate_by: Annotated[Literal["drop", "cut"], setting("what goes where a test set is found: the document, or the overlap")] = "drop"
    decontaminate_fields: Annotated[tuple[str, ...], setting("fields of the task files whose texts count; none: all")] = ()


def check_settings(config: DedupConfig, tests: bool) -> None:
    """MsptError where settings make no sense together. tests: whether there are test sets."""
    if not (config.exact or config.near or config.paragraphs or config.substrings or tests):
        raise MsptError("dedup with all levels off does nothing", "leave exact or near on, or take dedup out of [run] steps")
    if 0 < config.substrings < MIN_SUBSTRING:
        raise MsptError(f"substrings = {config.substrings}: so few characters repeat in any text", f"take {MIN_SUBSTRING} or more (100 to 200 are usual), or 0")
    if config.boilerplate_documents == 1:
        raise MsptError("boilerplate_documents = 1: every line is in one document", "take 2 or more (20 is usual), or 0 for never")
    if len(set(config.order)) < len(config.order):
        raise MsptError(f"order = {', '.join(config.order)} names a criterion twice", "name each once: longest, source, newest, quality")
    if config.decontaminate_fields and not tests:
        raise MsptError("decontaminate_fields without a test set", "--decontaminate FILE names one")


def run(job: Job[DedupConfig]) -> None:
    """Sketch every shard, merge the sketches, fetch the shingles of candidates only, decide, write."""
    from mspt.stages.dedup.against import old_shards
    from mspt.stages.dedup.corpus import build_corpus
    from mspt.stages.dedup.cutting import cut, screen
    from mspt.stages.dedup.memory import check_memory
    from mspt.stages.dedup.merging import merge, repeated
    from mspt.stages.dedup.publishing import publish
    from mspt.stages.dedup.verifying import decide

    config = job.config
    check_settings(config, bool(job.files.get("decontaminate")))
    old = old_shards(job.inputs.get("against"), config, STAGE.revision, job.scratch("against"))
    docs = job.docs()
    check_memory(job, docs, old)
    screening = screen(job, docs)
    corpus = build_corpus(job, screening.compared, old)
    merged = merge(job, corpus)
    found = decide(job, corpus, merged)
    tallies = publish(job, screening.docs, corpus, found, repeated(merged, corpus))
    cut(job, screening, corpus, found, tallies)


STAGE = Stage(
    order=20,
    config=DedupConfig,
    run=run,
    writes="docs",
    reads={
        "docs": Read("docs", producer="clean", help="documents to compare"),
        "against": Read("docs", producer="dedup", optional=True, automatic=False, help="remove also what this artifact, and those it was made against, kept"),
        "decontaminate": Files("test sets (JSONL, JSON, CSV, TSV, text) that no document may hold parts of; may repeat", optional=True, many=True),
    },
    libraries=("numpy", "pyarrow", "python", "xxhash"),
    revision=4,
    compiles="dedup",
    next="train-scorer",
)
