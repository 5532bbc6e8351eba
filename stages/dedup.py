"""Exact and near-duplicates: one of several copies stays, and every removed document names the one that was kept.

In: docs (usually of clean). Out: docs with the same text shards and a layer `keep`, `cluster` (id of the survivor; its own for documents that stay),
`similarity` (exact Jaccard of shingle sets with the survivor) and `repeat_ratio` (share of a document's shingles that other documents contain). Removed
documents stand in rejected/ as exact-duplicate or near-duplicate.

A document is removed if and only if a kept document before it, in the order longest, source priority, id, has the same folded text, or shares a MinHash
band with it and is at least `threshold` similar. Documents too short for a shingle (fewer than five characters or words) are compared exactly only.
Method: Broder 1997, Indyk and Motwani 1998; what counts as the same text: core/dedup/folding.py, shingles.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, setting
from mspt.core.errors import MsptError
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from mspt.core.dedup.lsh import BandGroups, Verdicts
    from mspt.core.dedup.shingles import ShingleSets
    from mspt.core.dedup.sketch import Sketch, SketchSettings
    from mspt.core.shards import Docs

SKETCH, DOCUMENTS, SETS, SIZES = "sketch.npy", "documents.parquet", "sets.u32", "sizes.npy"
LAYER, REJECTED_ROWS = "attributes.parquet", "rejected.parquet"


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
    source_priority: Annotated[tuple[str, ...], setting("of two equally long copies the one of the source named first stays")] = ()


def run(job: Job[DedupConfig]) -> None:
    """Sketch every shard, compare the sketches, fetch the shingles of candidates only, decide, write the layer."""
    from mspt.core.dedup.lsh import verdicts
    from mspt.core.dedup.policy import policy_order

    if not (job.config.exact or job.config.near):
        raise MsptError("dedup with exact and near both off does nothing", "leave one of them on, or take dedup out of [run] steps")
    docs = job.docs()
    results = job.map_units(sketch_shard, [Unit(f"{i:05d}", (docs, i, _settings(job.config)), docs.bytes(i)) for i in range(docs.num_shards)],
                            what="signatures", group="sketch")  # fmt: skip
    corpus = _load(results, job.config.bands)
    table, sketches = corpus.table, corpus.sketches
    order = policy_order(sketches.lengths, table.column("source"), table.column("id"), job.config.source_priority)
    firsts, grouped = _candidates(job.config, sketches, order)
    survivors, similarities = _verify(job, docs, corpus, grouped)
    found = verdicts(firsts, grouped, survivors, similarities)
    _write(job, docs, corpus, found)


@dataclass(frozen=True)
class Corpus:
    """All live documents: `table` has row (in its shard), id, source, characters; shard i has the positions bounds[i] to bounds[i + 1]."""

    table: pa.Table
    sketches: Sketch
    bounds: tuple[int, ...]


@dataclass(frozen=True)
class Marks:
    """Verdicts on the live documents of one shard, as its worker writes them."""

    rows: npt.NDArray[np.int64]  # of the live documents in the shard
    keep: npt.NDArray[np.bool_]
    cluster: list[str]
    similarity: npt.NDArray[np.float64]
    repeat_ratio: npt.NDArray[np.float64]
    rules: list[str]  # exact-duplicate, near-duplicate; "" for those that stay
    threshold: float
    show: tuple[int, ...]  # rows whose beginning is wanted for the report


def _settings(config: DedupConfig) -> SketchSettings:
    from mspt.core.dedup.shingles import ShingleSize
    from mspt.core.dedup.sketch import SketchSettings

    return SketchSettings(ShingleSize(config.characters, config.words), config.bands, config.rows, config.seed)


# --- in workers --------------------------------------------------------------------------------------------------------


def sketch_shard(payload: tuple[Docs, int, SketchSettings], out: UnitOutput) -> dict[str, Any]:
    """The sketches of the live documents of a shard, and what the parent needs to know of each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from mspt.core.dedup.sketch import sketch
    from mspt.core.shards import write_table

    docs, shard, settings = payload
    table = docs.read(shard, ["id", "source", "text", "keep"])
    rows = np.flatnonzero(table.column("keep").to_numpy())
    live = table.take(pa.array(rows))
    sketch(live.column("text"), settings).save(out.path(SKETCH))
    lengths = pc.fill_null(pc.utf8_length(live.column("text")), 0).cast(pa.int64())
    columns = {"row": pa.array(rows), "id": live.column("id"), "source": live.column("source"), "characters": lengths}
    write_table(out.path(DOCUMENTS), pa.table(columns))
    return {"documents": len(rows)}


