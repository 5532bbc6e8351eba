"""What `mspt show` says of scored documents: quantiles of their columns and histograms of quality, by source and by language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mspt.core.quality.weights import percentile

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20  # of a histogram over 0 to 1
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

    def histograms(self, name: str) -> dict[str, Any]:
        """Of a column with values from 0 to 1: documents in each of BINS equal bins, {"all": [...], "by_source": {name: [...]}, "by_lang": {...}}, and in
        `tenths` the nine values that part the documents, put in order, into ten parts of the same size (fewer where many have one value)."""
        values = self._values[name]
        places = np.minimum((values * BINS).astype(np.int64), BINS - 1)
        found: dict[str, Any] = {"all": np.bincount(places, minlength=BINS).tolist()}
        for group, (names, codes) in self._groups.items():
            order = sorted(range(len(names)), key=names.__getitem__)
            found[f"by_{group}"] = {names[code]: np.bincount(places[codes == code], minlength=BINS).tolist() for code in order}
        ordered = np.sort(values)
        return {**found, "tenths": [percentile(ordered, tenth / 10) for tenth in range(1, 10)] if len(ordered) else []}

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
