"""What `mspt show` says of scored documents: quantiles of their columns by source and by language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mspt.core.quality.weights import percentile

QUANTILES = (0.05, 0.5, 0.95)
GROUPS = ("source", "lang")


class Summary:
    """Columns of documents, added shard by shard: 8 bytes a number."""

    def __init__(self, tables: Iterable[pa.Table], columns: Sequence[str]) -> None:
        """tables: source, lang and `columns` of documents that stay."""
        parts = [table.select([*GROUPS, *columns]) for table in tables]
        names = [pc.fill_null(column, "").dictionary_encode().combine_chunks() for column in (_joined(parts, group) for group in GROUPS)]
        self._groups = {group: (found.dictionary.to_pylist(), found.indices.to_numpy()) for group, found in zip(GROUPS, names, strict=True)}
        self._values = {name: _joined(parts, name).cast(pa.float64()).to_numpy() for name in columns}

    def column(self, name: str) -> list[float]:
        return list(self._values[name].tolist())

    def plain(self) -> dict[str, Any]:
        """{"all": {"documents", "quality_p5", ...}, "by_source": {name: {...}}, "by_lang": {...}}"""
        found: dict[str, Any] = {"all": self._quantiles(None)}
        for group, (names, codes) in self._groups.items():
            order = sorted(range(len(names)), key=names.__getitem__)
            found[f"by_{group}"] = {names[code]: self._quantiles(codes == code) for code in order}
        return found

    def _quantiles(self, mask: NDArray[np.bool_] | None) -> dict[str, Any]:
        columns = {name: values if mask is None else values[mask] for name, values in self._values.items()}
        found: dict[str, Any] = {"documents": len(next(iter(columns.values())))}
        for name, values in columns.items():
            ordered = np.sort(values[~np.isnan(values)])  # a missing number is NaN here
            if len(ordered):
                found |= {f"{name}_p{round(100 * share)}": round(percentile(ordered, share), 4) for share in QUANTILES}
        return found


def _joined(parts: Sequence[pa.Table], name: str) -> pa.ChunkedArray:
    kind = pa.string() if name in GROUPS else pa.float64()
    return pa.chunked_array([chunk.cast(kind) for part in parts for chunk in part.column(name).chunks], kind)
