"""Cutting paragraphs by hand: a reference that gives each line the number that it begins with."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.quality.alphabet import choose_alphabet
from mspt.core.quality.paragraphs import cut_paragraphs, find_cuts
from mspt.core.quality.perplexity import HIGH_RULE, LOW_RULE, Limits, parse_by_language
from mspt.core.text.documents import DOCS

LIMITS = Limits(most=parse_by_language("max_perplexity", ["en=100"]), least=parse_by_language("min_perplexity", ["2"]))


class Numbers:
    """One value for each line that an alphabet finds a symbol in, as a Reference gives them."""

    def paragraphs(self, text, lang):
        lines = [line.split()[0] for line in text.split("\n") if line.split()]
        assert len(lines) == len(choose_alphabet([], 1).read(text).line_ends)
        return [None if word == "none" else float(word) for word in lines]


def cut(text, lang="en"):
    cuts = find_cuts(text, lang, Numbers(), LIMITS)
    for one in reversed(cuts):
        text = text[: one.start] + text[one.end :]
    return text, [(one.violation.rule, one.violation.value) for one in cuts]


@pytest.mark.parametrize(
    ("text", "left", "found"),
    [
        ("50 a\n200 b\nnone c", "50 a\nnone c", [(HIGH_RULE, 200.0)]),
        ("50 a\n\n  \n200 b\n\n1 c\n60 d\n", "50 a\n\n  \n\n60 d\n", [(HIGH_RULE, 200.0), (LOW_RULE, 1.0)]),
        ("300 a\n50 b\n200 c", "50 b", [(HIGH_RULE, 300.0), (HIGH_RULE, 200.0)]),
        ("50 b\n200 c\n300 d", "50 b\n", [(HIGH_RULE, 200.0), (HIGH_RULE, 300.0)]),
        ("200 a\n1 b", "200 a\n1 b", []),  # nothing would be left
        ("100 a\n2 b", "100 a\n2 b", []),
        ("", "", []),
    ],
)
def test_lines_beyond_the_limits_go_with_their_line_end(text, left, found):
    assert cut(text) == (left, found)


@given(st.lists(st.sampled_from(["50 a", "200 b", "1 c", "none d", "", " "]), max_size=8))
def test_what_is_within_the_limits_stays_in_order(lines):
    text, found = cut("\n".join(lines))
    stays = [line for line in lines if line in ("50 a", "none d")]
    filled = [line for line in lines if line.strip()]
    assert [line for line in text.split("\n") if line.strip()] == (stays or filled)
    assert len(found) == (len(filled) - len(stays) if stays else 0)


def test_a_shard_its_spans_and_the_rows_of_what_is_gone():
    rows = [
        {"id": "1", "ref": "a", "source": "s", "lang": "en", "text": "50 head\n200 bad\n60 tail", "spans": [{"tag": "p", "start": 16, "end": 23}]},
        {"id": "2", "ref": "b", "source": "s", "lang": "fr", "text": "200 fine\n300 fine", "spans": None},
        {"id": "3", "ref": "c", "source": "s", "lang": "en", "text": "200 not asked\n50 x", "spans": None},
    ]
    table = pa.Table.from_pylist(rows, DOCS)
    changed, removed = cut_paragraphs(table, [0, 1], Numbers(), LIMITS, "score")
    assert changed.schema.equals(DOCS)
    assert changed.column("text").to_pylist() == ["50 head\n60 tail", "200 fine\n300 fine", "200 not asked\n50 x"]
    assert changed.column("spans")[0].as_py() == [{"tag": "p", "start": 8, "end": 15}]
    (row,) = removed.to_pylist()
    assert (row["id"], row["rule"], row["value"], row["threshold"], row["start"], row["end"], row["text"]) == ("1", HIGH_RULE, 200.0, 100.0, 8, 8, "200 bad\n")
    assert cut_paragraphs(table, [1], Numbers(), LIMITS, "score") is None
