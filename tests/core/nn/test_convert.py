"""Hugging Face directories in and out: names, types, shards, refusals; and the NumPy reference against transformers."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from mspt.core.errors import CheckFailed, InputError, MsptError
from mspt.core.nn.convert import cut_shards, read_model, write_model
from mspt.core.nn.model import LlamaForCausalLM, load_weights
from mspt.core.nn.reference import reference_logits
from mspt.core.nn.tensors import read_tensors, tensor_infos, to_float, write_floats
from mspt.core.nn.transformers_check import ask_transformers
from support.peer import TEXTS, exported, probe_ids, transformers_answer
from support.small_model import CONFIG, tokenizer, weights

BAR = 1e-4  # of logits, what the issue asks for


# --- against transformers ----------------------------------------------------------------------------------------------


def test_numpy_reference_equals_transformers():
    assert np.abs(reference_logits(exported(), np.array(probe_ids())) - transformers_answer().logits[0]).max() < BAR


def test_network_equals_transformers():
    network = LlamaForCausalLM(CONFIG)
    load_weights(network, read_model(exported()).weights)
    ids = np.array([probe_ids()], np.int32)
    logits = network(Tensor(ids), Tensor(np.array([[ids.shape[1]]], np.int32))).asnumpy()[0]
    assert np.abs(logits - transformers_answer().logits[0]).max() < BAR


def test_autotokenizer_gives_our_ids():
    assert transformers_answer().token_ids == [ids.tolist() for ids in tokenizer().encode_batch(TEXTS)]


# --- there and back ----------------------------------------------------------------------------------------------------


def test_float32_comes_back_bit_for_bit(tmp_path):
    write_model(tmp_path, CONFIG, weights())
    found = read_model(tmp_path)
    assert found.config == CONFIG
    assert found.dtypes == {"F32": 21}
    assert list(found.weights) == list(weights())
    assert all(found.weights[name].tobytes() == array.tobytes() for name, array in weights().items())


def test_files_are_what_transformers_asks_for(tmp_path):
    (path,) = write_model(tmp_path, CONFIG, weights())
    with safe_open(path, framework="np") as file:
        assert file.metadata() == {"format": "pt"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_float16_source_is_exact_and_exports_to_the_same_bits(tmp_path):
    half = {name: array.astype(np.float16) for name, array in weights().items()}
    write_config(tmp_path / "a")
    save_file(half, tmp_path / "a" / "model.safetensors")
    found = read_model(tmp_path / "a")
    assert found.dtypes == {"F16": 21}
    assert all(np.array_equal(found.weights[name], array.astype(np.float32)) for name, array in half.items())
    write_model(tmp_path / "b", found.config, found.weights, dtype="float16")
    again = load_file(tmp_path / "b" / "model.safetensors")
    assert all(again[name].tobytes() == array.tobytes() for name, array in half.items())


def test_bfloat16_rounds_to_nearest_even(tmp_path):
    # bfloat16 keeps 8 bits: 1 + 2^-7 is the number after 1, 1 + 2^-8 the tie between them
    given = [1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -1 - 3 * 2**-8, 3.4028235e38, np.inf, 1e-45, 0.0]
    wanted = [1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -1 - 2**-6, np.inf, np.inf, 0.0, 0.0]
    write_floats(tmp_path / "x.safetensors", {"x": np.array(given, np.float32)}, "bfloat16")
    assert tensor_infos(tmp_path / "x.safetensors")["x"].dtype == "BF16"
    ((name, found),) = read_tensors(tmp_path / "x.safetensors")
    assert name == "x"
    assert found.dtype == np.float32
    assert found.tolist() == wanted
    assert to_float(np.array([np.nan], np.float32), "bfloat16")[0] & 0x7FFF > 0x7F80  # NaN stays NaN


def test_shards_with_an_index_read_back_the_same(tmp_path):
    files = write_model(tmp_path, CONFIG, weights(), max_shard_bytes=60_000)
    assert [path.name for path in files] == [f"model-{i:05d}-of-{len(files):05d}.safetensors" for i in range(1, len(files) + 1)]
    assert len(files) > 2
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 4 * CONFIG.num_parameters
    found = read_model(tmp_path).weights
    assert all(np.array_equal(found[name], array) for name, array in weights().items())
    ids = np.array(probe_ids()[:20])
    assert np.array_equal(reference_logits(tmp_path, ids), reference_logits(exported(), ids))
    files[1].unlink()
    with pytest.raises(InputError, match=rf"lacks {files[1].name}"):
        read_model(tmp_path)


def test_cut_shards_by_hand():
    assert list(cut_shards({"a": 4, "b": 6, "c": 1, "d": 20, "e": 3}, 10)) == [["a", "b"], ["c"], ["d"], ["e"]]


# --- what is refused, by name ------------------------------------------------------------------------------------------


def write_config(directory: Path, **changes: Any) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(CONFIG.to_hf() | changes))


def given(directory: Path, tensors: dict[str, Any], **changes: Any) -> Path:
    write_config(directory, **changes)
    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, directory / "model.safetensors")
    return directory


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model.layers.1.mlp.up_proj.weight": None}, r"lacks model\.layers\.1\.mlp\.up_proj\.weight"),
        ({"model.layers.0.self_attn.q_proj.bias": np.zeros(48, np.float32)}, r"no place for: model\.layers\.0\.self_attn\.q_proj\.bias"),
        ({"model.norm.weight": np.zeros(47, np.float32)}, r"model\.norm\.weight is \[47\], config\.json says \[48\]"),
        ({"model.norm.weight": np.zeros(48, np.int8)}, r"model\.norm\.weight is stored as I8"),
    ],
)
def test_tensors_that_do_not_fit_are_named(tmp_path, change, message):
    tensors = {name: array for name, array in (weights() | change).items() if array is not None}
    with pytest.raises(InputError, match=message):
        read_model(given(tmp_path / "m", tensors))


def test_known_buffers_and_an_equal_tied_output_carry_nothing(tmp_path):
    tensors = weights()
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].copy()
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(6, np.float32)
    found = read_model(given(tmp_path / "m", tensors, tie_word_embeddings=True))
    assert set(found.dropped) == {"lm_head.weight", "model.layers.0.self_attn.rotary_emb.inv_freq"}
    assert "lm_head.weight" not in found.weights


def test_a_tied_output_that_differs_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"ties lm_head\.weight to the embedding, but they differ"):
        read_model(given(tmp_path / "m", weights(), tie_word_embeddings=True))


def test_other_models_pickles_and_broken_files_are_refused(tmp_path):
    with pytest.raises(MsptError, match="hidden_act is 'gelu'"):
        read_model(given(tmp_path / "gelu", weights(), hidden_act="gelu"))
    write_config(tmp_path / "pickle")
    (tmp_path / "pickle" / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(InputError, match=r"holds pytorch_model\.bin and no model\.safetensors"):
        read_model(tmp_path / "pickle")
    with pytest.raises(InputError, match=r"has no config\.json"):
        read_model(tmp_path)
    path = given(tmp_path / "cut", weights()) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="no whole safetensors file"):
        read_model(path.parent)


def test_what_float16_cannot_hold_is_named(tmp_path):
    large = weights()
    large["model.layers.1.mlp.down_proj.weight"][0, 0] = 70_000
    with pytest.raises(InputError, match=r"model\.layers\.1\.mlp\.down_proj\.weight: values beyond float16's 65,504"):
        write_model(tmp_path, CONFIG, large, dtype="float16")


def test_transformers_failure_is_told_in_its_words(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'ValueError: no such architecture' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr("mspt.core.nn.transformers_check.is_installed", lambda: True)
    with pytest.raises(CheckFailed, match="ValueError: no such architecture"):
        ask_transformers(tmp_path, ids=[[1]], scratch=tmp_path)


def test_without_transformers_there_is_no_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert ask_transformers(tmp_path, ids=[[1]], scratch=tmp_path) is None
