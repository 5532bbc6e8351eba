"""Reading a shard part by part, so that a worker holds some row groups of its texts, never all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from mspt.core.shards import Docs

READ_BYTES = 16 * 2**20  # of uncompressed columns at a time: one row group as `write_table` cuts them


def parts_of(docs: Docs, shard: int, columns: Sequence[str], *, check: bool) -> Iterator[pa.Table]:
    """The rows of a shard in their order, some row groups at a time. check: compare the files with their sha256 first."""
    for number, rows in enumerate(docs.cut(shard, READ_BYTES)):
        yield docs.read(shard, columns, check=check and number == 0, rows=rows)
