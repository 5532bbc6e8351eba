"""Document ids (32 hexadecimal digits, core/text/documents.py) as 16 bytes, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_NO_DIGIT = 255
_VALUES = np.full(256, _NO_DIGIT, np.uint8)
_VALUES[_DIGITS] = np.arange(16)


def parse_ids(column: pa.ChunkedArray) -> npt.NDArray[np.uint8]:
    """[documents, 16]. ValueError names an id that is not 32 lower-case hexadecimal digits."""
    column = column.combine_chunks()
    wrong = np.flatnonzero(pc.fill_null(pc.binary_length(column), 0).to_numpy() != 32)
    if not len(wrong):
        raw = b"".join(pc.cast(column, pa.binary(32)).to_pylist())
        digits = _VALUES[np.frombuffer(raw, np.uint8)].reshape(-1, 32)
        wrong = np.flatnonzero((digits == _NO_DIGIT).any(axis=1))
    if len(wrong):
        raise ValueError(f"the id {column[int(wrong[0])].as_py()!r} is not 32 hexadecimal digits")
    return (digits[:, 0::2] << 4 | digits[:, 1::2]).astype(np.uint8)


def format_ids(ids: npt.NDArray[np.uint8]) -> pa.Array:
    """Strings of [documents, 16]."""
    digits = np.empty((len(ids), 32), np.uint8)
    digits[:, 0::2], digits[:, 1::2] = _DIGITS[ids >> 4], _DIGITS[ids & 15]
    offsets = np.arange(0, 32 * len(ids) + 1, 32, dtype=np.int32)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(digits))
