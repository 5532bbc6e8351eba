"""A scorer trained in processes of its own."""

from __future__ import annotations

import json
import math
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.errors import InputError, MachineError
from mspt.core.quality.examples import ExampleSettings, make_examples
from mspt.core.quality.scorer import BAD, DESCRIPTION, GOOD, MODEL, Description, Scorer, TrainingSettings, auc, train, write_examples
from support.disks import small_disk
from support.prose import prose

SMALL = TrainingSettings(buckets=1 << 12, epochs=20)


def _train_in_used_memory(path, first, second):
    """Two trainings where the heap is full of holes that hold anything but zeros."""
    blocks = [(bytes([255]) * 3000, bytearray(b"x" * 200_000), bytes([7]) * 900) for _ in range(200)]
    kept = [(a, c) for a, _, c in blocks]
    del blocks
    train(path, first, SMALL)
    train(path, second, SMALL)
    return len(kept)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Three models of the same examples: two from one process, one from another; the scorer's folder; the held-out examples."""
    chooser = random.Random(1)
    ids = [f"{i:032x}" for i in range(150)]
    examples = make_examples(ids, [prose(chooser) for _ in ids], ExampleSettings())
    folder = tmp_path_factory.mktemp("scorer")
    write_examples(folder / "examples", [(e.label, e.line) for e in examples if not e.held_out])
    models = [folder / MODEL, folder / "again.bin", folder / "used.bin"]
    train(folder / "examples", models[0], SMALL)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(_train_in_used_memory, folder / "examples", *models[1:]).result() == 200
    Description(max_characters=5000).write(folder / DESCRIPTION)
    return folder, models, [e for e in examples if e.held_out]


def test_training_gives_the_same_bytes_in_any_process(trained):
    _, models, _ = trained
    assert len({model.read_bytes() for model in models}) == 1


def test_real_order_scores_above_shuffled(trained):
    folder, _, held_out = trained
    scorer = Scorer.load(folder)
    scores = scorer.score_lines([e.line for e in held_out])
    good = np.array([e.label == GOOD for e in held_out])
    assert auc(scores[good], scores[~good]) > 0.95
    assert scores.min() >= 0
    assert scores.max() <= 1


def test_any_text_has_a_score(trained):
    folder, _, _ = trained
    texts = ["", " \n", "\0", "a\nb\nc", "__label__good", "</s>", "\u2028", "。", prose(random.Random(2)), None]
    scores = Scorer.load(folder).score(pa.array(texts))
    assert scores[[0, 1, 2, 6, 9]].tolist() == [0] * 5  # nothing to judge
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores[8] > 0.5
    alone = [float(Scorer.load(folder).score(pa.array([text]))[0]) for text in texts[3:5]]
    assert alone == scores[3:5].tolist()


def test_what_is_no_scorer_is_refused(trained, tmp_path):
    folder, _, _ = trained
    with pytest.raises(InputError, match="no scorer"):
        Scorer.load(tmp_path)
    (tmp_path / MODEL).write_bytes((folder / MODEL).read_bytes())
    (tmp_path / DESCRIPTION).write_text(json.dumps({"max_characters": 10, "format": 99}))
    with pytest.raises(InputError, match="another format"):
        Scorer.load(tmp_path)


def test_auc_by_hand():
    good, bad = np.array([0.9, 0.5, 0.5], np.float32), np.array([0.5, 0.1], np.float32)
    assert auc(good, bad) == (2 + 1.5 + 1.5) / 6  # 0.9 beats both, each 0.5 ties one and beats one
    assert math.isnan(auc(good, bad[:0]))


def test_a_scorer_cut_off_by_a_full_disk_is_not_taken_for_one(tmp_path):
    """fastText says nothing, neither when it writes nor when it reads."""
    write_examples(tmp_path / "examples", [(GOOD, "a b c"), (BAD, "c b a")] * 10)
    with small_disk(tmp_path / "disk", "128k") as disk, pytest.raises(MachineError, match="could not be written whole"):
        train(tmp_path / "examples", disk / MODEL, SMALL)  # 2^12 buckets of 8 floats: 128 KiB and a little
