"""The shape of a Llama-style decoder, under the names of Hugging Face's `LlamaConfig`.

    config = ModelConfig(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12)
    config.to_hf()                        # the dict that config.json holds
    ModelConfig.from_hf(json.loads(...))  # and back; what the model cannot compute is refused by name
    config.parameter_shapes()             # every tensor, in Hugging Face names and layout, in order

Presets are left to the settings of a stage; `default_num_heads` and `default_intermediate_size` fill a shape in from its width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from mspt.core.errors import MsptError

# SwiGLU has three matrices where the classic block has two: 2/3 of 4 * hidden keeps the parameters equal (Shazeer 2020, section 2).
FEED_FORWARD_RATIO = 8 / 3
FEED_FORWARD_MULTIPLE = 32  # rounded up to whole vector registers and to what group-wise quantisation cuts (32)
HEAD_DIM = 64  # the head width of most models below 3 B parameters (GPT-2, Pythia, SmolLM)

# Settings of LlamaConfig that change the computation, with the one value that this model computes.
FIXED_BY_MODEL: Mapping[str, Any] = {
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "attention_dropout": 0.0,
    "rope_scaling": None,
    "pretraining_tp": 1,
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Shape and constants of the decoder. `head_dim` 0 means hidden_size / num_attention_heads, `num_key_value_heads` 0 as many as query heads.

    Raises MsptError, naming the setting to change, where the numbers do not fit together.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int = 0
    head_dim: int = 0
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    tie_word_embeddings: bool = False
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        if self.num_attention_heads > 0:  # else refused below, under its own name
            object.__setattr__(self, "num_key_value_heads", self.num_key_value_heads or self.num_attention_heads)
            object.__setattr__(self, "head_dim", self.head_dim or self.checked_head_dim())
        self.check()

    def checked_head_dim(self) -> int:
        """hidden_size / num_attention_heads, refused where it is no whole number."""
        if self.hidden_size % self.num_attention_heads:
            fitting = [n for n in range(1, self.hidden_size + 1) if self.hidden_size % (2 * n) == 0]
            near = min(fitting, key=lambda n: abs(n - self.num_attention_heads), default=1)
            raise MsptError(
                f"hidden_size {self.hidden_size} does not divide into num_attention_heads {self.num_attention_heads}",
                f"set num_attention_heads = {near}, or head_dim by hand",
            )
        return self.hidden_size // self.num_attention_heads

    def check(self) -> None:
        """Refuse a shape that cannot be computed; the hint names the setting."""
        for name in (
            "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps", "rope_theta", "initializer_range",
        ):  # fmt: skip
            if not getattr(self, name) > 0:
                raise MsptError(f"{name} is {getattr(self, name)}", f"set {name} to a number above 0")
        if self.head_dim % 2:
            raise MsptError(
                f"head_dim {self.head_dim} is odd: rotary positions turn pairs of numbers",
                "choose num_attention_heads so that hidden_size / num_attention_heads is even, or set head_dim",
            )
        if self.num_attention_heads % self.num_key_value_heads:
            raise MsptError(
                f"num_attention_heads {self.num_attention_heads} is no multiple of num_key_value_heads {self.num_key_value_heads}",
                "set num_key_value_heads to a divisor of num_attention_heads",
            )
        for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < self.vocab_size:
                raise MsptError(f"{name} {value} is outside the vocabulary of {self.vocab_size}", f"set {name} or vocab_size")

    @property
    def queries_per_group(self) -> int:
        """Query heads that share one key and value head."""
        return self.num_attention_heads // self.num_key_value_heads

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Every tensor of the checkpoint in Hugging Face order; a matrix is [out, in]. Tied embeddings have no `lm_head.weight`."""
        hidden, query, key = self.hidden_size, self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim
        layer = {
            "self_attn.q_proj": (query, hidden),
            "self_attn.k_proj": (key, hidden),
            "self_attn.v_proj": (key, hidden),
            "self_attn.o_proj": (hidden, query),
            "mlp.gate_proj": (self.intermediate_size, hidden),
            "mlp.up_proj": (self.intermediate_size, hidden),
            "mlp.down_proj": (hidden, self.intermediate_size),
            "input_layernorm": (hidden,),
            "post_attention_layernorm": (hidden,),
        }
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.vocab_size, hidden)}
        for index in range(self.num_hidden_layers):
            shapes.update({f"model.layers.{index}.{name}.weight": shape for name, shape in layer.items()})
        shapes["model.norm.weight"] = (hidden,)
        if not self.tie_word_embeddings:
            shapes["lm_head.weight"] = (self.vocab_size, hidden)
        return shapes

    @property
    def num_parameters(self) -> int:
        """Trained numbers; a tied embedding counts once."""
        return sum(math.prod(shape) for shape in self.parameter_shapes().values())

    def to_hf(self) -> dict[str, Any]:
        """config.json of a `LlamaForCausalLM` that computes the same."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"architectures": ["LlamaForCausalLM"], **FIXED_BY_MODEL, **own, "torch_dtype": "float32", "use_cache": True}

    @classmethod
    def from_hf(cls, config: Mapping[str, Any]) -> ModelConfig:
        """Read config.json. Raises MsptError where it asks for something that this model does not compute, or lacks a size."""
        rope = dict(config.get("rope_parameters") or {})  # transformers 5 keeps the rotary settings here
        if rope.get("rope_type", "default") != "default":
            raise MsptError(f"config.json: rope_type {rope['rope_type']!r} is not supported", "only unscaled rotary positions (default) can be read")
        for name, value in FIXED_BY_MODEL.items():
            found = config.get(name, value)
            if found != value and not (name == "rope_scaling" and (found or {}).get("rope_type") == "default"):
                raise MsptError(f"config.json: {name} is {found!r}, this model computes {value!r} only", "choose a model of the plain Llama family")
        known = {field.name: config[field.name] for field in fields(cls) if config.get(field.name) is not None}
        known["rope_theta"] = float(rope.get("rope_theta", known.get("rope_theta", cls.rope_theta)))
        eos = known.get("eos_token_id")
        if isinstance(eos, list):  # several ends of turn: the first is the end of text
            known["eos_token_id"] = eos[0]
        missing = [name for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads") if name not in known]
        if missing:
            raise MsptError(f"config.json lacks {', '.join(missing)}", "give the config.json that belongs to the weights")
        return cls(**known)


def default_intermediate_size(hidden_size: int) -> int:
    """8/3 of the hidden size, rounded up to a multiple of 32."""
    return math.ceil(hidden_size * FEED_FORWARD_RATIO / FEED_FORWARD_MULTIPLE) * FEED_FORWARD_MULTIPLE


def default_num_heads(hidden_size: int) -> int:
    """Heads of 64, as far as the hidden size allows: the count nearest to hidden / 64 that divides it into even heads."""
    fitting = [count for count in range(1, hidden_size + 1) if hidden_size % (2 * count) == 0] or [1]
    return min(fitting, key=lambda count: (abs(count - hidden_size / HEAD_DIM), count))
