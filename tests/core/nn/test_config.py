from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors import safe_open

from mspt.core.errors import MsptError
from mspt.core.nn.config import ModelConfig, default_intermediate_size, default_num_heads

BASE = {"vocab_size": 100, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}


def test_parameters_are_counted_by_hand() -> None:
    # embedding 100*32; per layer q 32*32, k and v 16*32 each, o 32*32, three of 64*32, two norms of 32; last norm 32; head 100*32
    layer = 32 * 32 + 2 * 16 * 32 + 32 * 32 + 3 * 64 * 32 + 2 * 32
    config = ModelConfig(**BASE, num_key_value_heads=2)
    assert config.num_parameters == 3200 + 3 * layer + 32 + 3200
    assert ModelConfig(**BASE, num_key_value_heads=2, tie_word_embeddings=True).num_parameters == 3200 + 3 * layer + 32


def test_config_json_goes_there_and_back() -> None:
    config = ModelConfig(**BASE, num_key_value_heads=2, rope_theta=5e5, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2)
    assert ModelConfig.from_hf(json.loads(json.dumps(config.to_hf()))) == config


def test_names_and_shapes_are_those_of_a_real_checkpoint(shared: Path) -> None:
    folder = shared / "data/model/stories260K/hf"
    config = ModelConfig.from_hf(json.loads((folder / "config.json").read_text()))
    with safe_open(folder / "model.safetensors", "np") as file:
        assert config.parameter_shapes() == {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def test_transformers_5_keeps_the_base_elsewhere_and_ends_may_be_many() -> None:
    config = ModelConfig.from_hf({**BASE, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}, "eos_token_id": [7, 9]})
    assert (config.rope_theta, config.eos_token_id, config.num_key_value_heads, config.head_dim) == (5e5, 7, 4, 8)


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"num_attention_heads": 5}, "hidden_size 32 does not divide into num_attention_heads 5", "num_attention_heads = 4"),
        ({"num_key_value_heads": 3}, "num_attention_heads 4 is no multiple of num_key_value_heads 3", "num_key_value_heads"),
        ({"head_dim": 5}, "head_dim 5 is odd", "even"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0", "num_hidden_layers"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0", "num_attention_heads"),
        ({"eos_token_id": 100}, "eos_token_id 100 is outside", "vocab_size"),
    ],
)
def test_a_shape_that_does_not_fit_names_the_setting(changes: dict[str, int], message: str, hint: str) -> None:
    with pytest.raises(MsptError) as error:
        ModelConfig(**{**BASE, **changes})
    assert message in error.value.message
    assert hint in error.value.hint


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"attention_bias": True}, "attention_bias"),
        ({"model_type": "qwen2"}, "model_type"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "rope_scaling"),
        ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "yarn"}}, "rope_type"),
        ({"hidden_size": None}, "hidden_size"),
    ],
)
def test_what_the_model_cannot_compute_is_refused_by_name(changes: dict[str, object], named: str) -> None:
    with pytest.raises(MsptError, match=named):
        ModelConfig.from_hf({**BASE, **changes})


def test_shapes_filled_in_from_the_width() -> None:
    assert [default_num_heads(size) for size in (64, 256, 768, 100)] == [1, 4, 12, 2]
    assert [default_intermediate_size(size) for size in (256, 768)] == [704, 2048]  # 682.67 and 2048, up to a multiple of 32
