"""Row-aligned shards: text shards `docs-NNNNN.parquet` and beside them attribute layers `attributes-<name>-NNNNN.parquet`.

A stage that only judges writes a layer and hard-links the text. Layers are listed in artifact.json in order; later columns win. `keep` says what is
live: it may only go from true to false, and it is true where no layer has it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash

from mspt.core.artifact import Artifact, FileRecord, check_file

TARGET_BYTES = 128 * 2**20  # of uncompressed text in a shard
ROW_GROUP_BYTES = 16 * 2**20
ZSTD_LEVEL = 3
DIGEST_KEY = b"mspt.text_digest"


def write_table(path: Path, table: pa.Table) -> None:
    """Parquet with fixed settings: equal tables give equal bytes with one version of pyarrow."""
    pq.write_table(table, path, compression="zstd", compression_level=ZSTD_LEVEL, row_group_size=max(1, _rows_per_group(table)), store_schema=True)


def _rows_per_group(table: pa.Table) -> int:
    if table.num_rows == 0 or table.nbytes <= ROW_GROUP_BYTES:
        return max(1, int(table.num_rows))
    return max(1, int(table.num_rows) * ROW_GROUP_BYTES // int(table.nbytes))


def text_digest(ids: Iterable[str], texts: Iterable[str], sources: Iterable[str]) -> str:
    """xxh3-128 over (id, text, source) of rows in order, each length-prefixed, so that no two row lists share an encoding."""
    digest = xxhash.xxh3_128()
    for row in zip(ids, texts, sources, strict=True):
        for value in row:
            raw = value.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little"))
            digest.update(raw)
    return digest.hexdigest()


def write_docs(path: Path, table: pa.Table) -> None:
    """A text shard: `table` with the digest of its ids, texts and sources in the file's metadata."""
    columns = (_values(table.column(name)) for name in ("id", "text", "source"))
    metadata = {**(table.schema.metadata or {}), DIGEST_KEY: text_digest(*columns).encode()}
    write_table(path, table.replace_schema_metadata(metadata))


def _values(column: pa.ChunkedArray) -> Iterator[Any]:
    """The values one after another; lists of Python's hold one chunk at a time."""
    return (value for chunk in column.chunks for value in chunk.to_pylist())


