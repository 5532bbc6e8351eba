"""Reading docs: whatever is asked of a missing or damaged file, the file is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Workspace

from mspt.core.errors import CheckFailed
from mspt.core.shards import Docs, open_docs
from support.feed import FEED, document, write_lines

TEXT, LAYER = "docs-00000.parquet", "attributes-feed-00000.parquet"
QUESTIONS: dict[str, Callable[[Docs], Any]] = {
    "rows": lambda docs: docs.num_rows(0),
    "ranges": lambda docs: docs.cut(0, 1),
    "columns": lambda docs: docs.columns(),
    "table": lambda docs: docs.read(0, check=False),
    "checked table": lambda docs: docs.read(0),
    "digest": lambda docs: docs.digest(),
}


@pytest.fixture
def feed(workspace: Workspace, tmp_path: Path) -> Any:
    return workspace.run(FEED, files={"documents": [write_lines(tmp_path / "documents.jsonl", [document(f"d{i}", f"text {i}") for i in range(50)])]})


@pytest.mark.parametrize("damage", ["missing", "empty", "cut"])
@pytest.mark.parametrize(
    ("name", "question"), [*((TEXT, question) for question in QUESTIONS), *((LAYER, question) for question in QUESTIONS if question not in ("rows", "ranges"))]
)
def test_a_file_that_cannot_be_opened_is_named(feed: Any, name: str, question: str, damage: str) -> None:
    docs, path = open_docs(feed), feed.path(name)
    QUESTIONS[question](docs)
    whole = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"")
    with pytest.raises(CheckFailed, match=rf"feed@v1: {name} (is missing|has [\d,]+ bytes)") as caught:
        QUESTIONS[question](docs)
    assert "mspt verify feed@v1" in caught.value.hint


@pytest.mark.parametrize("stage", ["train-tokenizer", "tokenize", "pack-mindrecord"])
@pytest.mark.parametrize("name", [TEXT, LAYER])
def test_stages_name_a_cut_file_of_their_docs(workspace: Workspace, feed: Any, stage: str, name: str) -> None:
    given = {"docs": "feed"}
    if stage != "train-tokenizer":
        workspace.run("train-tokenizer", {"vocab_size": 280, "held_out_share": 0.0}, references=given)
    if stage == "pack-mindrecord":
        workspace.run("tokenize", {"workers": 1}, references=given)
    path = feed.path(name)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CheckFailed, match=f"feed@v1: {name} has"):
        workspace.run(stage, {"workers": 1}, references=given)
