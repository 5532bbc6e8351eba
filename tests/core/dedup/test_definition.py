"""The definition of removal against a model in plain Python, on tiny corpora of any shape, cut into any shards, ranges and batches."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.dedup.folding import fold_text
from mspt.core.dedup.index import NOBODY
from mspt.core.dedup.shingles import ShingleSize
from mspt.core.dedup.sketch import SketchSettings
from support.judging import judge

SETTINGS = SketchSettings(ShingleSize(2, 2), bands=6, rows=2)
# Words of a few letters of one script: many near copies, exact copies, and texts without a shingle.
texts = st.lists(
    st.text("甲乙丙丁 。", max_size=14) | st.sampled_from(["甲乙丙丁甲乙丙丁戊己", "甲乙丙丁甲乙丙丁戊庚", "甲乙丙丁 甲乙丙丁戊己", ""]), max_size=14
)


def shingles(text: str) -> set[str]:
    units = [c for c in fold_text(text) if "一" <= c <= "龥"]
    return {"".join(units[i : i + 2]) for i in range(len(units) - 1)}


def model(texts: list[str], threshold: float, keys: list[list[int]], num_old: int) -> dict[int, tuple[int, float, bool]]:
    """document -> (survivor, similarity, exact). Ids are positions."""
    order = sorted(range(len(texts)), key=lambda i: (i >= num_old, -len(fold_text(texts[i])), i))
    kept, removed = [], {}
    for document in order:
        own = shingles(texts[document])
        same = [k for k in kept if fold_text(texts[k]) == fold_text(texts[document])]
        near = []
        for k in kept:
            theirs = shingles(texts[k])
            share_band = own and theirs and any(a == b for a, b in zip(keys[document], keys[k], strict=True))
            if share_band and len(own & theirs) / len(own | theirs) >= threshold:
                near.append(k)
        if document < num_old or not (same or near):
            kept.append(document)
        elif same:
            removed[document] = (same[0], 1.0, True)
        else:
            theirs = shingles(texts[near[0]])
            removed[document] = (near[0], len(own & theirs) / len(own | theirs), False)
    return removed


@settings(max_examples=40, deadline=None)
@given(texts, st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.integers(1, 4), st.sampled_from([60, 500, 2**20]), st.sampled_from([1, 6, 1000]), st.integers(0, 6))
def test_verdicts_are_those_of_the_model(texts, threshold, shards, max_bytes, max_shingles, num_old):
    num_old = min(num_old, len(texts))
    found, _, sketches = judge(texts, threshold, SETTINGS, shards=shards, max_bytes=max_bytes, max_shingles=max_shingles, num_old=num_old)
    expected = model(texts, threshold, sketches.keys.tolist(), num_old)
    removed = {i: (int(s), float(found.similarities[i]), bool(found.exact[i])) for i, s in enumerate(found.survivors) if s != NOBODY and i >= num_old}
    assert removed == expected


@settings(max_examples=20, deadline=None)
@given(texts, texts, st.sampled_from([0.3, 0.6, 0.8]))
def test_new_against_what_old_kept_is_the_whole_with_old_first(old, new, threshold):
    """Old documents alone, then the new ones against those that stayed, keep what one run over all keeps in which all old ones come first."""
    first, _, _ = judge(old, threshold, SETTINGS)
    stayed = [i for i, s in enumerate(first.survivors) if s == NOBODY]
    second, _, _ = judge([*(old[i] for i in stayed), *new], threshold, SETTINGS, num_old=len(stayed))
    kept = {("old", i) for i in stayed} | {("new", i) for i, s in enumerate(second.survivors[len(stayed) :]) if s == NOBODY}

    ranked = sorted(range(len(old) + len(new)), key=lambda i: (i >= len(old), -len(fold_text((old + new)[i])), i))
    _, _, sketches = judge(old + new, threshold, SETTINGS)
    removed = model_in_order(old + new, threshold, sketches.keys.tolist(), ranked)
    assert kept == {("old", i) if i < len(old) else ("new", i - len(old)) for i in range(len(old) + len(new))} - {
        ("old", i) if i < len(old) else ("new", i - len(old)) for i in removed
    }


def model_in_order(texts: list[str], threshold: float, keys: list[list[int]], order: list[int]) -> set[int]:
    """What goes when documents are considered in this order."""
    kept: list[int] = []
    for document in order:
        own = shingles(texts[document])
        for k in kept:
            theirs = shingles(texts[k])
            share_band = own and theirs and any(a == b for a, b in zip(keys[document], keys[k], strict=True))
            if fold_text(texts[k]) == fold_text(texts[document]) or (share_band and len(own & theirs) / len(own | theirs) >= threshold):
                break
        else:
            kept.append(document)
    return set(order) - set(kept)


def test_nothing_depends_on_shards_ranges_or_batches():
    chooser = random.Random(3)
    corpus = []
    for _ in range(40):
        base = "".join(chooser.choices("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往", k=40))
        corpus += [base[:i] + base[i + 1 :] for i in range(chooser.randrange(1, 6))]
    expected, _, _ = judge(corpus, 0.7, SETTINGS)
    for shards, max_bytes, max_shingles in ((1, 2**20, 40), (3, 1000, 2**20), (7, 3000, 200), (30, 2**20, 1)):
        found, _, _ = judge(corpus, 0.7, SETTINGS, shards=shards, max_bytes=max_bytes, max_shingles=max_shingles)
        assert found.survivors.tolist() == expected.survivors.tolist()
    assert 20 < (expected.survivors != NOBODY).sum() < len(corpus) - 20
