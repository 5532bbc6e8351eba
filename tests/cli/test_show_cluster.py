"""`mspt show dedup`: what was removed, and what differs between a survivor and what was removed for it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from mspt.cli.views.text_diff import compare, render
from mspt.core.text.documents import document_id
from support.given import given
from support.inline import work_inline
from support.shelf import look, look_json


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    work_inline(monkeypatch)
    monkeypatch.setenv("COLUMNS", "140")


def prose(seed, size=300):
    return "".join(random.Random(seed).choices("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往", k=size))


@pytest.fixture
def made(workspace):
    text = prose(1)
    rows = [
        {"ref": "long", "text": f"{text}，电话 13812345678。", "source": "web", "url": "http://a"},
        {"ref": "near", "text": text, "source": "web", "url": "http://b"},
        {"ref": "exact", "text": f"{text}，电话　13812345678。", "source": "books", "url": ""},
        {"ref": "other", "text": prose(2), "source": "books", "url": ""},
    ]
    given(workspace, rows)
    return workspace.run("dedup", {"workers": 1, "source_priority": ["web"]}, references={"docs": "given"})


def test_removed_by_level_and_source_and_clusters(capsys, workspace, made):
    _, out, _ = look(capsys, workspace, "show", "dedup")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    length = {"web": 300 + 316, "books": 300 + 316}
    assert f"removed of 4 documents, {sum(length.values()):,} characters" in lines
    assert "all sources all levels 2 50.0% 616 50.0%" in lines
    assert "exact-duplicate 1 25.0% 316 25.6%" in lines
    assert "near-duplicate 1 25.0% 300 24.4%" in lines
    assert f"books exact-duplicate 1 50.0% 316 {316 / length['books']:.1%}" in lines
    assert f"web near-duplicate 1 50.0% 300 {300 / length['web']:.1%}" in lines
    assert any(line.startswith("3 1 █") for line in lines)
    assert any(line.startswith(f"3 {document_id('web', 'long')[:10]} web ") for line in lines)


def test_a_cluster_with_its_differences(capsys, workspace, made):
    survivor = document_id("web", "long")
    code, out, _ = look(capsys, workspace, "show", "dedup", "--cluster", survivor)
    assert code == 0
    assert f"{survivor}: 3 documents" in out
    assert "similarity 1.000" in out
    assert "[-，电话 [phone]。-]" in out
    assert "13812345678" not in out
    by_member = look_json(capsys, workspace, "show", "dedup", "--cluster", document_id("web", "near")[:10])
    assert by_member["cluster"] == survivor
    assert [member["ref"] for member in by_member["removed"]] == ["exact", "near"]
    near = by_member["removed"][1]
    assert near["diff"] == [["delete", 300, len(by_member["survivor"]["text"]), 300, 300]]
    assert near["rule"] == "near-duplicate"


def test_what_is_no_cluster_is_said(capsys, workspace, made):
    code, _, error = look(capsys, workspace, "show", "dedup", "--cluster", document_id("books", "other"))
    assert (code, "no document of a cluster has this id" in error) == (2, True)
    code, _, error = look(capsys, workspace, "show", "dedup", "--cluster", "00", "--lineage")
    assert (code, "exclude each other" in error) == (2, True)


def test_a_survivor_in_an_older_artifact(capsys, workspace, made):
    given(workspace, [{"ref": "new", "text": prose(2), "source": "later"}], name="more")
    workspace.run("dedup", {"workers": 1, "source_priority": ["web"]}, references={"docs": "more", "against": "dedup@v1"}, name="second")
    _, out, _ = look(capsys, workspace, "show", "second", "--cluster", document_id("books", "other"))
    assert "in dedup@v1" in out
    assert f"same  {document_id('later', 'new')}  later  new  exact-duplicate, similarity 1.000" in out


def test_a_survivor_that_was_cut_is_shown_as_it_was_compared(capsys, workspace):
    """The survivor lost a line that stands in a longer document; its copy differs in two letters, not in that line."""
    line, text = prose(4, 60), prose(5, 200)
    given(workspace, {"long": f"{prose(6, 400)}\n{line}", "kept": f"{text}ab\n{line}", "copy": f"{text}\n{line}"})
    workspace.run("dedup", {"workers": 1, "paragraphs": True}, references={"docs": "given"})
    survivor = document_id("given", "kept")
    _, out, _ = look(capsys, workspace, "show", "dedup", "--cluster", survivor)
    assert "263 characters  in dedup@v1  (61 of them were cut by later levels)" in out
    (removed,) = look_json(capsys, workspace, "show", "dedup", "--cluster", survivor)["removed"]
    assert removed["diff"] == [["delete", 200, 202, 200, 200]]


def test_no_line_is_wider_than_the_screen(capsys, workspace, made, monkeypatch):
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = look(capsys, workspace, "show", "dedup")
    tables = out[out.index("removed of") : out.index("statistics")]
    assert max(cell_len(line) for line in tables.splitlines()) <= 80


def test_a_source_from_the_web_without_duplicates_is_remarked(capsys, workspace):
    given(workspace, [{"ref": str(i), "text": prose(i, 60), "source": "crawl", "url": f"http://{i}"} for i in range(120)])
    made = workspace.run("dedup", {"workers": 1}, references={"docs": "given"})
    (remark,) = made.stats["remarks"]
    assert remark.startswith("crawl: 0.0 % of 120 documents removed; 10-20 % of web pages are usual")
    _, out, _ = look(capsys, workspace, "show", "dedup")
    assert "crawl: 0.0 % of 120 documents removed" in out


# --- the comparison ----------------------------------------------------------------------------------------------------


def rebuilt(a, b, pieces):
    """Both texts, from the pieces."""
    assert all(a[p.a_start : p.a_end] == b[p.b_start : p.b_end] for p in pieces if p.kind == "equal")
    return "".join(a[p.a_start : p.a_end] for p in pieces), "".join(b[p.b_start : p.b_end] for p in pieces)


@settings(deadline=None)
@drawn(st.text(alphabet="ab。\n ", max_size=40), st.text(alphabet="ab。\n ", max_size=40))
def test_pieces_cover_both_texts(a, b):
    assert rebuilt(a, b, compare(a, b)) == (a, b)


def test_a_changed_character_is_all_that_differs():
    a = "第一行。\n" * 50 + "白的像雪，红的像火。\n" + "最后一行。\n" * 50
    b = a.replace("白的像雪", "白得像雪")
    (change,) = [piece for piece in compare(a, b) if piece.kind != "equal"]
    assert (a[change.a_start : change.a_end], b[change.b_start : change.b_end]) == ("的", "得")
    shown = render(a, b, compare(a, b), styled=False).plain
    assert "白[-的-]{+得+}像雪" in shown
    assert "equal characters ...]" in shown
    assert len(shown) < 200


def test_long_texts_without_a_line_end_are_compared_too():
    a, b = prose(3, 30_000), prose(4, 30_000)
    assert rebuilt(a, b, compare(a, b)) == (a, b)
