"""What a model has to beat: n-gram models of the training tokens and a general compressor, in bits per byte of the validation rows.

- unigram: p1(t) = (c(t) + 1) / (N + V), add-one smoothed over the vocabulary V;
- bigram: p(t | u) = w c(u, t) / c(u) + (1 - w) p1(t), u being the input at t's position. The weight w is chosen among 0.05, 0.10, .. 0.95 on the
  training tokens alone by leaving one out: each training bigram is scored with the counts without itself (Jelinek-Mercer smoothing, deleted
  interpolation);
- lzma: 8 (size(train + validation) - size(train)) / bytes(validation) with Python's preset 9, whose dictionary reaches back 64 MiB.

Only labelled positions count, and only the bytes of their labels; the end of a document is a label of no bytes that has to be predicted too.
"""

from __future__ import annotations

import lzma
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import InputError
from mspt.core.tokens.rows import IGNORED, RowBatch

LZMA_PRESET = 9
_LZMA_PIECE = 2**20  # bytes between two signs of progress
LZMA_WINDOW = 64 * 2**20  # dictionary of preset 9 (xz(1)): older text cannot matter
_WEIGHTS = np.arange(1, 20) / 20
# Bigrams are merged into the running counts when so many are waiting: 8 bytes each.
_PENDING = 1 << 23

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TokenIds = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class NgramModel:
    """Counts of training labels and of (input, label) pairs. `pairs` is sorted; pair (u, t) is the number u V + t."""

    labels: Ints
    inputs: Ints
    pairs: Ints
    pair_counts: Ints
    weight: float

    @property
    def vocab_size(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Score:
    """Of some labelled positions: `nats` is minus their summed log probability."""

    nats: float
    tokens: int
    num_bytes: int

    @property
    def bits_per_byte(self) -> float:
        return self.nats / math.log(2) / self.num_bytes if self.num_bytes else math.nan


@dataclass(frozen=True)
class Baselines:
    """Both n-gram models at the same validation positions."""

    unigram: Score
    bigram: Score
    weight: float


def measure(train: Iterable[RowBatch], validation: Iterable[RowBatch], vocab_size: int, token_bytes: npt.NDArray[np.int32]) -> Baselines:
    """Fit on the training rows, score on the validation rows.

    Raises:
        InputError: the training rows hold no labels.
    """
    model = fit(train, vocab_size)
    unigram, bigram, tokens, size = 0.0, 0.0, 0, 0
    for batch in validation:
        inputs, labels = labelled(batch)
        unigram -= math.fsum(np.log(unigram_probability(model, labels)))
        bigram -= math.fsum(np.log(bigram_probability(model, inputs, labels)))
        tokens += len(labels)
        size += int(token_bytes[labels].sum())
    return Baselines(Score(unigram, tokens, size), Score(bigram, tokens, size), model.weight)


def fit(train: Iterable[RowBatch], vocab_size: int) -> NgramModel:
    """Count the labelled positions of `train` and choose the interpolation weight."""
    labels = np.zeros(vocab_size, dtype=np.int64)
    inputs = np.zeros(vocab_size, dtype=np.int64)
    pairs, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    waiting: list[Ints] = []
    for batch in train:
        given, wanted = labelled(batch)
        labels += np.bincount(wanted, minlength=vocab_size)
        inputs += np.bincount(given, minlength=vocab_size)
        waiting.append(given.astype(np.int64) * vocab_size + wanted)
        if sum(map(len, waiting)) >= _PENDING:
            pairs, counts = _merged(pairs, counts, waiting)
            waiting = []
    if not labels.any():
        raise InputError("the training rows hold no labelled token", "pack documents first: mspt pack-mindrecord")
    pairs, counts = _merged(pairs, counts, waiting)
    return NgramModel(labels, inputs, pairs, counts, _choose_weight(labels, inputs, pairs, counts))


def labelled(batch: RowBatch) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(inputs, labels) of the positions that count, flat."""
    mask = batch.labels != IGNORED
    return batch.input_ids[mask], batch.labels[mask]


def unigram_probability(model: NgramModel, labels: TokenIds) -> Floats:
    return np.divide(model.labels[labels] + 1, model.labels.sum() + model.vocab_size, dtype=np.float64)


def bigram_probability(model: NgramModel, inputs: TokenIds, labels: TokenIds) -> Floats:
    """The interpolated probability; an input never seen in training leaves the unigram alone."""
    wanted = inputs.astype(np.int64) * model.vocab_size + labels
    found = np.minimum(np.searchsorted(model.pairs, wanted), len(model.pairs) - 1)
    count = np.where(model.pairs[found] == wanted, model.pair_counts[found], 0)
    context = model.inputs[inputs]
    ratio = np.divide(count, context, out=np.zeros(len(wanted)), where=context > 0)
    weight = np.where(context > 0, model.weight, 0.0)
    mixed: Floats = weight * ratio + (1 - weight) * unigram_probability(model, labels)
    return mixed


def lzma_bits_per_byte(train: bytes, validation: bytes, advance: Callable[[float], None] = lambda amount: None) -> float:
    """Bits per byte that preset 9 needs for `validation` once it has seen `train` (its last 64 MiB are all that it can use).

    Slow: about 1 MB/s on each of two threads. advance: told of the bytes done, of `lzma_work` in all, from both threads.
    """
    if not validation:
        return math.nan
    seen = train[-LZMA_WINDOW:]
    with ThreadPoolExecutor(2) as threads:  # lzma compresses outside the interpreter's lock
        alone, both = threads.map(lambda data: _compressed_size(data, advance), (seen, seen + validation))
    return 8 * (both - alone) / len(validation)


def lzma_work(train: bytes, validation: bytes) -> int:
    """Bytes that `lzma_bits_per_byte` compresses."""
    return 2 * min(len(train), LZMA_WINDOW) + len(validation)


def _compressed_size(data: bytes, advance: Callable[[float], None]) -> int:
    """As lzma.compress, a piece at a time."""
    compressor = lzma.LZMACompressor(preset=LZMA_PRESET)
    size = 0
    for start in range(0, len(data), _LZMA_PIECE):
        piece = data[start : start + _LZMA_PIECE]
        size += len(compressor.compress(piece))
        advance(len(piece))
    return size + len(compressor.flush())


def labelled_text(batches: Iterable[RowBatch], surfaces: Sequence[bytes]) -> bytes:
    """The bytes that the labels of some rows stand for, in order of the rows; `surfaces` is Tokenizer.surfaces."""
    return b"".join(b"".join(surfaces[label] for label in labelled(batch)[1].tolist()) for batch in batches)


def _merged(pairs: Ints, counts: Ints, waiting: list[Ints]) -> tuple[Ints, Ints]:
    """Running counts with the waiting pairs added."""
    new, new_counts = np.unique(np.concatenate(waiting), return_counts=True) if waiting else (pairs[:0], counts[:0])
    merged, where = np.unique(np.concatenate([pairs, new]), return_inverse=True)
    total = np.bincount(where, weights=np.concatenate([counts, new_counts]), minlength=len(merged))
    return merged, total.astype(np.int64)


def _choose_weight(labels: Ints, inputs: Ints, pairs: Ints, counts: Ints) -> float:
    """The weight under which each training bigram, left out of the counts, is most probable."""
    vocab_size = len(labels)
    context, label = pairs // vocab_size, pairs % vocab_size
    left = inputs[context] - 1
    ratio = np.divide(counts - 1, left, out=np.zeros(len(pairs)), where=left > 0)
    unigram = labels[label] / (labels.sum() - 1 + vocab_size)  # (c - 1) + 1
    likelihood = [math.fsum(counts * np.log(w * ratio + (1 - w) * unigram)) for w in _WEIGHTS]
    return float(_WEIGHTS[int(np.argmax(likelihood))])
