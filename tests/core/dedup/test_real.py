"""Real near-duplicates with gold answers that others computed (../shared/data)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.dedup.index import NOBODY
from mspt.core.dedup.shingles import ShingleSize, jaccard, shingle_sets
from mspt.core.dedup.sketch import SketchSettings
from support.judging import judge

HAN = set(map(chr, range(0x4E00, 0xA000)))


def read_gzip(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


@pytest.mark.parametrize("number", [100, 1000])
def test_articles_all_planted_pairs_and_nothing_else(shared, number):
    folder = shared / "data/neardup_articles/data"
    lines = (folder / f"articles_{number}.train").read_text(encoding="utf-8", errors="replace").splitlines()
    refs, texts = zip(*(line.split(" ", 1) for line in lines if line.strip()), strict=True)
    planted = {frozenset(line.split()) for line in (folder / f"articles_{number}.truth").read_text().splitlines()}
    found, _, _ = judge(list(texts), 0.8, SketchSettings())
    assert {frozenset((refs[i], refs[s])) for i, s in enumerate(found.survivors) if s != NOBODY} == planted


def test_licence_texts_agree_with_their_gold_similarities(shared):
    rows = [json.loads(line) for line in read_gzip(shared / "data/neardup_spdx.jsonl.gz")]
    place = {row["id"]: i for i, row in enumerate(rows)}
    gold = {}
    for line in read_gzip(shared / "data/neardup_spdx_gold_pairs.tsv.gz")[1:]:
        first, second, _, similarity = line.split("\t")
        gold[frozenset((place[first], place[second]))] = float(similarity)
    bilingual = {i for i, row in enumerate(rows) if HAN & {*row["text"]}}  # the gold takes a run of Han characters for one word
    texts = [row["text"] for row in rows]
    found, _, sketches = judge(texts, 0.8, SketchSettings())

    sets = shingle_sets(pa.array(texts), ShingleSize())
    for pair, similarity in gold.items():
        if not pair & bilingual:
            a, b = pair
            assert jaccard(sets[a], sets[b]) == pytest.approx(similarity, abs=2e-4)  # four decimals, and one collision of 32-bit hashes
    close = [tuple(pair) for pair, similarity in gold.items() if similarity >= 0.8]
    assert len(close) == 393
    assert np.mean([(sketches.keys[a] == sketches.keys[b]).any() for a, b in close]) >= 0.98
    removed = {i: int(s) for i, s in enumerate(found.survivors) if s != NOBODY}
    assert len(removed) > 100
    assert all(gold[frozenset(pair)] >= 0.8 for pair in removed.items() if not bilingual & set(pair))
    assert sum(not removed.keys() & {a, b} for a, b in close) <= 0.02 * len(close)
