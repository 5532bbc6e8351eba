"""`mspt diff`: what differs between two artifacts, and whose verdict changed, worked out by hand."""

from __future__ import annotations

import json

import pytest

from mspt.cli.views.diff import changed_spans, leaves
from support.inline import work_inline
from support.shelf import COURSE, SHELF, SIEVE, look, look_json, put_raw, shelf


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    work_inline(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")


def test_settings_counts_and_statistics(capsys, workspace):
    shelf(workspace)
    shelf(workspace, shortest=5, name="other")
    found = look_json(capsys, workspace, "diff", "shelf", "other")
    assert found["settings"] == [{"name": "shortest", "a": 10, "b": 5}]
    assert found["counts"] == [{"name": "out", "a": 4, "b": 5}, {"name": "- too-short", "a": 2, "b": 1}]
    assert found["statistics"] == [{"name": "sources / books / rejected", "a": 2, "b": 1}]
    assert (found["inputs"], found["raw"]) == ([], {})
    _, out, _ = look(capsys, workspace, "diff", "shelf", "other")
    lines = [line.split() for line in out.splitlines()]
    assert ["shortest", "10", "5"] in lines
    assert ["out", "4", "5", "+1", "(+25.0%)"] in lines
    assert ["-", "too-short", "2", "1", "-1", "(-50.0%)"] in lines


def test_inputs_and_raw_files(capsys, workspace):
    folder = workspace.path.parent / "raw"
    first, second, third = (put_raw(folder / "all", [f"the long text of {name}"], name) for name in ("one", "two", "three"))
    workspace.run(SHELF, paths=[folder / "all"])
    third.unlink()
    put_raw(folder / "all", ["the long text of four"], "four")
    put_raw(folder / "all", ["another long text of two"], "two")
    workspace.run(SHELF, paths=[folder / "all"], name="later")
    assert look_json(capsys, workspace, "diff", "shelf", "later")["raw"] == {
        "added": ["all/four.jsonl"],
        "gone": ["all/three.jsonl"],
        "changed": ["all/two.jsonl"],
    }
    workspace.run(SIEVE, references={"docs": "shelf"}, name="left")
    workspace.run(SIEVE, references={"docs": "later"}, name="right")
    inputs = look_json(capsys, workspace, "diff", "left", "right")["inputs"]
    assert [(line["name"], line["a"].split()[0], line["b"].split()[0]) for line in inputs] == [("docs", "shelf@v1", "later@v1")]
    assert (first.is_file(), second.is_file()) == (True, True)


def changes(found: dict) -> dict[tuple[str, str, str], int]:
    return {(c["change"], c["from"], c["to"]): c["documents"] for c in found["documents"]["counts"]}


def test_whose_verdict_changed_between_versions(capsys, workspace):
    shelf(workspace)  # kept: 0 2 3 5; too short: 1 (5 characters), 4 (4 characters)
    shelf(workspace, shortest=5, name="looser")  # 1 is kept now
    found = look_json(capsys, workspace, "diff", "shelf", "looser", "--documents")
    assert changes(found) == {("rejected -> kept", "too-short", "kept"): 1}
    assert found["documents"]["same"] == 5
    example = found["documents"]["examples"][0]
    assert (example["a"]["text"], example["a"]["rule"], example["a"]["value"], example["b"]["text"]) == ("short", "too-short", 5.0, "short")
    back = look_json(capsys, workspace, "diff", "looser", "shelf", "--documents")
    assert changes(back) == {("kept -> rejected", "kept", "too-short"): 1}


def test_between_stages_what_the_first_rejected_is_no_news(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    found = look_json(capsys, workspace, "diff", "shelf", "sieve", "--documents")
    assert changes(found) == {("kept -> rejected", "kept", "unwanted"): 1, ("only in the first", "too-short", "not in it"): 2}
    assert [e["b"]["text"] for e in found["documents"]["examples"]] == ["please drop me at once"]
    assert [line["name"] for line in found["settings"]] == ["stage"]  # settings of two stages have nothing to do with each other


def test_changed_texts_point_at_the_change(capsys, workspace):
    shelf(workspace)
    shelf(workspace, shout=True, name="loud")
    found = look_json(capsys, workspace, "diff", "shelf", "loud", "--documents", "-n", "9")
    assert changes(found) == {("text changed", "kept", "kept"): 4}
    assert {(e["a"]["text"], e["b"]["text"]) for e in found["documents"]["examples"]} >= {("another long document", "ANOTHER LONG DOCUMENT")}
    _, out, _ = look(capsys, workspace, "diff", "shelf", "loud", "--documents", "-n", "9")
    assert ">>>another long document<<<" in out
    assert ">>>ANOTHER LONG DOCUMENT<<<" in out


def test_documents_that_only_one_side_has(capsys, workspace):
    folder = workspace.path.parent / "raw"
    workspace.run(SHELF, paths=[put_raw(folder, ["a document of the first"], "one"), put_raw(folder, ["a document of both sides"], "both")])
    workspace.run(SHELF, paths=[folder / "both.jsonl", put_raw(folder, ["a document of the second"], "two")], name="later")
    found = look_json(capsys, workspace, "diff", "shelf", "later", "--documents")
    assert changes(found) == {("only in the first", "kept", "not in it"): 1, ("only in the second", "not in it", "kept"): 1}


def test_ten_thousand_documents_agree_with_a_plain_dictionary(capsys, workspace):
    """The verdict table against a comparison of all rows by id."""
    texts = [f"{'x' * (n * 7919 % 23)}{n}" for n in range(10_000)]
    left, right = shelf(workspace, texts), shelf(workspace, texts, shortest=15, name="strict")
    sides = []
    for artifact, least in ((left, 10), (right, 15)):
        sides.append(["too-short" if len(t) < least else "kept" for t in texts])
        assert artifact.manifest["counts"]["out"] == sides[-1].count("kept")
    expected = sum(a != b for a, b in zip(*sides, strict=True))
    found = look_json(capsys, workspace, "diff", "shelf", "strict", "--documents", "-n", "0")
    assert changes(found) == {("kept -> rejected", "kept", "too-short"): expected}
    assert found["documents"]["same"] == 10_000 - expected


@pytest.mark.parametrize(
    ("arguments", "message"), [(["shelf", "course"], "diff compares two artifacts of one kind"), (["shelf", "shelf@v9"], "finished: shelf@v1")]
)
def test_mistakes_are_named(capsys, workspace, arguments, message):
    shelf(workspace)
    workspace.run(SIEVE)
    workspace.run(COURSE)
    code, _, err = look(capsys, workspace, "diff", *arguments)
    assert (code, message in err) == (2, True)


@pytest.mark.parametrize(("old", "new", "spans"), [
    ("abcdef", "abXdef", ((2, 3), (2, 3))),
    ("abcdef", "abdef", ((2, 3), (1, 2))),  # gone: the character before it stands for the place
    ("abc", "abcd", ((2, 3), (3, 4))),
    ("aaa", "aa", ((2, 3), (1, 2))),
    ("", "x", ((0, 0), (0, 1))),
    ("same", "same", ((3, 4), (3, 4))),
])  # fmt: skip
def test_where_two_texts_differ(old, new, spans):
    assert changed_spans(old, new) == spans


def test_nested_statistics_are_compared_leaf_by_leaf():
    assert leaves(json.loads('{"a": {"b": 1, "c": [2, {"d": 3}]}, "e": null}')) == {"a / b": 1, "a / c / 1": 2, "a / c / 2 / d": 3, "e": None}
    assert leaves({"steps": [{"step": "read", "in": 9}, {"step": "rules", "in": 8}]})["steps / rules / in"] == 8
