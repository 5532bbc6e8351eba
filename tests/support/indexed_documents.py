"""Documents (records on disk) made of plain lists, as the stage makes them of two artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mspt.core.tokens.documents import Attachment, Documents, append_documents, longest_id


def table_of(ids: Sequence[str], sources: Sequence[str], tokens: Sequence[int], num_bytes: Sequence[int] | None = None) -> pa.Table:
    """The document table: sources in order of their names, sequences counted."""
    order = sorted(range(len(ids)), key=lambda i: sources[i])
    counts: dict[str, int] = {}
    rows = []
    for i in order:
        number = counts.setdefault(sources[i], 0)
        counts[sources[i]] += 1
        size = int(tokens[i]) if num_bytes is None else int(num_bytes[i])
        rows.append({"sequence": number, "id": ids[i], "source": sources[i], "num_tokens": int(tokens[i]), "num_bytes": size})
    schema = pa.schema([("sequence", pa.int64()), ("id", pa.string()), ("source", pa.string()), ("num_tokens", pa.int64()), ("num_bytes", pa.int64())])
    return pa.Table.from_pylist(rows, schema)


def index(folder: Path, ids: Sequence[str], sources: Sequence[str], tokens: Sequence[int], *, seed: int = 0, shard: int = 1000, **columns: Any) -> Documents:
    """columns: cluster, weight; num_bytes of the table."""
    table = table_of(ids, sources, tokens, columns.pop("num_bytes", None))
    found = append_documents(folder / "documents", [table], longest_id([table]))
    attachment = Attachment(found, seed)
    live = pa.table({"id": list(ids), "source": list(sources), **columns})
    for first in range(0, live.num_rows, shard):
        part = live.slice(first, shard)
        attachment.add(part, np.ones(part.num_rows, np.bool_))
    attachment.finish()
    return found


def everything(documents: Documents) -> np.ndarray:
    return documents.read(0, len(documents))