def fetch_sets(payload: tuple[Docs, int, SketchSettings, npt.NDArray[np.int64]], out: UnitOutput) -> dict[str, Any]:
    """The shingle sets of some rows of a shard, one after another."""
    import numpy as np
    import pyarrow as pa

    from mspt.core.dedup.shingles import shingle_sets

    docs, shard, settings, rows = payload
    sets = shingle_sets(docs.read(shard, ["text"], check=False).column("text").take(pa.array(rows)), settings.size)
    sets.values.tofile(out.path(SETS))
    with out.path(SIZES).open("wb") as file:
        np.save(file, sets.sizes, allow_pickle=False)
    return {"shingles": len(sets.values)}


def write_shard(payload: tuple[Docs, int, str, Marks], out: UnitOutput) -> dict[str, Any]:
    """The attribute layer of a shard and the rejection rows of what was removed from it. Returns counts by source and the excerpts asked for."""
    from mspt.core.shards import write_table
    from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS

    docs, shard, stage, marks = payload
    carried = [name for name in ("cluster", "similarity", "repeat_ratio") if name in docs.columns()]
    table = docs.read(shard, ["id", "ref", "source", "text", "keep", *carried], check=False)
    write_table(out.path(LAYER), _layer(table, marks))
    rejected = _rejected(table, marks, stage)
    if rejected.num_rows:
        write_table(out.path(REJECTED_ROWS), rejected)
    texts = table.column("text")
    excerpts = {str(row): (texts[row].as_py() or "")[:MAX_EXCERPT_CHARACTERS] for row in marks.show}
    return {"sources": _by_source(table, marks), "excerpts": excerpts}


def _layer(table: pa.Table, marks: Marks) -> pa.Table:
    """Documents that were dropped before keep what an earlier dedup said about them; unknown otherwise."""
    import numpy as np
    import pyarrow as pa

    keep = np.zeros(table.num_rows, np.bool_)
    keep[marks.rows] = marks.keep
    columns = {"keep": pa.array(keep)}
    found = {
        "cluster": pa.array(marks.cluster, pa.string()),
        "similarity": pa.array(marks.similarity, pa.float64(), from_pandas=True),
        "repeat_ratio": pa.array(marks.repeat_ratio, pa.float64(), from_pandas=True),
    }
    place = np.full(table.num_rows, -1, np.int64)
    place[marks.rows] = np.arange(len(marks.rows))
    for name, values in found.items():
        before = table.column(name).combine_chunks() if name in table.column_names else pa.nulls(table.num_rows, values.type)
        both = pa.concat_arrays([values, before])
        columns[name] = both.take(pa.array(np.where(place >= 0, place, len(values) + np.arange(table.num_rows))))
    return pa.table(columns)


def _rejected(table: pa.Table, marks: Marks, stage: str) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS, REJECTED, clip

    removed = np.flatnonzero(~marks.keep)
    documents = table.select(["id", "ref", "source", "text"]).take(pa.array(marks.rows[removed])).to_pylist()
    rows = []
    for i, document in zip(removed.tolist(), documents, strict=True):
        similarity, text = float(marks.similarity[i]), document["text"] or ""
        rows.append(
            {**document, "stage": stage, "rule": marks.rules[i], "value": similarity, "threshold": marks.threshold, "detail": "",
             "excerpt": text[:MAX_EXCERPT_CHARACTERS], "text": clip(text), "survivor": marks.cluster[i], "similarity": similarity}
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=REJECTED)


def _by_source(table: pa.Table, marks: Marks) -> dict[str, dict[str, int]]:
    import pyarrow as pa

    counts: dict[str, dict[str, int]] = {}
    for source, keep in zip(table.column("source").take(pa.array(marks.rows)).to_pylist(), marks.keep.tolist(), strict=True):
        of_source = counts.setdefault(source, {"in": 0, "rejected": 0})
        of_source["in"] += 1
        of_source["rejected"] += not keep
    return counts


# --- in the parent -----------------------------------------------------------------------------------------------------


def _load(results: Sequence[UnitResult], bands: int) -> Corpus:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mspt.core.dedup.sketch import Sketch, join

    tables = [pq.read_table(result.path(DOCUMENTS)) for result in results]
    bounds = [0]
    for table in tables:
        bounds.append(bounds[-1] + table.num_rows)
    sketches = join([Sketch.load(result.path(SKETCH)) for result in results], bands)
    return Corpus(pa.concat_tables(tables).combine_chunks(), sketches, tuple(bounds))


def _candidates(config: DedupConfig, sketches: Sketch, order: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], BandGroups]:
    """First copies and the groups that share a band; a level that is off finds every document alone."""
    import numpy as np

    from mspt.core.dedup.lsh import candidates, first_copies

    firsts = first_copies(sketches.exact, order) if config.exact else np.arange(len(order))
    return firsts, candidates(sketches, firsts, order if config.near else order[:0])


