"""`--exclude FILE`: documents that the user was told to take down, by id, by the id of their record, or by URL.

It acts on finished units, so that a longer list costs no cleaning: their rows are left out of docs, rejected and removed (nobody may find the text
there), and each has a row of rule `excluded` without any text. A unit of an earlier version is taken over as long as all that it left out is still
on the list.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mspt.core.errors import MsptError
from mspt.core.shards import write_docs, write_table
from mspt.core.stage import Job, RawFile, UnitResult
from mspt.core.text.documents import REJECTED

RULE = "excluded"
SHOWN_NAMES = 5  # that are of nothing here


@dataclass(frozen=True)
class Exclusion:
    """What is to be left out: ids (of documents, or `meta.id` of their records) and URLs, as they stand in the files."""

    names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.names)

    def names_of(self, row: Mapping[str, Any]) -> list[str]:
        """By which names a row is on the list."""
        own = orjson.loads(row["meta"]).get("id") if row.get("meta") else None
        return [name for name in (row["id"], row.get("url"), None if own is None else str(own)) if name and name in self.names]

    def holds(self, entry: Mapping[str, Any]) -> bool:
        """Whether all that an earlier version left out of a unit is still to be left out."""
        return all(gone["name"] in self.names for gone in entry["left_out"])


def read_exclusion(files: Iterable[RawFile]) -> Exclusion:
    """One id or URL a line; blank lines and lines that begin with `# ` do not count."""
    names: set[str] = set()
    for file in files:
        try:
            text = Path(file.location).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise MsptError(f"--exclude {file.location}: not UTF-8 ({error.reason} at byte {error.start})", "a text file with one id or URL a line") from None
        names.update(line.strip() for line in text.splitlines() if not line.startswith("# "))
    return Exclusion(frozenset(names - {""}))


@dataclass
class Publication:
    """Puts the files of all units under their final names, without what is excluded. `left_out`: what that was, by the key of its unit."""

    job: Job[Any]
    exclusion: Exclusion
    left_out: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def publish(self, results: Sequence[UnitResult]) -> None:
        """docs, rejected and removed rows of all units."""
        for kind in FINAL_NAMES.values():  # an interrupted run may have published by another list
            for path in self.job.directory.glob(kind.replace("{:05d}", "*")):
                path.unlink()
        for result in results:
            self.left_out[result.key] = [dict(gone) for gone in result.left_out]
            if self.exclusion:
                for record in result.files:
                    self.left_out[result.key] += _found(self.exclusion, result.path(record.path))
        gone = frozenset(entry["id"] for entries in self.left_out.values() for entry in entries)
        for kind, final in FINAL_NAMES.items():
            rewrite = _without if kind == "docs" else _blanked
            self.job.collect(results, f"{kind}-*.parquet", final, functools.partial(rewrite, gone))
        for key, result in self.job.raw_results.items():
            self.job.raw_results[key] = replace(result, left_out=tuple(self.left_out[key]))
        if documents := self.documents:
            rows = [{key: gone[key] for key in ("id", "ref", "source")} | {"stage": "clean", "rule": RULE, "detail": gone["name"]} for gone in documents]
            with self.job.write("rejected/excluded.parquet") as path:
                write_table(path, pa.Table.from_pylist([row | {"excerpt": "", "text": ""} for row in rows], REJECTED))
        self._remark_on_unknown()

    def _remark_on_unknown(self) -> None:
        """Says which names are of nothing that was read: a list may be meant for several corpora, but a name may be misspelt, too."""
        known = {name for entries in self.left_out.values() for gone in entries for name in (gone["id"], gone["name"], *gone.get("names", ()))}
        if unknown := sorted(self.exclusion.names - known):
            shown = ", ".join(unknown[:SHOWN_NAMES]) + (", ..." if len(unknown) > SHOWN_NAMES else "")
            self.job.warn(f"--exclude: {len(unknown):,} of {len(self.exclusion.names):,} ids and URLs are of no record here: {shown}")

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The documents that were left out: id, ref, source, lang, form, characters, and by which name."""
        return [gone for entries in self.left_out.values() for gone in entries if "ref" in gone]


FINAL_NAMES = {"docs": "docs-{:05d}.parquet", "rejected": "rejected/rejected-{:05d}.parquet", "removed": "removed/removed-{:05d}.parquet"}


def _found(exclusion: Exclusion, path: Path) -> Iterator[dict[str, Any]]:
    """What of one file of a unit is on the list: documents with what is known of them; of rejected and removed rows the id."""
    if not path.name.startswith("docs-"):
        rows = pq.read_table(path, columns=["id", "url", "meta"]).to_pylist()
        named = {row["id"]: exclusion.names_of(row) for row in rows}
        yield from ({"id": id_, "name": names[0], "names": names} for id_, names in sorted(named.items()) if names)
        return
    for batch in pq.ParquetFile(path).iter_batches(columns=["id", "ref", "source", "url", "meta", "lang", "form", "text"]):
        for row in batch.to_pylist():
            if names := exclusion.names_of(row):
                yield {key: row[key] for key in ("id", "ref", "source", "lang", "form")} | {"name": names[0], "names": names, "characters": len(row["text"])}


def _without(gone: frozenset[str], source: Path, target: Path) -> bool:
    """docs without these ids. False: it has none of them."""
    mask = _mask(gone, source) if gone else None
    if mask is None:
        return False
    write_docs(target, pq.read_table(source, use_threads=False).filter(pc.invert(mask)).combine_chunks())
    return True


def _blanked(gone: frozenset[str], source: Path, target: Path) -> bool:
    """rejected or removed rows, those of these ids without their text."""
    mask = _mask(gone, source) if gone else None
    if mask is None:
        return False
    table = pq.read_table(source, use_threads=False)
    for name in ("url", "meta", "excerpt", "text"):
        table = table.set_column(table.schema.get_field_index(name), name, pc.if_else(mask, "", table.column(name)))
    write_table(target, table.combine_chunks())
    return True


def _mask(gone: frozenset[str], source: Path) -> pa.ChunkedArray | None:
    ids = pq.read_table(source, columns=["id"]).column("id")
    mask = pc.is_in(ids, value_set=pa.array(sorted(gone), pa.string()))
    return mask if pc.any(mask).as_py() else None
