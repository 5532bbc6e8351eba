"""The clean stage: raw files in, docs, rejected and removed rows out. Most tests run the unit in this process (support.inline)."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from mspt.core.config import build_config, field_specs
from mspt.core.errors import MsptError
from mspt.core.shards import open_docs
from mspt.core.stage import DocumentStopped, UnitOutput
from mspt.core.text.cleaning import STEPS, Recipe
from mspt.core.text.documents import document_id
from mspt.core.text.normal.normalize import OF_PAGES, Switches
from mspt.core.text.normal.script_conversion import Target
from mspt.core.text.rules.document_rules import KINDS, PROFILES
from mspt.stages.clean import CleanConfig, ProfileName, Step, Switch, instructions
from support.inline import work_inline
from support.made import data_hashes, rows
from support.packing import tar, zipped

CHINESE = "春天来了，花园里的花都开了。孩子们在草地上跑来跑去，大家都很高兴。老人坐在树下，慢慢地喝着茶，说着从前的事情。"
ENGLISH = "The garden is full of flowers in the spring, and the children run across the grass while the old men sit under the trees and drink tea."
SECOND = "夏天的晚上，大家喜欢坐在河边，听着水声，看着天上的星星，谈论白天发生的事情，一直坐到很晚才慢慢走回家去睡觉。"
PAGE = f"<html><head><title>花园</title><script>var hidden = 1;</script></head><body><h1>花园</h1><p>{CHINESE}</p><p>{SECOND}</p></body></html>"


@pytest.fixture
def raw(tmp_path) -> Path:
    """A folder of messy files."""
    folder = tmp_path / "raw"
    folder.mkdir()
    records = [{"text": CHINESE, "id": "a", "url": "http://a/"}, {"text": "短"}, {"body": "no text"}, {"text": ENGLISH, "title": "Garden"}]
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records) + b"{broken\n"
    (folder / "records.txt").write_bytes(gzip.compress(lines))
    (folder / "archive.bin").write_bytes(tar({"in.zip": zipped({"页.htm": PAGE.encode("gbk")}), "notes": CHINESE.encode("big5", "ignore")}))
    (folder / "cut.gz").write_bytes(gzip.compress((ENGLISH + "\n").encode())[:-6])
    (folder / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500))
    (folder / "empty.txt").write_bytes(b"")
    return folder


@pytest.fixture
def inline(monkeypatch):
    work_inline(monkeypatch)


def test_every_record_ends_in_docs_or_rejected(raw, workspace, inline):
    made = workspace.run("clean", {"limit": ["too-short=30"]}, paths=[raw])
    docs = {row["ref"]: row for row in rows(made, "docs-*.parquet")}
    assert set(docs) == {"records.txt#0", "records.txt#3", "archive.bin!/in.zip!/页.htm#0", "archive.bin!/notes#0", "cut.gz#0"}
    rejected = {(row["ref"], row["rule"]) for row in rows(made, "rejected/*.parquet")}
    assert rejected == {
        ("records.txt#1", "too-short"), ("records.txt#2", "no-text"), ("records.txt#4", "bad-line"), ("cut.gz", "truncated"), ("picture.txt", "unread-type"),
        ("empty.txt", "empty-file"),
    }  # fmt: skip
    counts = made.manifest["counts"]
    assert (counts["in"], counts["out"], sum(counts["rejected"].values())) == (11, 5, 6)


def test_pages_in_fields_are_extracted_and_counted(tmp_path, workspace, inline):
    lines = tmp_path / "crawl.jsonl"
    lines.write_text("".join(json.dumps({"text": text, "url": f"http://a/{n}"}) + "\n" for n, text in enumerate([PAGE, CHINESE])), "utf-8")
    made = workspace.run("clean", paths=[lines])
    page, plain = rows(made, "docs-*.parquet")
    assert (page["title"], page["url"], "hidden" in page["text"], "<" in page["text"]) == ("花园", "http://a/0", False, False)
    assert CHINESE in page["text"]
    assert plain["text"] == CHINESE
    assert [counts["pages_in_fields"] for counts in made.manifest["stats"]["sources"].values()] == [1]
    kept = workspace.run("clean", {"field_pages": False, "steps": ["decode"]}, paths=[lines])
    assert next(row for row in rows(kept, "docs-*.parquet") if row["url"] == "http://a/0")["text"] == PAGE


def test_a_document_says_where_it_came_from_and_what_it_is(raw, workspace, inline):
    made = workspace.run("clean", paths=[raw])
    docs = {row["ref"]: row for row in rows(made, "docs-*.parquet")}
    page = docs["archive.bin!/in.zip!/页.htm#0"]
    assert (page["title"], page["encoding"], page["lang"], page["source"]) == ("花园", "gb18030", "zh-Hans", "raw")
    assert page["id"] == document_id("raw", page["ref"])
    assert CHINESE in page["text"]
    assert "hidden" not in page["text"]
    assert all(0 <= span["start"] < span["end"] <= len(page["text"]) for span in page["spans"])
    record = docs["records.txt#0"]
    assert (record["url"], json.loads(record["meta"]), record["lang_confidence"] > 0.9) == ("http://a/", {"id": "a"}, True)
    assert docs["archive.bin!/notes#0"]["encoding"] == "cp950"


def test_a_rejected_row_shows_what_was_measured_and_the_text(raw, workspace, inline):
    made = workspace.run("clean", {"limit": ["too-short=30"]}, paths=[raw])
    (row,) = [row for row in rows(made, "rejected/*.parquet") if row["rule"] == "too-short"]
    assert (row["value"], row["threshold"], row["text"], row["excerpt"], row["stage"]) == (1, 30, "短", "短", "clean")
    (row,) = [row for row in rows(made, "rejected/*.parquet") if row["rule"] == "unread-type"]
    assert (row["detail"], row["value"], row["text"]) == ("png", 508, "")


def test_the_census_and_the_funnel(raw, workspace, inline):
    made = workspace.run("clean", paths=[raw])
    source = made.stats["sources"]["raw"]
    assert {name: tally["files"] for name, tally in source["types"].items()} == {"jsonl": 1, "html": 1, "text": 2, "png": 1, "empty": 1}
    assert source["types"]["png"]["bytes"] == 508
    assert {name: tally["files"] for name, tally in source["encodings"].items()} == {"utf-8": 2, "gb18030": 1, "cp950": 1}
    assert source["bad_lines"] == 1
    steps = {step["step"]: (step["in"], step["out"]) for step in made.stats["steps"]}
    assert steps["read"] == (11, 6)
    assert steps["rules"] == (6, 5)
    assert made.stats["languages"]["en"] == 2


def test_how_much_text_is_left_after_each_step(tmp_path, workspace, inline):
    """Two sources; counted by hand: the markup goes in extract, two blanks and a zero-width space in normalize, the short text in rules."""
    page = f"<html><body><p>{CHINESE}</p></body></html>"
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "a.html").write_text(page, encoding="utf-8")
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in (f"{ENGLISH}\u200b   {ENGLISH}", "短")), encoding="utf-8")
    made = workspace.run("clean", paths=[tmp_path / "web", tmp_path / "text.jsonl"])
    shares = made.stats["effective_text"]
    web, text, read, left = len(CHINESE) / len(page), shares["text"], 2 * len(ENGLISH) + 5, 2 * len(ENGLISH) + 1
    assert shares["web"] == {"characters_read": len(page)} | {
        f"{name}_ratio": pytest.approx(web, abs=1e-4) for name in ("after_extract", "after_normalize", "after_rules", "effective")
    }
    assert (text["characters_read"], text["after_extract_ratio"]) == (read, 1)
    assert text["after_normalize_ratio"] == pytest.approx((left + 1) / read, abs=1e-4)
    assert text["after_rules_ratio"] == text["effective_ratio"] == pytest.approx(left / read, abs=1e-4)
    characters = {step["step"]: step["characters"] for step in made.stats["steps"]}
    assert (characters["read"], characters["exclude"]) == (len(page) + read, len(CHINESE) + left) == (characters["group"], made.stats["characters"])


def test_raw_files_are_recorded_with_the_hash_of_what_was_read(raw, workspace, inline):
    made = workspace.run("clean", paths=[raw])
    recorded = {row["path"]: row["sha256"] for row in rows(made, "inputs.parquet")}
    assert recorded == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in raw.iterdir()}


def test_fields_languages_and_switches_are_settings(tmp_path, workspace, inline):
    path = tmp_path / "r.jsonl"
    record = {"doc": {"body": CHINESE + "ＡＢＣ"}, "where": "http://w/", "n": 1, "m": 2}
    path.write_text("".join(json.dumps(r) + "\n" for r in (record, {"doc": {"body": ENGLISH}})), encoding="utf-8")
    settings = {"text_field": "doc.body", "url_field": "where", "meta": ["n"], "languages": ["zh"], "leave": ["half_width"]}
    made = workspace.run("clean", settings, paths=[path])
    (row,) = rows(made, "docs-*.parquet")
    assert (row["text"], row["url"], row["meta"]) == (CHINESE + "ＡＢＣ", "http://w/", '{"n":1}')
    assert [row["rule"] for row in rows(made, "rejected/*.parquet")] == ["language"]


def test_nothing_left_is_an_empty_shard(tmp_path, workspace, inline):
    (tmp_path / "x").write_bytes(b"%PDF-1.4 nothing")
    docs = open_docs(workspace.run("clean", paths=[tmp_path / "x"]))
    assert (docs.num_shards, docs.num_rows(0)) == (1, 0)


def test_a_sample_takes_a_share_by_hash_or_the_first_records_of_each_file(tmp_path, workspace, inline):
    for name in ("a", "b"):
        lines = "".join(json.dumps({"text": f"{CHINESE}{i}"}) + "\n" for i in range(200))
        (tmp_path / name).write_text(lines, encoding="utf-8")
    paths = [tmp_path / "a", tmp_path / "b"]
    share = workspace.run("clean", {"sample": "20%"}, paths=paths)
    taken = {row["id"] for row in rows(share, "docs-*.parquet")}
    assert 40 < len(taken) < 120
    assert share.manifest["counts"]["in"] == len(taken)
    larger = {row["id"] for row in rows(workspace.run("clean", {"sample": "60%"}, paths=paths), "docs-*.parquet")}
    assert taken < larger
    first = workspace.run("clean", {"sample": "11"}, paths=paths)
    assert [row["ref"] for row in rows(first, "docs-*.parquet")] == [f"{name}#{i}" for name in "ab" for i in range(6)]
    assert {row["path"]: row["sha256"] for row in rows(first, "inputs.parquet")}["b"] == hashlib.sha256(paths[1].read_bytes()).hexdigest()


def test_a_sample_of_so_many_is_taken_anew_when_files_are_added(tmp_path, workspace, inline):
    lines = "".join(json.dumps({"text": f"{CHINESE}{i}"}) + "\n" for i in range(20))
    for name in ("a", "b"):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    workspace.run("clean", {"sample": "8"}, paths=[tmp_path / "a"])
    both = workspace.run("clean", {"sample": "8"}, paths=[tmp_path / "a", tmp_path / "b"])
    assert [row["ref"] for row in rows(both, "docs-*.parquet")] == [f"{name}#{i}" for name in "ab" for i in range(4)]


def test_a_sample_smaller_than_the_number_of_files_chooses_files(tmp_path, workspace, inline):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03d}.txt").write_text(f"{CHINESE}{number}", encoding="utf-8")
    sample = workspace.run("clean", {"sample": "60"}, paths=[folder])
    taken = rows(sample, "docs-*.parquet")
    assert 32 <= len(taken) <= 88  # 60 +- 4 standard deviations of a binomial (300, .2)
    assert len(rows(sample, "inputs.parquet")) == 300
    assert workspace.outcome("clean", {"sample": "60"}, paths=[folder]).status == "up-to-date"


def test_a_document_that_is_stopped_has_a_row_and_the_others_stay(raw, workspace, inline, monkeypatch):
    def guard(out, index, function, record, recipe):
        if record.ref == "records.txt#0":
            raise DocumentStopped("time-limit", "more than 60 s")
        return function(record, recipe)

    monkeypatch.setattr(UnitOutput, "guard", guard)
    made = workspace.run("clean", paths=[raw])
    (row,) = [row for row in rows(made, "rejected/*.parquet") if row["rule"] == "time-limit"]
    assert (row["ref"], row["detail"], row["text"]) == ("records.txt#0", "more than 60 s", CHINESE)
    assert made.manifest["counts"]["out"] == 4


def test_the_settings_are_those_of_the_domain():
    """The stage file imports nothing heavy, so it repeats names and defaults; here they are held together."""
    assert instructions(CleanConfig(), 1, Path()).recipe == Recipe()
    assert {*get_args(Switch), "punctuation"} == {field.name for field in fields(Switches)}
    assert get_args(Step) == STEPS
    assert set(field_choices("script")) == {"keep", *get_args(Target)}
    assert get_args(ProfileName) == (*PROFILES, *OF_PAGES)
    with pytest.raises(MsptError, match="leave"):
        build_config(CleanConfig, {"leave": ["no_such"]})


def field_choices(name: str) -> tuple[str, ...]:
    return next(spec.choices for spec in field_specs(CleanConfig) if spec.name == name)


def test_limits_are_changed_by_name_and_kind():
    found = instructions(build_config(CleanConfig, {"limit": ["too-short=100", "short-lines.zh=0.8", "symbols=off"]}), 1, Path()).recipe.profile
    limits = {(name, kind): limit for name, kind, limit in found.changes}
    assert limits == {**{("too-short", kind): 100 for kind in KINDS}, ("short-lines", "zh"): 0.8, **{("symbols", kind): None for kind in KINDS}}
    for wrong, words in (("too-short", "RULE=NUMBER"), ("too-short=many", "RULE=NUMBER"), ("to-short=3", "too-short"), ("symbols.fr=1", "symbols.zh")):
        with pytest.raises(MsptError) as error:
            instructions(build_config(CleanConfig, {"limit": [wrong]}), 1, Path())
        assert words in f"{error.value.message} {error.value.hint}"


def spread(folder: Path, number: int) -> Path:
    """Enough small files of all kinds for several units."""
    folder.mkdir()
    for i in range(number):
        text = f"{i}。{CHINESE}\n{ENGLISH}\n"
        data = [text.encode("gb18030"), PAGE.replace("花园", f"花园{i}").encode(), gzip.compress(json.dumps({"text": text}).encode()), b"\x7fELF" + bytes(99)]
        (folder / f"{i:04}").write_bytes(data[i % 4])
    return folder


def test_workers_do_not_change_a_byte_and_a_second_run_writes_nothing(tmp_path, workspace):
    paths = [spread(tmp_path / "many", 200)]
    one = workspace.run("clean", {"workers": 1}, paths=paths, name="one")
    two = workspace.run("clean", {"workers": 2}, paths=paths, name="two")
    assert data_hashes(one) == data_hashes(two)
    assert len(data_hashes(one)) >= 4  # docs and rejected of several units
    assert workspace.outcome("clean", {"workers": 2}, paths=paths, name="two").artifact.ref == two.ref


@pytest.mark.soak
@pytest.mark.parametrize("seconds", [2.5, 4, 6])
def test_a_kill_in_the_middle_changes_nothing(tmp_path, workspace, seconds):
    paths = [spread(tmp_path / "many", 1500)]
    whole = workspace.run("clean", {"workers": 2}, paths=paths, name="whole")
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "clean", str(paths[0]), "--name", "killed", "--workers", "2"]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    resumed = workspace.run("clean", {"workers": 2}, paths=paths, name="killed")
    assert resumed.manifest["version"] == 1
    assert data_hashes(resumed) == data_hashes(whole)


def test_real_files_of_every_kind(shared, workspace, inline):
    """warcio counts 48 + 3 + 4 + 2 + 6 + 6 + 6 records in the seven WARC and ARC files; of the six others two are too short, four are licences and notices."""
    data = shared / "data"
    made = workspace.run("clean", paths=[data / "warc", data / "html_zh_news/html"])
    assert made.stats["sources"]["warc"]["in"] == 75 + 6
    types = {name: tally["files"] for name, tally in made.stats["sources"]["warc"]["types"].items()}
    assert types == {"warc": 6, "arc": 1, "text": 6}
    counts = made.manifest["counts"]
    assert not {"unread-type", "corrupt"} & counts["rejected"].keys()
    pages = [row for row in rows(made, "docs-*.parquet") if row["source"] != "warc"]
    assert len(pages) == 66
    assert all(row["lang"].startswith("zh-") for row in pages)
    assert not any("function(" in row["text"] or "document.write" in row["text"] for row in pages)


def test_a_source_that_loses_most_of_its_records_is_named_with_the_rule(workspace, tmp_path):
    """A wrong field takes a whole source; in the sum of all it would not be seen."""
    paths = [tmp_path / "questions.jsonl", tmp_path / "articles.jsonl"]
    for path, name in zip(paths, ("question", "text"), strict=True):
        records = (json.dumps({name: f"Question {number}: what was measured on day {number * 7}, and by whom was it written down?"}) for number in range(20))
        path.write_text("\n".join(records), encoding="utf-8")
    made = workspace.run("clean", {"workers": 1, "limit": ["too-short=1"]}, paths=paths)
    (told,) = [warning for warning in workspace.notes.warnings if "most records" in warning]
    assert told.startswith("most records of these sources were rejected: questions 20 of 20 (no-text 20). ")
    assert [(name, facts.get("most_rejected_as")) for name, facts in made.stats["sources"].items()] == [("articles", None), ("questions", "no-text")]
