"""import-hf: a real model with an adopted tokenizer, what it continues, and what is refused."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from mspt.core.errors import InputError, MsptError
from mspt.core.nn.generate import Generator
from mspt.core.nn.open_model import open_model
from mspt.core.nn.sampling import Sampling
from mspt.core.nn.transformers_check import ask_transformers
from mspt.core.tokens.tokenizer import digest, load
from support.peer import exported
from support.small_model import CONFIG, tokenizer_directory, weights

BAR = 1e-4  # of float32 logits
PROMPT = "Once upon a time"
NEW_TOKENS = 120
OTHER = list(range(3, 60))  # shorter than a chunk: one graph less to compile


def test_checkpoint_opens_and_is_reused(workspace):
    made = workspace.run("import-hf", files={"directory": [exported()]})
    folder = made.root / "checkpoints" / "step-00000000"
    found = load_file(folder / "model.safetensors")
    assert all(found[name].tobytes() == array.tobytes() for name, array in weights().items())
    assert made.digests["tokenizer"] == digest(tokenizer_directory())
    assert made.stats["model"] == {
        "parameters": CONFIG.num_parameters, "layers": 2, "hidden_size": 48, "vocab_size": 420, "stored_as": {"F32": 21}, "dropped": [],
    }  # fmt: skip
    assert made.stats["tokenizer"]["a_document_begins_with"] == "</s>"
    assert workspace.store.resolve("import-hf").part == "checkpoints/step-00000000"
    assert workspace.outcome("import-hf", files={"directory": [exported()]}).status == "up-to-date"


def test_missing_and_small_tokenizers_are_refused(workspace, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(exported(), bare, ignore=shutil.ignore_patterns("tokenizer*", "vocab*"))
    with pytest.raises(MsptError, match="holds no tokenizer"):
        workspace.run("import-hf", files={"directory": [bare]})
    made = workspace.run("import-hf", files={"directory": [bare], "tokenizer": [tokenizer_directory() / "tokenizer.model"]})
    # a SentencePiece model alone says nothing of eos as prefix: Llama's rule is taken
    assert made.stats["tokenizer"]["a_document_begins_with"] == "<s>"
    config = json.loads((bare / "config.json").read_text()) | {"vocab_size": 400, "eos_token_id": 2}
    (bare / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"embed_tokens\.weight is \[420, 48\], config\.json says \[400, 48\]"):
        workspace.run("import-hf", files={"directory": [bare], "tokenizer": [tokenizer_directory()]})


def test_other_ends_are_warned_of(workspace, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(exported(), other)
    (other / "config.json").write_text(json.dumps(CONFIG.to_hf() | {"eos_token_id": 5}))
    workspace.run("import-hf", files={"directory": [other]})
    assert workspace.notes.warnings == ["config.json ends a text with id 5, the tokenizer with 2 (</s>)"]


def test_tokenizer_classes_that_transformers_rebuilds_are_renamed(workspace, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(exported(), other, ignore=shutil.ignore_patterns("tokenizer.model"))
    config = json.loads((other / "tokenizer_config.json").read_text())
    (other / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "bos_token": "<s>"}))
    made = workspace.run("import-hf", files={"directory": [other]})
    folder = made.root / "checkpoints" / "step-00000000"
    written = json.loads((folder / "tokenizer_config.json").read_text())
    assert (written["tokenizer_class"], written["add_bos_token"]) == ("PreTrainedTokenizerFast", True)
    assert made.stats["tokenizer"]["a_document_begins_with"] == "<s>"
    assert (folder / "tokenizer.json").read_bytes() == (other / "tokenizer.json").read_bytes()


@pytest.fixture(scope="module")
def stories(shared: Path) -> Path:
    return shared / "data" / "model" / "stories260K"


def test_a_real_model_keeps_its_tokenizer_and_its_stories(workspace, stories, shared, tmp_path):
    made = workspace.run("import-hf", files={"directory": [stories / "hf"], "tokenizer": [stories / "tok512.model"]})
    assert made.stats["tokenizer"] == {"pieces": 512, "a_document_begins_with": "<s>", "and_ends_with": "</s>"}
    folder = made.root / "checkpoints" / "step-00000000"
    opened = open_model(folder)
    generator = Generator(opened, 512)
    ids = generator.prompt_ids(PROMPT)
    steps = list(generator.stream(PROMPT, max_tokens=NEW_TOKENS, sampling=Sampling()))
    text = PROMPT + "".join(step.text for step in steps)
    assert text.startswith("Once upon a time, there was a little girl named Lily. She loved to play outside in the park.")
    assert text.count(".") >= 4
    with gzip.open(shared / "data" / "en_public_domain.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [line for row in file for line in json.loads(row)["text"].splitlines() if line.strip()][:1000]
    answer = ask_transformers(folder, ids=[ids, OTHER], texts=lines, new_tokens=NEW_TOKENS, scratch=tmp_path)
    if answer is None:
        pytest.skip("transformers is not installed")
    assert np.abs(generator.read(ids) - answer.logits[0][-1]).max() < BAR
    assert np.abs(generator.read(OTHER) - answer.logits[1][-1]).max() < BAR
    assert [step.token for step in steps] == answer.continuations[0]
    assert answer.token_ids == [found.tolist() for found in load(folder).encode_batch(lines)]


def test_a_real_model_is_exported_bit_for_bit(workspace, stories, monkeypatch):
    monkeypatch.setattr("mspt.core.nn.transformers_check.is_installed", lambda: False)  # asked above
    workspace.run("import-hf", files={"directory": [stories / "hf"], "tokenizer": [stories / "tok512.model"]})
    made = workspace.run("convert-hf", references={"model": "import-hf"})
    before, after = load_file(stories / "hf" / "model.safetensors"), load_file(made.path("model.safetensors"))
    assert before.keys() == after.keys()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert made.stats["verification"]["reference_logits"] < BAR
