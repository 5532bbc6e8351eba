"""Tensors in safetensors files, as NumPy arrays.

A file is what transformers writes and reads: metadata {"format": "pt"} (without it transformers refuses), mode 0644 (the library's own
files are 0600). NumPy has no bfloat16: it is read as float32, of which it is the upper half, and written by rounding to nearest, ties to even.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, TensorSpec, safe_open, serialize_file

from mspt.core.errors import InputError
from mspt.core.nn.checkpoint import MODE

Array = npt.NDArray[Any]
FloatType = Literal["float32", "float16", "bfloat16"]

METADATA = {"format": "pt"}
_BFLOAT16 = "BF16"


@dataclass(frozen=True)
class TensorInfo:
    """What a file says of one tensor. `dtype` is safetensors' name: F32, F16, BF16, I8, U8, ..."""

    dtype: str
    shape: tuple[int, ...]


def tensor_infos(path: Path) -> dict[str, TensorInfo]:
    """Names, types and shapes, in the order of the file, without reading the tensors. Raises InputError where it is no safetensors file."""
    try:
        with safe_open(path, framework="np") as file:
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
            return {name: TensorInfo(part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is no whole safetensors file: {error}", "fetch or copy it again") from error


def read_tensors(path: Path) -> Iterator[tuple[str, Array]]:
    """Every (name, array), one at a time, in the order of the file; bfloat16 as float32. Raises InputError as tensor_infos does."""
    infos = tensor_infos(path)
    with safe_open(path, framework="np") as file:
        for name, info in infos.items():
            yield name, read_bfloat16(path, name) if info.dtype == _BFLOAT16 else file.get_tensor(name)


def read_bfloat16(path: Path, name: str) -> npt.NDArray[np.float32]:
    """One bfloat16 tensor, exact in float32. A file is: length of the header (uint64), the header in JSON, the tensors' bytes."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(size))[name]
        begin, end = entry["data_offsets"]
        file.seek(8 + size + begin)
        upper = np.frombuffer(file.read(end - begin), "<u2").reshape(entry["shape"])
    return (upper.astype(np.uint32) << 16).view(np.float32)


def write_floats(path: Path, tensors: Mapping[str, Array], dtype: FloatType) -> None:
    """Write all arrays as `dtype`, rounded to nearest even; equal arrays give equal bytes."""
    typed = {name: to_float(array, dtype) for name, array in tensors.items()}
    specs = {name: TensorSpec(dtype=dtype, shape=list(a.shape), data_ptr=a.ctypes.data, data_len=a.nbytes) for name, a in typed.items()}
    serialize_file(specs, path, metadata=dict(METADATA))
    path.chmod(MODE)


def to_float(array: Array, dtype: FloatType) -> Array:
    """float32 -> `dtype`; bfloat16 as the uint16 that holds its bits."""
    if dtype != "bfloat16":
        return np.ascontiguousarray(array, dtype)
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16  # carries into the exponent where the mantissa overflows, as it should
    quiet_nan = (bits >> 16) | 0x40
    return np.where(np.isnan(array), quiet_nan, rounded).astype(np.uint16)


def item_bytes(dtype: FloatType) -> int:
    """Bytes of one number."""
    return 4 if dtype == "float32" else 2
