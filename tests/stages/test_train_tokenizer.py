"""train-tokenizer: what it publishes, what it holds out, when it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from conftest import Workspace

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.tokens.split import point
from mspt.core.tokens.tokenizer import digest, load
from support.feed import FEED, document, write_lines


def feed(workspace: Workspace, folder: Path, rows: list[dict[str, Any]]) -> None:
    workspace.run(FEED, files={"documents": [write_lines(folder / "documents.jsonl", rows)]})


def test_files_and_report(chain: Any) -> None:
    artifact = chain.tokenizer
    assert {"tokenizer.model", "tokenizer.json", "tokenizer_config.json", "vocab.txt"} <= set(artifact.files)
    assert load(artifact.directory).vocab_size == 700
    assert artifact.digests["tokenizer"] == digest(artifact.directory)
    report = artifact.stats["held_out"]
    held = [row for row in chain.rows if point(row["id"]) < 0.05]
    assert held
    assert report["sources"]["topics"]["documents"] == sum(row["source"] == "topics" for row in held)
    assert report["languages"]["en"]["characters"] == sum(len(row["text"]) for row in held if row["lang"] == "en")
    assert report["passed"]
    assert all(total["round_trip_losses"] == total["unk"] == 0 for total in report["sources"].values())
    assert artifact.stats["training"]["documents"] == len(chain.rows) - len(held)


def test_a_second_run_is_up_to_date_and_a_setting_makes_the_next_version(chain: Any) -> None:
    assert chain.workspace.outcome("train-tokenizer", {"vocab_size": 700}, references={"docs": "feed"}).status == "up-to-date"
    smaller = chain.workspace.outcome("train-tokenizer", {"vocab_size": 600}, references={"docs": "feed"}, name="small")
    assert (smaller.status, smaller.artifact.ref) == ("done", "small@v1")
    assert load(smaller.artifact.directory).vocab_size == 600


def test_new_weights_do_not_train_again(workspace: Workspace, tmp_path: Path) -> None:
    rows = [document(f"a{i}", f"some words in line {i} and {i * 7} more words. " * 5, weight=1.0) for i in range(40)]
    feed(workspace, tmp_path, rows)
    first = workspace.run("train-tokenizer", {"vocab_size": 320}, references={"docs": "feed"})
    feed(workspace, tmp_path, [{**row, "weight": 2.0} for row in rows])
    again = workspace.outcome("train-tokenizer", {"vocab_size": 320}, references={"docs": "feed@v2"})
    assert (again.status, again.artifact.ref) == ("up-to-date", first.ref)


def test_the_gate_refuses_a_language_that_was_not_learnt_unless_forced(workspace: Workspace, tmp_path: Path) -> None:
    chinese = [document(f"z{i}", "天地玄黄宇宙洪荒日月盈昃辰宿列张" * 40, "zh", "zh-Hans") for i in range(30)]
    english = [document(f"e{i}", "the quick brown fox jumps over the lazy dog " * 300, "en", "en") for i in range(300)]
    feed(workspace, tmp_path, chinese + english)
    assert sum(len(r["text"]) for r in english if point(r["id"]) < 0.05) >= 100_000
    settings: dict[str, Any] = {"vocab_size": 290, "train_sources": ["zh"]}
    with pytest.raises(CheckFailed, match=r"en: \d+\.\d+% of [\d,]+ held-out characters have no piece of their own"):
        workspace.run("train-tokenizer", settings, references={"docs": "feed"})
    assert not (workspace.path / "train-tokenizer/v1").exists()
    forced = workspace.run("train-tokenizer", {**settings, "force": True}, references={"docs": "feed"})
    assert forced.stats["held_out"]["passed"] is False
    assert forced.stats["held_out"]["languages"]["en"]["unk"] == 0
    with pytest.raises(MsptError, match="no source 'fr'"):
        workspace.run("train-tokenizer", {"train_sources": ["fr"]}, references={"docs": "feed"})


def test_the_sample_stays_within_its_bytes(workspace: Workspace, tmp_path: Path) -> None:
    rows = [document(f"{s}{i}", f"{s} word{i % 7} and other words here. " * 20, s) for s in ("one", "two") for i in range(60)]
    feed(workspace, tmp_path, rows)
    artifact = workspace.run("train-tokenizer", {"vocab_size": 300, "sample_bytes": 20_000, "held_out_share": 0}, references={"docs": "feed"})
    assert 19_990 <= artifact.stats["training"]["characters"] <= 20_000


def test_a_vocabulary_too_large_for_the_text_names_the_size_that_fits(chain: Any) -> None:
    with pytest.raises(MsptError, match="too small for a vocabulary of 32768") as caught:
        chain.workspace.run("train-tokenizer", {}, references={"docs": "feed"}, name="large")
    assert "lower --vocab-size to" in caught.value.hint


def test_adopts_a_sentencepiece_model_without_docs(workspace: Workspace, shared: Path) -> None:
    source = shared / "data/model/stories260K/tok512.model"
    artifact = workspace.run("train-tokenizer", {}, files={"from_": [source]})
    assert artifact.path("tokenizer.model").read_bytes() == source.read_bytes()
    tokenizer = load(artifact.directory)
    assert (tokenizer.vocab_size, tokenizer.prefix_id, tokenizer.eos_id) == (512, 1, 2)
    reference = sentencepiece.SentencePieceProcessor(model_file=str(source))
    assert tokenizer.encode("Once upon a time").tolist() == reference.encode("Once upon a time")
    assert "held_out" not in artifact.stats


def test_adopts_a_directory_and_measures_it(chain: Any, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(chain.tokenizer.directory, folder)
    artifact = chain.workspace.run("train-tokenizer", {}, references={"docs": "feed"}, files={"from_": [folder]}, name="adopted")
    assert artifact.digests["tokenizer"] == chain.tokenizer.digests["tokenizer"]
    assert json.loads(artifact.path("tokenizer_config.json").read_text()) == json.loads((folder / "tokenizer_config.json").read_text())
    assert artifact.stats["tokenizer"]["adopted"]
    assert artifact.stats["held_out"]["sources"].keys() == chain.tokenizer.stats["held_out"]["sources"].keys()


def test_without_docs_and_without_a_tokenizer_it_says_what_to_do(workspace: Workspace) -> None:
    with pytest.raises(MsptError, match="train-tokenizer needs docs") as caught:
        workspace.run("train-tokenizer")
    assert "--from" in caught.value.hint
