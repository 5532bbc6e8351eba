"""--sample: a fixed choice of documents by the hash of their id, the same on every machine and for every later stage."""

from __future__ import annotations

import heapq
from pathlib import Path

import pyarrow as pa
import xxhash

from mspt.core.artifact import FileRecord
from mspt.core.files import sha256_file
from mspt.core.shards import Docs, layer_name, shard_name, write_docs, write_table

SEED = 0x6D737074  # "mspt": apart from the hash that chooses the validation split


def position(id_: str) -> float:
    """Where a document stands in [0, 1): a sample of share s holds the documents below s."""
    return xxhash.xxh64_intdigest(id_.encode(), seed=SEED) / 2**64


def threshold(docs: Docs, sample: str) -> tuple[float, float]:
    """(the position below which documents are in the sample, the share of all documents that these are)."""
    if sample.endswith("%"):
        share = float(sample[:-1]) / 100
        return share, share
    positions = [position(i) for shard in range(docs.num_shards) for i in docs.read(shard, ["id"], check=False).column("id").to_pylist()]
    wanted = int(sample)
    if wanted >= len(positions):
        return 1.0, 1.0
    lowest = heapq.nsmallest(wanted + 1, positions)
    return lowest[-1], wanted / len(positions)


def sampled_docs(docs: Docs, sample: str, directory: Path) -> tuple[Docs, float]:
    """A docs view of the sampled rows of every shard and layer, written to `directory`, and the share that it is."""
    limit, share = threshold(docs, sample)
    text: list[FileRecord] = []
    layers: dict[str, list[FileRecord]] = {name: [] for name in docs.layer_names}
    for shard in range(docs.num_shards):
        ids = docs.read(shard, ["id"]).column("id").to_pylist()
        mask = pa.array([position(i) < limit for i in ids], pa.bool_())
        text.append(_filtered(docs, docs.text[shard], mask, directory, shard_name(shard)))
        for name, files in docs.layers:
            layers[name].append(_filtered(docs, files[shard], mask, directory, layer_name(name, shard)))
    return Docs(docs.ref, directory, tuple(text), tuple((n, tuple(f)) for n, f in layers.items())), share


def _filtered(docs: Docs, file: FileRecord, mask: pa.Array, directory: Path, name: str) -> FileRecord:
    import pyarrow.parquet as pq

    table = pq.read_table(docs.root / file.path, use_threads=False, partitioning=None).filter(mask)
    path = directory / name
    (write_docs if name.startswith("docs-") else write_table)(path, table)
    return FileRecord(name, path.stat().st_size, sha256_file(path))
