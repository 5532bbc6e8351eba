"""Hugging Face directories of the Llama family to (configuration, float32 weights) and back.

    source = read_model(directory)              # config.json + model.safetensors, or shards named by model.safetensors.index.json
    source.config, source.weights               # every tensor of the configuration, float32, under Hugging Face names
    write_model(directory, config, weights)     # the same files again; the weights bit-equal when written as float32

Our networks carry Hugging Face's names and layout (nn.Dense and torch's Linear hold the same [out, in]), so a name is a name on both sides and
nothing is transposed. What a file has beyond that must be known to carry nothing: rotary frequencies that older exports stored, and an output
matrix that equals the tied embedding. Anything else unmapped, or missing, is an error that names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mspt.core.errors import InputError
from mspt.core.nn.checkpoint import CONFIG, WEIGHTS
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.tensors import Array, FloatType, TensorInfo, item_bytes, read_tensors, tensor_infos, write_floats

INDEX = "model.safetensors.index.json"
EMBEDDING, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"
MAX_SHARD_BYTES = 5 * 10**9  # transformers' own default until version 4; hubs and older file systems dislike larger ones

_FLOATS = frozenset({"F32", "F16", "BF16"})  # all exact in float32
# Buffers of transformers < 4.32: computed from rope_theta, the same for every layer.
_ROTARY_BUFFER = re.compile(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq")
_SHOWN = 5  # names in an error message


@dataclass(frozen=True)
class SourceModel:
    """What a Hugging Face directory holds. `dtypes` counts the tensors as stored (F32, F16, BF16); `dropped` carried nothing."""

    config: ModelConfig
    weights: dict[str, Array]
    dtypes: dict[str, int]
    dropped: tuple[str, ...]


def read_config(directory: Path) -> dict[str, Any]:
    """config.json as it is. Raises InputError where there is none, or it is not a JSON object."""
    path = directory / CONFIG
    if not path.is_file():
        raise InputError(f"{directory} has no {CONFIG}", "name the directory that transformers' save_pretrained wrote")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}", "fetch or copy it again") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: a JSON object was expected", "fetch or copy it again")
    return found


def weight_files(directory: Path) -> list[Path]:
    """The safetensors files in order of their names. Raises InputError where one is missing or there are none."""
    names = [WEIGHTS]
    if (directory / INDEX).is_file():
        names = sorted(set(json.loads((directory / INDEX).read_text(encoding="utf-8"))["weight_map"].values()))
    missing = [name for name in names if not (directory / name).is_file()]
    if not missing:
        return [directory / name for name in names]
    pickled = sorted(path.name for path in directory.glob("pytorch_model*.bin"))
    if pickled:  # torch's pickles can run code when they are read
        raise InputError(f"{directory} holds {pickled[0]} and no {missing[0]}", "only safetensors is read: save the model again with safe_serialization=True")
    raise InputError(f"{directory} lacks {_listed(missing)}", "copy all files of the model")


def read_model(directory: Path) -> SourceModel:
    """Read a directory whole.

    Raises:
        MsptError: config.json asks for what this model does not compute.
        InputError: files, tensors or shapes that do not fit it, by name.
    """
    config = ModelConfig.from_hf(read_config(directory))
    files = weight_files(directory)
    infos = {name: info for path in files for name, info in tensor_infos(path).items()}
    dropped = [name for name in infos if _ROTARY_BUFFER.fullmatch(name)]
    if config.tie_word_embeddings and OUTPUT in infos:
        dropped.append(OUTPUT)
    _check(config, {name: info for name, info in infos.items() if name not in dropped}, directory)
    found = {name: array for path in files for name, array in read_tensors(path)}
    if OUTPUT in dropped and not np.array_equal(found[OUTPUT], found[EMBEDDING]):
        raise InputError(f"{directory}: {CONFIG} ties {OUTPUT} to the embedding, but they differ", "set tie_word_embeddings to false in its config.json")
    weights = {name: np.ascontiguousarray(found[name], np.float32) for name in config.parameter_shapes()}
    counts = [infos[name].dtype for name in weights]
    return SourceModel(config, weights, {dtype: counts.count(dtype) for dtype in sorted(set(counts))}, tuple(dropped))


def _check(config: ModelConfig, infos: Mapping[str, TensorInfo], directory: Path) -> None:
    shapes = config.parameter_shapes()
    missing = [name for name in shapes if name not in infos]
    if missing:
        raise InputError(f"{directory} lacks {_listed(missing)}", "the weights do not belong to this config.json, or a file is missing")
    unmapped = [name for name in infos if name not in shapes]
    if unmapped:
        raise InputError(f"{directory} holds tensors that a plain Llama has no place for: {_listed(unmapped)}", "this model computes something else")
    for name, shape in shapes.items():
        if infos[name].shape != shape:
            raise InputError(
                f"{directory}: {name} is {list(infos[name].shape)}, {CONFIG} says {list(shape)}", "use the config.json that belongs to the weights"
            )
        if infos[name].dtype not in _FLOATS:
            raise InputError(f"{directory}: {name} is stored as {infos[name].dtype}", "give the model in float32, float16 or bfloat16, not quantised")


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def write_model(
    directory: Path, config: ModelConfig, weights: Mapping[str, Array], *, dtype: FloatType = "float32", max_shard_bytes: int = MAX_SHARD_BYTES
) -> list[Path]:
    """Write config.json and the weights as `dtype`; more than `max_shard_bytes` go into numbered shards with an index. Returns the weight files.

    Raises InputError where a weight does not fit into float16's range.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _check_range(weights, dtype)
    described = config.to_hf() | {"torch_dtype": dtype}
    (directory / CONFIG).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    shards = list(cut_shards({name: weights[name].size * item_bytes(dtype) for name in config.parameter_shapes()}, max_shard_bytes))
    names = [WEIGHTS] if len(shards) == 1 else [f"model-{number:05d}-of-{len(shards):05d}.safetensors" for number in range(1, len(shards) + 1)]
    for file, shard in zip(names, shards, strict=True):
        write_floats(directory / file, {name: weights[name] for name in shard}, dtype)
    if len(shards) > 1:
        total = sum(weights[name].size for name in config.parameter_shapes()) * item_bytes(dtype)
        weight_map = {name: file for file, shard in zip(names, shards, strict=True) for name in shard}
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (directory / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    return [directory / name for name in names]


def _check_range(weights: Mapping[str, Array], dtype: FloatType) -> None:
    if dtype != "float16":
        return
    largest = float(np.finfo(np.float16).max)
    outside = [name for name, array in weights.items() if not np.all(np.abs(array) <= largest)]
    if outside:
        raise InputError(f"{_listed(outside)}: values beyond float16's {largest:,.0f}", "write bfloat16 or float32: --dtype bfloat16")


def cut_shards(sizes: Mapping[str, int], max_bytes: int) -> Iterator[list[str]]:
    """Names in order, in groups of at most `max_bytes`; a tensor larger than that stands alone."""
    shard: list[str] = []
    filled = 0
    for name, size in sizes.items():
        if shard and filled + size > max_bytes:
            yield shard
            shard, filled = [], 0
        shard.append(name)
        filled += size
    if shard:
        yield shard
