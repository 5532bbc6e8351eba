"""A scorer trained in processes of its own."""

from __future__ import annotations

import json
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.errors import InputError, MachineError
from mspt.core.quality.calibration import Calibration, auc
from mspt.core.quality.corruptions import CORRUPTIONS
from mspt.core.quality.examples import ExampleSettings, make_examples
from mspt.core.quality.features import token_lines
from mspt.core.quality.learning import EXAMPLES, calibrate, learn_shapes, measures, write_training_file
from mspt.core.quality.scorer import DESCRIPTION, MODEL, SHAPE_COSTS, Description, Scorer, TrainingSettings, train, write_examples
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
    """Three models of the same examples: two from one process, one from another; the scorer's folder; all examples as a table."""
    chooser = random.Random(1)
    ids = [f"{i:032x}" for i in range(150)]
    made = make_examples(ids, [prose(chooser, 24) for _ in ids], ExampleSettings(held_out=0.3))
    examples = pa.Table.from_pylist([vars(example) for example in made], schema=EXAMPLES)
    folder = tmp_path_factory.mktemp("scorer")
    write_training_file(folder / "examples", examples, 300, 1)
    models = [folder / MODEL, folder / "again.bin", folder / "used.bin"]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(train, folder / "examples", models[0], SMALL).result()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(_train_in_used_memory, folder / "examples", *models[1:]).result() == 200
    (folder / SHAPE_COSTS).write_bytes(learn_shapes(examples).tobytes())
    Description(max_characters=5000).write(folder / DESCRIPTION)
    return folder, models, examples


def test_training_gives_the_same_bytes_in_any_process(trained):
    _, models, _ = trained
    assert len({model.read_bytes() for model in models}) == 1


def test_the_training_file_holds_no_held_out_text(trained):
    folder, _, examples = trained
    lines = (folder / "examples").read_text(encoding="utf-8").splitlines()
    taught = examples.filter(pa.compute.invert(examples.column("held_out"))).num_rows
    assert taught <= len(lines) <= 1.6 * taught
    assert {line.split(" ", 1)[0] for line in lines} == {"__label__high", "__label__middle", "__label__low"}


def test_real_text_scores_above_middling_and_that_above_junk(trained):
    folder, _, examples = trained
    scorer = Scorer.load(folder)
    held_out = examples.filter(examples.column("held_out"))
    expected, values = scorer.judge(held_out.column("text"), 5000).expected, held_out.column("value").to_numpy()
    assert auc(expected[values == 1], expected[values == 0]) > 0.95
    assert expected[values == 1].mean() > expected[values == 0.5].mean() > expected[values == 0].mean()
    assert expected.min() >= 0
    assert expected.max() <= 1


def test_measures_of_the_held_out_examples(trained):
    folder, _, examples = trained
    held_out = examples.filter(examples.column("held_out"))
    calibrated = calibrate(Scorer.load(folder), held_out)
    scores = calibrated.scores
    found = measures(scores, held_out)
    assert calibrated.calibration != Calibration()
    assert [round(one.han) for one in calibrated.usual] == [0, 1]  # prose in two scripts
    assert found["examples"] == held_out.num_rows == sum(found["by_class"].values()) == sum(row["texts"] for row in found["reliability"])
    assert set(found["auc_by_kind"]) <= {*CORRUPTIONS, "listed", "fragments", "mixed", "light", "gaps"}
    kinds, high = np.array(held_out.column("kind").to_pylist()), scores[held_out.column("value").to_numpy() == 1]
    own = scores[kinds == "number-table"]
    pairs = sum(1.0 if good > bad else 0.5 if good == bad else 0.0 for good in high for bad in own)
    assert found["auc_by_kind"]["number-table"] == pytest.approx(pairs / len(high) / len(own), abs=1e-4)
    assert found["spearman"] > 0.5


def test_any_text_has_a_score(trained):
    folder, _, _ = trained
    texts = ["", " \n", "\0", "a\nb\nc", "__label__high", "</s>", "\u2028", "。", prose(random.Random(2), 24), None]
    scores = Scorer.load(folder).score(pa.array(texts))
    assert scores[[0, 1, 2, 6, 9]].tolist() == [0] * 5  # nothing to judge
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores[8] > 0.5
    alone = [float(Scorer.load(folder).score(pa.array([text]))[0]) for text in texts[3:5]]
    assert alone == scores[3:5].tolist()


def test_the_score_is_the_calibrated_expected_class_value(trained, tmp_path):
    """Against fastText's own answers for the token lines: P(high) + P(middle) / 2, then the three parameters."""
    folder, _, _ = trained
    for name in (MODEL, SHAPE_COSTS):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    Description(5000, Calibration(2, 1, 0.5)).write(tmp_path / DESCRIPTION)
    scorer, text = Scorer.load(tmp_path), prose(random.Random(2), 24)
    (line,) = token_lines(pa.array([text]), 5000, scorer.vocabulary)
    names, probabilities = scorer.model.predict(line, k=3)
    p = dict(zip(names, probabilities, strict=True))
    e = p["__label__high"] + p["__label__middle"] / 2
    odds = e**2 / (1 - e) * np.exp(0.5)
    assert float(scorer.score(pa.array([text]))[0]) == pytest.approx(odds / (1 + odds), rel=1e-3)


