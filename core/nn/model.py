"""A Llama-style decoder whose parameters carry Hugging Face's names and layout.

    input_ids_BT --embed--> x_BTD --+--> norm -> attention (rotary, grouped queries) --+--> norm -> SwiGLU --+--> ... --> norm -> logits_BTV
                                    +---------------------------------------------- + -+-------------------- + -

    model = LlamaForCausalLM(config)                      # parameters are zero until loaded
    load_weights(model, initial_weights(config, seed=1))  # or what model.safetensors holds
    logits_BTV = model(input_ids_BT, actual_seq_len_BN)   # rows packed with documents that cannot see each other

`actual_seq_len` holds the ends of a row's documents in input positions, non-decreasing, the last entry T: attention is causal inside a
document and positions restart at each. A row that is one document has [[T]]. Suffixes: see kernels.py.

Generation reuses the same cells step by step: `layer.self_attn.project` gives rotated q, k, v for new positions, `attend` takes whatever
keys and values are cached, `layer.mlp`, `model.model.norm` and `model.logits` do the rest; rotary rows come from `model.rotary(positions)`.
A cell that stands in for `Linear` (quantised weights) is set under the same attribute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import mindspore as ms
import numpy as np
import numpy.typing as npt
import xxhash
from mindspore import Parameter, Tensor, nn, ops

from mspt.core.errors import MsptError
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.kernels import Kernels, choose_kernels

Array = npt.NDArray[np.generic]


class Linear(nn.Cell):  # type: ignore[misc]
    """x [..., in] -> x W^T [..., out]; `weight` is [out, in] as in torch, kept in float32 and cast to x's dtype in use."""

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.zeros((size_out, size_in), np.float32)), name="weight")
        self.product = ops.MatMul(transpose_b=True)

    def construct(self, x: Tensor) -> Tensor:
        flat = self.product(x.reshape(-1, x.shape[-1]), self.weight.astype(x.dtype))
        return flat.reshape(*x.shape[:-1], -1)


class RMSNorm(nn.Cell):  # type: ignore[misc]
    """Root-mean-square norm over the last axis."""

    def __init__(self, size: int, eps: float, kernels: Kernels) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.zeros(size, np.float32)), name="weight")
        self.eps = eps
        self.kernels = kernels

    def construct(self, x: Tensor) -> Tensor:
        return self.kernels.rms_norm(x, self.weight, self.eps)


class Embedding(nn.Cell):  # type: ignore[misc]
    """ids [B, T] -> rows [B, T, D]."""

    def __init__(self, vocab_size: int, hidden_size: int) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.zeros((vocab_size, hidden_size), np.float32)), name="weight")

    def construct(self, ids: Tensor) -> Tensor:
        return ops.gather(self.weight, ids, 0)


