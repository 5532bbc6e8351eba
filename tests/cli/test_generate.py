"""generate: text as it is made, one JSON object, and which model is taken."""

from __future__ import annotations

import json
import re

import pytest

from mspt.cli.commands import Context
from mspt.cli.console import Console
from mspt.cli.generate import find_model, run_generate
from mspt.core.errors import MsptError
from mspt.core.nn.sampling import Sampling
from support.given import given
from support.small_model import made_model

PROMPTS = ["the quiet dog", ""]
DRAWN = Sampling(temperature=1.0, seed=3)


def test_text_and_json_are_the_same_continuations(workspace, capsys):
    made_model(workspace)
    run_generate(Context(workspace.path, None, Console()), PROMPTS, "made-model", 6, DRAWN)
    text = capsys.readouterr()
    run_generate(Context(workspace.path, None, Console(json=True, level=-1)), PROMPTS, "made-model", 6, DRAWN)
    answer = json.loads(capsys.readouterr().out)
    assert answer["model"] == "made-model@v1/step-00000000"
    first, second = answer["continuations"]
    assert text.out == f"{PROMPTS[0]}{first['text']}\n{second['text']}\n"
    assert len(re.findall(r"\d+ tokens in .* ended by (?:eos|length)", text.err)) == 2
    assert all((made["tokens"] == 6 and made["stop"] == "length") or made["stop"] == "eos" for made in answer["continuations"])
    assert (workspace.path / ".cache" / "compile").is_dir()
    assert workspace.store.names() == ["made-model"]


def test_which_model_is_taken(workspace):
    with pytest.raises(MsptError, match="there is no model yet"):
        find_model(workspace.store, None)
    given(workspace, {"a": "text"})
    with pytest.raises(MsptError, match="wants an artifact of kind model or quantised-model, given@v1 is of kind docs"):
        find_model(workspace.store, "given")
    made_model(workspace)
    assert find_model(workspace.store, "made-model").ref == "made-model@v1/step-00000000"
