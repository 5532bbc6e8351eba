"""Rows to label: `mspt sample REF --export FILE`, filled in as a person would, and `mspt train-scorer FILE`."""

from __future__ import annotations

import csv
import io
import json

import pytest

from mspt.core.errors import MsptError
from support.given import given
from support.inline import work_inline
from support.prose import corpus
from support.scorers import score_by_length
from support.shelf import look

SMALL = {"workers": 1, "buckets": 1 << 12, "epochs": 5, "held_out": 0.3}


@pytest.fixture
def scored(workspace, monkeypatch):
    """120 documents, those with an odd number of words out of order; line ends, quotes, formulas and a telephone number in some."""
    with monkeypatch.context() as patch:
        work_inline(patch)
        score_by_length(patch)
        rows = [{"ref": ref, "text": text, "source": "s", "lang": "en"} for ref, text in corpus(120, seed=4).items()]
        rows[0]["text"] = '=cmd|"x"\nline, two; "quoted"\n' + rows[0]["text"]
        rows[1]["text"] = "call 13812345678 or write to jane.doe@example.com\r\n" + rows[1]["text"]
        given(workspace, rows, shards=2)
        workspace.run("score", {"workers": 1}, references={"docs": "given"})
    return workspace


def fill(path, label_of):
    """What a spreadsheet does: reads, puts labels in, saves with a byte order mark."""
    rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    assert {row["label"] for row in rows} == {""}
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows({**row, "label": label_of(i)} for i, row in enumerate(rows))
    path.write_bytes(file.getvalue().encode("utf-8-sig"))
    return rows


def test_csv_round_trip(capsys, scored, tmp_path):
    path = tmp_path / "labels.csv"
    code, out, _ = look(capsys, scored, "sample", "score", "--export", str(path), "-n", "150")
    assert (code, "120 rows to label" in out, f"mspt train-scorer {path}" in out) == (0, True, True)
    rows = fill(path, lambda i: ("high", "Low", "0,5", "")[i % 4])
    assert list(rows[0]) == ["id", "quality", "source", "lang", "label", "text"]
    texts = [row["text"] for row in rows]
    assert any(text.startswith('\'=cmd|"x"\nline, two; "quoted"\n') for text in texts)
    assert any(text.startswith("call [phone] or write to [email]\r\n") for text in texts)
    with pytest.raises(MsptError, match=r"30 of 120 rows have no label, the first is labels.csv:\d+"):
        scored.run("train-scorer", SMALL, files={"labels": [path]})
    made = scored.run("train-scorer", {**SMALL, "skip_unlabelled": True}, files={"labels": [path]})
    assert (made.stats["labels"], made.stats["unlabelled"]) == (90, 30)
    assert made.kind == "scorer"


def test_jsonl_round_trip_of_some(capsys, scored, tmp_path):
    path = tmp_path / "labels.jsonl"
    look(capsys, scored, "sample", "score", "--where", "quality < 0.2", "--export", str(path))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert 20 < len(rows) < 120
    assert all(row["quality"] < 0.2 and row["label"] == "" for row in rows)
    path.write_text("".join(json.dumps({**row, "label": "high" if i % 2 else 0.1}) + "\n" for i, row in enumerate(rows)), encoding="utf-8")
    assert scored.run("train-scorer", SMALL, files={"labels": [path]}).stats["labels"] == len(rows)


def test_mistakes(capsys, scored, tmp_path):
    there = tmp_path / "there.csv"
    there.write_text("text,label\nmy,work\n")
    for name, words in (("labels.xlsx", "the name says the form"), ("there.csv", "may hold labels"), ("missing/a.csv", "no directory")):
        code, _, error = look(capsys, scored, "sample", "score", "--export", str(tmp_path / name))
        assert (code, words in error) == (2, True)
    assert there.read_text() == "text,label\nmy,work\n"
    code, _, error = look(capsys, scored, "sample", "score", "--where", "quality > 2", "--export", str(tmp_path / "a.csv"))
    assert (code, "nothing to label" in error, (tmp_path / "a.csv").exists()) == (2, True, False)


def test_documents_that_nothing_scored_can_be_labelled_too(capsys, scored, tmp_path):
    look(capsys, scored, "sample", "given", "--export", str(tmp_path / "a.csv"), "-n", "3")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_bytes().decode("utf-8-sig"), newline="")))
    assert (len(rows), list(rows[0])) == (3, ["id", "source", "lang", "label", "text"])
