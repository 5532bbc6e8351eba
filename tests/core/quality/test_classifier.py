"""The compiled loop against the library that it stands in for."""

from __future__ import annotations

import random

import fasttext
import numpy as np
import pytest

from mspt.core.quality.classifier import Classifier
from mspt.core.quality.scorer import LABELS, TrainingSettings, train, write_examples

TOKENS = ["the", "天", "é", "👍", "¶bx", "¶c.", "¤l3", "¤H", ",", "00", "house", "ß", "a"]
STRANGE = ["zzz", "地", "¤q6", "¶gx"]  # in no training line


def random_lines(seed: int, number: int, tokens: list[str]) -> list[str]:
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(tokens, k=chooser.randrange(0, 40))) for _ in range(number)]


@pytest.fixture(scope="module", params=[(2, 1, 64), (4, 3, 1 << 8), (4, 3, 101), (5, 2, 7), (8, 4, 1000)], ids=str)
def model(request, tmp_path_factory):
    """dimension, tokens in a row, buckets: a power of two and others."""
    folder = tmp_path_factory.mktemp("model")
    dimension, ngrams, buckets = request.param
    chooser = random.Random(dimension)
    pairs = [(chooser.choice(["low", "middle", "high", "high"]), line) for line in random_lines(1, 300, TOKENS) if line]
    write_examples(folder / "examples", pairs)
    train(folder / "examples", folder / "model.bin", TrainingSettings(dimension=dimension, ngrams=ngrams, buckets=buckets, epochs=5))
    return fasttext.load_model(str(folder / "model.bin"))


def joined(lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [f"{line}\n".encode() for line in lines]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)])


def test_probabilities_are_the_librarys(model):
    lines = [*random_lines(2, 200, TOKENS + STRANGE), "", "the", "zzz", "天 " * 3000 + "天"]
    classifier = Classifier.of(model)
    found = np.array(classifier.probabilities(*joined(lines)))
    names, values = model.f.multilinePredict([f"{line}\n" for line in lines], 3, 0.0, "strict")
    theirs = [[dict(zip(own, row.tolist(), strict=True))[label] - 1e-5 for label in classifier.labels] for own, row in zip(names, values, strict=True)]
    assert np.abs(found - np.array(theirs)).max() < 2e-6  # it adds 1e-5 to each probability
    assert len(set(np.round(found[:, 0], 3).tolist())) > 50


def test_a_line_does_not_depend_on_its_neighbours(model):
    lines, classifier = random_lines(3, 30, TOKENS), Classifier.of(model)
    assert [classifier.probabilities(*joined([line]))[0] for line in lines] == classifier.probabilities(*joined(lines))
    assert classifier.probabilities(*joined([])) == []


def test_a_class_that_was_not_seen_has_no_probability(tmp_path):
    write_examples(tmp_path / "examples", [(name, "the house" if name == "low" else "天 天") for name in ("low", "high")] * 40)
    train(tmp_path / "examples", tmp_path / "model.bin", TrainingSettings(buckets=16, epochs=20))
    classifier = Classifier.of(fasttext.load_model(str(tmp_path / "model.bin")))
    high = classifier.labels.index(LABELS["high"])
    low_text, high_text = classifier.probabilities(*joined(["the house", "天 天"]))
    assert len(classifier.labels) == 2
    assert low_text[high] < 0.2 < 0.8 < high_text[high]
