"""Tokens of any stretch of any document, by position in the sources' .bin files: read, not mapped, so that memory stays what is asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import InputError
from mspt.core.tokens.indexed import DTYPE_CODES, MAGIC

_DTYPE_AT = 17  # offset of the dtype code in .idx (indexed.py)
_MAX_OPEN = 256  # files: systems allow 1,024

Tokens = npt.NDArray[Any]


def read_dtype(path: Path) -> np.dtype[Any]:
    """The dtype that an .idx names."""
    with path.open("rb") as handle:
        head = handle.read(_DTYPE_AT + 1)
    if len(head) <= _DTYPE_AT or not head.startswith(MAGIC) or head[_DTYPE_AT] not in DTYPE_CODES:
        raise InputError(f"{path.name} is not an indexed dataset of a known dtype", "make the tokens again (mspt tokenize)")
    return np.dtype(DTYPE_CODES[head[_DTYPE_AT]]).newbyteorder("<")


class TokenFiles:
    """`<folder>/<source>.bin` of each source, opened when first read."""

    def __init__(self, folder: Path, sources: Sequence[str]) -> None:
        self.folder = folder
        self.sources = sources
        self.handles: dict[int, int] = {}
        found = {read_dtype(folder / f"{source}.idx") for source in sources}
        if len(found) != 1:
            raise InputError(f"the .idx files of {folder.name} have {len(found)} dtypes", "make the tokens again (mspt tokenize)")
        self.dtype = found.pop()

    def read(self, source: int, start: int, length: int) -> Tokens:
        """Tokens [start, start + length) of a source."""
        raw = self.read_bytes(source, start, length)
        return np.frombuffer(raw, self.dtype)

    def read_bytes(self, source: int, start: int, length: int) -> bytes:
        """The same as they lie in the file; `dtype` says what they are."""
        handle = self.handles.get(source)
        if handle is None:
            handle = self._open(source)
        size = self.dtype.itemsize
        raw = os.pread(handle, length * size, start * size)
        if len(raw) != length * size:
            raise InputError(f"{self.sources[source]}.bin ends before token {start + length:,}", "make the tokens again (mspt tokenize)")
        return raw

    def _open(self, source: int) -> int:
        if len(self.handles) == _MAX_OPEN:
            os.close(self.handles.pop(next(iter(self.handles))))
        path = self.folder / f"{self.sources[source]}.bin"
        self.handles[source] = os.open(path, os.O_RDONLY)
        return self.handles[source]

    def close(self) -> None:
        for handle in self.handles.values():
            os.close(handle)
        self.handles.clear()