class Attention(nn.Cell):  # type: ignore[misc]
    """Causal self-attention with rotary positions; K key heads serve H query heads."""

    def __init__(self, config: ModelConfig, kernels: Kernels) -> None:
        super().__init__()
        self.num_heads, self.num_key_heads, self.head_dim = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        query, key = self.num_heads * self.head_dim, self.num_key_heads * self.head_dim
        self.q_proj = Linear(config.hidden_size, query)
        self.k_proj = Linear(config.hidden_size, key)
        self.v_proj = Linear(config.hidden_size, key)
        self.o_proj = Linear(query, config.hidden_size)
        self.kernels = kernels

    def heads(self, x_BTX: Tensor, count: int) -> Tensor:
        """[B, T, count * C] -> [B, count, T, C]."""
        batch, length, _ = x_BTX.shape
        return x_BTX.reshape(batch, length, count, self.head_dim).swapaxes(1, 2)

    def project(self, x_BTD: Tensor, cos_BTC: Tensor, sin_BTC: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q_BHTC, k_BKTC, v_BKTC; q and k rotated to their positions."""
        q_BHTC = self.kernels.rotate(self.heads(self.q_proj(x_BTD), self.num_heads), cos_BTC, sin_BTC)
        k_BKTC = self.kernels.rotate(self.heads(self.k_proj(x_BTD), self.num_key_heads), cos_BTC, sin_BTC)
        return q_BHTC, k_BKTC, self.heads(self.v_proj(x_BTD), self.num_key_heads)

    def attend(self, q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, mask: Tensor) -> Tensor:
        """Attention over the given keys and values, projected back to [B, T, D]. `mask` comes from `kernels.mask(allowed_BTS)`."""
        batch, heads, length, width = q_BHTC.shape
        mixed = self.kernels.attend(q_BHTC, k_BKSC, v_BKSC, mask)
        return self.o_proj(mixed.swapaxes(1, 2).reshape(batch, length, heads * width))

    def construct(self, x_BTD: Tensor, cos_BTC: Tensor, sin_BTC: Tensor, mask: Tensor) -> Tensor:
        q_BHTC, k_BKTC, v_BKTC = self.project(x_BTD, cos_BTC, sin_BTC)
        return self.attend(q_BHTC, k_BKTC, v_BKTC, mask)


class FeedForward(nn.Cell):  # type: ignore[misc]
    """SwiGLU: down(silu(gate x) * up x) (Shazeer 2020, equation 6)."""

    def __init__(self, config: ModelConfig, kernels: Kernels) -> None:
        super().__init__()
        self.gate_proj = Linear(config.hidden_size, config.intermediate_size)
        self.up_proj = Linear(config.hidden_size, config.intermediate_size)
        self.down_proj = Linear(config.intermediate_size, config.hidden_size)
        self.kernels = kernels

    def construct(self, x_BTD: Tensor) -> Tensor:
        return self.down_proj(self.kernels.swiglu(self.gate_proj(x_BTD), self.up_proj(x_BTD)))


class DecoderLayer(nn.Cell):  # type: ignore[misc]
    """Pre-norm block: x + attention(norm x), then x + feed_forward(norm x)."""

    def __init__(self, config: ModelConfig, kernels: Kernels) -> None:
        super().__init__()
        self.self_attn = Attention(config, kernels)
        self.mlp = FeedForward(config, kernels)
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps, kernels)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps, kernels)

    def construct(self, x_BTD: Tensor, cos_BTC: Tensor, sin_BTC: Tensor, mask: Tensor) -> Tensor:
        x_BTD = x_BTD + self.self_attn(self.input_layernorm(x_BTD), cos_BTC, sin_BTC, mask)
        return x_BTD + self.mlp(self.post_attention_layernorm(x_BTD))


class Decoder(nn.Cell):  # type: ignore[misc]
    """Embedding, layers and the last norm: the `model.` part of the names."""

    def __init__(self, config: ModelConfig, kernels: Kernels) -> None:
        super().__init__()
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.CellList([DecoderLayer(config, kernels) for _ in range(config.num_hidden_layers)])
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps, kernels)

    def construct(self, ids_BT: Tensor, cos_BTC: Tensor, sin_BTC: Tensor, mask: Tensor, dtype: ms.Type) -> Tensor:
        x_BTD = self.embed_tokens(ids_BT).astype(dtype)
        for layer in self.layers:
            x_BTD = layer(x_BTD, cos_BTC, sin_BTC, mask)
        return self.norm(x_BTD)


class LlamaForCausalLM(nn.Cell):  # type: ignore[misc]
    """The whole decoder. Parameters are float32; products and activations are `dtype` (float32 or float16), norms' statistics and softmax float32.

    Input positions beyond `max_position_embeddings` are an error of the caller's row length (see `check_length`).
    """

    def __init__(self, config: ModelConfig, dtype: ms.Type = ms.float32) -> None:
        super().__init__()
        self.config = config
        self.dtype = dtype
        self.kernels = choose_kernels()
        self.model = Decoder(config, self.kernels)
        self.tied = config.tie_word_embeddings
        if not self.tied:
            self.lm_head = Linear(config.hidden_size, config.vocab_size)
        self.product = ops.MatMul(transpose_b=True)
        cos_PC, sin_PC = rotary_table(config)
        self.cos_PC, self.sin_PC = Tensor(cos_PC), Tensor(sin_PC)
        for name, parameter in self.parameters_and_names():
            parameter.name = name

    def rotary(self, positions_BT: Tensor) -> tuple[Tensor, Tensor]:
        """cos_BTC and sin_BTC of the given positions, float32."""
        return ops.gather(self.cos_PC, positions_BT, 0), ops.gather(self.sin_PC, positions_BT, 0)

    def output_weight(self) -> Tensor:
        """[V, D]: the embedding itself where tied."""
        if self.tied:
            return self.model.embed_tokens.weight
        return self.lm_head.weight

    def logits(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] after the last norm -> float32 [B, T, V]; the product is float32 whatever the model's dtype, as in the loss."""
        x_BTD = x_BTD.astype(ms.float32)
        if self.tied:
            return self.product(x_BTD.reshape(-1, x_BTD.shape[-1]), self.output_weight()).reshape(*x_BTD.shape[:-1], -1)
        return self.lm_head(x_BTD)

    def hidden(self, input_ids_BT: Tensor, actual_seq_len_BN: Tensor) -> Tensor:
        """States after the last norm [B, T, D]."""
        positions_BT, allowed_BTS = document_layout(actual_seq_len_BN, input_ids_BT.shape[1])
        cos_BTC, sin_BTC = self.rotary(positions_BT)
        return self.model(input_ids_BT, cos_BTC, sin_BTC, self.kernels.mask(allowed_BTS), self.dtype)

    def construct(self, input_ids_BT: Tensor, actual_seq_len_BN: Tensor) -> Tensor:
        """Logits, float32 [B, T, V]."""
        return self.logits(self.hidden(input_ids_BT, actual_seq_len_BN))


def document_layout(actual_seq_len_BN: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Positions that restart at each document, int32 [B, T], and which pairs may see each other, bool [B, T, T].

    A position belongs to the document whose number is how many ends lie at or before it; repeated ends are empty documents.
    """
    index_T = ops.arange(length).astype(ms.int32)
    ended_BTN = (index_T.reshape(1, length, 1) >= actual_seq_len_BN.expand_dims(1)).astype(ms.int32)
    segment_BT = ended_BTN.sum(-1)
    start_BT = (ended_BTN * actual_seq_len_BN.expand_dims(1)).max(-1)
    same_BTS = segment_BT.expand_dims(2) == segment_BT.expand_dims(1)
    causal_TS = index_T.expand_dims(1) >= index_T.expand_dims(0)
    return index_T - start_BT, ops.logical_and(same_BTS, causal_TS)


def rotary_table(config: ModelConfig) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """cos and sin [max_position_embeddings, head_dim], computed in float32 step by step as transformers does, so that logits agree.

    Source: Su et al. 2021, section 3.2.2; angles repeat in both halves of the head (Hugging Face layout).
    """
    exponent = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
    frequency = (np.float32(1.0) / np.power(np.float32(config.rope_theta), exponent)).astype(np.float32)
    angle = np.arange(config.max_position_embeddings, dtype=np.float32)[:, None] * frequency[None, :]
    angle = np.concatenate([angle, angle], axis=1)
    return np.cos(angle, dtype=np.float32), np.sin(angle, dtype=np.float32)


def initial_weights(config: ModelConfig, seed: int) -> dict[str, Array]:
    """Seeded start, float32: normal(0, initializer_range), norms one, and the two matrices that write into the residual stream smaller by
    sqrt(2 layers) (GPT-2, section 2.3). Each tensor draws from a stream of its own, named by its name: the same on every machine and rank.
    """
    residual = 1.0 / math.sqrt(2 * config.num_hidden_layers)
    weights: dict[str, Array] = {}
    for name, shape in config.parameter_shapes().items():
        if name.endswith("norm.weight"):
            weights[name] = np.ones(shape, np.float32)
            continue
        stream = np.random.Generator(np.random.Philox(key=[seed, xxhash.xxh3_64_intdigest(name.encode())]))
        scale = config.initializer_range * (residual if name.endswith(("o_proj.weight", "down_proj.weight")) else 1.0)
        weights[name] = stream.standard_normal(shape, np.float32) * np.float32(scale)
    return weights


def load_weights(model: LlamaForCausalLM, weights: Mapping[str, Array]) -> None:
    """Set every parameter. Raises MsptError on a missing, unknown or differently shaped tensor: nothing is skipped in silence."""
    shapes = model.config.parameter_shapes()
    for problem, names in (("lack", shapes.keys() - weights.keys()), ("have unknown", weights.keys() - shapes.keys())):
        if names:
            raise MsptError(f"the weights {problem} {', '.join(sorted(names)[:5])} ({len(names)} in all)", "use the config.json that belongs to them")
    for name, parameter in model.parameters_and_names():
        value = np.ascontiguousarray(weights[name], np.float32)
        if value.shape != shapes[name]:
            raise MsptError(f"{name} is {list(value.shape)}, the configuration says {list(shapes[name])}", "use the config.json that belongs to them")
        parameter.set_data(Tensor(value))


def model_weights(model: LlamaForCausalLM) -> dict[str, Array]:
    """Every parameter as float32 NumPy, in checkpoint order: copies, since on CPU `asnumpy` is a view that later steps change."""
    found = {parameter.name: parameter.asnumpy().copy() for parameter in model.get_parameters()}
    return {name: found[name] for name in model.config.parameter_shapes()}
