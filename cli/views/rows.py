"""Documents, rejected documents and removed parts of an artifact or of an unfinished version, and a fixed choice among them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mspt.core.artifact import Artifact
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.job import UNITS
from mspt.core.store import PARTIAL, Partial

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.expression import Expression
    from mspt.core.shards import Docs

Kind = Literal["documents", "rejected", "removed"]
_KEYS = ("id", "rule", "start", "end")  # what tells rows of one document apart, for the choice among them


@dataclass(frozen=True)
class Rows:
    """Tables with the same columns, read one after another. `read(part, columns)`; columns=None reads all."""

    ref: str
    kind: Kind
    columns: tuple[str, ...]
    num_parts: int
    read: Callable[[int, Sequence[str] | None], pa.Table]

    def __iter__(self) -> Iterator[pa.Table]:
        return (self.read(part, None) for part in range(self.num_parts))


def reference(target: Artifact | Partial) -> str:
    return target.ref if isinstance(target, Artifact) else f"{target.root.parent.name}@v{target.version}{PARTIAL}"


def open_rows(target: Artifact | Partial, kind: Kind) -> Rows:
    """MsptError where the target holds nothing of this kind."""
    if kind == "documents" and isinstance(target, Artifact):
        return _documents(target)
    files = _files(target, kind)
    if not files:
        raise _nothing(target, kind)
    return _from_files(reference(target), kind, files)


def _documents(artifact: Artifact) -> Rows:
    import pyarrow as pa

    from mspt.core.shards import open_docs

    if artifact.kind != "docs":
        hint = f"mspt show {artifact.ref} --row N decodes a row" if artifact.kind == "mindrecord" else f"mspt show {artifact.ref} says what it is"
        raise MsptError(f"{artifact.ref} is of kind {artifact.kind}: it holds no documents", hint)
    docs = open_docs(artifact)
    try:
        columns = tuple(docs.columns())
    except (pa.ArrowException, OSError) as error:
        raise unreadable(docs.ref, docs.text[0].path, error) from None
    return Rows(artifact.ref, "documents", columns, docs.num_shards, lambda part, columns: read_shard(docs, part, columns))


def read_shard(docs: Docs, shard: int, columns: Sequence[str] | None) -> pa.Table:
    """A shard for looking at: its hashes are not checked (`verify` does that), but a file that cannot be read is named."""
    import pyarrow as pa

    try:
        return docs.read(shard, columns, check=False)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(docs.ref, docs.text[shard].path, error) from None


def unreadable(ref: str, name: str, error: Exception) -> CheckFailed:
    """What a view says of a file that cannot be read at all."""
    first = str(error).splitlines()[0]
    return CheckFailed(f"{ref}: {name} cannot be read: {first}", f"`mspt verify {ref.split('/')[0]}` checks all its files")


def _files(target: Artifact | Partial, kind: Kind) -> list[Path]:
    """Parquet files of rejected or removed rows; of an unfinished version those of its finished units."""
    pattern = {"documents": "docs-*.parquet", "rejected": "rejected*.parquet", "removed": "removed*.parquet"}[kind]
    if isinstance(target, Artifact):
        return [target.root / name for name in sorted(target.files) if name.startswith(f"{kind}/") and name.endswith(".parquet")]
    units = [u for u in sorted(target.root.glob(f"{UNITS}*/*")) if u.is_dir() and u.with_name(f"{u.name}.json").is_file()]
    found = [path for unit in units for path in sorted(unit.glob(pattern))]
    return found or sorted((target.root / ("" if kind == "documents" else kind)).glob(pattern))


def _nothing(target: Artifact | Partial, kind: Kind) -> MsptError:
    ref = reference(target)
    if isinstance(target, Partial):
        return MsptError(f"{ref} has no {kind} rows yet", "rows appear as its units are finished: run the same command again to go on")
    have = [k for k in ("rejected", "removed") if any(name.startswith(f"{k}/") for name in target.files)]
    other = f"it has {' and '.join(have)} rows (--{have[0]})" if have else "nothing was dropped in it"
    return MsptError(f"{ref} has no {kind} rows", other)


def _from_files(ref: str, kind: Kind, files: Sequence[Path]) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def read(part: int, columns: Sequence[str] | None) -> pa.Table:
        try:
            return pq.read_table(files[part], columns=None if columns is None else list(columns), partitioning=None, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(ref, files[part].name, error) from None

    try:
        columns = tuple(pq.read_schema(files[0]).names)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(ref, files[0].name, error) from None
    return Rows(ref, kind, columns, len(files), read)


# --- a fixed choice ----------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """Rows that share a value of the `by` column."""

    count: int = 0
    values: list[float] = field(default_factory=list)  # of the column `value`: what the rule measured
    threshold: float | None = None


@dataclass(frozen=True)
class Selection:
    """What matches, and the few rows that are shown. `groups`: by value of a column, most frequent first."""

    total: int
    matches: int
    rows: list[dict[str, Any]]
    groups: dict[str, Group]


def select(rows: Rows, where: Expression | None, number: int, seed: int, by: str | None = None) -> Selection:
    """Counts the rows for which `where` holds and chooses `number` of them by a hash of (seed, row): the same ones every time.

    Of documents only live ones count, unless the expression asks for `keep` itself. Memory: one shard of the columns asked for.
    """
    if where is not None:
        where.check(rows.columns)
    live_only = rows.kind == "documents" and "keep" in rows.columns and (where is None or "keep" not in where.columns)
    asked = [*(where.columns if where else ()), *(k for k in _KEYS if k in rows.columns), *(["keep"] if live_only else [])]
    if by is not None:
        asked += [by, *(name for name in ("value", "threshold") if name in rows.columns and rows.kind != "documents")]
    total, matches = 0, 0
    groups: dict[str, Group] = {}
    chosen: list[tuple[int, int, int]] = []  # (minus hash, part, row): a heap of the smallest hashes
    for part in range(rows.num_parts):
        table = rows.read(part, list(dict.fromkeys(asked)))
        total += table.num_rows
        kept = _matching(table, where, live_only)
        matches += len(kept)
        table = table.take(kept)
        if by is not None:
            _group(table, by, groups)
        if number:
            _choose(table, kept.to_pylist(), part, seed, number, chosen)
    shown = fetch(rows, sorted((part, row) for _, part, row in chosen))
    ordered = dict(sorted(groups.items(), key=lambda item: (-item[1].count, item[0])))
    return Selection(total, matches, shown, ordered)


def _matching(table: pa.Table, where: Expression | None, live_only: bool) -> Any:
    """Positions of the rows that count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if where is None and not live_only:
        return pa.array(range(table.num_rows), pa.int64())
    mask = where.mask(table) if where is not None else table.column("keep")
    if where is not None and live_only:
        mask = pc.and_(mask, table.column("keep"))
    return positions(pc.fill_null(mask, False))


