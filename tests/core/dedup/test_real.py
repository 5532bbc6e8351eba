"""Real near-duplicates with gold answers that others computed (../shared/data)."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.dedup.shingles import ShingleSize, jaccard, shingle_sets
from mspt.core.dedup.sketch import SketchSettings, sketch

HAN = set(map(chr, range(0x4E00, 0xA000)))


def test_licence_texts_have_the_gold_similarities_and_nearly_all_close_pairs_meet(shared):
    rows = [json.loads(line) for line in gzip.open(shared / "data/neardup_spdx.jsonl.gz", "rt", encoding="utf-8")]
    lines = gzip.open(shared / "data/neardup_spdx_gold_pairs.tsv.gz", "rt", encoding="utf-8").read().splitlines()[1:]
    place = {row["id"]: i for i, row in enumerate(rows)}
    texts = pa.array([row["text"] for row in rows])
    sets, keys = shingle_sets(texts, ShingleSize()), sketch(texts, SketchSettings()).keys
    met = []
    for line in lines:
        first, second, _, gold = line.split("\t")
        a, b = place[first], place[second]
        if not HAN & {*rows[a]["text"], *rows[b]["text"]}:  # the gold takes a run of Han characters for one word
            assert jaccard(sets[a], sets[b]) == pytest.approx(float(gold), abs=2e-4)  # four decimals, and one collision of 32-bit hashes
        if float(gold) >= 0.8:
            met.append(bool((keys[a] == keys[b]).any()))
    assert len(met) == 393
    assert np.mean(met) >= 0.98
