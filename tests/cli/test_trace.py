"""`mspt trace`: a document through every artifact, by id, URL, ref and the record's own id; and the reason where it ended."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import Workspace

from mspt.core.text.documents import document_id
from support.inline import work_inline
from support.shelf import look, look_json

WORDS = ("river", "mountain", "paper", "ship", "train", "bird", "stone", "cloud", "garden", "window", "letter", "winter", "summer", "bread", "glass", "horse")


def sentence(seed: int) -> str:
    rng = random.Random(seed)
    return " ".join("The " + " ".join(rng.choices(WORDS, k=7)) + "." for _ in range(8))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """pages.jsonl: 40 documents of their own, the last a copy of the first, one too short."""
    folder = tmp_path_factory.mktemp("trace")
    rows = [{"text": sentence(i), "url": f"https://example.org/{i}", "id": f"own-{i}"} for i in range(40)]
    rows.append({"text": sentence(0), "url": "https://example.org/copy", "id": "own-copy"})
    rows.append({"text": "short", "url": "https://example.org/short", "id": 77})
    (folder / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    workspace = Workspace(folder / "work")
    with pytest.MonkeyPatch.context() as patch:
        work_inline(patch)
        workspace.run("clean", {"workers": 1, "limit": ["too-short=30"]}, paths=[folder / "pages.jsonl"])
        workspace.run("dedup", {"workers": 1}, references={"docs": "clean"})
        workspace.run("train-tokenizer", {"vocab_size": 300, "held_out_share": 0.0}, references={"docs": "dedup"})
        workspace.run("tokenize", {"workers": 1}, references={"docs": "dedup"})
        packing = {"workers": 1, "seq_length": 64, "validation_share": 0.05, "max_documents": 8}
        workspace.run("pack-mindrecord", packing, references={"docs": "dedup"})
        few = {"target_tokens": 2_000, "validation_share": 0.0}
        workspace.run("pack-mindrecord", packing | few, references={"docs": "dedup", "tokens": "tokenize"}, name="few")
    return workspace


def by_kind(found: dict[str, Any], ref: str) -> list[dict[str, Any]]:
    return [place for place in found["found"] if place["artifact"] == ref]


def test_from_its_url_to_its_training_rows_and_back(capsys, made):
    found = look_json(capsys, made, "trace", "https://example.org/5")
    id_ = document_id("pages", "pages.jsonl#5")
    assert found["ids"] == [id_]
    assert [(p["artifact"], p["what"]) for p in found["found"] if p["kind"] in ("docs", "tokens")] == [
        ("clean@v1", "document"),
        ("dedup@v1", "document"),
        ("tokenize@v1", "tokens"),
    ]
    places = by_kind(found, "pack-mindrecord@v1")
    assert sum(p["end"] - p["start"] for p in places) == by_kind(found, "tokenize@v1")[0]["num_tokens"]
    for place in places:  # the way back: the row names the document, its URL and its place in the raw file
        row = look_json(capsys, made, "show", "pack-mindrecord@v1", "--row", str(place["row"]), "--split", place["split"])
        segment = next(s for s in row["segments"] if s["slot"] == place["slot"])
        assert (segment["id"], segment["document"]["ref"], segment["document"]["url"]) == (id_, "pages.jsonl#5", "https://example.org/5")
        assert segment["text"].strip() in sentence(5)
    document = by_kind(found, "clean@v1")[0]
    assert look_json(capsys, made, "show", "clean", "--row", str(document["row"]))["document"]["text"] == sentence(5)


@pytest.mark.parametrize("query", ["own-5", "pages.jsonl#5", document_id("pages", "pages.jsonl#5")])
def test_other_names_of_the_same_document(capsys, made, query):
    same = look_json(capsys, made, "trace", "https://example.org/5")
    assert look_json(capsys, made, "trace", query)["found"] == same["found"]


def test_the_first_characters_of_an_id_are_enough_where_they_name_one_document(capsys, made, monkeypatch):
    same = look_json(capsys, made, "trace", "https://example.org/5")
    assert look_json(capsys, made, "trace", same["ids"][0][:10])["found"] == same["found"]
    code, _, err = look(capsys, made, "trace", same["ids"][0][:5])
    assert (code, "holds a document with the id" in err) == (2, True)
    monkeypatch.setattr("mspt.cli.views.trace.PREFIX", "[0-9a-f]")
    ids = [document_id("pages", f"pages.jsonl#{i}") for i in range(42)]
    first = next(c for c in "0123456789abcdef" if sum(id_.startswith(c) for id_ in ids) > 1)  # 42 ids: one of 16 has two
    code, _, err = look(capsys, made, "trace", first)
    assert (code, f"{sum(id_.startswith(first) for id_ in ids)} documents have ids that begin with {first}" in err) == (2, True)


def test_what_was_removed_names_rule_and_survivor(capsys, made):
    found = look_json(capsys, made, "trace", "own-copy")
    ids = {document_id("pages", "pages.jsonl#0"), document_id("pages", "pages.jsonl#40")}
    rejection = next(p for p in by_kind(found, "dedup@v1") if p["what"] == "rejected")
    assert rejection["rule"] == "exact-duplicate"
    assert {rejection["id"], rejection["survivor"]} == ids  # the copy or its original, whichever the order of dedup keeps
    kept = rejection["id"] != document_id("pages", "pages.jsonl#40")
    assert bool(by_kind(found, "tokenize@v1")) == bool(by_kind(found, "pack-mindrecord@v1")) == kept
    _, out, _ = look(capsys, made, "trace", "own-copy")
    told = " ".join(out.split())
    assert "dedup@v1 rejected exact-duplicate" in told
    assert f"similarity 1, survivor {rejection['survivor']}" in told


def test_what_was_rejected_at_once_is_found_by_a_number_too(capsys, made):
    found = look_json(capsys, made, "trace", "77")["found"]
    assert [(p["artifact"], p["what"], p["rule"]) for p in found] == [("clean@v1", "rejected", "too-short")]


def test_what_the_mixture_leaves_out_is_said(capsys, made):
    drawn, left_out = [], []
    for i in range(40):
        found = look_json(capsys, made, "trace", f"own-{i}")
        places = by_kind(found, "few@v1")
        if places:
            (left_out if places[0]["what"] == "not drawn" else drawn).append(i)
    assert drawn
    assert len(left_out) == made.store.resolve("few").stats["mixture"]["pages"]["left_out"]
    _, out, _ = look(capsys, made, "trace", f"own-{left_out[0]}")
    assert "left out by the mixture" in out


def test_the_screen_names_rows_and_the_command_that_shows_one(capsys, made):
    code, out, _ = look(capsys, made, "trace", "own-7")
    assert code == 0
    assert "pages pages.jsonl#7 https://example.org/7" in " ".join(out.split())
    assert "look: mspt show pack-mindrecord@v1 --row" in out or "look: mspt show few@v1 --row" in out


def test_nothing_found_says_so(capsys, made):
    code, _, err = look(capsys, made, "trace", "https://example.org/5/")
    assert code == 2
    assert "holds a document with the id, URL, ref or meta.id 'https://example.org/5/'" in err


@pytest.mark.parametrize("query", ["", " "])
def test_an_empty_name_is_refused(capsys, made, query):
    code, _, err = look(capsys, made, "trace", query)
    assert code == 2
    assert "an empty name is nobody's" in err


def test_a_damaged_file_is_named(capsys, made, tmp_path: Path):
    import shutil

    copy = Workspace(tmp_path / "work")
    shutil.copytree(made.path, copy.path, symlinks=True)
    path = copy.store.resolve("tokenize").path("documents.parquet")
    path.write_bytes(path.read_bytes()[:-40])
    code, _, err = look(capsys, copy, "trace", "own-5")
    assert (code, "tokenize@v1 cannot be read" in err) == (5, True)
