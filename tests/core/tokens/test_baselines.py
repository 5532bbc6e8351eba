"""The baselines against plain dictionaries and logarithms."""

from __future__ import annotations

import lzma
import math
import random
from collections import Counter

import numpy as np
import pytest

from mspt.core.errors import InputError
from mspt.core.tokens import baselines
from mspt.core.tokens.rows import IGNORED, RowBatch

V = 40
TOKEN_BYTES = np.arange(V, dtype=np.int32) % 4  # id 0: the end of a document, no bytes


def make_rows(seed: int, count: int, size: int = 24) -> list[RowBatch]:
    """Rows of a first-order chain, so that a bigram model has something to find; some positions are padding."""
    rng = random.Random(seed)
    batches = []
    for _ in range(count):
        inputs, labels = [], []
        token = 0
        for position in range(size):
            following = (token * 7 + rng.choice([1, 1, 1, 2, 5, rng.randrange(V)])) % V
            inputs.append(token)
            labels.append(IGNORED if position >= size - 3 else following)
            token = following
        batches.append(RowBatch(np.array([inputs], np.int32), np.array([labels], np.int32), np.array([[size]], np.int32)))
    return batches


def pairs(batches: list[RowBatch]) -> list[tuple[int, int]]:
    return [
        (int(u), int(t)) for b in batches for row_u, row_t in zip(b.input_ids, b.labels, strict=True) for u, t in zip(row_u, row_t, strict=True) if t != IGNORED
    ]


def reference(train: list[tuple[int, int]], validation: list[tuple[int, int]]) -> tuple[float, float, float]:
    """(unigram nats, bigram nats, weight), one position at a time."""
    labels, inputs, both = Counter(t for _, t in train), Counter(u for u, _ in train), Counter(train)

    def log_likelihood(weight: float) -> float:
        total = 0.0
        for u, t in train:
            rest = inputs[u] - 1
            bigram = (both[u, t] - 1) / rest if rest else 0.0
            total += math.log(weight * bigram + (1 - weight) * labels[t] / (len(train) - 1 + V))
        return total

    weight = max((w / 20 for w in range(1, 20)), key=log_likelihood)

    def unigram(t: int) -> float:
        return (labels[t] + 1) / (len(train) + V)

    def bigram(u: int, t: int) -> float:
        return weight * both[u, t] / inputs[u] + (1 - weight) * unigram(t) if inputs[u] else unigram(t)

    return -sum(math.log(unigram(t)) for _, t in validation), -sum(math.log(bigram(u, t)) for u, t in validation), weight


def test_both_models_equal_the_plain_ones() -> None:
    train, validation = make_rows(1, 60), make_rows(2, 12)
    found = baselines.measure(train, validation, V, TOKEN_BYTES)
    unigram, bigram, weight = reference(pairs(train), pairs(validation))
    assert found.weight == weight
    assert 0.05 < weight < 0.95
    assert found.unigram.nats == pytest.approx(unigram, rel=1e-12)
    assert found.bigram.nats == pytest.approx(bigram, rel=1e-12)
    size = sum(t % 4 for _, t in pairs(validation))
    assert (found.unigram.tokens, found.unigram.num_bytes) == (12 * 21, size)
    assert found.bigram.bits_per_byte == pytest.approx(bigram / math.log(2) / size)
    assert found.bigram.bits_per_byte < found.unigram.bits_per_byte


def test_counting_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = baselines.fit(make_rows(3, 40), V)
    monkeypatch.setattr(baselines, "_PENDING", 50)
    pieces = baselines.fit(make_rows(3, 40), V)
    assert np.array_equal(whole.pairs, pieces.pairs)
    assert np.array_equal(whole.pair_counts, pieces.pair_counts)
    assert whole.weight == pieces.weight


def test_tokens_never_seen_cost_something_finite() -> None:
    train = [RowBatch(np.array([[0, 1]], np.int32), np.array([[1, 2]], np.int32), np.array([[2]], np.int32))]
    model = baselines.fit(train, V)
    assert baselines.unigram_probability(model, np.array([9])).tolist() == [1 / 42]
    assert baselines.bigram_probability(model, np.array([9]), np.array([1])).tolist() == [2 / 42]
    assert baselines.unigram_probability(model, np.arange(V)).sum() == pytest.approx(1.0)
    assert baselines.bigram_probability(model, np.zeros(V, int), np.arange(V)).sum() == pytest.approx(1.0)


def test_no_labels_is_refused() -> None:
    empty = RowBatch(np.zeros((1, 4), np.int32), np.full((1, 4), IGNORED, np.int32), np.full((1, 1), 4, np.int32))
    with pytest.raises(InputError, match="no labelled token"):
        baselines.fit([empty], V)


def test_text_of_rows_is_that_of_their_labels() -> None:
    batch = RowBatch(np.array([[0, 1], [2, 0]], np.int32), np.array([[1, 2], [0, IGNORED]], np.int32), np.array([[2], [2]], np.int32))
    assert baselines.labelled_text([batch, batch], [b"", b"ab", "中".encode()]) == "ab中ab中".encode()


def test_lzma_by_pieces_is_the_same_and_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = random.Random(1).choices(["alpha ", "beta ", "gamma\n"], k=20_000)
    train, validation = "".join(text).encode(), "".join(text[:900]).encode()
    whole = baselines.lzma_bits_per_byte(train, validation)
    assert whole == 8 * (len(lzma.compress(train + validation, preset=9)) - len(lzma.compress(train, preset=9))) / len(validation)
    monkeypatch.setattr(baselines, "_LZMA_PIECE", 777)
    told: list[float] = []
    assert baselines.lzma_bits_per_byte(train, validation, told.append) == whole
    assert sum(told) == baselines.lzma_work(train, validation) == 2 * len(train) + len(validation)


def test_lzma_counts_what_validation_adds() -> None:
    rng = random.Random(4)
    train = rng.randbytes(20_000)
    both = len(lzma.compress(train + train[:5_000], preset=9)) - len(lzma.compress(train, preset=9))
    assert baselines.lzma_bits_per_byte(train, train[:5_000]) == 8 * both / 5_000
    assert baselines.lzma_bits_per_byte(train, train[:5_000]) < 1.0
    assert baselines.lzma_bits_per_byte(train, rng.randbytes(5_000)) > 7.9
