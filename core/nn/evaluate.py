"""Perplexity and bits per byte of validation rows, in all and by source.

    rows, segments = open_validation(directory, names, config)          # and where each document lies in the rows
    evaluation = measure(RowScorer(network), rows, segments, batch_size=8)
    evaluation.total.bits_per_byte, evaluation.by_source["novels"].perplexity

nats are summed in float64 over labelled positions, document by document. Bits per byte divides by the UTF-8 bytes of the labelled tokens (the end
of a document is a label of no bytes), so models with different tokenizers compare. Its standard error is that of a ratio of sums over
documents (Cochran 1977, equation 2.39): documents are what was drawn, tokens inside one are not independent.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from mindspore import Tensor

from mspt.core.errors import InputError, MsptError
from mspt.core.nn.batch import IGNORED, Batch
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.loss import TokenLoss
from mspt.core.nn.model import LlamaForCausalLM
from mspt.core.nn.reader import PackedRows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Segments:
    """Columns of rows-*.parquet, [P] each, in order of rows: row, first position, one past the last, UTF-8 bytes of the labels, document, source."""

    row: Ints
    start: Ints
    end: Ints
    num_bytes: Ints
    id: npt.NDArray[np.str_]
    source: npt.NDArray[np.str_]

    @classmethod
    def from_table(cls, table: Any) -> Segments:
        """From the pyarrow table (core/tokens/rows.py: PROVENANCE)."""
        numbers = (table.column(name).to_numpy().astype(np.int64) for name in ("row", "start", "end", "num_bytes"))
        texts = (np.array(table.column(name).to_pylist(), dtype=np.str_) for name in ("id", "source"))
        return cls(*numbers, *texts)


@dataclass(frozen=True)
class Score:
    """Of a group of documents. `error` is the standard error of bits_per_byte; NaN for a single document."""

    documents: int
    tokens: int
    num_bytes: int
    nats: float
    error: float

    @property
    def loss(self) -> float:
        """Mean nats per token."""
        return self.nats / self.tokens if self.tokens else math.nan

    @property
    def perplexity(self) -> float:
        """Per token: of models with one tokenizer only."""
        return math.exp(min(self.loss, 700.0)) if self.tokens else math.nan  # exp(710) overflows

    @property
    def bits_per_byte(self) -> float:
        return self.nats / math.log(2) / self.num_bytes if self.num_bytes else math.nan


@dataclass(frozen=True)
class Evaluation:
    """All validation documents, and those of each source."""

    total: Score
    by_source: dict[str, Score]


class RowScorer:
    """Losses of rows. It holds the compiled graphs: weights may be exchanged between two uses."""

    def __init__(self, network: LlamaForCausalLM) -> None:
        self.token_loss = TokenLoss(network)
        self.token_loss.set_train(False)

    def losses(self, batches: Iterable[Batch]) -> Iterator[tuple[int, Batch, Floats]]:
        """(number of the first row, batch, losses float64 [B, T]); batches of one shape, since each shape is a graph."""
        first = 0
        for batch in batches:
            given = (Tensor(array) for array in (batch.input_ids, batch.labels, batch.actual_seq_len))
            yield first, batch, self.token_loss(*given).asnumpy().astype(np.float64)
            first += batch.num_rows


def validation_names(names: Iterable[str]) -> list[str]:
    """Of an artifact's files those that hold validation rows: .mindrecord, .mindrecord.db and rows-*.parquet."""
    return sorted(name for name in names if name.startswith(("validation-", "rows-validation-")))


def open_validation(directory: Path, names: Sequence[str], config: ModelConfig) -> tuple[PackedRows, Segments]:
    """The validation rows in `directory` and what lies where in them.

    Raises:
        InputError: there are none.
        MsptError: they are longer than the model has positions.
    """
    files = [directory / name for name in names if name.endswith(".mindrecord")]
    if not files:
        raise InputError(f"{directory} holds no validation rows", "pack with a larger --validation-share")
    rows = PackedRows.open(files, vocab_size=config.vocab_size)
    if rows.length > config.max_position_embeddings:
        raise MsptError(
            f"rows of {rows.length} positions, the model has {config.max_position_embeddings}",
            f"pack shorter rows for it: mspt pack-mindrecord --seq-length {config.max_position_embeddings}",
        )
    tables = [pq.read_table(directory / name, partitioning=None) for name in names if name.endswith(".parquet")]
    return rows, Segments.from_table(pa.concat_tables(tables))


