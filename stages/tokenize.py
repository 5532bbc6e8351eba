"""Turn documents into token ids, by source, in Megatron-LM's indexed format.

In: docs and a tokenizer. Every live document becomes one sequence: its tokens and eos.

Out: tokens: `<source>.bin` and `<source>.idx` (uint16 below 65,500 pieces, else int32), documents.parquet (sequence, id, source, num_tokens with eos,
num_bytes of text), and the tokenizer's files by hard link. Weights and clusters are not in it: pack-mindrecord reads those from docs, so that new
weights do not tokenise again. The report has tokens by source and language and by length of document; languages are those that docs had when it ran.

The ids are those that the tokenizer gives for each whole text. Those of BPE models of SentencePiece are computed by compiled loops over the columns'
bytes, which give exactly the same (core/tokens/merging.py).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, setting
from mspt.core.errors import InputError
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from mspt.core.shards import Docs
    from mspt.core.tokens.encoding import Sequences
    from mspt.core.tokens.tokenizer import Tokenizer

DOCUMENTS = "documents.parquet"
UNIT_BYTES = 32 * 2**20  # of uncompressed text: what a kill costs
MIN_UNITS = 8  # of a small corpus, if it has as many row groups: else one worker has it all. Not by the number of workers, which may change before a resumption


@dataclass(frozen=True, kw_only=True)
class TokenizeConfig(SampleSettings):
    batch: Annotated[int, setting("documents handed to the tokenizer at once", runtime=True, ge=1)] = 512


@dataclass(frozen=True)
class RangeTask:
    """What a worker needs to tokenise a range of rows of one docs shard (the only one in `docs`)."""

    docs: Docs
    rows: tuple[int, int]
    tokenizer: Path
    batch: int


def run(job: Job[TokenizeConfig]) -> None:
    from mspt.core.tokens.tally import Tally

    docs = job.docs("docs")
    tokenizer = job.artifact("tokenizer")
    for name in tokenizer_files(tokenizer.files):
        job.link(tokenizer.checked(name), name, tokenizer.files[name])
    results = job.map_units(tokenize_range, units_of(docs, tokenizer.directory, job.config.batch), what="documents")
    tally = Tally.total(result.stats for result in results)
    if not tally.documents:
        raise InputError(f"{docs.ref} holds no live document", "mspt show on the docs says where they went")
    rows = join_parts(job, results)
    job.stats |= tally.report()
    job.note(f"{tally.tokens:,} tokens in {rows:,} documents, {job.stats['tokens_per_worker_second']:,} tokens/s for each worker")
    job.digest("tokenizer", tokenizer.digest("tokenizer"))
    job.count(records_in=tally.documents, out=rows)


def tokenizer_files(files: Any) -> list[str]:
    from mspt.core.tokens.pieces import TOKENIZER_FILES

    return [name for name in TOKENIZER_FILES if name in files]


# --- the work of a worker ----------------------------------------------------------------------------------------------


def units_of(docs: Docs, tokenizer: Path, batch: int) -> list[Unit]:
    """Ranges of rows, so that all workers have something to do whatever the number of shards."""
    units = []
    most = min(UNIT_BYTES, sum(map(docs.bytes, range(docs.num_shards))) // MIN_UNITS)
    for shard in range(docs.num_shards):
        one, size, count = docs.one(shard), docs.bytes(shard), max(1, docs.num_rows(shard))
        for rows in docs.cut(shard, most):
            task = RangeTask(one, rows, tokenizer, batch)
            units.append(Unit(f"{shard:05d}-{rows[0]:010d}-{rows[1]:010d}", task, size * (rows[1] - rows[0]) // count))
    return units


@functools.lru_cache(maxsize=1)
def open_tokenizer(directory: Path) -> Tokenizer:
    """Once per worker."""
    from mspt.core.tokens.tokenizer import load

    return load(directory)


@functools.lru_cache(maxsize=4)
def check_shard(root: Path, paths: tuple[str, ...], docs: Docs) -> None:
    """The bytes of a shard's files against their recorded hashes, once per worker."""
    from mspt.core.artifact import check_file

    for record in docs.files(0):
        check_file(root / record.path, record, docs.ref)


