"""tokenize: the sequences are SentencePiece's, the table describes them, and nothing else decides the bytes."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sentencepiece
from conftest import Workspace

from mspt.core.errors import CheckFailed, InputError, MachineError
from mspt.core.files import is_disk_full
from mspt.core.tokens.indexed import IndexedTokens
from mspt.stages.tokenize import check_texts
from support.disks import resize, small_disk
from support.feed import FEED, document, write_lines
from support.inline import work_inline
from support.units import finished_units

INPUTS = {"docs": "feed", "tokenizer": "train-tokenizer"}


def open_source(artifact: Any, source: str) -> IndexedTokens:
    return IndexedTokens(artifact.path(f"{source}.bin"), artifact.path(f"{source}.idx"))


def test_every_live_document_is_one_sequence_with_eos(chain: Any) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(chain.tokenizer.path("tokenizer.model")))
    table = pq.read_table(chain.tokens.path("documents.parquet")).to_pylist()
    texts = {row["id"]: row for row in chain.rows}
    assert sorted(row["id"] for row in table) == sorted(texts)
    assert list(table[0]) == ["sequence", "id", "source", "num_tokens", "num_bytes"]
    for row in table:
        expected = [*processor.encode(texts[row["id"]]["text"]), processor.eos_id()]
        found = open_source(chain.tokens, row["source"])[row["sequence"]]
        assert found.tolist() == expected
        assert (row["num_tokens"], row["num_bytes"]) == (len(expected), len(texts[row["id"]]["text"].encode()))
    assert {source for source in ("topics", "long", "zh") if f"{source}.bin" in chain.tokens.files} == {"topics", "long", "zh"}
    assert open_source(chain.tokens, "zh").dtype == np.dtype("<u2")


def test_sequences_follow_the_documents_order(chain: Any) -> None:
    table = pq.read_table(chain.tokens.path("documents.parquet")).to_pylist()
    order = {row["id"]: position for position, row in enumerate(chain.rows)}
    for source in ("topics", "zh"):
        mine = [row for row in table if row["source"] == source]
        assert [row["sequence"] for row in mine] == list(range(len(mine)))
        assert [order[row["id"]] for row in mine] == sorted(order[row["id"]] for row in mine)


def test_it_carries_the_tokenizer_and_reports(chain: Any) -> None:
    for name in ("tokenizer.model", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        assert chain.tokens.path(name).samefile(chain.tokenizer.path(name))
    assert chain.tokens.digests["tokenizer"] == chain.tokenizer.digests["tokenizer"]
    stats = chain.tokens.stats
    table = pq.read_table(chain.tokens.path("documents.parquet")).to_pylist()
    assert stats["tokens"] == sum(row["num_tokens"] for row in table)
    for kind in ("sources", "languages", "tokens_by_document_length"):
        assert sum(s["tokens"] for s in stats[kind].values()) == stats["tokens"]
        assert sum(s["documents"] for s in stats[kind].values()) == len(table)
    of = {row["id"]: row for row in chain.rows}
    chinese = [row["num_tokens"] for row in table if of[row["id"]]["lang"] == "zh-Hans"]
    assert (stats["languages"]["zh-Hans"]["documents"], stats["languages"]["zh-Hans"]["tokens"]) == (len(chinese), sum(chinese))
    middle = [row["num_tokens"] for row in table if 128 < row["num_tokens"] <= 256]
    assert stats["tokens_by_document_length"]["129 to 256"] == {
        "documents": len(middle), "tokens": sum(middle), "token_share": round(sum(middle) / stats["tokens"], 4),
    }  # fmt: skip
    assert stats["longest_document_tokens"] == max(row["num_tokens"] for row in table)
    assert stats["tokens_per_worker_second"] > 0
    assert sum(s["bytes"] for s in stats["sources"].values()) == sum(len(row["text"].encode()) for row in chain.rows)
    assert chain.tokens.manifest["counts"]["in"] == len(chain.rows)


def test_batches_workers_and_versions(chain: Any) -> None:
    again = chain.workspace.run("tokenize", {"workers": 2, "batch": 3}, references=INPUTS, name="again")
    assert digests(again) == digests(chain.tokens)
    assert chain.workspace.outcome("tokenize", {}, references=INPUTS).status == "up-to-date"


def test_compiled_merges_write_the_same_bytes(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus of this size is left to SentencePiece's own loops."""
    work_inline(monkeypatch)
    monkeypatch.setattr("mspt.core.tokens.tokenizer.COMPILED_FROM", 0)
    monkeypatch.setattr("sentencepiece.SentencePieceProcessor.encode", interrupted)
    again = chain.workspace.run("tokenize", {}, references=INPUTS, name="compiled")
    assert digests(again) == digests(chain.tokens)


