"""The definition of removal, against its literal reading, document by document."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.dedup.index import NOBODY
from mspt.core.dedup.shingles import ShingleSize, shingle_sets
from mspt.core.dedup.sketch import Sketch, SketchSettings
from support.judging import judge

SETTINGS = SketchSettings(ShingleSize(3, 3), bands=14, rows=4)


def by_definition(texts: list[str], threshold: float, order: np.ndarray, sketches: Sketch) -> dict[int, tuple[int, float, bool]]:
    """document -> (survivor, similarity, exact): the two sentences of the docstring, nothing clever."""
    sets = [set(shingle_sets(pa.array([text]), SETTINGS.size)[0].tolist()) for text in texts]
    kept: list[int] = []
    removed = {}
    for document in order.tolist():
        same = [k for k in kept if (sketches.exact[k] == sketches.exact[document]).all()]
        near = []
        for k in kept:
            if sets[k] and sets[document] and (sketches.keys[k] == sketches.keys[document]).any():
                similarity = len(sets[k] & sets[document]) / len(sets[k] | sets[document])
                near += [(k, similarity)] if similarity >= threshold else []
        if same:
            removed[document] = (same[0], 1.0, True)
        elif near:
            removed[document] = (*near[0], False)
        else:
            kept.append(document)
    return removed


def edited(text: str, chooser: random.Random, edits: int) -> str:
    letters = list(text)
    for _ in range(edits):
        letters[chooser.randrange(len(letters))] = chooser.choice("天地玄黄宇宙洪荒日月盈昃")
    return "".join(letters)


def family_corpus(seed: int) -> list[str]:
    """Families of versions of versions, exact copies with other blanks, short and empty documents: every path of the walk."""
    chooser = random.Random(seed)
    texts = ["", "", " ", "一", "一", "x", "a b", "A  b"]
    for _ in range(12):
        version = "".join(chooser.choices("的一是不了人在有我他这中大来上个国和也子时道说", k=chooser.randrange(8, 60)))
        for _ in range(chooser.randrange(1, 9)):
            texts.append(version)
            if chooser.random() < 0.3:
                texts.append(version[:3] + " " + version[3:])
            version = edited(version, chooser, chooser.randrange(3))
    chooser.shuffle(texts)
    return texts


@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("seed", range(6))
def test_verdicts_are_those_of_the_definition(seed, threshold):
    texts = family_corpus(seed)
    found, order, sketches = judge(texts, threshold, SETTINGS)
    expected = by_definition(texts, threshold, order, sketches)
    removed = np.flatnonzero(found.survivors != NOBODY).tolist()
    assert {i: (int(found.survivors[i]), float(found.similarities[i]), bool(found.exact[i])) for i in removed} == expected
    assert len({i for i in expected if not expected[i][2]}) > 3  # the corpus does hold near-duplicates
    assert np.isnan(found.similarities[found.survivors == NOBODY]).all()


def test_the_order_in_which_documents_arrive_does_not_matter():
    texts = family_corpus(11)
    found, _, _ = judge(texts, 0.6, SETTINGS)
    ids = list(range(len(texts)))
    random.Random(0).shuffle(ids)
    shuffled, _, _ = judge([texts[i] for i in ids], 0.6, SETTINGS, ids)
    survivors = {ids[i]: ids[s] if s != NOBODY else NOBODY for i, s in enumerate(shuffled.survivors.tolist())}
    assert [survivors[i] for i in range(len(texts))] == found.survivors.tolist()


def test_a_survivor_is_never_removed_so_versions_do_not_chain():
    # each version differs from the next by one character in 30, the first from the last completely
    version = "".join(chr(0x4E00 + i) for i in range(30))
    versions = [version]
    for position in range(30):
        version = version[:position] + chr(0x5E00 + position) + version[position + 1 :]
        versions.append(version)
    found, _, _ = judge(versions, 0.6, SETTINGS)
    removed = np.flatnonzero(found.survivors != NOBODY)
    survivors = found.survivors[removed]
    assert len(removed) > 10
    assert (found.survivors[survivors] == NOBODY).all()
    assert (found.similarities[removed] >= 0.6).all()
    assert len(versions) - len(removed) >= 4  # the ends of the chain do not merge


def test_a_thousand_copies_of_one_line_leave_one():
    found, order, _ = judge(["同一行文字，一共一千次。"] * 1000, 0.8, SETTINGS)
    assert (found.survivors == NOBODY).sum() == 1
    assert set(found.survivors[order[1:]].tolist()) == {0}  # ties by id: the first id stays
    assert found.exact.sum() == 999


def test_documents_without_shingles_never_meet():
    found, _, _ = judge(["一二", "一三", "a", "b", "", "。"], 0.1, SETTINGS)
    assert (found.survivors == NOBODY).all()


def test_nothing_in_nothing_out():
    found, _, _ = judge([], 0.8, SETTINGS)
    assert len(found.survivors) == 0
