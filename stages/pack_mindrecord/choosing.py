"""Which documents there are, and how often each is drawn: two passes over the documents, kept on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mspt.core.errors import InputError
from mspt.core.memory import give_back
from mspt.core.tokens.documents import ABSENT, LEAKED, TRAIN, VALIDATION, Attachment, Documents, Records, append_documents, longest_id
from mspt.core.tokens.mixture import Chunk, Mixture, Tally
from mspt.stages.pack_mindrecord.phases import mixture_settings

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.shards import Docs
    from mspt.core.stage import Job
    from mspt.stages.pack_mindrecord import PackMindrecordConfig

DOCUMENTS = "documents.parquet"  # of tokens
BATCH = 2**12  # lines of it, and of docs, at once: each id is an object of Python's for a moment

Ints = npt.NDArray[np.int64]


# --- what there is -----------------------------------------------------------------------------------------------------


def index_documents(job: Job[PackMindrecordConfig]) -> Documents:
    """The document table of tokens joined with the live documents' clusters and weights. With --sample the documents outside it are ABSENT."""
    with _memory_given_back():
        documents = _read_table(job)
        if not len(documents):
            raise InputError(f"{job.artifact('tokens').ref} holds no document", "mspt show on the docs says where they went")
        _attach(job, documents)
    return documents


@contextlib.contextmanager
def _memory_given_back() -> Iterator[None]:
    """Arrow's own allocator keeps what it has taken once: 50 MB on 100 M tokens, where 4 are used at a time. The system's does not."""
    import pyarrow as pa

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
        give_back()


def _read_table(job: Job[PackMindrecordConfig]) -> Documents:
    table = job.artifact("tokens").path(DOCUMENTS)
    width = longest_id(_batches(table, ["id"]))
    return append_documents(job.scratch("plan") / "documents", _batches(table, None), width)


def _attach(job: Job[PackMindrecordConfig], documents: Documents) -> None:
    from mspt.core.shards import open_docs

    docs = open_docs(job.inputs["docs"])
    attachment = Attachment(documents, job.config.seed)
    extra = [name for name in ("cluster", "weight") if name in docs.columns()]
    inside = sampler(job, docs)
    for live in docs.iterate_live(["id", "source", *extra]):
        for first in range(0, live.num_rows, BATCH):
            part = live.slice(first, BATCH)
            attachment.add(part, inside(part))
    attachment.finish()


def _batches(path: Path, columns: list[str] | None) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH, columns=columns, use_threads=False):
            yield pa.Table.from_batches([batch])


class sampler:  # noqa: N801 - a function that remembers its threshold
    """Which live documents take part: all, or with --sample those of the sample."""

    def __init__(self, job: Job[PackMindrecordConfig], docs: Docs) -> None:
        from mspt.core.sample import threshold

        self.limit = 1.0
        if job.config.sample is not None:
            self.limit, job.sample_share = threshold(docs, job.config.sample)
            job.note(f"sample {job.config.sample}: {job.sample_share:.2%} of the documents of {docs.ref}")

    def __call__(self, live: pa.Table) -> npt.NDArray[np.bool_]:
        from mspt.core.sample import position

        if self.limit >= 1:
            return np.ones(live.num_rows, np.bool_)
        return np.array([position(id_) < self.limit for id_ in live.column("id").to_pylist()], np.bool_)


# --- what is drawn -----------------------------------------------------------------------------------------------------


class TrainingDocuments:
    """The training documents as the mixture wants them."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents

    @property
    def names(self) -> tuple[str, ...]:
        return self.documents.sources

    def chunks(self) -> Iterator[Chunk]:
        """One for each chunk of records, some perhaps empty."""
        for code, _, records in self.documents.chunks():
            train = records[records["side"] == TRAIN]
            yield Chunk(code, train["tokens"].astype(np.int64), train["weight"].copy(), train["order"].copy())


@dataclass
class Drawn:
    """What was drawn: copies of every document on disk, and figures.

    positions, pieces: [phases] of training: tokens, and about how many items they make; held: by source {documents, tokens, bytes} of validation; tokens:
    drawn, by power of two of the document's length; sides: documents on each side.
    """

    path: Path
    tally: Tally
    positions: Ints
    pieces: Ints
    held: dict[str, dict[str, int]] = field(default_factory=dict)
    lengths: Ints = field(default_factory=lambda: np.zeros(34, np.int64))
    short_tokens: int = 0
    longest: int = 0
    sides: Ints = field(default_factory=lambda: np.zeros(4, np.int64))

    @property
    def num_phases(self) -> int:
        return len(self.positions)

    def copies(self, documents: Documents) -> Iterator[tuple[int, int, Records, Ints]]:
        """(source code, first, records, copies [phases, n]) of every chunk; a validation document has one copy in the first phase."""
        with self.path.open("rb") as file:
            for code, first, records in documents.chunks():
                copies = np.fromfile(file, "<i4", self.num_phases * len(records)).reshape(self.num_phases, -1).astype(np.int64)
                yield code, first, records, copies


def draw(job: Job[PackMindrecordConfig], documents: Documents) -> Drawn:
    """Draw the mixture of the documents that are not held out."""
    config = job.config
    mixture = Mixture(TrainingDocuments(documents), mixture_settings(config))
    phases = len(mixture.settings.phases)
    drawn = Drawn(job.scratch("plan") / "copies", Tally(mixture), np.zeros(phases, np.int64), np.zeros(phases, np.int64))
    with drawn.path.open("wb") as out:
        for (_, _, records), (chunk, copies) in zip(documents.chunks(), mixture.draw(), strict=True):
            drawn.tally.add(chunk, copies)
            every = np.zeros((phases, len(records)), np.int64)
            every[:, records["side"] == TRAIN] = copies
            count(drawn, records, every, config.seq_length)
            every[0, records["side"] == VALIDATION] = 1
            out.write(every.astype("<i4").tobytes())
    drawn.held |= held_out(documents)
    left_out = int(drawn.tally.left_out.sum())
    rejected = {"mixture": left_out, "in-validation": int(drawn.sides[LEAKED])}
    there = int(drawn.sides.sum() - drawn.sides[ABSENT])
    job.count(records_in=there, out=there - sum(rejected.values()), rejected={rule: n for rule, n in rejected.items() if n})
    return drawn


def count(drawn: Drawn, records: Records, copies: Ints, row_tokens: int) -> None:
    """Add a chunk's training copies to the figures."""
    from mspt.stages.pack_mindrecord.reporting import SHORT_DOCUMENT

    tokens = records["tokens"].astype(np.int64)
    taken = copies.sum(axis=0) * tokens
    drawn.positions += copies @ tokens
    drawn.pieces += copies @ -(-tokens // row_tokens)
    drawn.short_tokens += int(taken[tokens < row_tokens // SHORT_DOCUMENT].sum())
    np.add.at(drawn.lengths, np.ceil(np.log2(tokens)).astype(np.int64), taken)
    drawn.longest = max(drawn.longest, int(tokens[records["side"] != ABSENT].max(initial=0)))
    drawn.sides += np.bincount(records["side"], minlength=4)


def held_out(documents: Documents) -> dict[str, dict[str, int]]:
    """Documents, tokens and bytes of validation by source."""
    found = {name: {"documents": 0, "tokens": 0, "bytes": 0} for name in documents.sources}
    for code, _, records in documents.chunks():
        held = records[records["side"] == VALIDATION]
        figures = found[documents.sources[code]]
        figures["documents"] += len(held)
        figures["tokens"] += int(held["tokens"].sum(dtype=np.int64))
        figures["bytes"] += int(held["bytes"].sum())
    return found
