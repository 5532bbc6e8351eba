"""Logits of a Llama-family directory in plain NumPy: a second opinion on what a conversion wrote.

It shares no code with the network: it follows the definition in transformers' `modeling_llama.py` (version 4.40, eager attention) from the files
alone, one matrix at a time, in float32. Exports are compared with it on every machine, also where torch is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from mspt.core.nn.tensors import read_bfloat16

Floats = npt.NDArray[np.float32]
Reader = Callable[[str], Floats]


def reference_logits(directory: Path, ids: npt.NDArray[np.int32]) -> Floats:
    """float32 [T, V] for one document `ids` [T] that begins at position 0."""
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    read = _reader(directory)
    heads = config["num_attention_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    eps = np.float32(config["rms_norm_eps"])
    turns = _rotations(len(ids), width, config["rope_theta"])
    embedding = read("model.embed_tokens.weight")
    x = embedding[ids]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        normed = _rms_norm(x, read(prefix + "input_layernorm.weight"), eps)
        x = x + _attention(normed, read, prefix + "self_attn.", heads, width, turns)
        normed = _rms_norm(x, read(prefix + "post_attention_layernorm.weight"), eps)
        gate = normed @ read(prefix + "mlp.gate_proj.weight").T
        up = normed @ read(prefix + "mlp.up_proj.weight").T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ read(prefix + "mlp.down_proj.weight").T
    x = _rms_norm(x, read("model.norm.weight"), eps)
    output = embedding if config.get("tie_word_embeddings") else read("lm_head.weight")
    logits: Floats = x @ output.T
    return logits


def _reader(directory: Path) -> Reader:
    index = directory / "model.safetensors.index.json"
    where: dict[str, str] = json.loads(index.read_text(encoding="utf-8"))["weight_map"] if index.is_file() else {}

    def read(name: str) -> Floats:
        path = directory / where.get(name, "model.safetensors")
        with safe_open(path, framework="np") as file:
            if file.get_slice(name).get_dtype() == "BF16":
                return read_bfloat16(path, name)
            return np.asarray(file.get_tensor(name), np.float32)

    return read


def _rms_norm(x: Floats, weight: Floats, eps: np.float32) -> Floats:
    scaled: Floats = weight * (x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps))
    return scaled


def _rotations(length: int, width: int, theta: float) -> tuple[Floats, Floats]:
    """cos and sin [T, C / 2]."""
    frequency = 1.0 / theta ** (np.arange(0, width, 2) / width)
    angle = np.arange(length)[:, None] * frequency[None, :]
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def _rotate(x_NTC: Floats, turns: tuple[Floats, Floats]) -> Floats:
    """Each pair (i, i + C/2) turned as a complex number."""
    cos, sin = turns
    half = x_NTC.shape[-1] // 2
    real, imaginary = x_NTC[..., :half], x_NTC[..., half:]
    return np.concatenate([real * cos - imaginary * sin, imaginary * cos + real * sin], axis=-1)


def _attention(x: Floats, read: Reader, prefix: str, heads: int, width: int, turns: Any) -> Floats:
    length = len(x)

    def project(name: str) -> Floats:
        flat = x @ read(f"{prefix}{name}.weight").T
        return flat.reshape(length, -1, width).transpose(1, 0, 2)

    q_HTC, k_KTC, v_KTC = _rotate(project("q_proj"), turns), _rotate(project("k_proj"), turns), project("v_proj")
    shared = heads // len(k_KTC)
    mixed = np.empty((length, heads * width), np.float32)
    for head in range(heads):
        scores = q_HTC[head] @ k_KTC[head // shared].T / np.float32(np.sqrt(width))
        scores[np.triu_indices(length, 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed[:, head * width : (head + 1) * width] = weights / weights.sum(axis=-1, keepdims=True) @ v_KTC[head // shared]
    result: Floats = mixed @ read(f"{prefix}o_proj.weight").T
    return result