@dataclass(frozen=True)
class Docs:
    """The shards of one docs artifact, by path, so that it can be handed to workers. Reading checks each file's sha256 first."""

    ref: str
    root: Path
    text: tuple[FileRecord, ...]
    layers: tuple[tuple[str, tuple[FileRecord, ...]], ...]  # (name, one file for each shard)

    @property
    def num_shards(self) -> int:
        return len(self.text)

    @property
    def layer_names(self) -> list[str]:
        return [name for name, _ in self.layers]

    def files(self, shard: int) -> list[FileRecord]:
        return [self.text[shard], *(files[shard] for _, files in self.layers)]

    def bytes(self, shard: int) -> int:
        """Size on disk of all files of a shard."""
        return sum(file.bytes for file in self.files(shard))

    def num_rows(self, shard: int) -> int:
        return int(self._open(self.text[shard], pq.read_metadata).num_rows)

    def columns(self) -> list[str]:
        if not self.text:
            return ["keep"]
        names = [n for file in self.files(0) for n in self._open(file, pq.read_schema).names]
        return list(dict.fromkeys([*names, "keep"]))

    def _open(self, file: FileRecord, read: Callable[[Path], Any]) -> Any:
        """`read` of a file. CheckFailed names it where it is missing or damaged: sizes and columns are read before any bytes are compared."""
        path = self.root / file.path
        try:
            return read(path)
        except (pa.ArrowException, OSError):
            check_file(path, file, self.ref)
            raise

    def one(self, shard: int) -> Docs:
        """Docs of this shard alone: what a worker needs to be told of a large artifact."""
        return Docs(self.ref, self.root, (self.text[shard],), tuple((name, (files[shard],)) for name, files in self.layers))

    def cut(self, shard: int, max_bytes: int) -> list[tuple[int, int]]:
        """Ranges of rows of a shard, cut between row groups: each of at most `max_bytes` of uncompressed columns, or of one row group."""
        metadata = self._open(self.text[shard], pq.read_metadata)
        ranges, start, end, size = [], 0, 0, 0
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            if end > start and size + group.total_byte_size > max_bytes:
                ranges.append((start, end))
                start, size = end, 0
            end, size = end + group.num_rows, size + group.total_byte_size
        return [*ranges, (start, end)]

    def read(self, shard: int, columns: Sequence[str] | None = None, *, check: bool = True, rows: tuple[int, int] | None = None) -> pa.Table:
        """One shard, or a range of its rows, with its layers applied. Columns that nothing has raise KeyError; `keep` is always there."""
        wanted = list(dict.fromkeys(columns)) if columns is not None else None
        found: dict[str, Any] = {}
        for file in self.files(shard):
            path = self.root / file.path
            if check:
                check_file(path, file, self.ref)
            names = self._open(file, pq.read_schema).names
            take = [n for n in names if wanted is None or n in wanted]
            if take:
                table = self._open(file, functools.partial(_read_table, columns=take, rows=rows))
                found |= {name: table.column(name) for name in take}
        if "keep" not in found and (wanted is None or "keep" in wanted):
            count = self.num_rows(shard) if rows is None else rows[1] - rows[0]
            found["keep"] = pa.chunked_array([pa.array([True] * count, pa.bool_())])
        order = wanted if wanted is not None else list(found)
        return pa.table({name: found[name] for name in order})

    def read_live(self, shard: int, columns: Sequence[str], *, check: bool = True, rows: tuple[int, int] | None = None) -> pa.Table:
        """The rows of a shard, or of a range of its rows, that are kept."""
        table = self.read(shard, [*columns, "keep"], check=check, rows=rows)
        return table.filter(table.column("keep")).select(list(dict.fromkeys(columns)))

    def iterate_live(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        for shard in range(self.num_shards):
            yield self.read_live(shard, columns)

    def digest(self) -> str:
        """Digest of what is live: ids, texts, sources and keep. New weights or scores do not change it."""
        digest = xxhash.xxh3_128()
        for shard, file in enumerate(self.text):
            metadata = self._open(file, pq.read_schema).metadata or {}
            digest.update(metadata[DIGEST_KEY])
            keep = self.read(shard, ["keep"], check=False).column("keep")
            digest.update(bytes(pc.cast(keep, pa.uint8()).combine_chunks().to_numpy(zero_copy_only=False).tobytes()))
        return digest.hexdigest()


def _read_table(path: Path, columns: list[str], rows: tuple[int, int] | None) -> pa.Table:
    """Columns of a file, or of a range of its rows: then only the row groups that hold them are read."""
    if rows is None:
        return pq.read_table(path, columns=columns, use_threads=False, partitioning=None)
    with pq.ParquetFile(path) as file:
        ends = list(itertools.accumulate(file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)))
        groups = [i for i, end in enumerate(ends) if end > rows[0] and (ends[i - 1] if i else 0) < rows[1]]
        first = ends[groups[0] - 1] if groups and groups[0] else 0
        return file.read_row_groups(groups, columns=columns, use_threads=False).slice(rows[0] - first, rows[1] - rows[0])


def shard_name(shard: int) -> str:
    return f"docs-{shard:05d}.parquet"


def layer_name(layer: str, shard: int) -> str:
    return f"attributes-{layer}-{shard:05d}.parquet"


def open_docs(artifact: Artifact) -> Docs:
    """The docs of an artifact, by its recorded file list and layer order."""
    files = artifact.files
    count = sum(1 for name in files if name.startswith("docs-") and name.endswith(".parquet"))
    text = tuple(files[shard_name(i)] for i in range(count))
    layers = tuple((layer, tuple(files[layer_name(layer, i)] for i in range(count))) for layer in artifact.manifest.get("layers", []))
    return Docs(artifact.ref, artifact.root, text, layers)