def positions(mask: Any) -> Any:
    """Where a mask holds. pyarrow 25 dies (SIGSEGV) in indices_nonzero on a chunked array without chunks, which a shard without rows gives."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.indices_nonzero(mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask)


def _choose(table: pa.Table, positions: Sequence[int], part: int, seed: int, number: int, chosen: list[tuple[int, int, int]]) -> None:
    import xxhash

    keys = zip(*(table.column(k).to_pylist() for k in _KEYS if k in table.column_names), strict=True)
    for position, key in zip(positions, keys, strict=True):
        item = (-xxhash.xxh64_intdigest("\0".join(map(str, key)).encode("utf-8", "surrogatepass"), seed=seed), part, position)
        if len(chosen) < number:
            heapq.heappush(chosen, item)
        elif item > chosen[0]:
            heapq.heapreplace(chosen, item)


def fetch(rows: Rows, places: Sequence[tuple[int, int]], columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The rows at (part, row), those of a part together; columns: these only."""
    found: list[dict[str, Any]] = []
    for part in dict.fromkeys(part for part, _ in places):
        table = rows.read(part, columns)
        found += table.take([row for p, row in places if p == part]).to_pylist()
    return found


def _group(table: pa.Table, by: str, groups: dict[str, Group]) -> None:
    names = table.column(by).to_pylist()
    values = table.column("value").to_pylist() if "value" in table.column_names else [None] * len(names)
    limits = table.column("threshold").to_pylist() if "threshold" in table.column_names else [None] * len(names)
    for name, value, limit in zip(names, values, limits, strict=True):
        group = groups.setdefault("-" if name is None else str(name), Group())
        group.count += 1
        if value is not None:
            group.values.append(value)
        group.threshold = limit if limit is not None else group.threshold


def find_documents(artifact: Artifact, ids: Sequence[str], columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Documents of a docs artifact by id, live or not. Reads ids first and other columns only of shards that hold one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = _documents(artifact)
    wanted = pa.array(sorted(set(ids)), pa.string())
    found: dict[str, dict[str, Any]] = {}
    for part in range(rows.num_parts):
        if len(found) == len(wanted):
            break
        places = positions(pc.is_in(rows.read(part, ["id"]).column("id"), value_set=wanted))
        if len(places):
            have = [c for c in dict.fromkeys(["id", *columns]) if c in rows.columns]
            found |= {row["id"]: row for row in rows.read(part, have).take(places).to_pylist()}
    return found
