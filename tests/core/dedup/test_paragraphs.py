"""Repeated paragraphs: lines found and folded as a slow reading of the rules says, and the walk by hand."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.dedup.folding import fold_text
from mspt.core.dedup.paragraphs import BOILERPLATE, NOBODY, Walk, document_counts, find_paragraphs, left_alone
from mspt.core.text.spans import Span


def lines_by_hand(text):
    """(start, line, columns) of each line with letters."""
    found, start = [], 0
    for line in text.split("\n"):
        folded = fold_text(line)
        columns = sum(2 if "\u3040" <= c <= "\u9fff" else 1 for c in folded if c.isalnum() or c == "_")
        if columns:
            found.append((start, folded, columns))
        start += len(line) + 1
    return found


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text(alphabet="aB１中文か \t\n\r.，_\u200b😀", max_size=60), max_size=5))
def test_lines_equal_a_slow_reading(texts):
    found = find_paragraphs(pa.array(texts, pa.string()))
    by_fold: dict[str, tuple[int, ...]] = {}
    for i, text in enumerate(texts):
        own = slice(found.offsets[i], found.offsets[i + 1])
        expected = lines_by_hand(text)
        assert found.starts[own].tolist() == [start for start, _, _ in expected]
        assert found.ends[own].tolist() == [start for start, _, _ in expected[1:]] + [len(text)] * bool(expected)
        assert found.widths[own].tolist() == [columns for _, _, columns in expected]
        for (_, folded, _), pair in zip(expected, found.hashes[own].tolist(), strict=True):
            assert by_fold.setdefault(folded, tuple(pair)) == tuple(pair)
    assert len(set(by_fold.values())) == len(by_fold)


def test_both_hashes_tell_real_lines_apart():
    chooser = random.Random(1)
    lines = {"".join(chooser.choices("天地玄黄ab ", k=chooser.randrange(1, 9))).strip() for _ in range(20_000)}
    folded = {fold_text(line) for line in lines} - {""}
    found = find_paragraphs(pa.array(["\n".join(sorted(lines))]))
    assert len(np.unique(found.hashes[:, 0])) == len(np.unique(found.hashes[:, 1])) == len(folded)


@pytest.mark.parametrize(("form", "alone"), [("code", True), ("verse", True), ("table", True), ("prose", False), ("markup", False)])
def test_forms_that_are_left_alone(form, alone):
    assert left_alone("a line", form, ()) == ([(0, 6)] if alone else [])


def test_code_inside_prose_is_left_alone():
    text = "before\n```\ncode\n```\nafter"
    assert left_alone(text, "prose", ()) == [(7, 19)]
    assert left_alone("x\ncode\ny", "prose", (Span("p", 0, 1), Span("pre", 2, 6))) == [(2, 6)]


def decide(documents, boilerplate=0, others=0):
    """Walk over documents of paragraphs named by letters, each ten columns wide, beside `others` columns that nobody repeats."""
    names = sorted({name for document in documents for name in document})
    totals = np.array([10 * len(document) + others for document in documents])
    walk, survivors = Walk(totals, np.empty(len(names), np.int64), boilerplate), []
    for rank, document in enumerate(documents):  # one call for each document: what one leaves behind, the next finds
        groups = np.array([names.index(name) for name in document], np.int64)
        having = np.array([sum(name in other for other in documents) for name in document], np.int64)
        survivors += walk.decide(np.full(len(groups), rank), groups, np.full(len(groups), 10), having).tolist()
    return survivors, np.flatnonzero(walk.rejected).tolist()


def test_the_first_document_keeps_a_paragraph():
    assert decide(["ab", "bc", "cb"], others=30) == ([NOBODY, NOBODY, 0, NOBODY, 1, 0], [])


def test_repeats_inside_one_document_stay():
    assert decide(["aba", "ba"], others=30) == ([NOBODY, NOBODY, NOBODY, 0, 0], [])


def test_boilerplate_goes_everywhere():
    assert decide(["ab", "ac", "ab"], boilerplate=3, others=30) == ([BOILERPLATE, NOBODY, BOILERPLATE, NOBODY, BOILERPLATE, 0], [])
    assert decide(["aa", "a"], boilerplate=3, others=30) == ([NOBODY, NOBODY, 0], [])  # three times, in two documents


def test_a_document_with_little_of_its_own_is_rejected_and_owns_nothing():
    # the second has 100 of 110 columns from the first; its own paragraph `x` then stays in the third
    assert decide(["abcdefghij", "abcdefghijx", "x"], others=0) == ([NOBODY] * 10 + [0] * 10 + [NOBODY] + [NOBODY], [1])
    # 90 of 100: exactly a tenth is left, and the document stays
    assert decide(["abcdefghi", "abcdefghix"])[1] == []


def test_document_counts():
    assert document_counts(np.array([0, 0, 1, 2]), np.array([1, 1, 1, 0])).tolist() == [1, 2]
    assert document_counts(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