def _verify(job: Job[DedupConfig], docs: Docs, corpus: Corpus, grouped: BandGroups) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Fetch the candidates' shingle sets, shard by shard, and walk the candidates in policy order."""
    import numpy as np

    from mspt.core.dedup.lsh import select

    members = np.sort(grouped.members)  # in the order of the corpus, as the shards give them
    rows = corpus.table.column("row").to_numpy()
    units = []
    for shard, (start, end) in enumerate(itertools.pairwise(corpus.bounds)):
        own = members[np.searchsorted(members, start) : np.searchsorted(members, end)]
        if len(own):
            units.append(Unit(f"{shard:05d}", (docs, shard, _settings(job.config), rows[own]), docs.bytes(shard)))
    sets = _joined_sets(job.map_units(fetch_sets, units, what="candidates", group="sets"), job.scratch("sets") / SETS)
    return select(grouped, sets.select(np.searchsorted(members, grouped.members)), job.config.threshold)


def _joined_sets(results: Sequence[UnitResult], path: Path) -> ShingleSets:
    """All sets in one file on disk, mapped: memory holds only what the comparison touches."""
    import shutil

    import numpy as np

    from mspt.core.dedup.shingles import ShingleSets

    with path.open("wb") as joined:
        for result in results:
            with result.path(SETS).open("rb") as part:
                shutil.copyfileobj(part, joined)
    sizes = np.concatenate([np.zeros(0, np.int64), *(np.load(result.path(SIZES), allow_pickle=False) for result in results)])
    values = np.asarray(np.memmap(path, np.uint32, "r")) if path.stat().st_size else np.zeros(0, np.uint32)
    return ShingleSets.from_sizes(values, sizes)


def _write(job: Job[DedupConfig], docs: Docs, corpus: Corpus, found: Verdicts) -> None:
    """Publish the layer, the rejection rows, counts and statistics."""
    from mspt.core.dedup.report import NUM_LARGEST, clusters

    largest = clusters(found.survivors)[:NUM_LARGEST]
    marks = _marks(job.config, corpus, found, [cluster.survivor for cluster in largest])
    units = [Unit(f"{i:05d}", (docs, i, job.stage, own), docs.bytes(i)) for i, own in enumerate(marks)]
    results = job.map_units(write_shard, units, what="verdicts", group="write")
    job.link_docs(docs)
    for shard, result in enumerate(results):
        job.link(result.path(LAYER), job.layer_file(shard), result.record(LAYER))
    job.collect(results, REJECTED_ROWS, "rejected/rejected-{:05d}.parquet")
    _report(job, corpus, found)
    ids, sources = corpus.table.column("id"), corpus.table.column("source")
    excerpts = [result.stats["excerpts"] for result in results]
    job.stats["largest_clusters"] = [
        {"cluster": ids[c.survivor].as_py(), "documents": c.documents, "source": sources[c.survivor].as_py(), "excerpt": _excerpt(corpus, excerpts, c.survivor)}
        for c in largest
    ]


def _marks(config: DedupConfig, corpus: Corpus, found: Verdicts, shown: Sequence[int]) -> list[Marks]:
    """The verdicts cut by shard."""
    import numpy as np

    from mspt.core.dedup.lsh import NOBODY
    from mspt.core.dedup.repeats import repeat_ratios
    from mspt.core.dedup.report import EXACT, NEAR

    keep = found.survivors == NOBODY
    ids = corpus.table.column("id").take(np.where(keep, np.arange(len(keep)), found.survivors)).to_pylist()
    ratios = repeat_ratios(corpus.sketches.samples)
    rules = np.where(keep, "", np.where(found.exact, EXACT, NEAR)).tolist()
    rows = corpus.table.column("row").to_numpy()
    marks = []
    for start, end in itertools.pairwise(corpus.bounds):
        show = tuple(int(rows[i]) for i in shown if start <= i < end)
        own = slice(start, end)
        marks.append(Marks(rows[own], keep[own], ids[own], found.similarities[own], ratios[own], rules[own], config.threshold, show))
    return marks


def _excerpt(corpus: Corpus, excerpts: Sequence[dict[str, str]], position: int) -> str:
    shard = next(i for i, end in enumerate(corpus.bounds[1:]) if position < end)
    return excerpts[shard][str(corpus.table.column("row")[position].as_py())]


def _report(job: Job[DedupConfig], corpus: Corpus, found: Verdicts) -> None:
    from mspt.core.dedup.report import summary

    characters = corpus.table.column("characters").to_numpy()
    job.stats |= summary(found, corpus.table.column("source").to_pylist(), characters, corpus.sketches.num_shingles)
    rejected = {level: counts["documents"] for level, counts in job.stats["levels"].items() if counts["documents"]}
    job.count(records_in=len(characters), out=len(characters) - sum(rejected.values()), rejected=rejected)
    short = job.stats["compared_exactly_only"]
    if job.config.near and short:
        job.note(f"{short:,} documents are too short for a shingle: they were compared exactly only")


STAGE = Stage(
    order=20,
    config=DedupConfig,
    run=run,
    writes="docs",
    reads={"docs": Read("docs", producer="clean", help="documents to compare")},
    libraries=("numpy", "pyarrow", "python", "xxhash"),
    next="train-scorer",
)
