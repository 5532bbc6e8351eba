"""Weight-only quantisation: every linear layer of the decoder as 8- or 4-bit integers with one scale for each group of columns.

    weight [out, in], groups of g columns:     w  ~  scale[row, column // g] * code[row, column]

    int8   scale = max |w| / 127         codes -127 .. 127
    int4   scale = extreme / -8          codes   -8 ..   7, `extreme` being the number of largest size with its sign: all 16 levels are used.
                                         On stories260K this costs 15 % of perplexity where symmetric -7 .. 7 costs 20 % (g = 64).

Codes are rounded to nearest (ties to even) against the scale *as stored*. A stored float16 scale has 11 bits and a code at most 8, so their
product is exact in float32: every reader gets the same weights, bit for bit. Where a scale leaves float16's useful range, that matrix keeps
float32 scales. No calibration: rounding to nearest needs none.

On disk (model.safetensors, beside a config.json with `quantization_config`), for the matrix X.weight:
    X.qweight   int8 [out, in]; or uint8 [out, ceil(in / 2)]: column 2i in the low half of byte i, 2i + 1 in the high half, each code + 8
    X.scales    float16 or float32 [out, in / g]
Embeddings and the output matrix stay float16 or float32 (`rest`): they are looked up or decide every token, and rounding them costs most per
bit saved; norms stay float32 (a few thousand numbers). Readers turn codes back into float32 weights when they load: MindSpore multiplies no
integers on CPU, and turning them back within the graph makes one step of generation 8 (int8) to 80 (int4) times slower (1024 x 1024).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from mspt.core.errors import CheckFailed, InputError, MsptError
from mspt.core.nn.checkpoint import CONFIG, WEIGHTS, read_json, read_tensors, write_json, write_tensors
from mspt.core.nn.config import ModelConfig

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Bits = Literal[4, 8]
Rest = Literal["float16", "float32"]

METHOD = "mspt-group-rtn"  # rtn: round to nearest; unknown to transformers, which therefore refuses instead of loading noise
FORMAT = 1
GROUP_SIZES = (128, 64, 32)  # 128: GPTQ, AWQ; 32: GGUF's Q4_0
LARGEST_INT8 = 127
INT4_LEVELS = 8  # codes reach from -8 to 7
# A float16 below 2^-14 loses a bit per halving. From 2^-16 on nine are left: the rounding of the scale (2^-10) stays below half a step of int8.
LEAST_FLOAT16_SCALE = 2.0**-16
CODES, SCALES = ".qweight", ".scales"


@dataclass(frozen=True, kw_only=True)
class Quantisation:
    """How weights are held. `group_size` is what was asked for; a matrix whose columns it does not divide has the next smaller one."""

    bits: Bits
    group_size: int = 128
    rest: Rest = "float16"

    def to_config(self) -> dict[str, Any]:
        """The `quantization_config` of config.json."""
        return {
            "quant_method": METHOD,
            "format": FORMAT,
            "bits": self.bits,
            "group_size": self.group_size,
            "rest": self.rest,
            "modules_to_not_convert": ["model.embed_tokens", "lm_head", "norm"],
        }

    @classmethod
    def from_config(cls, found: Mapping[str, Any]) -> Quantisation:
        """Raises InputError on another method or a newer format."""
        if found.get("quant_method") != METHOD or found.get("format") != FORMAT or found.get("bits") not in (4, 8):
            method = f"{found.get('quant_method')!r} (format {found.get('format')}, {found.get('bits')} bits)"
            raise InputError(f"weights quantised by {method} cannot be read", f"this mspt reads {METHOD!r}, format {FORMAT}, which `mspt quantize` writes")
        return cls(bits=cast(Bits, found["bits"]), group_size=int(found["group_size"]), rest=cast(Rest, found["rest"]))


@dataclass(frozen=True)
class Matrix:
    """One quantised weight: codes int8 [out, in], scales [out, groups]."""

    codes: npt.NDArray[np.int8]
    scales: Array


@dataclass(frozen=True)
class MatrixReport:
    """What became of one weight. `error` is |w - w'| / |w| (Frobenius norms); `group` its group size."""

    name: str
    group: int
    wanted_group: int
    scale_dtype: str
    bytes: int
    error: float


def is_quantised(name: str, shape: tuple[int, ...]) -> bool:
    """Whether the tensor is a linear layer of the decoder."""
    return len(shape) == 2 and name.startswith("model.layers.")


def fitting_group(columns: int, wanted: int) -> int:
    """The largest group size up to `wanted` that divides `columns`; the whole row where none does."""
    return next((size for size in GROUP_SIZES if size <= wanted and columns % size == 0), columns)


