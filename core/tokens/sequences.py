"""The documents behind token sequences, column by column: what pack-mindrecord chooses from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.tokens.mixture import Corpus
from mspt.core.tokens.packing import RowPlan, join, pack
from mspt.core.tokens.split import order_key

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sequences:
    """One entry per sequence; `codes` number the sources, `sequence` is its place in the source's .bin/.idx."""

    ids: list[str]
    sources: tuple[str, ...]
    codes: Ints
    sequence: Ints
    num_tokens: Ints  # end included
    num_bytes: Ints
    keys: list[str]  # near-duplicate cluster, else id
    weights: npt.NDArray[np.float64]

    def corpus(self, rows: Ints, seed: int) -> Corpus:
        """Some of them as the mixture wants them."""
        order = np.array([order_key(seed, self.ids[i]) for i in rows], dtype=np.uint64)
        return Corpus(self.sources, self.codes[rows], self.num_tokens[rows], self.weights[rows], order)

    def by_source(self, chosen: Mask) -> dict[str, dict[str, int]]:
        """Documents, tokens and bytes of the chosen ones."""
        masks = {name: chosen & (self.codes == code) for code, name in enumerate(self.sources)}
        return {
            name: {"documents": int(mask.sum()), "tokens": int(self.num_tokens[mask].sum()), "bytes": int(self.num_bytes[mask].sum())}
            for name, mask in masks.items()
        }


def join_documents(table: pa.Table, live: pa.Table, *, drop_missing: bool) -> Sequences:
    """The document table of tokens with what docs say of each document.

    Args:
        table: sequence, id, source, num_tokens, num_bytes.
        live: id and, where docs have them, cluster and weight. No weight counts as 1, no cluster as one of its own.
        drop_missing: leave out the documents that `live` does not hold; otherwise each is there (the lineage was checked).
    """
    where = pc.index_in(table.column("id"), value_set=live.column("id").combine_chunks())
    if drop_missing:
        table, where = table.filter(pc.is_valid(where)), where.drop_null()
    joined = live.take(where)
    ids: list[str] = table.column("id").to_pylist()
    clusters = joined.column("cluster").to_pylist() if "cluster" in joined.column_names else [None] * len(ids)
    weights = joined.column("weight").cast(pa.float64()).fill_null(1.0).to_numpy() if "weight" in joined.column_names else np.ones(len(ids))
    sources, codes = np.unique(np.array(table.column("source").to_pylist(), dtype=str), return_inverse=True)
    sequence, num_tokens, num_bytes = (table.column(name).to_numpy().astype(np.int64) for name in ("sequence", "num_tokens", "num_bytes"))
    keys = [cluster or i for cluster, i in zip(clusters, ids, strict=True)]
    return Sequences(ids, tuple(map(str, sources)), codes.astype(np.int64), sequence, num_tokens, num_bytes, keys, weights)


def pack_by_source(found: Sequences, chosen: Mask, row_tokens: int, max_documents: int, seed: int, max_padding: float) -> RowPlan:
    """Rows of one source each, sources in order: a validation row says something about one source."""
    members = [np.flatnonzero(chosen & (found.codes == code)) for code in range(len(found.sources))]
    return join([pack(found.num_tokens, rows, row_tokens, max_documents, seed, max_padding) for rows in members])
