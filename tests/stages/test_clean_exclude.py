"""--exclude: documents taken down leave every file of the artifact, without being cleaned again."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mspt.core.errors import MsptError
from support.inline import work_inline
from support.made import data_hashes, rows

TEXT = "第{}天，村里的人都到河边看水，老人说今年的水比往年高，孩子们却只顾着在岸上跑来跑去，谁也不肯先回家吃饭。"


@pytest.fixture
def raw(tmp_path) -> Path:
    """Twenty records with an id and an address, one of them too short; in units of their own."""
    folder = tmp_path / "raw"
    folder.mkdir()
    for name in ("a", "b"):
        records = [{"text": TEXT.format(name + str(i)) if i else "短", "id": f"{name}-{i}", "url": f"http://{name}/{i}"} for i in range(10)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return folder


@pytest.fixture
def clean(raw, workspace, monkeypatch):
    """clean(lines of the list, ...) -> artifact."""
    work_inline(monkeypatch)

    def run(*names: str, name: str = "clean"):
        path = raw.parent / "down.txt"
        path.write_text("# taken down\n" + "\n".join(names), encoding="utf-8")
        return workspace.run("clean", {"unit_bytes": 4096}, paths=[raw], files={"exclude": [path]} if names else {}, name=name)

    return run


def test_by_record_id_by_url_and_by_document_id(clean):
    first = clean()
    own = next(row["id"] for row in rows(first) if row["ref"] == "a.jsonl#5")
    second = clean("a-3", "http://b/4", own)
    assert {row["ref"] for row in rows(first)} - {row["ref"] for row in rows(second)} == {"a.jsonl#3", "b.jsonl#4", "a.jsonl#5"}
    gone = {row["ref"]: (row["rule"], row["detail"], row["text"]) for row in rows(second, "rejected/excluded.parquet")}
    assert gone == {"a.jsonl#3": ("excluded", "a-3", ""), "b.jsonl#4": ("excluded", "http://b/4", ""), "a.jsonl#5": ("excluded", own, "")}
    counts = second.manifest["counts"]
    assert (counts["in"], counts["out"], counts["rejected"]) == (20, 15, {"excluded": 3, "too-short": 2})
    assert second.stats["sources"]["raw"]["rejected"] == 5
    assert sum(second.stats["languages"].values()) == 15
    assert second.stats["characters"] == sum(len(row["text"]) for row in rows(second))


def test_names_that_are_of_no_record_are_told(clean):
    def warnings(version) -> list[str]:
        events = [json.loads(line) for line in (version.root / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        return [event["text"] for event in events if event["event"] == "warning"]

    assert warnings(clean("a-3", "http://a/3", "a-0")) == []  # both of the same record; one that was rejected
    assert warnings(clean("a-3", "http://b/4/", "a-33")) == ["--exclude: 2 of 3 ids and URLs are of no record here: a-33, http://b/4/"]


def test_the_text_is_nowhere_in_the_artifact(clean):
    second = clean("a-3")
    words = TEXT.format("a3")[:8].encode()
    for path in second.root.rglob("*"):
        if path.suffix == ".parquet":
            assert words not in json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False).encode()
        elif path.is_file():
            assert words not in path.read_bytes()


def test_a_rejected_document_loses_its_text_too(clean):
    first = clean()
    short = next(row for row in rows(first, "rejected/*.parquet") if row["ref"] == "a.jsonl#0")
    assert short["text"] == "短"
    second = clean(short["id"])
    (row,) = [row for row in rows(second, "rejected/rejected-*.parquet") if row["ref"] == "a.jsonl#0"]
    assert (row["rule"], row["text"], row["excerpt"]) == ("too-short", "", "")
    assert second.manifest["counts"]["rejected"] == {"too-short": 2}


@pytest.mark.parametrize("name", ["a-0", "http://a/0"])
def test_a_rejected_record_is_found_by_its_own_names(clean, name):
    (row,) = [row for row in rows(clean(name), "rejected/rejected-*.parquet") if row["ref"] == "a.jsonl#0"]
    assert (row["rule"], row["text"], row["excerpt"], row["url"], row["meta"]) == ("too-short", "", "", "", "")


def test_records_without_text_are_found_too(raw, clean):
    lines = [{"id": "n-1", "url": "http://n/1", "body": "秘密的内容"}, {"id": "n-2", "text": ["秘密的内容"]}]
    (raw / "n.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    made = clean("http://n/1", "n-2")
    gone = {row["ref"]: (row["rule"], row["text"], row["excerpt"]) for row in rows(made, "rejected/rejected-*.parquet") if row["ref"].startswith("n.")}
    assert gone == {"n.jsonl#0": ("no-text", "", ""), "n.jsonl#1": ("no-text", "", "")}


def test_a_longer_list_costs_no_cleaning_and_equals_a_run_from_scratch(clean, monkeypatch):
    clean("a-3")
    monkeypatch.setattr("mspt.stages.clean.unit.clean", None)  # would raise if a record were cleaned
    longer = clean("a-3", "a-4", "http://b/7")
    monkeypatch.undo()
    work_inline(monkeypatch)
    scratch = clean("a-3", "a-4", "http://b/7", name="scratch")
    assert data_hashes(longer) == data_hashes(scratch)
    assert longer.manifest["counts"] == scratch.manifest["counts"]


def test_what_is_no_longer_on_the_list_comes_back(clean, workspace):
    whole = clean()
    clean("a-3", "b-4")
    back = clean("b-4")
    assert {row["ref"] for row in rows(whole)} - {row["ref"] for row in rows(back)} == {"b.jsonl#4"}
    assert clean().ref == whole.ref  # up to date


def test_a_list_that_is_not_text_is_told(raw, workspace, tmp_path):
    path = tmp_path / "down.bin"
    path.write_bytes(b"\xff\xfe\x80")
    with pytest.raises(MsptError, match="not UTF-8"):
        workspace.run("clean", paths=[raw], files={"exclude": [path]})