def quantise_matrix(weight: Floats, bits: Bits, group: int) -> Matrix:
    """Round to nearest. `group` divides the columns. Raises InputError where the weight is not finite."""
    rows, columns = weight.shape
    if not np.isfinite(weight).all():
        raise InputError("a weight is not finite", "choose a checkpoint from before the loss was lost")
    groups = np.ascontiguousarray(weight, np.float32).reshape(rows, columns // group, group)
    exact, lowest, highest = _scales(groups, bits)
    scales = _store(exact)
    steps = scales.astype(np.float32)[..., None]
    codes = np.clip(np.rint(groups / np.where(steps == 0, np.float32(1), steps)), lowest, highest)
    return Matrix(codes.astype(np.int8).reshape(rows, columns), scales)


def _scales(groups: Floats, bits: Bits) -> tuple[Floats, int, int]:
    """Scales [out, groups], smallest and largest code."""
    if bits == 8:
        return np.abs(groups).max(axis=-1) / np.float32(LARGEST_INT8), -LARGEST_INT8, LARGEST_INT8
    place = np.abs(groups).argmax(axis=-1)[..., None]
    return np.take_along_axis(groups, place, axis=-1)[..., 0] / np.float32(-INT4_LEVELS), -INT4_LEVELS, INT4_LEVELS - 1


def _store(scales: Floats) -> Array:
    """float16 where all scales keep enough bits in it. A group of zeros has scale 0."""
    size = np.abs(scales[scales != 0])
    fits = size.size == 0 or (size.min() >= LEAST_FLOAT16_SCALE and size.max() <= np.finfo(np.float16).max)
    return scales.astype(np.float16) if fits else scales


def dequantise_matrix(matrix: Matrix) -> Floats:
    """scale * code, float32 [out, in]."""
    rows, columns = matrix.codes.shape
    groups = matrix.codes.reshape(rows, matrix.scales.shape[1], -1).astype(np.float32)
    weight: Floats = (groups * matrix.scales.astype(np.float32)[..., None]).reshape(rows, columns)
    return weight


def pack_int4(codes: npt.NDArray[np.int8]) -> npt.NDArray[np.uint8]:
    """Codes -8 .. 7 [out, in] -> two per byte [out, ceil(in / 2)]; an odd last column is paired with code 0."""
    padded = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
    unsigned: npt.NDArray[np.uint8] = (padded + np.int8(INT4_LEVELS)).astype(np.uint8)
    packed: npt.NDArray[np.uint8] = (unsigned[:, 0::2] | (unsigned[:, 1::2] << 4)).astype(np.uint8)
    return packed


def unpack_int4(packed: npt.NDArray[np.uint8], columns: int) -> npt.NDArray[np.int8]:
    """The inverse of pack_int4."""
    both = np.stack([packed & 0x0F, packed >> 4], axis=-1).reshape(len(packed), -1)
    codes: npt.NDArray[np.int8] = both[:, :columns].astype(np.int8) - np.int8(INT4_LEVELS)
    return codes


def quantise(config: ModelConfig, weights: Mapping[str, Array], how: Quantisation) -> tuple[dict[str, Array], list[MatrixReport]]:
    """The tensors of the file, and a line for every quantised matrix, in the order of the configuration."""
    tensors: dict[str, Array] = {}
    reports = []
    for name in config.parameter_shapes():
        weight = weights[name]
        if not is_quantised(name, weight.shape):
            tensors[name] = weight.astype(how.rest if weight.ndim == 2 else np.float32)
            continue
        group = fitting_group(weight.shape[1], how.group_size)
        matrix = quantise_matrix(weight, how.bits, group)
        stem = name.removesuffix(".weight")
        tensors[stem + CODES] = pack_int4(matrix.codes) if how.bits == 4 else matrix.codes
        tensors[stem + SCALES] = matrix.scales
        size = tensors[stem + CODES].nbytes + matrix.scales.nbytes
        reports.append(MatrixReport(name, group, how.group_size, str(matrix.scales.dtype), size, relative_error(weight, dequantise_matrix(matrix))))
    return tensors, reports


def relative_error(weight: Array, restored: Floats) -> float:
    """|w - w'| / |w|; 0 for a matrix of zeros."""
    size = float(np.linalg.norm(weight))
    return float(np.linalg.norm(weight - restored)) / size if size else 0.0


def dequantise(config: ModelConfig, tensors: Mapping[str, Array], how: Quantisation) -> dict[str, Array]:
    """float32 weights under Hugging Face names. Raises InputError naming a tensor that is missing or has another shape."""
    weights: dict[str, Array] = {}
    for name, shape in config.parameter_shapes().items():
        if not is_quantised(name, shape):
            weights[name] = _tensor(tensors, name, shape).astype(np.float32)
            continue
        rows, columns = shape
        stem = name.removesuffix(".weight")
        stored = _tensor(tensors, stem + CODES, (rows, math.ceil(columns / 2) if how.bits == 4 else columns))
        scales = _tensor(tensors, stem + SCALES, (rows, columns // fitting_group(columns, how.group_size)))
        weights[name] = dequantise_matrix(Matrix(unpack_int4(stored, columns) if how.bits == 4 else stored, scales))
    return weights


def _tensor(tensors: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    if name not in tensors or tensors[name].shape != shape:
        found = f"is {list(tensors[name].shape)}" if name in tensors else "is missing"
        raise InputError(f"quantised weights: {name} {found}, {list(shape)} was expected", "use the config.json that was written with them")
    return tensors[name]


def write_quantised(directory: Path, config: ModelConfig, tensors: Mapping[str, Array], how: Quantisation) -> None:
    """config.json and model.safetensors."""
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / CONFIG, config.to_hf() | {"torch_dtype": how.rest, "quantization_config": how.to_config()})
    write_tensors(directory / WEIGHTS, tensors)


def read_quantised(directory: Path) -> tuple[ModelConfig, dict[str, Array]]:
    """Configuration and float32 weights of what write_quantised wrote.

    Raises:
        MsptError: the directory holds no quantised model.
        InputError, CheckFailed: it cannot be read.
    """
    if not (directory / CONFIG).is_file():
        raise CheckFailed(f"{directory} has no {CONFIG}", "make the quantised model again: mspt quantize")
    described = read_json(directory / CONFIG)
    if "quantization_config" not in described:
        raise MsptError(f"{directory} holds no quantised weights", "name what `mspt quantize` wrote")
    config = ModelConfig.from_hf(described)
    how = Quantisation.from_config(described["quantization_config"])
    return config, dequantise(config, read_tensors(directory / WEIGHTS), how)
