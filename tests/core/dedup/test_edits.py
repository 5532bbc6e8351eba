"""Copies of real Chinese texts, edited as the web edits them: those that are still alike are found, nothing else is."""

from __future__ import annotations

import gzip
import json
import random

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.dedup.index import NOBODY
from mspt.core.dedup.shingles import ShingleSize, jaccard, shingle_sets
from mspt.core.dedup.sketch import SketchSettings
from support.edits import append_advert, change_width, drop_paragraphs, edit_characters, reorder_paragraphs
from support.judging import judge

THRESHOLD = 0.8
EDITS = {
    "characters": lambda text, chooser: edit_characters(text, chooser.uniform(0.01, 0.10), chooser),
    "few characters": lambda text, chooser: edit_characters(text, chooser.uniform(0.002, 0.015), chooser),
    "dropped": lambda text, chooser: drop_paragraphs(text, chooser.uniform(0.02, 0.3), chooser),
    "reordered": lambda text, chooser: reorder_paragraphs(text, chooser.randrange(1, 6), chooser),
    "width": lambda text, _: change_width(text),
    "advertised": append_advert,
}


@pytest.mark.parametrize(("name", "number", "least"), [("zh_novels", 40, 400), ("zh_wiki_hans", 150, 80), ("zh_wiki_hant", 150, 80)])
def test_edited_copies_are_found_and_nothing_else_is(shared, name, number, least):
    with gzip.open(shared / f"data/{name}.jsonl.gz", "rt", encoding="utf-8") as handle:
        originals = [text for line in handle if len(text := json.loads(line)["text"]) >= least]
    originals = originals[:: max(1, len(originals) // number)]
    chooser = random.Random(6)
    texts, families = list(originals), list(range(len(originals)))
    for edit in EDITS.values():
        texts += [edit(text, chooser) for text in originals]
        families += range(len(originals))
    found, _, _ = judge(texts, THRESHOLD, SketchSettings())
    sets = shingle_sets(pa.array(texts), ShingleSize())
    similarity = np.array([jaccard(sets[i], sets[families[i]]) for i in range(len(texts))])

    alike = np.flatnonzero((similarity >= THRESHOLD + 0.05) & (np.arange(len(texts)) >= len(originals)))
    removed = found.survivors != NOBODY
    recall = np.mean([removed[i] or removed[families[i]] for i in alike])
    assert len(alike) > len(originals)
    assert recall >= 0.95
    for i in np.flatnonzero(removed).tolist():
        survivor = int(found.survivors[i])
        exact = jaccard(sets[i], sets[survivor])
        assert found.exact[i] or exact == found.similarities[i] >= THRESHOLD
    if name == "zh_novels":  # chapters are unrelated; encyclopaedia paragraphs of one template may be alike
        assert all(families[i] == families[int(found.survivors[i])] for i in np.flatnonzero(removed).tolist())


def test_unrelated_chinese_documents_never_merge(shared):
    texts = []
    for name in ("zh_novels", "zh_techdocs", "zh_wiki_hans"):
        with gzip.open(shared / f"data/{name}.jsonl.gz", "rt", encoding="utf-8") as handle:
            texts += [json.loads(line)["text"] for line in handle][:400]
    texts = sorted({text for text in texts if len(text) >= 60})
    found, _, _ = judge(texts, THRESHOLD, SketchSettings())
    assert len(texts) > 700
    assert (found.survivors == NOBODY).all()
