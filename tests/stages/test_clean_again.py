"""`mspt clean --docs REF --where EXPR`: documents of an artifact are cleaned again, the others pass unchanged."""

from __future__ import annotations

import json

import pytest

from mspt.core.errors import MsptError
from mspt.core.shards import open_docs
from support.inline import work_inline
from support.made import rows

GOOD = "春天来了，花园里的花都开了。孩子们在草地上跑来跑去，大家都很高兴。老人坐在树下，慢慢地喝着茶，说着从前的事情。"
WEAK = "特价 特价 特价 鞋 包 帽 伞 特价 鞋 包 帽 伞 批发 零售 特价 鞋 包 帽 伞 批发 零售 电话 地址 特价 批发 零售"


@pytest.fixture
def first(tmp_path, workspace, monkeypatch):
    """Six documents, two of them weak, two equal: cleaned by few rules, then through dedup."""
    work_inline(monkeypatch)
    page = f"<html><body><article><h1>花园的春天</h1><p>{GOOD}六</p><p>{GOOD}七</p></article></body></html>"
    records = [{"text": text, "id": number} for number, text in enumerate((f"{GOOD}一", WEAK, f"{GOOD}二　三", f"{GOOD}一", f"{WEAK} 收购"))]
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (tmp_path / "raw/b.html").write_text(page, encoding="utf-8")
    workspace.run("clean", {"steps": ["decode", "extract", "language"]}, paths=[tmp_path / "raw"])
    return workspace.run("dedup", {"near": False} if "near" in _dedup_settings() else {})


def _dedup_settings() -> set[str]:
    from mspt.core.config import field_specs
    from mspt.stages.dedup import DedupConfig

    return {spec.name for spec in field_specs(DedupConfig)}


def test_only_what_is_chosen_is_judged_again(first, workspace):
    again = workspace.run("clean", {"profile": "strict", "where": "contains(text, '收购')"}, references={"docs": "dedup"}, name="clean-strict")
    assert {row["ref"] for row in rows(again, "docs-*.parquet")} == {"a.jsonl#0", "a.jsonl#1", "a.jsonl#2", "b.html#0"}
    (row,) = rows(again, "rejected/*.parquet")
    assert (row["ref"], row["stage"]) == ("a.jsonl#4", "clean")
    assert again.manifest["counts"]["in"] == 5  # the second copy is gone: dedup dropped it
    assert again.manifest["counts"]["out"] == 4
    assert "　" in next(row["text"] for row in rows(again, "docs-*.parquet") if row["ref"] == "a.jsonl#2")  # not chosen: unchanged


def test_all_are_cleaned_again_without_where(first, workspace):
    again = workspace.run("clean", references={"docs": "dedup"}, name="clean-again")
    text = {row["ref"]: row["text"] for row in rows(again, "docs-*.parquet")}
    assert text["a.jsonl#2"] == f"{GOOD}二 三"
    assert again.stats["changed"]["blanks"] >= 1
    page = next(row for row in rows(again, "docs-*.parquet") if row["ref"] == "b.html#0")
    assert any(span["tag"] == "p" and page["text"][span["start"] : span["end"]] == f"{GOOD}六" for span in page["spans"])


def test_what_other_stages_found_stays_with_its_rows(first, workspace):
    again = workspace.run("clean", {"where": "contains(text, '收购')", "profile": "strict"}, references={"docs": "dedup"}, name="clean-again")
    before, now = open_docs(first), open_docs(again)
    assert now.layer_names == [*before.layer_names, "clean-again"]
    assert set(now.columns()) == {*before.columns(), "cleaned_again"}
    old = {row["id"]: row["cluster"] for row in before.read(0, ["id", "cluster"]).to_pylist()}
    assert {row["id"]: row["cluster"] for row in now.read(0, ["id", "cluster"]).to_pylist()}.items() <= old.items()


def test_what_was_cleaned_is_marked_also_when_the_name_was_used_before(first, workspace):
    workspace.run("clean", {"where": "length(text) > 50"}, references={"docs": "dedup"}, name="clean-again")
    again = workspace.run("clean", {"where": "startswith(ref, 'b')"}, references={"docs": "clean-again"}, name="clean-again")
    assert open_docs(again).layer_names == ["dedup", "clean-again"]
    marks = {row["ref"]: row["cleaned_again"] for row in open_docs(again).read(0, ["ref", "cleaned_again"]).to_pylist()}
    assert marks == {"a.jsonl#0": False, "a.jsonl#1": False, "a.jsonl#2": False, "a.jsonl#4": False, "b.html#0": True}


def test_documents_that_are_not_chosen_are_not_written_anew(first, workspace):
    again = workspace.run("clean", {"where": "ref == 'nothing'"}, references={"docs": "dedup"}, name="clean-again")
    assert again.stats["again"] == {"where": "ref == 'nothing'", "before": {"documents": 0, "characters": 0}, "after": {"documents": 0, "characters": 0}}
    live = open_docs(first).read_live(0, ["id", "text", "spans", "meta"])
    assert open_docs(again).read(0, ["id", "text", "spans", "meta"]).equals(live)
    assert again.manifest["counts"] == {"in": 5, "out": 5, "rejected": {}, "removed": {}}


def test_the_next_stage_reads_it(first, workspace):
    workspace.run("clean", {"where": "contains(text, '收购')", "profile": "strict"}, references={"docs": "dedup"}, name="clean-again")
    assert workspace.run("dedup", references={"docs": "clean-again"}, name="dedup-again").manifest["counts"]["in"] == 4


def test_mistakes_are_named(first, workspace, tmp_path):
    for settings, words in (({"where": "qality > 1"}, "qality"), ({"sample": "5"}, "--sample"), ({"group_by": "id"}, "--group-by")):
        with pytest.raises(MsptError, match=words):
            workspace.run("clean", settings, references={"docs": "dedup"}, name="again")
    with pytest.raises(MsptError, match="not both"):
        workspace.run("clean", paths=[tmp_path / "raw"], references={"docs": "dedup"})
    with pytest.raises(MsptError, match="without --docs"):
        workspace.run("clean", {"where": "length(text) > 3"}, paths=[tmp_path / "raw"])
    with pytest.raises(MsptError, match="PATH"):
        workspace.run("clean")
