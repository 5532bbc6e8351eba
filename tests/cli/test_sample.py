"""`mspt sample`: the right documents, the same ones every time, with the place that matters, and nobody's telephone number."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import pytest

from mspt.cli.views.excerpt import excerpt, find_spans, redacted_position, windows
from mspt.core.errors import InputError
from mspt.core.expression import parse
from mspt.core.text.privacy.privacy import redact
from support.inline import work_inline
from support.shelf import SHELF, SIEVE, look, look_json, put_raw, shelf

PHONE, MAIL = "13812345678", "jane.doe@example.com"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    work_inline(monkeypatch)
    monkeypatch.setenv("COLUMNS", "160")


def test_documents_by_expression(capsys, workspace):
    shelf(workspace)
    found = look_json(capsys, workspace, "sample", "shelf", "--where", '"long" in text and length(text) > 19')
    assert (found["total"], found["matches"]) == (4, 2)
    assert [row["text"] for row in found["rows"]] == ["a first long document", "another long document"]
    _, out, _ = look(capsys, workspace, "sample", "shelf", "--where", '"other" in text')
    assert "1 of 4 documents match" in out
    assert "an>>>other<<< long document" in out  # marked, where there is no terminal to style it


def test_only_live_documents_unless_keep_is_asked_for(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    assert look_json(capsys, workspace, "sample", "sieve")["matches"] == 3
    assert [r["text"] for r in look_json(capsys, workspace, "sample", "sieve", "--where", "not keep")["rows"]] == ["please drop me at once"]
    assert look_json(capsys, workspace, "sample", "sieve", "--where", "score > 0.21")["matches"] == 1  # a column of a layer; the dropped one has 0.22


def test_rejected_are_counted_by_rule_with_what_was_measured(capsys, workspace):
    shelf(workspace)
    found = look_json(capsys, workspace, "sample", "shelf", "--rejected")
    assert found["by"] == [{"rule": "too-short", "rows": 2, "threshold": 10.0}]
    assert sorted(row["text"] for row in found["rows"]) == ["short", "tiny"]
    _, out, _ = look(capsys, workspace, "sample", "shelf", "--rejected", "-n", "0")
    line = next(line for line in out.splitlines() if line.strip().startswith("too-short"))
    assert line.split()[:7] == ["too-short", "2", "100.0%", "4", "4.5", "5", "10"]  # rows, share, least, median, most, limit


def test_the_document_that_was_kept_instead_is_shown(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    _, out, _ = look(capsys, workspace, "sample", "sieve", "--rejected")
    assert "kept instead: books.jsonl#0" in out
    assert "a first long document" in out


def test_removed_parts_say_where_they_stood(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    found = look_json(capsys, workspace, "sample", "sieve", "--removed")
    assert found["by"] == [{"rule": "long-word", "rows": 2, "threshold": None}]
    assert [(row["text"], row["start"], row["end"]) for row in found["rows"]] == [("long", 8, 12), ("long", 8, 12)]
    _, out, _ = look(capsys, workspace, "sample", "sieve", "--removed", "-n", "1")
    assert "characters 8 to 12" in out
    assert ">>>" not in out  # the part is all there is: nothing to point at in it


def test_a_whole_document_that_was_rejected_names_no_characters(capsys, workspace):
    shelf(workspace)
    _, out, _ = look(capsys, workspace, "sample", "shelf", "--rejected")
    assert "(limit 10)" in out
    assert " to " not in out


def test_an_unfinished_version_stopped_by_max_rejected_can_be_looked_at(capsys, workspace):
    with pytest.raises(InputError) as error:
        shelf(workspace, max_rejected=0.01)
    command = error.value.hint.split("mspt ")[1].split(";")[0].split()
    assert command == ["sample", "shelf@v1.partial", "--rejected"]  # the hint is a command that works
    assert look_json(capsys, workspace, *command)["matches"] == 2
    assert look_json(capsys, workspace, "sample", "shelf", "-n", "1")["ref"] == "shelf@v1.partial"


def test_the_choice_is_the_same_every_time_and_another_with_another_seed(capsys, workspace):
    texts = [f"document number {i:03d}" for i in range(200)]
    shelf(workspace, texts)

    def chosen(*options: str) -> list[str]:
        return [row["text"] for row in look_json(capsys, workspace, "sample", "shelf", "-n", "5", *options)["rows"]]

    first = chosen()
    assert len(first) == 5
    assert first == chosen()
    assert first == sorted(first)  # in the order of the artifact
    assert set(first) != set(chosen("--seed", "1"))
    # A larger artifact of the same documents and more shows a chosen one again as long as no better one came: the choice hangs on ids, not on places.
    put_raw(workspace.path.parent / "raw", ["added document one"], "added")
    workspace.run(SHELF, paths=[workspace.path.parent / "raw" / n for n in ("books.jsonl", "added.jsonl")], name="more")
    later = [row["text"] for row in look_json(capsys, workspace, "sample", "more", "-n", "5")["rows"]]
    assert len(set(first) & set(later)) >= 4


def test_by_counts_any_column(capsys, workspace):
    shelf(workspace)
    assert look_json(capsys, workspace, "sample", "shelf", "--by", "source")["by"][0]["rows"] == 4
    code, _, err = look(capsys, workspace, "sample", "shelf", "--by", "sauce")
    assert (code, "did you mean `source`?" in err) == (2, True)


@pytest.mark.parametrize(("arguments", "message"), [
    (["--where", "tex == 'a'"], "did you mean `text`?"),
    (["--columns", "id,txt"], "did you mean `text`?"),
    (["--removed"], "it has rejected rows (--rejected)"),
    (["--removed", "--rejected"], "one after the other"),
    (["--where", "length(text)"], "not a condition"),
])  # fmt: skip
def test_mistakes_are_named(capsys, workspace, arguments, message):
    shelf(workspace)
    code, out, err = look(capsys, workspace, "sample", "shelf", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_jsonl_and_csv_hold_whole_texts_and_columns(capsys, workspace):
    long = "a long document, " * 100
    shelf(workspace, [long, 'with "quotes", commas\nand lines'])
    _, out, _ = look(capsys, workspace, "sample", "shelf", "--format", "jsonl")
    assert {json.loads(line)["text"] for line in out.splitlines()} == {long, 'with "quotes", commas\nand lines'}
    _, out, _ = look(capsys, workspace, "sample", "shelf", "--format", "csv", "--columns", "text,source")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["text"] for row in rows} == {long, 'with "quotes", commas\nand lines'}
    assert {row["source"] for row in rows} == {"books"}


@pytest.mark.parametrize("options", [["-n", "400"], ["-n", "400", "--format", "jsonl"], ["-n", "400", "--json"]])
def test_a_reader_that_has_seen_enough_is_no_error(workspace, options):
    shelf(workspace, ["a document of some length " * 20] * 400)
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "sample", "shelf", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait()) == (b"", 0)


def test_a_terminal_that_cannot_show_a_character_gets_its_number(workspace):
    shelf(workspace, ["一个相当长的中文文档，真的很长"])
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "sample", "shelf"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert "\\u4e00\\u4e2a" in done.stdout


# --- personal data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["--format", "jsonl"], ["--format", "csv"], ["--json"], ["--columns", "text"], ["--where", f"'{PHONE}' in text"]])
def test_no_view_shows_personal_data(capsys, workspace, arguments):
    shelf(workspace)
    for view in (["sample", "shelf", *arguments], ["show", "shelf", "--row", "3"], ["diff", "shelf", "shelf"]):
        code, out, _ = look(capsys, workspace, *view)
        assert code == 0
        assert PHONE not in out
        assert MAIL not in out
    _, out, _ = look(capsys, workspace, "sample", "shelf", *arguments)
    assert "[phone]" in out


def test_a_cut_never_leaves_half_of_a_number():
    text = "电话" * 300 + f"请拨打{PHONE}或写信给{MAIL}谢谢" + "文字" * 300
    place = text.index(PHONE)
    for start in range(place - 3, place + 45):
        shown = excerpt(text, [(start, start + 4)], 40, styled=False).plain
        assert not any(PHONE[i : i + 5] in shown for i in range(len(PHONE) - 4))
        assert "jane" not in shown
        assert "example" not in shown


def test_positions_follow_the_text_through_redaction():
    text = f"call {PHONE} or {MAIL} now"
    whole = redact(text)
    assert whole == "call [phone] or [email] now"
    assert [redacted_position(text, text.index(w)) for w in ("call", " or", " now")] == [0, whole.index(" or"), whole.index(" now")]
    assert redacted_position(text, text.index(PHONE) + 5) == whole.index("[phone]")
    assert redacted_position(text, len(text)) == len(whole)


# --- what is shown of a text -------------------------------------------------------------------------------------------


def test_short_texts_are_whole_long_ones_show_head_and_tail():
    assert windows("x" * 100, [], 100) == [(0, 100)]
    assert windows("x" * 1000, [], 90) == [(0, 60), (970, 1000)]
    assert windows("x" * 1000, [], 0) == [(0, 1000)]
    shown = excerpt("a" * 60 + "b" * 910 + "c" * 30, [], 90).plain
    assert shown == "a" * 60 + " [... 910 characters ...] " + "c" * 30


def test_many_short_lines_count_as_more():
    (_, head), *_ = windows("ab\n" * 1000, [], 600)
    assert "ab\n".count("\n") * head / 3 < 20


def test_a_mark_stands_in_the_middle_of_its_surroundings_and_a_long_one_shows_its_ends():
    text = "x" * 500 + "MARK" + "y" * 500
    assert windows(text, [(500, 504)], 100) == [(475, 529)]
    shown = excerpt(text, [(500, 504)], 100, styled=False).plain
    assert ">>>MARK<<<" in shown
    assert shown.startswith(" [... 475 characters ...] x")
    parts = windows("x" * 5000, [(1000, 4000)], 400)
    assert len(parts) == 2
    assert parts[0][0] < 1000 < parts[0][1] < parts[1][0] < 4000 < parts[1][1]


def test_what_an_expression_looked_for_is_found_in_characters():
    text = "系统：abc 与 ABC+"
    finds = parse("'统' in text and matches(lower(text), 'b+c') and contains(text, 'ABC+')").finds("text")
    assert [text[a:b] for a, b in find_spans(text, finds)] == ["统", "bc", "ABC+"]


def test_an_artifact_without_documents_is_no_crash(capsys, workspace):
    """pyarrow dies on some operations on a column without chunks, which is how a shard without rows is read."""
    shelf(workspace, [])
    for arguments in ([], ["--where", 'lang == "en"'], ["--where", "keep"]):
        found = look_json(capsys, workspace, "sample", "shelf", *arguments)
        assert (found["total"], found["rows"]) == (0, [])


def test_a_first_shard_that_cannot_be_read_is_named(capsys, workspace):
    made = shelf(workspace)
    shard = made.root / "docs-00000.parquet"
    for damage, said in ((lambda: os.truncate(shard, 20), "has 20 bytes"), (shard.unlink, "is missing")):
        damage()
        code, _, err = look(capsys, workspace, "sample", "shelf")
        assert (code, f"shelf@v1: docs-00000.parquet {said}" in err) == (5, True)
