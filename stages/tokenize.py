"""Turn documents into token ids, by source, in Megatron-LM's indexed format.

In: docs and a tokenizer. Every live document becomes one sequence: its tokens and eos.

Out: tokens: `<source>.bin` and `<source>.idx` (uint16 below 65,500 pieces, else int32), documents.parquet (sequence, id, source, num_tokens with eos,
num_bytes of text), and the tokenizer's files by hard link. Weights and clusters are not in it: pack-mindrecord reads those from docs, so that new
weights do not tokenise again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, setting
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.shards import Docs
    from mspt.core.tokens.tokenizer import Tokenizer

DOCUMENTS = "documents.parquet"


@dataclass(frozen=True, kw_only=True)
class TokenizeConfig(SampleSettings):
    batch: Annotated[int, setting("documents handed to the tokenizer at once", runtime=True, ge=1)] = 512


@dataclass(frozen=True)
class ShardTask:
    """What a worker needs to tokenise one docs shard."""

    docs: Docs
    shard: int
    tokenizer: Path
    batch: int


def run(job: Job[TokenizeConfig]) -> None:
    docs = job.docs("docs")
    tokenizer = job.artifact("tokenizer")
    for name in tokenizer_files(tokenizer.files):
        job.link(tokenizer.checked(name), name, tokenizer.files[name])
    tasks = [ShardTask(docs, shard, tokenizer.directory, job.config.batch) for shard in range(docs.num_shards)]
    units = [Unit(f"{task.shard:05d}", task, docs.bytes(task.shard)) for task in tasks]
    results = job.map_units(tokenize_shard, units, what="documents")
    table = write_sources(job, results)
    job.stats |= report(table)
    job.digest("tokenizer", tokenizer.digest("tokenizer"))
    job.count(records_in=sum(result.stats["documents"] for result in results), out=table.num_rows)


def tokenizer_files(files: Any) -> list[str]:
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES

    return [name for name in TOKENIZER_FILES if name in files]


@functools.lru_cache(maxsize=1)
def open_tokenizer(directory: Path) -> Tokenizer:
    """Once per worker."""
    from mspt.core.tokens.tokenizer import load

    return load(directory)


def tokenize_shard(task: ShardTask, out: UnitOutput) -> dict[str, Any]:
    """Write `<source>.bin` for each source of a shard, and the lines of the document table in order."""
    import numpy as np

    from mspt.core.shards import write_table
    from mspt.core.tokens.indexed import append_tokens, token_dtype

    tokenizer = open_tokenizer(task.tokenizer)
    dtype = token_dtype(tokenizer.vocab_size)
    live = task.docs.read_live(task.shard, ["id", "source", "text"])
    num_tokens: list[int] = []
    num_bytes: list[int] = []
    for start in range(0, live.num_rows, task.batch):
        part = live.slice(start, task.batch)
        texts = part.column("text").to_pylist()
        sequences = [np.append(ids, np.int32(tokenizer.eos_id)) for ids in tokenizer.encode_batch(texts)]
        sources = part.column("source").to_pylist()
        for source in dict.fromkeys(sources):
            append_tokens(out.path(f"{source}.bin"), (s for s, name in zip(sequences, sources, strict=True) if name == source), dtype)
        num_tokens += map(len, sequences)
        num_bytes += [len(text.encode("utf-8")) for text in texts]
        out.advance(task.docs.bytes(task.shard) * part.num_rows / live.num_rows)
    write_table(out.path(DOCUMENTS), document_table(live.column("id"), live.column("source"), num_tokens, num_bytes))
    return {"documents": live.num_rows, "dtype": dtype.name}


def document_table(ids: Any, sources: Any, num_tokens: Sequence[int], num_bytes: Sequence[int]) -> pa.Table:
    import pyarrow as pa

    return pa.table({"id": ids, "source": sources, "num_tokens": pa.array(num_tokens, pa.int64()), "num_bytes": pa.array(num_bytes, pa.int64())})


def write_sources(job: Job[TokenizeConfig], results: Sequence[UnitResult]) -> pa.Table:
    """Join the units' parts into one .bin/.idx per source; returns the document table, by source and sequence."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from mspt.core.shards import write_table
    from mspt.core.tokens.indexed import concatenate, write_index

    whole = pa.concat_tables([pq.read_table(result.path(DOCUMENTS), partitioning=None) for result in results])
    parts = []
    for source in sorted(set(whole.column("source").to_pylist())):
        name = f"{source}.bin"
        mine = whole.filter(pc.equal(whole.column("source"), source))
        with job.write(name) as path:
            concatenate([result.path(name) for result in results if any(file.path == name for file in result.files)], path)
        with job.write(f"{source}.idx") as path:
            write_index(path, mine.column("num_tokens").to_numpy(), np.dtype(results[0].stats["dtype"]))
        parts.append(mine.add_column(0, "sequence", pa.array(np.arange(mine.num_rows), pa.int64())))
    table = pa.concat_tables(parts) if parts else whole.add_column(0, "sequence", pa.array([], pa.int64()))
    with job.write(DOCUMENTS) as path:
        write_table(path, table.combine_chunks())
    return table


def report(table: pa.Table) -> dict[str, Any]:
    """Tokens by source, and how many tokens lie in documents of which length (by powers of two)."""
    import numpy as np

    grouped = table.group_by("source").aggregate([("num_tokens", "sum"), ("num_bytes", "sum"), ("id", "count")]).sort_by("source").to_pylist()
    sources = {
        row["source"]: {
            "documents": row["id_count"],
            "tokens": row["num_tokens_sum"],
            "bytes": row["num_bytes_sum"],
            "bytes_per_token": round(row["num_bytes_sum"] / row["num_tokens_sum"], 4),
        }
        for row in grouped
    }
    lengths = table.column("num_tokens").to_numpy()
    buckets = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    tokens = np.bincount(buckets, weights=lengths).astype(np.int64) if len(lengths) else np.empty(0, dtype=np.int64)
    return {
        "tokens": int(lengths.sum()),
        "sources": sources,
        "tokens_by_document_length": {f"<= {2**i}": int(count) for i, count in enumerate(tokens) if count},
    }


STAGE = Stage(
    order=60,
    config=TokenizeConfig,
    run=run,
    writes="tokens",
    libraries=("sentencepiece", "tokenizers", "pyarrow"),
    reads={"docs": Read("docs", producer="score", digest="text"), "tokenizer": Read("tokenizer", producer="train-tokenizer")},
    next="pack-mindrecord",
)
