"""Several NumPy arrays in one file, one after another in NumPy's own .npy format: equal arrays give equal bytes, and each can be mapped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def save_arrays(path: Path, arrays: Sequence[Array]) -> None:
    """Write the arrays in C order."""
    with path.open("wb") as file:
        for array in arrays:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)


def load_arrays(path: Path) -> list[Array]:
    """Read what `save_arrays` wrote."""
    with path.open("rb") as file:
        size = path.stat().st_size
        found = []
        while file.tell() < size:
            found.append(np.load(file, allow_pickle=False))
    return found


def map_arrays(path: Path) -> list[Array]:
    """The same without reading: memory holds what is looked at. An array without elements is not mapped, since nothing can be."""
    found: list[Array] = []
    with path.open("rb") as file:
        size = path.stat().st_size
        while file.tell() < size:
            if np.lib.format.read_magic(file) != (1, 0):  # type: ignore[no-untyped-call]
                raise ValueError(f"{path} was not written by save_arrays")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)  # type: ignore[no-untyped-call]
            start, length = file.tell(), int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            found.append(np.memmap(path, dtype, "r", start, shape) if length else np.empty(shape, dtype))
            file.seek(start + length)
    return found