def test_junk_of_a_kind_never_seen_loses_by_its_shape(tmp_path):
    """A scorer that has seen no other junk than shuffled words: of a table of numbers fastText has nothing to say."""
    chooser = random.Random(5)
    ids = [f"{i:032x}" for i in range(150)]
    made = make_examples(ids, [prose(chooser, 24) for _ in ids], ExampleSettings(held_out=0.3, kinds=("shuffled-words",)))
    examples = pa.Table.from_pylist([vars(example) for example in made], schema=EXAMPLES)
    write_training_file(tmp_path / "examples", examples, 300, 1)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(train, tmp_path / "examples", tmp_path / MODEL, SMALL).result()
    (tmp_path / SHAPE_COSTS).write_bytes(learn_shapes(examples).tobytes())
    Description(5000).write(tmp_path / DESCRIPTION)
    found = calibrate(Scorer.load(tmp_path), examples.filter(examples.column("held_out")))
    found.describe(5000).write(tmp_path / DESCRIPTION)
    good = [prose(chooser, 24) for _ in range(30)]
    tables = [CORRUPTIONS["number-table"](text, chooser) for text in good]
    scores = Scorer.load(tmp_path).score(pa.array([*good, *tables]))
    assert auc(scores[:30], scores[30:]) > 0.95
    assert np.median(scores[30:]) < 0.2 < 0.5 < np.median(scores[:30])


def test_what_is_no_scorer_is_refused(trained, tmp_path):
    folder, _, _ = trained
    with pytest.raises(InputError, match="no scorer"):
        Scorer.load(tmp_path)
    for name in (MODEL, SHAPE_COSTS):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    for description in ({"max_characters": 10, "format": 99}, {"max_characters": 10, "format": 2}):
        (tmp_path / DESCRIPTION).write_text(json.dumps(description))
        with pytest.raises(InputError, match="another format"):
            Scorer.load(tmp_path)
    (tmp_path / DESCRIPTION).write_text("[]")
    with pytest.raises(InputError, match="no scorer"):
        Scorer.load(tmp_path)
    Description(10).write(tmp_path / DESCRIPTION)
    (tmp_path / SHAPE_COSTS).write_bytes(b"cut off")
    with pytest.raises(InputError, match="no scorer"):
        Scorer.load(tmp_path)


def test_a_scorer_cut_off_by_a_full_disk_is_not_taken_for_one(tmp_path):
    """fastText says nothing, neither when it writes nor when it reads."""
    write_examples(tmp_path / "examples", [("high", "a b c"), ("low", "c b a")] * 10)
    with small_disk(tmp_path / "disk", "64k") as disk, pytest.raises(MachineError, match="could not be written whole"):
        train(tmp_path / "examples", disk / MODEL, SMALL)  # 2^12 buckets of 4 floats: 64 KiB and a little


def test_the_default_scorer_is_small_and_tells_text_from_junk():
    from mspt.core.quality.scorer import DEFAULT_DIRECTORY, DEFAULT_STEM

    size = sum((DEFAULT_DIRECTORY / f"{DEFAULT_STEM}.{end}").stat().st_size for end in ("bin", "shapes.bin", "json"))
    assert size < 3_000_000
    scorer = Scorer.default()
    assert "mspt" in scorer.description.about
    good = [
        "The committee met on Tuesday to discuss the repair of the old bridge. Most members agreed that the work should start before winter, because the river "
        "rises in spring and the road would be closed for months. A small group asked for more time to look at the costs. They wanted to know who would pay "
        "for the second half of the work, and whether the school bus could take another way. In the end the members voted, and the plan was accepted. The "
        "engineer will send the drawings to the county this week, and the first stones should be moved as soon as the water is low enough.",
        "昨天下午，村里的老人们坐在大树下聊天。他们说起年轻时候的事情，说那时候没有电灯，晚上大家就围着火炉听故事。孩子们听得很认真，还不停地问后来怎么样了。"
        "有一位老人讲到，他小时候要走十里路去上学，下雨天鞋子湿透了也舍不得买新的。现在村里通了公路，学校就在旁边，孩子们骑车几分钟就到。大家都说日子比从前好了，"
        "可是也有人觉得，从前邻居之间来往更多，谁家有事全村都来帮忙。天黑以后，人们才慢慢地散了，各自回家吃饭。",
    ]
    kinds = ("keyword-stuffing", "number-table", "spam-template", "navigation-list", "mojibake")
    for text in good:
        bad = [CORRUPTIONS[kind](text, random.Random(seed)) for kind in kinds for seed in range(4)]
        scores = scorer.score(pa.array([text, *bad]))
        assert (scores[1:] < scores[0]).mean() > 0.8
        assert scores[0] - scores[1:].mean() > 0.25  # .43 and .88; between trainings the Chinese text itself moves by .03 about .5
