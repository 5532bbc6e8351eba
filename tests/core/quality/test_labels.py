"""Labels that a person gives, and what is wrong with some."""

from __future__ import annotations

import json

import pytest

from mspt.core.errors import MsptError
from mspt.core.quality.labels import read_labels


def written(tmp_path, *rows, name="labels.jsonl"):
    path = tmp_path / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path


def row(text, label):
    return {"text": text, "label": label, "note": "ignored"}


def test_classes_and_numbers_and_any_character(tmp_path):
    texts = ["a good text\nof two lines", "nul \0 and \u2028 inside", "half \ud800 a pair", "__label__high"]
    path = written(tmp_path, row(texts[0], "high"), "", row(texts[1], "Low"), row(texts[2], 0.25), row(texts[3], 1))
    more = written(tmp_path, row("另一个", "middle"), name="more.jsonl")
    found = read_labels([path, more]).labels
    assert [label.value for label in found] == [1.0, 0.0, 0.25, 1.0, 0.5]
    assert [label.text for label in found] == [*texts[:2], "half ? a pair", texts[3], "另一个"]
    assert found[1].place == "labels.jsonl:3"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there is no label"),
        (["", "  "], "there is no label"),
        ([row("a", "high"), row("b", "high")], "all 2 labels are high"),
        ([row("a", 0.9), row("b", "high"), row("c", 0.7)], "all 3 labels are high"),
        ([row("a", "high"), row("b", "low"), row("A ", "high")], "labels.jsonl:3 repeats labels.jsonl:1"),
        ([row("a", "high"), row("b", "low"), row("Ａ", "low")], "labels.jsonl:3 contradicts labels.jsonl:1: the same text, labels 1 and 0"),
        ([row("a", "high"), row(" \n\0", "low")], "labels.jsonl:2: the text is empty"),
        ([row("a", "high"), {"label": "low"}], "labels.jsonl:2 has no `text`"),
        ([row("a", "high"), ["b", "low"]], "labels.jsonl:2 has no `text`"),
        ([row("a", "high"), "{oops"], "labels.jsonl:2 is no JSON"),
        ([row("a", "good")], "labels.jsonl:1: label 'good' is none"),
        ([row("a", 1.5)], "label 1.5 is none"),
        ([row("a", "1.5")], "label 1.5 is none"),
        ([row("a", "nan")], "label nan is none"),
        ([row("a", True)], "label True is none"),
        ([row("a", None)], "1 of 1 rows have no label, the first is labels.jsonl:1"),
        ([row("a", "high"), row("b", " "), row("c", "low")], "1 of 3 rows have no label, the first is labels.jsonl:2"),
        (['{"text": "a", "label": NaN}'], "label nan is none"),
    ],
)
def test_mistakes_are_named_by_line(tmp_path, rows, message):
    with pytest.raises(MsptError, match=message.replace("(", r"\(")) as caught:
        read_labels([written(tmp_path, *rows)])
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_bytes(b'{"text": "\xff", "label": "low"}\n')
    with pytest.raises(MsptError, match="not UTF-8"):
        read_labels([path])
    path.write_bytes(b"\xef\xbb\xbf" + b'{"text": "a", "label": "low"}\n{"text": "b", "label": "high"}')
    assert len(read_labels([path]).labels) == 2


def test_rows_without_a_label_are_left_out_when_asked(tmp_path):
    path = written(tmp_path, row("a", "high"), row("b", ""), row("c", "low"), row("d", None), row("e", "0,5"))
    found = read_labels([path], skip_unlabelled=True)
    assert ([label.value for label in found.labels], found.unlabelled) == ([1.0, 0.0, 0.5], 2)
    with pytest.raises(MsptError, match="none of the 2 rows has a label yet"):
        read_labels([written(tmp_path, row("a", ""), row("b", ""))], skip_unlabelled=True)
