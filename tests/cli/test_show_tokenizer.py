"""mspt show of tokenizers and tokens: the gate, what was measured, comparison and sweep, on a wide and a narrow screen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Workspace

from mspt.core.tokens.split import point
from support.feed import FEED, document, write_lines


def show(workspace: Path, ref: str, columns: int, *flags: str) -> str:
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace), *flags, "show", ref]
    environment = {"COLUMNS": str(columns), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def report(shown: str, first: str) -> str:
    """From the report's first heading to the list of files."""
    return shown[shown.index(first) : shown.index("\nfiles")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    workspace = Workspace(folder / "work")
    rows = [document(f"a{i}", f"line {i % 7} of some words,\n    and of other words. " * 30, "a-source-of-a-long-name") for i in range(90)]
    rows += [document(f"z{i}", "今天天气很好，我们去公园散步。" * 30, "zh", "zh-Hans") for i in range(40)]
    held = [i for i in (f"h{k}" for k in range(4000)) if point(i) < 0.05][:8]
    rows += [document(i, "!@" * 10_000, "strange", "zh-Hant") for i in held]
    workspace.run(FEED, files={"documents": [write_lines(folder / "documents.jsonl", rows)]})
    settings = {"vocab_size": 350, "sweep": [330], "force": True}
    workspace.run("train-tokenizer", {"vocab_size": 340, "force": True}, references={"docs": "feed"}, name="smaller")
    workspace.run("train-tokenizer", settings, references={"docs": "feed"}, files={"compare": [Path("smaller")]})
    workspace.run("tokenize", {}, references={"docs": "feed", "tokenizer": "train-tokenizer"})
    return workspace.path


@pytest.mark.parametrize("columns", [110, 80])
def test_a_tokenizer(made: Path, columns: int) -> None:
    shown = report(show(made, "train-tokenizer", columns), "gate: FAILED")
    assert [line for line in shown.splitlines() if len(line) > columns] == []
    verdicts = {line.split()[0]: line.split()[-1] for line in shown.splitlines() if line.split()[-1:] and line.split()[-1] in ("FAILED", "text")}
    assert verdicts["zh-Hant"] == "FAILED"
    assert verdicts["en"] == "text"  # too little text
    assert "100.000%" in next(line for line in shown.splitlines() if line.strip().startswith("strange"))
    expected = ("probe sets", "classical-chinese", "unused pieces", "beside smaller", "other vocabulary sizes", "embedding in a 1.2B model", "longest pieces")
    assert [part for part in expected if part not in shown] == []
    assert "…" not in "".join(line for line in shown.splitlines() if "source" not in line and "longest" not in line and "rare-han" not in line)


def test_tokens(made: Path) -> None:
    shown = report(show(made, "tokenize", 80), "tokens by source")
    stats = json.loads(show(made, "tokenize", 80, "--json"))["manifest"]["stats"]
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    chinese = next(line for line in shown.splitlines() if line.strip().startswith("zh-Hans"))
    assert f"{stats['languages']['zh-Hans']['tokens']:,}" in chinese
    assert "tokens by length of document" in shown
