"""First phase: sorted runs of the sketches of every live document, shard by shard, and what the parent holds of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.core.errors import InputError, MsptError
from mspt.core.stage import Job, Unit, UnitOutput
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from mspt.core.dedup.merge import RunFile
    from mspt.core.dedup.policy import Standing
    from mspt.core.dedup.sketch import SketchSettings
    from mspt.core.shards import Docs
    from mspt.stages.dedup import DedupConfig

RUNS = "runs.npy"


@dataclass(frozen=True)
class Shard:
    """Documents of one shard: positions `runs.start` to `end` in the corpus."""

    docs: Docs
    number: int  # of the shard in docs
    runs: RunFile
    end: int
    texts: Docs  # where the texts are that were compared: of an old shard that lost parts of texts, the docs it was made of
    index: Path | None = None  # of an old shard: what exact and near duplicates left, live or not

    @property
    def slice(self) -> slice:
        return slice(self.runs.start, self.end)

    def rows(self) -> npt.NDArray[np.uint32]:
        """Row in the shard of each document."""
        from mspt.core.dedup.index import Runs

        rows: npt.NDArray[np.uint32] = Runs.map(self.runs.path)[1][0]
        return rows


@dataclass(frozen=True)
class Corpus:
    """All documents that are compared: first the old ones (positions below `num_old`), then the live documents of the input.

    26 bytes a document: 16 + 4 + 4 + 2.
    """

    shards: tuple[Shard, ...]
    num_old: int
    num_old_shards: int
    ids: npt.NDArray[np.uint8]  # [documents, 16]
    ranks: npt.NDArray[np.uint32]  # place in policy order
    num_shingles: npt.NDArray[np.uint32]
    sources: tuple[str, ...]
    source_codes: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.ranks)

    @property
    def new_shards(self) -> tuple[Shard, ...]:
        return self.shards[self.num_old_shards :]

    def shard_of(self, position: int) -> Shard:
        """The shard that holds a document."""
        return next(shard for shard in self.shards if shard.runs.start <= position < shard.end)


def sketch_settings(config: DedupConfig) -> SketchSettings:
    """The settings of a sketch, as the domain takes them."""
    from mspt.core.dedup.shingles import ShingleSize
    from mspt.core.dedup.sketch import SketchSettings

    return SketchSettings(ShingleSize(config.characters, config.words), config.bands, config.rows, config.seed)


# --- in workers --------------------------------------------------------------------------------------------------------


def sketch_shard(payload: tuple[Docs, int, SketchSettings, tuple[str, ...]], out: UnitOutput) -> dict[str, Any]:
    """The sorted runs of a shard's live documents, and behind them: rows, ids, folded lengths, numbers of sources, dates, qualities."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from mspt.core.dedup.policy import date_numbers, quality_numbers
    from mspt.core.dedup.sketch import join, make_runs, sketch
    from mspt.stages.dedup.reading import parts_of

    docs, shard, settings, judged_by = payload
    sketches, ids, sources, dates, qualities, rows, start = [], [], [], [], [], [], 0
    for part in parts_of(docs, shard, ["id", "source", "text", "keep", *judged_by], check=True):
        keep = part.column("keep").to_numpy()
        rows.append(np.flatnonzero(keep).astype(np.uint32) + np.uint32(start))
        live, start = part.filter(part.column("keep")), start + len(part)
        sketches.append(sketch(live.column("text"), settings))
        ids.append(_ids(docs.ref, live.column("id")))
        sources.append(pc.fill_null(live.column("source"), "").combine_chunks())
        dates.append(date_numbers(live.column("date")) if "date" in judged_by else np.zeros(len(live), np.int64))
        qualities.append(quality_numbers(live.column("quality")) if "quality" in judged_by else np.full(len(live), -np.inf))
    names, codes = _sources(pa.concat_arrays(sources))
    joined = join(sketches, settings.bands)
    columns = (np.concatenate(ids), joined.lengths, codes, np.concatenate(dates), np.concatenate(qualities))
    make_runs(joined).save(out.path(RUNS), np.concatenate(rows), *columns)
    return {"documents": len(codes), "names": names}


def _ids(ref: str, column: pa.ChunkedArray) -> npt.NDArray[np.uint8]:
    from mspt.core.dedup.ids import parse_ids

    try:
        return parse_ids(column)
    except ValueError as error:
        raise InputError(f"{ref}: {error}", "ids are made by `mspt clean` (core/text/documents.py, document_id)") from None


def _sources(column: pa.Array) -> tuple[list[str], npt.NDArray[np.uint16]]:
    """Distinct names, and the number of each row's."""
    import numpy as np

    encoded = column.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.uint16)


# --- in the parent -----------------------------------------------------------------------------------------------------


