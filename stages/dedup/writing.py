"""Last phase, in workers: the layer of a shard, the rejection rows of what was removed from it, the index of what stayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.core.stage import UnitOutput

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from mspt.core.shards import Docs

LAYER, REJECTED_ROWS, INDEX = "attributes.parquet", "rejected.parquet", "index.npy"
FOUND = ("cluster", "similarity", "repeat_ratio")


@dataclass(frozen=True)
class Marks:
    """Verdicts on the live documents of one shard, as its worker writes them; 46 bytes a document."""

    rows: npt.NDArray[np.uint32]  # of the live documents in the shard
    levels: npt.NDArray[np.uint8]  # 0: stays; else 1 + number of the level that removed it (report.LEVELS)
    clusters: npt.NDArray[np.uint8]  # [documents, 16] id of the survivor; its own for documents that stay
    origins: npt.NDArray[np.uint8]  # 0: the survivor is of this run; else 1 + its artifact's place in `artifacts`
    similarity: npt.NDArray[np.float64]
    repeat_ratio: npt.NDArray[np.float64]
    ranks: npt.NDArray[np.uint32]
    artifacts: tuple[str, ...]
    threshold: float
    show: tuple[int, ...]  # rows whose beginning is wanted for the report

    def part(self, first: int, last: int) -> Marks:
        """Those of some of the documents, by place."""
        names = ("rows", "levels", "clusters", "origins", "similarity", "repeat_ratio", "ranks")
        return replace(self, **{name: getattr(self, name)[first:last] for name in names})

    @property
    def keep(self) -> npt.NDArray[np.bool_]:
        keep: npt.NDArray[np.bool_] = self.levels == 0
        return keep


def write_shard(payload: tuple[Docs, int, str, Path, Marks], out: UnitOutput) -> dict[str, Any]:
    """Layer, rejection rows and index of a shard (`runs`: its sorted runs). Returns counts by source and the excerpts asked for."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from mspt.core.dedup.report import add_tallies, tally
    from mspt.core.shards import write_table
    from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS
    from mspt.stages.dedup.reading import parts_of

    docs, shard, stage, runs, marks = payload
    carried = [name for name in ("url", *FOUND) if name in docs.columns()]
    tallies, rejected, before = [], [], []
    excerpts: dict[str, str] = {}
    start = first = 0
    for part in parts_of(docs, shard, ["id", "ref", "source", "text", *carried], check=False):
        last = first + int(np.searchsorted(marks.rows[first:], start + len(part)))
        own = marks.part(first, last)
        live = part.take(pa.array(own.rows - start))
        rejected.append(_rejected(live.filter(pa.array(~own.keep)), own, stage))
        before.append(part.select([name for name in FOUND if name in carried]))
        characters = pc.fill_null(pc.utf8_length(live.column("text")), 0).to_numpy()
        has_url = pc.fill_null(pc.not_equal(live.column("url"), ""), False).to_numpy() if "url" in carried else None
        tallies.append(tally(live.column("source").to_pylist(), characters, own.levels, has_url))
        texts = part.column("text")
        excerpts |= {str(row): (texts[row - start].as_py() or "")[:MAX_EXCERPT_CHARACTERS] for row in marks.show if start <= row < start + len(part)}
        start, first = start + len(part), last
    write_table(out.path(LAYER), _layer(pa.concat_tables(before), start, marks))
    _write_index(runs, marks, out.path(INDEX))
    if not marks.keep.all():
        write_table(out.path(REJECTED_ROWS), pa.concat_tables(rejected))
    return {"sources": add_tallies(tallies), "excerpts": excerpts}


def _layer(table: pa.Table, num_rows: int, marks: Marks) -> pa.Table:
    """Documents that were dropped before keep what an earlier dedup said about them; unknown otherwise."""
    import numpy as np
    import pyarrow as pa

    from mspt.core.dedup.ids import format_ids

    keep = np.zeros(num_rows, np.bool_)
    keep[marks.rows] = marks.keep
    columns = {"keep": pa.array(keep)}
    found = {
        "cluster": format_ids(marks.clusters),
        "similarity": pa.array(marks.similarity, pa.float64(), from_pandas=True),
        "repeat_ratio": pa.array(marks.repeat_ratio, pa.float64(), from_pandas=True),
    }
    place = np.full(num_rows, -1, np.int64)
    place[marks.rows] = np.arange(len(marks.rows))
    for name, values in found.items():
        before = table.column(name).combine_chunks() if name in table.column_names else pa.nulls(num_rows, values.type)
        both = pa.concat_arrays([values, before])
        columns[name] = both.take(pa.array(np.where(place >= 0, place, len(values) + np.arange(num_rows))))
    return pa.table(columns)


def _rejected(documents: pa.Table, marks: Marks, stage: str) -> pa.Table:
    """Rows of `rejected/` for the documents that were removed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from mspt.core.dedup.ids import format_ids
    from mspt.core.dedup.report import LEVELS
    from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS, REJECTED

    gone, num = ~marks.keep, documents.num_rows
    texts = pc.fill_null(documents.column("text"), "").combine_chunks()
    details = np.array(["", *(f"the survivor is in {ref}" for ref in marks.artifacts)], dtype=object)
    similarity = pa.array(marks.similarity[gone])
    columns = {
        **{name: documents.column(name) for name in documents.column_names if name in ("id", "ref", "source", "url")},
        "stage": pa.array([stage] * num, pa.string()),
        "rule": pa.array(np.array(["", *LEVELS], dtype=object)[marks.levels[gone]], pa.string()),
        "value": similarity,
        "threshold": pa.array(np.full(num, marks.threshold)),
        "detail": pa.array(details[marks.origins[gone]], pa.string()),
        "excerpt": pc.utf8_slice_codeunits(texts, 0, MAX_EXCERPT_CHARACTERS),
        "text": _clipped(texts),
        "survivor": format_ids(marks.clusters[gone]),
        "similarity": similarity,
    }
    return pa.table({field.name: columns.get(field.name, pa.nulls(num, field.type)) for field in REJECTED}, schema=REJECTED)


def _clipped(texts: pa.Array) -> pa.Array:
    """At most MAX_REJECTED_BYTES of each text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from mspt.core.text.documents import MAX_REJECTED_BYTES, clip

    long = pc.greater(pc.binary_length(texts), MAX_REJECTED_BYTES)
    if not pc.any(long).as_py():
        return texts
    return pc.replace_with_mask(texts, long, pa.array([clip(text) for text in texts.filter(long).to_pylist()], texts.type))


def _write_index(runs: Path, marks: Marks, path: Path) -> None:
    """Runs of the documents that stay, and behind them their rows and ranks."""
    from mspt.core.dedup.index import Runs

    keep = marks.keep
    Runs.map(runs)[0].select(keep).save(path, marks.rows[keep], marks.ranks[keep])
