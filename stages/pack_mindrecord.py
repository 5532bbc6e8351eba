"""Pack token sequences into training rows in MindRecord files.

In: tokens, and the docs that they were made from (their weights and clusters; the lineage is checked). Validation documents are chosen by hash
of their cluster or id. Training documents enter once each, or, with `target_tokens` or `shares`, as often as the mixture says.

Out: mindrecord: train-NNNNN.mindrecord and validation-NNNNN.mindrecord (each with its .db) with rows of input_ids [S], labels [S], actual_seq_len [D], beside
them rows-<split>-NNNNN.parquet (which document lies where, and its bytes), and the tokenizer's files by hard link. Whole documents go first, rows are
filled best-fit and put in a seeded order, no token of a drawn document is dropped (core/tokens/packing.py, rows.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mspt.core.config import SampleSettings, parse_bytes, setting
from mspt.core.errors import InputError, MsptError
from mspt.core.stage import Job, Read, Stage, Unit, UnitOutput, UnitResult

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.artifact import Artifact
    from mspt.core.shards import Docs
    from mspt.core.tokens.indexed import IndexedTokens
    from mspt.core.tokens.mixture import MixtureSettings
    from mspt.core.tokens.packing import RowPlan
    from mspt.core.tokens.rows import Piece, RowBatch, RowFormat
    from mspt.core.tokens.sequences import Sequences
    from mspt.core.tokens.split import Split
    from mspt.core.tokens.tokenizer import Tokenizer

DOCUMENTS = "documents.parquet"
BATCH_ROWS = 256
# A row whose documents are mostly this much shorter than it learns little about long context.
SHORT_DOCUMENT = 8


@dataclass(frozen=True, kw_only=True)
class PackMindrecordConfig(SampleSettings):
    seq_length: Annotated[int, setting("positions of a row", ge=16, le=2**20)] = 2048
    max_documents: Annotated[int, setting("segments that a row may list, padding included (MindFormers: eod_pad_length)", ge=2, le=4096)] = 128
    validation_share: Annotated[float, setting("share of the documents held out for validation, by hash of their cluster or id", ge=0, le=0.5)] = 0.01
    max_padding: Annotated[float, setting("padding above which whole documents are cut to fill gaps", ge=0, le=1)] = 0.005
    weights: Annotated[Literal["on", "off"], setting("off: every document once, whatever its weight and the mixture")] = "on"
    target_tokens: Annotated[int | None, setting("tokens to draw in all; unset: as many as there are", ge=1)] = None
    shares: Annotated[tuple[str, ...], setting("share of a source in the mixture; the others divide the rest by size", metavar="NAME=SHARE")] = ()
    max_epochs: Annotated[float, setting("how often a document is drawn at most", gt=0)] = 4.0
    source_epochs: Annotated[tuple[str, ...], setting("another such limit for one source", metavar="NAME=EPOCHS")] = ()
    seed: Annotated[int, setting("seed of the draw and of the order of rows", ge=0, lt=2**63)] = 0
    shard_bytes: Annotated[int, setting("rows in one file, before MindRecord shortens them", ge=2**16, convert=parse_bytes, metavar="SIZE")] = 128 * 2**20


@dataclass(frozen=True)
class ShardTask:
    """One file to write: rows `first_row` and on of a split. Its pieces lie in `plan` (npz), so that tasks stay small."""

    plan: Path
    tokens: Path
    name: str
    first_row: int
    num_rows: int
    rows_per_file: int
    form: RowFormat
    sources: tuple[str, ...]


def run(job: Job[PackMindrecordConfig]) -> None:
    from mspt.core.tokens.sequences import pack_by_source
    from mspt.core.tokens.split import choose_validation
    from mspt.core.tokens.tokenizer import load

    config, tokens = job.config, job.artifact("tokens")
    check_lineage(tokens, job.artifact("docs"))
    for name in tokens.files:
        tokens.checked(name)  # the workers map them without looking
    found = read_sequences(tokens, job.docs("docs"), sampled=config.sample is not None)
    split = choose_validation(found.keys, [found.sources[c] for c in found.codes], found.num_tokens, config.validation_share, config.seq_length)
    train = pack_training(job, found, split)
    validation = pack_by_source(found, split.validation, config.seq_length, config.max_documents, config.seed, config.max_padding)
    if not train.num_rows:
        raise MsptError("no document is left for training", "lower --validation-share, or give more documents: mspt show on the tokens")
    tokenizer, folder = load(tokens.directory), tokens.directory
    tasks = [*shard_tasks(job, "train", train, found, folder, tokenizer), *shard_tasks(job, "validation", validation, found, folder, tokenizer)]
    units = [Unit(task.name, task, task.num_rows * row_size(config)) for task in tasks]
    publish(job, tasks, job.map_units(write_shard, units, what="rows"))
    for name, record in tokenizer_records(tokens):
        job.link(tokens.path(name), name, record)
    job.digest("tokenizer", tokens.digest("tokenizer"))
    job.stats |= report(job, found, split, train, validation)


def check_lineage(tokens: Artifact, docs: Artifact) -> None:
    """The docs must be those that were tokenised: same ids, text, sources and keep."""
    recorded = next(record for record in tokens.inputs if record.name == "docs")
    if recorded.fingerprint != docs.digest("text"):
        raise MsptError(
            f"{tokens.ref} was made from {recorded.ref}, the text of {docs.ref} is another",
            f"give the docs that belong to the tokens (--docs {recorded.ref}), or tokenise {docs.ref} first",
        )


# --- what is there -----------------------------------------------------------------------------------------------------


def read_sequences(tokens: Artifact, docs: Docs, *, sampled: bool) -> Sequences:
    """The document table of `tokens` joined with the live documents' clusters and weights. With --sample the documents outside it drop out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mspt.core.tokens.sequences import join_documents

    table = pq.read_table(tokens.checked(DOCUMENTS), partitioning=None)
    extra = [name for name in ("cluster", "weight") if name in docs.columns()]
    live = pa.concat_tables(list(docs.iterate_live(["id", *extra])))
    if live.num_rows == 0 or table.num_rows == 0:
        raise InputError(f"{tokens.ref} holds no document", "mspt show on the docs says where they went")
    return join_documents(table, live, drop_missing=sampled)