@pytest.mark.parametrize(("texts", "what"), [([b"good", b"\xe4\xbb"], "not UTF-8"), ([b"good", None], "1 documents whose text is null")])
def test_texts_that_are_none_are_refused(texts: list[bytes | None], what: str) -> None:
    column = pa.chunked_array([pa.array(texts, pa.binary()).view(pa.string())])
    with pytest.raises(InputError, match=what):
        check_texts(column, "feed@v1")


def digests(artifact: Any) -> dict[str, str]:
    return {name: hashlib.sha256(artifact.path(name).read_bytes()).hexdigest() for name in artifact.files}


def test_a_sample_is_a_part_of_the_same_sequences(chain: Any) -> None:
    part = chain.workspace.run("tokenize", {"sample": "50%"}, references=INPUTS, name="sampled")
    ids = pq.read_table(part.path("documents.parquet")).column("id").to_pylist()
    assert 0.3 * len(chain.rows) < len(ids) < 0.7 * len(chain.rows)
    whole = {row["id"]: row for row in pq.read_table(chain.tokens.path("documents.parquet")).to_pylist()}
    for row in pq.read_table(part.path("documents.parquet")).to_pylist()[:20]:
        mine = open_source(part, row["source"])[row["sequence"]]
        assert np.array_equal(mine, open_source(chain.tokens, row["source"])[whole[row["id"]]["sequence"]])


def test_an_adopted_tokenizer_tokenises_too(chain: Any, shared: Path) -> None:
    import tokenizers

    source = shared / "data/tokenizers/huggingface/gpt-neo-test-tokenizer.json"
    chain.workspace.run("train-tokenizer", {"eos_token": "<|endoftext|>"}, files={"from_": [source]}, references={"docs": "feed"}, name="neo")
    tokens = chain.workspace.run("tokenize", {}, references={"docs": "feed", "tokenizer": "neo"}, name="neo-tokens")
    reference = tokenizers.Tokenizer.from_file(str(source))
    row = next(row for row in pq.read_table(tokens.path("documents.parquet")).to_pylist() if row["source"] == "zh")
    text = next(r["text"] for r in chain.rows if r["id"] == row["id"])
    assert open_source(tokens, "zh")[row["sequence"]].tolist() == [*reference.encode(text).ids, 50279]
    assert "tokenizer.model" not in tokens.files


def test_a_corrupt_tokenizer_is_named(chain: Any, tmp_path: Path) -> None:
    copy = chain.workspace.run("train-tokenizer", {"vocab_size": 650}, references={"docs": "feed"}, name="hurt")
    path = copy.path("tokenizer.model")
    raw = bytearray(path.read_bytes())
    raw[100] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CheckFailed, match=r"hurt@v1: tokenizer\.model is corrupt"):
        chain.workspace.run("tokenize", {}, references={"docs": "feed", "tokenizer": "hurt"}, name="never")


