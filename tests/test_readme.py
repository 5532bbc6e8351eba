"""The two editions of the README stay level, and what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mspt.cli.app import build_app

ROOT = Path(__file__).resolve().parent.parent
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
both = pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])


def blocks(text: str) -> list[str]:
    return re.findall(r"```\n(.*?)```", text, re.DOTALL)


def commands(text: str) -> list[str]:
    """Every `mspt ...` in the text, up to a comment."""
    return [found.split("#")[0].strip() for found in re.findall(r"\bmspt [a-z][^`\n]*", text)]


def test_editions_have_the_same_sections_blocks_and_commands():
    assert [len(h) for h in re.findall(r"^(#+) ", ENGLISH, re.MULTILINE)] == [len(h) for h in re.findall(r"^(#+) ", CHINESE, re.MULTILINE)]
    assert [b.count("\n") for b in blocks(ENGLISH)] == [b.count("\n") for b in blocks(CHINESE)]
    assert blocks(ENGLISH)[1] == blocks(CHINESE)[1]
    assert re.findall(r"\]\((.*?)\)", ENGLISH)[1:] == re.findall(r"\]\((.*?)\)", CHINESE)[1:]


@both
def test_every_command_named_exists(text):
    known = {info.name for info in build_app().registered_commands}
    named = {match for command in commands(text) for match in re.findall(r"\bmspt ([a-z][a-z-]*)", command)}
    assert named - known == set()
    assert {"clean", "train", "generate", "show", "verify"} <= named


@both
def test_every_link_leads_somewhere(text):
    for target in re.findall(r"\]\((?!http)(.*?)\)", text):
        assert (ROOT / target).is_file(), target


@both
def test_pasted_output_is_there(text):
    assert "bits/byte" in text
    assert "@DEMO@" not in text