# --- what goes where ---------------------------------------------------------------------------------------------------


def pack_training(job: Job[PackMindrecordConfig], found: Sequences, split: Split) -> RowPlan:
    """Draw the mixture of the documents that are not held out and pack it."""
    import numpy as np

    from mspt.core.tokens.mixture import draw
    from mspt.core.tokens.packing import pack

    config = job.config
    rows = np.flatnonzero(~split.validation)
    mixture = draw(found.corpus(rows, config.seed), mixture_settings(config))
    job.stats["mixture"] = {source.source: source.report() for source in mixture.sources}
    left_out = sum(source.left_out for source in mixture.sources)
    job.count(records_in=len(found.ids), out=len(found.ids) - left_out, rejected={"mixture": left_out} if left_out else {})
    drawn = np.repeat(rows, mixture.copies)
    return pack(found.num_tokens, drawn, config.seq_length, config.max_documents, config.seed, config.max_padding)


def mixture_settings(config: PackMindrecordConfig) -> MixtureSettings:
    from mspt.core.tokens.mixture import MixtureSettings

    return MixtureSettings(
        target_tokens=config.target_tokens,
        shares=parse_pairs("shares", config.shares),
        max_epochs=config.max_epochs,
        source_epochs=parse_pairs("source_epochs", config.source_epochs),
        use_weights=config.weights == "on",
        seed=config.seed,
    )


