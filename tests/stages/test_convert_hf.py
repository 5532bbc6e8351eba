"""convert-hf: what is written, how it is verified, and that a failed check publishes nothing."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.nn import reference, transformers_check
from mspt.core.nn.convert import SourceModel, read_model, write_model
from mspt.stages import convert_hf as stage
from support.small_model import CONFIG, folder, made_model, packed, sentences, tokenizer, weights


@pytest.fixture
def no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without transformers."""
    monkeypatch.setattr(transformers_check, "is_installed", lambda: False)


def test_directory_is_verified_against_both_references(workspace):
    if not transformers_check.is_installed():
        pytest.skip("transformers is not installed")
    made_model(workspace)
    made = workspace.run("convert-hf", references={"model": "made-model"})
    checks = json.loads(made.path("verification.json").read_text())
    assert checks["weights"] == "bit-equal"
    assert 0 < checks["reference_logits"] < 1e-4
    assert 0 < checks["transformers_logits"] < 1e-4
    assert checks["texts_with_equal_ids"] > 10
    assert not made.path("vocab.txt").exists()
    card = made.path("README.md").read_text()
    assert f"| parameters | {CONFIG.num_parameters:,} |" in card
    assert workspace.outcome("convert-hf", references={"model": "made-model"}).status == "up-to-date"


@pytest.mark.soak
@pytest.mark.usefixtures("no_peer", "our_logits")
def test_the_program_on_the_card_runs(workspace):
    if importlib.util.find_spec("transformers") is None:  # looked up, not imported: torch and MindSpore do not share a process
        pytest.skip("transformers is not installed")
    made_model(workspace)
    made = workspace.run("convert-hf", references={"model": "made-model"})
    card = made.path("README.md").read_text()
    program = card.split("```python\n")[1].split("```")[0].replace("DIRECTORY", str(made.root)).replace("max_new_tokens=32", "max_new_tokens=3")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("text")


@pytest.mark.usefixtures("no_peer", "our_logits")
def test_two_byte_shards_hold_the_nearest_numbers(workspace):
    made_model(workspace)
    made = workspace.run("convert-hf", {"dtype": "float16", "max_shard": "60kB"}, references={"model": "made-model"})
    assert sum(name.endswith(".safetensors") for name in made.files) > 1
    assert made.stats["verification"]["weights"] == "rounded to float16"
    assert made.stats["verification"]["transformers"] == "not installed: not compared"
    found = read_model(made.root).weights
    assert all(np.array_equal(found[name], array.astype(np.float16).astype(np.float32)) for name, array in weights().items())
    assert json.loads(made.path("config.json").read_text())["torch_dtype"] == "float16"


@pytest.fixture
def our_logits(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Our network stands aside for the reference (equal within 1e-4, see above), off by `by` at one place: no graph to compile."""
    wrong = {"by": 0.0}

    def logits(written: SourceModel, ids: Any) -> Any:
        network = folder() / "own"
        write_model(network, written.config, written.weights)
        found = np.stack([reference.reference_logits(network, row) for row in ids])
        found[1, 3, 5] += wrong["by"]
        return found

    monkeypatch.setattr(stage, "own_logits", logits)
    return wrong


@pytest.mark.usefixtures("no_peer")
def test_other_logits_publish_nothing(workspace, our_logits):
    made_model(workspace)
    our_logits["by"] = 0.01
    with pytest.raises(CheckFailed, match=r"our logits and those of the NumPy reference differ by 0\.01"):
        workspace.run("convert-hf", references={"model": "made-model"})
    assert workspace.store.versions("convert-hf") == []


@pytest.mark.usefixtures("our_logits")
def test_other_ids_or_logits_of_transformers_publish_nothing(workspace, monkeypatch):
    made_model(workspace)
    wrong: dict[str, Any] = {"ids": 0, "logits": 0.0}

    def answer(directory: Any, *, ids: Any, texts: Any, scratch: Any) -> transformers_check.Answer:
        logits = [reference.reference_logits(directory, np.array(row)) + np.float32(wrong["logits"]) for row in ids]
        token_ids = [found.tolist() for found in tokenizer().encode_batch(texts)]
        token_ids[1] = [*token_ids[1], *[7] * wrong["ids"]]
        return transformers_check.Answer(logits, token_ids, [], "0")

    monkeypatch.setattr(transformers_check, "ask_transformers", answer)
    for name, message in (("ids", "AutoTokenizer gives other ids for ' '"), ("logits", "those of transformers differ by 1")):
        wrong.update({"ids": 0, "logits": 0.0} | {name: 1})
        with pytest.raises(CheckFailed, match=message):
            workspace.run("convert-hf", references={"model": "made-model"})
    assert workspace.store.versions("convert-hf") == []


@pytest.mark.usefixtures("no_peer", "our_logits")
def test_card_tells_the_evaluation_of_this_model_only(workspace):
    made_model(workspace)
    packed(workspace, {"train": {"web": sentences(3, 1)}, "validation": {"web": sentences(3, 2), "book": sentences(2, 3)}})
    workspace.run("eval", {"baselines": False}, references={"model": "made-model", "mindrecord": "packed"})
    made = workspace.run("convert-hf", references={"model": "made-model", "evaluation": "eval"})
    card = made.path("README.md").read_text()
    figures = json.loads((workspace.path / "eval" / "v1" / "evaluation.json").read_text())["validation"]
    assert f"| all | 5 | {figures['total']['tokens']} |" in card
    assert f"| book | 2 | {figures['sources']['book']['tokens']} |" in card
    made_model(workspace, seed=4)
    with pytest.raises(MsptError, match=r"eval@v1 evaluated made-model@v1/step-00000000, not made-model@v2"):
        workspace.run("convert-hf", references={"model": "made-model", "evaluation": "eval"})


def test_a_damaged_checkpoint_is_named(workspace):
    made = made_model(workspace)
    path = made.path("model.safetensors")
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CheckFailed, match=r"model\.safetensors is corrupt"):
        workspace.run("convert-hf", references={"model": "made-model"})
    assert load_file(path)  # still a safetensors file: only the hash tells