def measure(
    scorer: RowScorer,
    rows: PackedRows,
    segments: Segments,
    *,
    batch_size: int,
    advance: Callable[[int], None] = lambda rows: None,
) -> Evaluation:
    """Evaluate all rows. `advance` is told how many have been done.

    Raises InputError where rows and segments are not of one data set.
    """
    nats, tokens = [], []
    for first, batch, losses in scorer.losses(rows.once(batch_size)):
        real = min(len(losses), rows.num_rows - first)
        found = sum_segments(losses[:real], batch.labels[:real], segments, first)
        nats.append(found[0])
        tokens.append(found[1])
        advance(real)
    if sum(map(len, nats)) != len(segments.row):
        raise InputError("the rows and their rows-*.parquet differ", "run `mspt verify` on the mindrecord artifact, or pack again")
    return summarise(segments, np.concatenate(nats), np.concatenate(tokens))


def sum_segments(losses: Floats, labels: npt.NDArray[np.int32], segments: Segments, first: int) -> tuple[Floats, Ints]:
    """nats and labelled tokens of the segments that lie in rows first .. first + len(losses) - 1.

    Raises InputError where a labelled position belongs to no segment, or to two.
    """
    span = slice(*(int(i) for i in np.searchsorted(segments.row, [first, first + len(losses)])))
    row, start, end = segments.row[span] - first, segments.start[span], segments.end[span]
    counts = np.pad(np.cumsum(labels != IGNORED, axis=1), ((0, 0), (1, 0)))
    sums = np.pad(np.cumsum(losses, axis=1), ((0, 0), (1, 0)))
    tokens = counts[row, end] - counts[row, start]
    if int(tokens.sum()) != int(counts[:, -1].sum()):
        raise InputError(f"rows {first} and on: labels lie outside the documents that rows-*.parquet names", "pack again: mspt pack-mindrecord")
    return sums[row, end] - sums[row, start], tokens.astype(np.int64)


def summarise(segments: Segments, nats: Floats, tokens: Ints) -> Evaluation:
    """Scores of all documents and of each source, sources by name."""
    names, codes = np.unique(segments.source, return_inverse=True)
    by_source = {str(name): score(segments, nats, tokens, codes == code) for code, name in enumerate(names)}
    return Evaluation(score(segments, nats, tokens, np.ones(len(nats), bool)), by_source)


def score(segments: Segments, nats: Floats, tokens: Ints, chosen: npt.NDArray[np.bool_]) -> Score:
    """One group; the pieces of a document count as one."""
    ids, document = np.unique(segments.id[chosen], return_inverse=True)
    document_nats = np.bincount(document, nats[chosen], len(ids)).astype(np.float64)
    document_bytes = np.bincount(document, segments.num_bytes[chosen], len(ids)).astype(np.float64)
    total, size = math.fsum(nats[chosen]), int(segments.num_bytes[chosen].sum())
    return Score(len(ids), int(tokens[chosen].sum()), size, total, ratio_error(document_nats, document_bytes) / math.log(2))


def ratio_error(numerators: Floats, denominators: Floats) -> float:
    """Standard error of sum(numerators) / sum(denominators) over independent pairs; NaN for fewer than two."""
    count, size = len(numerators), float(denominators.sum())
    if count < 2 or size == 0:
        return math.nan
    left = numerators - numerators.sum() / size * denominators
    return math.sqrt(count / (count - 1) * math.fsum(left**2)) / size


def label_bytes(batches: Iterable[Any], surfaces: Sequence[bytes], last: int | None = None) -> bytes:
    """The UTF-8 text of all labels in order, for the compressor that the model is compared with; with `last` only so many bytes of its end."""
    parts: deque[bytes] = deque()
    size = 0
    for batch in batches:
        parts.append(b"".join(surfaces[token] for token in batch.labels[batch.labels != IGNORED].tolist()))
        size += len(parts[-1])
        while last is not None and size - len(parts[0]) >= last:
            size -= len(parts.popleft())
    text = b"".join(parts)
    return text if last is None else text[max(0, len(text) - last) :]