def tokenize_range(task: RangeTask, out: UnitOutput) -> dict[str, Any]:
    """Write `<source>.bin` and `<source>.parquet` (core/tokens/joining.py) for each source of a range of rows."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from mspt.core.tokens.indexed import token_dtype
    from mspt.core.tokens.joining import PART
    from mspt.core.tokens.tally import Tally

    started, tally, tokenizer = time.monotonic(), Tally(), open_tokenizer(task.tokenizer)
    check_shard(task.docs.root, tuple(record.path for record in task.docs.files(0)), task.docs)
    dtype = token_dtype(tokenizer.vocab_size)
    rows: dict[str, list[pa.Table]] = {}
    for step in steps_of(task):
        for source, mine in by_source(task, step):
            lengths = write_tokens(out.path(f"{source}.bin"), tokenizer.sequences(mine.column("text"), task.batch), dtype)
            num_bytes = pc.binary_length(mine.column("text")).to_numpy().astype(np.int64)
            tally.add(source, mine.column("lang").to_pylist() if "lang" in mine.column_names else [None] * mine.num_rows, lengths, num_bytes)
            rows.setdefault(source, []).append(pa.table([mine.column("id"), lengths, num_bytes], schema=PART))
        out.advance(task.docs.bytes(0) * (step[1] - step[0]) / max(1, task.docs.num_rows(0)))
    for source, tables in rows.items():
        pq.write_table(pa.concat_tables(tables), out.path(f"{source}.parquet"), compression="zstd")
    tally.seconds = time.monotonic() - started
    return {**tally.plain(), "dtype": dtype.name}


def steps_of(task: RangeTask) -> list[tuple[int, int]]:
    """The task's rows by row group: what a worker holds at once."""
    return [step for step in task.docs.cut(0, 1) if task.rows[0] <= step[0] and step[1] <= task.rows[1]]


def by_source(task: RangeTask, step: tuple[int, int]) -> Iterator[tuple[str, pa.Table]]:
    """(source, its live documents: id, text and, where docs have it, lang) of some rows, in the order of the names of sources."""
    import pyarrow.compute as pc

    columns = ["id", "source", "text", *(["lang"] if "lang" in task.docs.columns() else [])]
    live = task.docs.read_live(0, columns, check=False, rows=step)
    check_texts(live.column("text"), task.docs.ref)
    sources = sorted(pc.unique(live.column("source")).to_pylist())
    for source in sources:
        check_name(source)
        yield source, live if len(sources) == 1 else live.filter(pc.equal(live.column("source"), source))


def write_tokens(path: Path, sequences: Iterator[Sequences], dtype: np.dtype[Any]) -> Any:
    """Append ids; int64 [documents]: tokens of each, its end included."""
    import numpy as np

    lengths = [np.empty(0, np.int64)]
    with path.open("ab") as handle:
        for ids, sizes in sequences:
            handle.write(ids.astype(dtype.newbyteorder("<")).data)
            lengths.append(sizes)
    return np.concatenate(lengths)


def check_texts(texts: pa.ChunkedArray, ref: str) -> None:
    """The compiled loops read bytes and rely on them."""
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(f"{ref} holds a text that is not UTF-8: {error}", "make the docs again") from None
    if texts.null_count:
        raise InputError(f"{ref} holds {texts.null_count} documents whose text is null", "make the docs again; an empty text is allowed, none is not")


def check_name(source: str) -> None:
    """A source is the name of files."""
    if not source or "/" in source or source.startswith("."):
        raise InputError(
            f"{source!r} cannot be the name of a source: its tokens are files of that name", "name the source otherwise: mspt clean --source NAME=PATH"
        )


# --- joining -----------------------------------------------------------------------------------------------------------


def join_parts(job: Job[TokenizeConfig], results: Sequence[UnitResult]) -> int:
    """One .bin/.idx for each source and the table of documents out of the units' parts; returns the number of documents."""
    import numpy as np

    from mspt.core.tokens import joining
    from mspt.core.tokens.indexed import concatenate, write_index_parts

    dtype = np.dtype(results[0].stats["dtype"])
    tables: list[tuple[str, list[Path]]] = []
    for source in sorted({source for result in results for source, *_ in result.stats["groups"]}):
        mine = [result for result in results if any(source == group[0] for group in result.stats["groups"])]
        paths = [result.path(f"{source}.parquet") for result in mine]
        with job.write(f"{source}.bin") as path:
            concatenate([result.path(f"{source}.bin") for result in mine], path)
        with job.write(f"{source}.idx") as path:
            write_index_parts(path, functools.partial(joining.part_lengths, paths), joining.num_rows(paths), dtype)
        tables.append((source, paths))
    with job.write(DOCUMENTS) as path:
        return joining.write_documents(path, tables)


STAGE = Stage(
    order=60,
    config=TokenizeConfig,
    run=run,
    writes="tokens",
    revision=3,
    libraries=("sentencepiece", "tokenizers", "pyarrow"),
    reads={"docs": Read("docs", producer="score", digest="text"), "tokenizer": Read("tokenizer", producer="train-tokenizer")},
    next="pack-mindrecord",
)
