"""tokenize: the sequences are SentencePiece's, the table describes them, and nothing else decides the bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import sentencepiece

from mspt.core.errors import CheckFailed
from mspt.core.tokens.indexed import IndexedTokens

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
    assert stats["tokens"] == sum(s["tokens"] for s in stats["sources"].values()) == sum(stats["tokens_by_document_length"].values())
    assert sum(s["bytes"] for s in stats["sources"].values()) == sum(len(row["text"].encode()) for row in chain.rows)
    assert chain.tokens.manifest["counts"]["in"] == len(chain.rows)


def test_batches_workers_and_versions(chain: Any) -> None:
    again = chain.workspace.run("tokenize", {"workers": 2, "batch": 3}, references=INPUTS, name="again")
    assert digests(again) == digests(chain.tokens)
    assert chain.workspace.outcome("tokenize", {}, references=INPUTS).status == "up-to-date"


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