def parse_pairs(name: str, values: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """("web=0.6", "books=0.4") -> (("web", 0.6), ("books", 0.4))."""
    pairs = []
    for value in values:
        source, _, number = value.partition("=")
        try:
            pairs.append((source.strip(), float(number)))
        except ValueError:
            raise MsptError(f"{name}: {value!r} is not NAME=NUMBER", f'for example {name} = ["web=0.6"]') from None
    return tuple(pairs)


# --- writing -----------------------------------------------------------------------------------------------------------


def row_size(config: PackMindrecordConfig) -> int:
    from mspt.core.tokens.mindrecord import row_bytes

    return row_bytes(config.seq_length, config.max_documents)


def shard_tasks(job: Job[PackMindrecordConfig], split: str, plan: RowPlan, found: Sequences, tokens: Path, tokenizer: Tokenizer) -> Iterator[ShardTask]:
    """Cut a split into files of about `shard_bytes` and lay each one's pieces down for its worker."""
    import numpy as np

    from mspt.core.tokens.rows import RowFormat

    config = job.config
    filler = tokenizer.special.pad if tokenizer.special.pad is not None else tokenizer.eos_id
    form = RowFormat(config.seq_length, config.max_documents, tokenizer.prefix_id, filler)
    step = max(1, config.shard_bytes // row_size(config))
    for number, first in enumerate(range(0, plan.num_rows, step)):
        last = min(first + step, plan.num_rows)
        span = plan.pieces_of(first, last)
        document = plan.document[span]
        path = job.scratch("plan") / f"{split}-{number:05d}.npz"
        np.savez(
            path,
            row=plan.row[span] - first,
            start=plan.start[span],
            length=plan.length[span],
            code=found.codes[document],
            sequence=found.sequence[document],
            num_bytes=found.num_bytes[document],
            id=np.array([found.ids[d] for d in document], dtype=np.str_),
            token_bytes=tokenizer.token_bytes,
        )
        yield ShardTask(path, tokens, f"{split}-{number:05d}", first, last - first, min(step, plan.num_rows), form, found.sources)


@functools.lru_cache(maxsize=4096)
def open_source(directory: Path, source: str) -> IndexedTokens:
    """Once per worker."""
    from mspt.core.tokens.indexed import IndexedTokens

    return IndexedTokens(directory / f"{source}.bin", directory / f"{source}.idx")


def read_pieces(task: ShardTask) -> tuple[list[list[Piece]], npt.NDArray[np.int32]]:
    """The pieces of each row of a shard, their tokens memory-mapped, and the bytes of every token of the vocabulary."""
    import numpy as np

    from mspt.core.tokens.rows import Piece

    rows: list[list[Piece]] = [[] for _ in range(task.num_rows)]
    with np.load(task.plan) as plan:
        columns = [plan[name].tolist() for name in ("row", "code", "sequence", "start", "length", "id", "num_bytes")]
        token_bytes = plan["token_bytes"]
    for row, code, sequence, start, length, id_, num_bytes in zip(*columns, strict=True):
        source = task.sources[code]
        rows[row].append(Piece(open_source(task.tokens, source)[sequence], start, length, id_, source, num_bytes))
    return rows, token_bytes


def write_shard(task: ShardTask, out: UnitOutput) -> dict[str, Any]:
    """Write one MindRecord file under its own name in a folder of its own, move it out, and its provenance beside it."""
    from mspt.core.files import temporary_name
    from mspt.core.shards import write_table
    from mspt.core.tokens import mindrecord, rows

    form = task.form
    pieces, token_bytes = read_pieces(task)
    size = mindrecord.row_bytes(form.row_tokens, form.max_documents)

    def batches() -> Iterator[RowBatch]:
        for first in range(0, task.num_rows, BATCH_ROWS):
            part = pieces[first : first + BATCH_ROWS]
            yield rows.fill_rows(part, form)
            out.advance(len(part) * size)

    building = temporary_name(out.directory / "building")
    building.mkdir(parents=True)
    path = building / f"{task.name}{mindrecord.SUFFIX}"
    mindrecord.write(path, batches(), task.rows_per_file, form.row_tokens, form.max_documents)
    mindrecord.move(path, out.path(path.name), out.path(mindrecord.database(path).name))
    building.rmdir()
    write_table(out.path(f"rows-{task.name}.parquet"), rows.provenance(pieces, task.first_row, token_bytes))
    return {"rows": task.num_rows}


def publish(job: Job[PackMindrecordConfig], tasks: Sequence[ShardTask], results: Sequence[UnitResult]) -> None:
    """The units' files under the same names, the rows before their .db."""
    for task, result in zip(tasks, results, strict=True):
        for name in (f"{task.name}.mindrecord", f"{task.name}.mindrecord.db", f"rows-{task.name}.parquet"):
            job.link(result.path(name), name, result.record(name))


def tokenizer_records(tokens: Artifact) -> list[tuple[str, Any]]:
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES

    return [(name, tokens.files[name]) for name in TOKENIZER_FILES if name in tokens.files]


# --- what it came to ---------------------------------------------------------------------------------------------------


def report(job: Job[PackMindrecordConfig], found: Sequences, split: Split, train: RowPlan, validation: RowPlan) -> dict[str, Any]:
    """Figures for `mspt show`, and the warnings that they call for."""
    import numpy as np

    config = job.config
    short = found.num_tokens < config.seq_length // SHORT_DOCUMENT
    short_share = float(found.num_tokens[short].sum() / found.num_tokens.sum())
    if short_share > 0.5:
        job.warn(f"{short_share:.0%} of the tokens come from documents shorter than an eighth of a row ({config.seq_length // SHORT_DOCUMENT} tokens)")
    if train.padding_ratio > max(config.max_padding, 0.005) and train.num_rows > 100:
        job.warn(f"{train.padding_ratio:.1%} of the training rows is padding: rows list at most {config.max_documents} segments (--max-documents)")
    if split.thin:
        job.warn(f"too little text for a validation row: {', '.join(split.thin)}")
    return {
        "rows": {"train": train.num_rows, "validation": validation.num_rows},
        "tokens": {"train": train.num_positions, "validation": validation.num_positions},
        "padding_ratio": {"train": round(train.padding_ratio, 6), "validation": round(validation.padding_ratio, 6)},
        "documents_cut": {"train": train.split_documents, "validation": validation.split_documents},
        "segments_per_row": round(len(train.row) / train.num_rows, 3),
        "longest_document": int(np.max(found.num_tokens)),
        "short_document_share": round(short_share, 4),
        "validation": found.by_source(split.validation),
        "thin_sources": list(split.thin),
    }


STAGE = Stage(
    order=70,
    config=PackMindrecordConfig,
    run=run,
    writes="mindrecord",
    libraries=("mindspore", "numpy", "pyarrow"),
    reads={"tokens": Read("tokens", producer="tokenize"), "docs": Read("docs", producer="score")},
    next="train",
)
