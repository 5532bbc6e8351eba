"""Reading a shard row group by row group, so that a worker holds one of them, never all of its texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.artifact import check_file
from mspt.core.shards import Docs


def parts_of(docs: Docs, shard: int, columns: Sequence[str], *, check: bool) -> Iterator[pa.Table]:
    """The rows of a shard in their order, one row group of the text shard after another, layers applied. Columns that nothing has raise KeyError.

    check: compare the files with their sha256 first. The text file stays open from group to group: opening it for each costs a tenth of the stage in pages
    that the system hands out anew.
    """
    for record in docs.files(shard) if check else ():
        check_file(docs.root / record.path, record, docs.ref)
    layers = _layer_columns(docs, shard, columns)
    with pq.ParquetFile(docs.root / docs.text[shard].path) as file:
        own = [name for name in file.schema_arrow.names if name in columns and name not in layers]
        start = 0
        for number in range(file.num_row_groups):
            group = file.read_row_group(number, columns=own, use_threads=False)
            num = file.metadata.row_group(number).num_rows
            yield _with_layers(group, {name: column.slice(start, num) for name, column in layers.items()}, num, columns)
            start += num
        if not file.num_row_groups:
            yield _with_layers(file.schema_arrow.empty_table().select(own), layers, 0, columns)


def _layer_columns(docs: Docs, shard: int, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """What layers say, whole: a few bytes a document."""
    found: dict[str, Any] = {}
    for _, files in docs.layers:
        path = docs.root / files[shard].path
        names = [name for name in pq.read_schema(path).names if name in columns]
        table = pq.read_table(path, columns=names, use_threads=False, partitioning=None) if names else None
        found |= {name: table.column(name) for name in names} if table is not None else {}
    return found


def _with_layers(group: pa.Table, layers: dict[str, pa.ChunkedArray], num: int, columns: Sequence[str]) -> pa.Table:
    found = {**{name: group.column(name) for name in group.column_names}, **layers}
    if "keep" in columns and "keep" not in found:
        found["keep"] = pa.chunked_array([pa.array([True] * num, pa.bool_())])
    return pa.table({name: found[name] for name in columns})
