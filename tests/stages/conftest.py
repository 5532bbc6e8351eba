"""A small corpus of what every Python carries, and one chain of artifacts over it that the tests of token stages share."""

from __future__ import annotations

import pydoc_data.topics
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from conftest import Workspace

from mspt.core.artifact import Artifact
from support.feed import FEED, document, write_lines

CHINESE = [
    "今天天气很好",
    "我们去公园散步",
    "孩子们在湖边喂鸭子",
    "老人下棋",
    "书店里人不多",
    "新书放在门口",
    "她买了三本小说",
    "晚饭吃面条",
    "窗外下起了雨",
    "灯亮了",
]


def make_corpus() -> list[dict[str, Any]]:
    """About 200 documents of three sources, from 20 characters to 40,000; every tenth has a near-duplicate in its cluster."""
    topics = list(pydoc_data.topics.topics.values())[:70]
    rows = [document(f"t{i:03d}", text[: 200 + 97 * i % 3000], "topics") for i, text in enumerate(topics)]
    rows += [document(f"l{i:03d}", "\n\n".join(topics[i * 9 : i * 9 + 9]), "long") for i in range(4)]
    for i in range(90):
        sentences = [CHINESE[(i * 7 + k * (i % 9 + 1)) % 10] for k in range(2 + i % 12)]
        rows.append(document(f"z{i:03d}", "，".join(sentences) + f"。第{i}段。", "zh", "zh-Hans"))
    for i in range(0, 70, 10):
        rows[i]["cluster"] = f"t{i:03d}"
        rows.append(document(f"d{i:03d}", rows[i]["text"] + "!", "topics", cluster=f"t{i:03d}"))
    rows.append(document("gone", "dropped before", "topics", keep=False))
    return rows


@dataclass
class Chain:
    """Artifacts of one corpus; `rows` are its live documents. The rows of training are packed when they are first asked for."""

    workspace: Workspace
    rows: list[dict[str, Any]]
    docs: Artifact
    tokenizer: Artifact
    tokens: Artifact
    workers: int = 1

    @cached_property
    def mindrecord(self) -> Artifact:
        return self.workspace.run("pack-mindrecord", {"workers": self.workers, **PACK}, references={"docs": "feed", "tokens": self.tokens.ref})


TOKENIZER = {"vocab_size": 700}
PACK = {"seq_length": 128, "max_documents": 16, "shard_bytes": 2**16, "validation_share": 0.05}


def build_chain(folder: Path, workers: int = 1) -> Chain:
    workspace = Workspace(folder / "work")
    lines = write_lines(folder / "documents.jsonl", make_corpus())
    docs = workspace.run(FEED, {"shard_rows": 60}, files={"documents": [lines]})
    tokenizer = workspace.run("train-tokenizer", TOKENIZER, references={"docs": "feed"})
    tokens = workspace.run("tokenize", {"workers": workers}, references={"docs": "feed"})
    return Chain(workspace, [row for row in make_corpus() if row.get("keep", True)], docs, tokenizer, tokens, workers)


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    return build_chain(tmp_path_factory.mktemp("chain"))


@pytest.fixture(scope="session")
def corpus() -> list[dict[str, Any]]:
    """The documents that the chain was made from, the dropped one included."""
    return make_corpus()
