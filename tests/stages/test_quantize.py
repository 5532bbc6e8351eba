"""quantize: sizes by count, perplexity before and after, and that eval and generate read what it wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.nn.generate import Generator
from mspt.core.nn.open_model import open_model, read_weights
from mspt.core.nn.quantize import quantise_matrix
from mspt.core.nn.sampling import Sampling
from mspt.core.tokens.tokenizer import digest
from support.small_model import CONFIG, made_model, packed, sentences, tokenizer_directory, weights

DATA = {"train": {"web": sentences(4, 11)}, "validation": {"web": sentences(6, 12)}}


def test_int4_sizes_perplexity_and_readers(workspace):
    made_model(workspace)
    packed(workspace, DATA)
    made = workspace.run("quantize", {"bits": "4", "group_size": "32", "batch_size": 4}, references={"model": "made-model", "mindrecord": "packed"})
    size = made.stats["size"]
    # per layer: q, o 48 x 48; k, v 24 x 48; gate, up 80 x 48; down 48 x 80: all rows of one group, codes two per byte, scales two bytes
    codes = 2 * (2 * 48 * 48 + 2 * 24 * 48 + 3 * 80 * 48) // 2
    scales = 2 * 2 * (2 * 48 + 2 * 24 + 2 * 80 + 48)
    rest = 2 * 2 * 420 * 48 + 4 * 5 * 48
    header = size["quantised_bytes"] - codes - scales - rest
    assert 0 < header < 5000
    assert size["bits_per_quantised_weight"] == pytest.approx(8 * (codes + scales) / (2 * codes), abs=1e-4)
    assert size["float32_bytes"] == 4 * CONFIG.num_parameters
    assert "groups of 48 columns in 12 of 14 matrices, which 32 does not divide (model.layers.0.self_attn.q_proj.weight)" in workspace.notes.notes
    before, after = made.stats["perplexity"]
    assert (before["weights"], after["weights"]) == ("before", "after")
    assert before["tokens"] == after["tokens"] > 50
    assert before["perplexity"] != after["perplexity"]
    assert made.digests["tokenizer"] == digest(tokenizer_directory())

    shape, found = read_weights(made.directory)
    name = "model.layers.1.mlp.down_proj.weight"
    matrix = quantise_matrix(weights()[name], 4, 80)
    assert shape == CONFIG
    assert np.array_equal(found[name], matrix.codes * matrix.scales.astype(np.float32))
    steps = list(Generator(open_model(made.directory), 16).stream("", max_tokens=4, sampling=Sampling()))
    assert len(steps) == 4 or steps[-1].stop == "eos"

    again = workspace.run("eval", {"baselines": False, "batch_size": 4}, references={"model": "quantize", "mindrecord": "packed"})
    total = json.loads(again.path("evaluation.json").read_text())["validation"]["total"]
    assert total["perplexity"] == pytest.approx(after["perplexity"], rel=1e-6)


def test_without_rows_it_only_quantises(workspace):
    made_model(workspace)
    made = workspace.run("quantize", references={"model": "made-model"})
    assert "perplexity" not in made.stats
    assert made.stats["weight_error"]["largest"] < 0.02
    assert json.loads(made.path("quantisation.json").read_text())["matrices"][0]["name"] == "model.layers.0.self_attn.q_proj.weight"
    assert workspace.outcome("quantize", references={"model": "made-model"}).status == "up-to-date"
    changed = workspace.outcome("quantize", {"bits": 4}, references={"model": "made-model"})
    assert changed.artifact.ref == "quantize@v2"
    assert "v2, since bits 8 -> 4" in workspace.notes.notes


def test_rows_of_another_tokenizer_are_refused_with_both_references(workspace, tmp_path):
    from mspt.core.tokens import huggingface

    made_model(workspace)
    huggingface.export((tokenizer_directory() / "tokenizer.model").read_bytes(), tmp_path / "other", add_bos=True)
    packed(workspace, DATA, tokenizer_=tmp_path / "other")
    with pytest.raises(MsptError, match=r"made-model@v1/step-00000000 and packed@v1 have different tokenizers"):
        workspace.run("quantize", references={"model": "made-model", "mindrecord": "packed"})
    workspace.run("quantize", {"validation": False}, references={"model": "made-model", "mindrecord": "packed"})


def test_damaged_codes_are_named(workspace):
    made_model(workspace)
    made = workspace.run("quantize", references={"model": "made-model"})
    path = made.path("model.safetensors")
    raw = bytearray(path.read_bytes())
    raw[-7] ^= 4
    path.write_bytes(raw)
    with pytest.raises(CheckFailed, match=r"model\.safetensors is corrupt"):
        open_model(made.directory)


@pytest.mark.parametrize("setting", [{"bits": 5}, {"group_size": 100}])
def test_other_widths_are_refused(workspace, setting):
    with pytest.raises(MsptError, match=next(iter(setting))):
        workspace.run("quantize", setting)