@pytest.mark.parametrize("phase", ["indexed.concatenate", "joining.write_documents"])
def test_a_run_that_ends_while_joining_is_resumed(chain: Any, monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    name = f"ended-{phase}"
    with monkeypatch.context() as patch:
        patch.setattr(f"mspt.core.tokens.{phase}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            chain.workspace.run("tokenize", {"workers": 1}, references=INPUTS, name=name)
    work_inline(monkeypatch)
    monkeypatch.setattr("mspt.stages.tokenize.tokenize_range", interrupted)  # no unit is done again
    assert digests(chain.workspace.run("tokenize", {"workers": 1}, references=INPUTS, name=name)) == digests(chain.tokens)
    assert any("resuming" in note for note in chain.workspace.notes.notes)


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.soak
def test_kills_at_many_moments_change_nothing(chain: Any) -> None:
    docs = chain.workspace.run(FEED, {"shard_rows": 7}, files={"documents": [chain.workspace.path.parent / "documents.jsonl"]}, name="many")
    whole = chain.workspace.run("tokenize", {"workers": 2}, references={"docs": docs.ref, "tokenizer": "train-tokenizer"}, name="undisturbed")
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(chain.workspace.path), "tokenize", "--docs", docs.ref, "--name", "killed", "--workers", "2"]
    partial, kills = chain.workspace.path / "killed" / "v1.partial", 0
    for done in range(0, 30, 3):
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(finished_units(partial)) < done:
            time.sleep(0.002)
        time.sleep(random.Random(done).uniform(0, 0.05))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills > 3
    again = chain.workspace.run("tokenize", {"workers": 1}, references={"docs": docs.ref, "tokenizer": "train-tokenizer"}, name="killed")
    assert digests(again) == digests(whole)
    assert {name: sha for name, sha in digests(again).items() if name.endswith((".bin", ".idx"))} == {
        name: sha for name, sha in digests(chain.tokens).items() if name.endswith((".bin", ".idx"))
    }


def feed(workspace: Workspace, folder: Path, rows: list[dict[str, Any]], **settings: Any) -> None:
    workspace.run(FEED, settings, files={"documents": [write_lines(folder / "documents.jsonl", rows)]})


def test_documents_without_text_and_sources_that_come_and_go(workspace: Workspace, tmp_path: Path) -> None:
    rows = [document(f"a{i}", f"some words in line {i}, and others. " * 9, "web") for i in range(9)]
    rows += [document("empty", "", "web"), document("one", "x", "other", "zxx"), *(document(f"b{i}", "words " * i, "web") for i in range(9))]
    feed(workspace, tmp_path, rows, shard_rows=6)
    workspace.run("train-tokenizer", {"vocab_size": 300}, references={"docs": "feed"})
    tokens = workspace.run("tokenize", {}, references={"docs": "feed"})
    table = pq.read_table(tokens.path("documents.parquet")).to_pylist()
    assert [row["id"] for row in table] == ["one", *(row["id"] for row in rows if row["source"] == "web")]
    assert [row["sequence"] for row in table] == [0, *range(19)]
    empty = next(row for row in table if row["id"] == "empty")
    assert (empty["num_tokens"], empty["num_bytes"]) == (1, 0)
    assert open_source(tokens, "web")[empty["sequence"]].tolist() == [2]
    assert tokens.stats["documents_without_text"] == 2  # "words " * 0 is empty too
    assert tokens.stats["sources"]["other"]["documents"] == 1
    assert tokens.stats["languages"]["zxx"]["tokens"] == len(open_source(tokens, "other")[0])


def test_nothing_alive_is_an_error(workspace: Workspace, tmp_path: Path) -> None:
    feed(workspace, tmp_path, [document(f"a{i}", "some words in a line " * 20) for i in range(9)])
    workspace.run("train-tokenizer", {"vocab_size": 290}, references={"docs": "feed"})
    feed(workspace, tmp_path, [document(f"a{i}", "some words", keep=False) for i in range(9)])
    with pytest.raises(InputError, match="feed@v2 holds no live document"):
        workspace.run("tokenize", {}, references={"docs": "feed@v2"})


def test_a_source_that_is_no_file_name_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    feed(workspace, tmp_path, [document(f"a{i}", "some words in a line " * 20, "../up") for i in range(9)])
    workspace.run("train-tokenizer", {"vocab_size": 290}, references={"docs": "feed"})
    with pytest.raises(InputError, match=r"'../up' cannot be the name of a source"):
        workspace.run("tokenize", {}, references={"docs": "feed"})
    assert not (tmp_path / "work/tokenize/up.bin").exists()


@pytest.mark.parametrize("share", [0.3, 1.4], ids=["in a worker", "while joining"])
def test_a_full_disk_leaves_a_partial_that_is_finished_later(chain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    monkeypatch.setattr("mspt.core.job._Watch._forecast_disk", lambda self: None)  # it would stop before the disk is full
    with small_disk(tmp_path / "disk", "16m") as disk:
        for name in ("feed", "train-tokenizer"):
            shutil.copytree(chain.workspace.path / name, disk / "work" / name, symlinks=True)
        used = sum(path.stat().st_blocks * 512 for path in disk.rglob("*") if path.is_file())
        tokens = sum(record.bytes for name, record in chain.tokens.files.items() if name.endswith(".bin"))
        resize(disk, f"{(used + 80_000 + int(share * tokens)) // 1024}k")
        workspace = Workspace(disk / "work")
        with pytest.raises((OSError, MachineError)) as caught:
            workspace.run("tokenize", {"workers": 1}, references=INPUTS)
        assert is_disk_full(caught.value) or "is full" in str(caught.value) or "No space left" in str(caught.value)
        assert (workspace.path / "tokenize/v1.partial").is_dir()
        resize(disk, "64m")
        assert digests(workspace.run("tokenize", {"workers": 1}, references=INPUTS)) == digests(chain.tokens)
        assert any("resuming" in note for note in workspace.notes.notes)