def build_corpus(job: Job[DedupConfig], docs: Docs, old: Sequence[Shard]) -> Corpus:
    """Sketch all shards; put the documents in policy order, behind the old ones."""
    import numpy as np

    from mspt.core.dedup.index import MAX_DOCUMENTS
    from mspt.core.dedup.merge import RunFile

    judged_by = tuple(name for name in ("date", "quality") if name in docs.columns())
    if job.config.order[:1] == ("quality",) and "quality" not in judged_by:
        raise MsptError(
            f"order = {', '.join(job.config.order)}: {docs.ref} has no column quality", "dedup the docs that `mspt score` wrote, or order by longest"
        )
    settings = sketch_settings(job.config)
    units = [Unit(f"{i:05d}", (docs.one(i), 0, settings, judged_by), docs.bytes(i)) for i in range(docs.num_shards)]
    results = map_units(job, sketch_shard, units, what="signatures", group="sketch")
    start = num_old = old[-1].end if old else 0
    shards = list(old)
    for number, result in enumerate(results):
        shards.append(Shard(docs, number, RunFile(result.path(RUNS), start), start + result.stats["documents"], docs))
        start = shards[-1].end
    if start > MAX_DOCUMENTS:
        raise InputError(f"{start:,} documents are more than {MAX_DOCUMENTS:,}", "deduplicate in parts: the later ones --against the earlier")
    sources = tuple(dict.fromkeys(name for result in results for name in result.stats["names"]))
    if strange := [name for name in job.config.source_priority if name not in sources]:
        job.warn(f"source_priority names {', '.join(strange)}, which no document has; here are {', '.join(sorted(sources)) or 'none'}")
    own = shards[len(old) :]
    codes, ranks = np.zeros(start, np.uint16), np.empty(start, np.uint32)
    standing = _standing(job.config, own, [result.stats["names"] for result in results], sources, codes[num_old:])
    _check_unique(docs.ref, standing.ids)
    ids = np.concatenate([_old_ids(old), standing.ids])
    ranks[:num_old] = _old_ranks(old)
    _rank(job.config, standing, ranks[num_old:], num_old)
    return Corpus(tuple(shards), num_old, len(old), ids, ranks, _num_shingles(shards, start), sources, codes)


def _standing(config: DedupConfig, shards: Sequence[Shard], names: Sequence[list[str]], sources: Sequence[str], codes: npt.NDArray[np.uint16]) -> Standing:
    """What decides between the new documents; fills the numbers of their sources."""
    import numpy as np

    from mspt.core.dedup.index import Runs
    from mspt.core.dedup.policy import Standing, source_ranks

    num, first = len(codes), shards[0].runs.start if shards else 0
    found = Standing(np.empty(num, np.int64), np.empty(num, np.int32), np.empty(num, np.int64), np.empty(num), np.empty((num, 16), np.uint8))
    of_source = source_ranks(sources, config.source_priority)
    number_of = {name: number for number, name in enumerate(sources)}
    for shard, own_names in zip(shards, names, strict=True):
        part = slice(shard.runs.start - first, shard.end - first)
        _, found.ids[part], found.lengths[part], own, found.dates[part], found.qualities[part] = Runs.map(shard.runs.path)[1]
        codes[part] = np.array([number_of[name] for name in own_names], np.uint16)[own]
        found.source_ranks[part] = of_source[codes[part]]
    return found


def _check_unique(ref: str, ids: npt.NDArray[np.uint8]) -> None:
    """InputError where two documents have one id: verdicts name survivors by it."""
    import numpy as np

    halves = ids.view(np.uint64)
    ordered = np.sort(halves[:, 0])
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    of_half = halves[np.isin(halves[:, 0], shared)] if len(shared) else halves[:0]
    found, counts = np.unique(of_half, axis=0, return_counts=True)
    if (counts > 1).any():
        name = found[counts > 1][0].tobytes().hex()
        raise InputError(f"{ref}: {counts.max()} documents have the id {name}", "ids must be unique: make the docs again with `mspt clean`")


def _rank(config: DedupConfig, standing: Standing, ranks: npt.NDArray[np.uint32], first: int) -> None:
    import numpy as np

    from mspt.core.dedup.policy import policy_order

    ranks[policy_order(standing, config.order)] = np.arange(first, first + len(ranks), dtype=np.uint32)


def _old_ids(old: Sequence[Shard]) -> npt.NDArray[np.uint8]:
    import numpy as np
    import pyarrow as pa

    from mspt.core.dedup.ids import parse_ids

    parts = [parse_ids(shard.docs.read(shard.number, ["id"], check=False).column("id").take(pa.array(shard.rows()))) for shard in old]
    return np.concatenate([np.zeros((0, 16), np.uint8), *parts])


def _old_ranks(old: Sequence[Shard]) -> npt.NDArray[np.uint32]:
    """Old documents keep the order they had in their artifacts, the oldest artifact first."""
    import numpy as np

    from mspt.core.dedup.index import Runs
    from mspt.stages.dedup.against import joined_ranks

    ranks = joined_ranks([(shard.docs.ref, Runs.map(shard.runs.path)[1][1]) for shard in old])
    return np.concatenate([np.zeros(0, np.uint32), *ranks]).astype(np.uint32)


def _num_shingles(shards: Sequence[Shard], num: int) -> npt.NDArray[np.uint32]:
    import numpy as np

    from mspt.core.dedup.index import Runs

    found = np.empty(num, np.uint32)
    for shard in shards:
        found[shard.slice] = Runs.map(shard.runs.path)[0].num_shingles
    return found
