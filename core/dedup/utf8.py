"""Code points out of UTF-8, for kernels that need each one's place (folding.py has its own reader, which does not)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import kernel


@kernel
def read_code_point(data: npt.NDArray[np.uint8], i: int | np.int64, end: int | np.int64) -> tuple[np.int64, int]:
    """The code point at byte `i` and its length. Arrow strings are valid UTF-8; a cut sequence would be read as the single bytes it has."""
    first = np.int64(data[i])
    if first < 0x80:
        return first, 1
    if 0xE0 <= first < 0xF0 and i + 2 < end:  # most of Chinese
        return np.int64((first & 0x0F) << 12 | np.int64(data[i + 1] & 0x3F) << 6 | np.int64(data[i + 2] & 0x3F)), 3
    if first < 0xE0 and i + 1 < end:
        return np.int64((first & 0x1F) << 6 | np.int64(data[i + 1] & 0x3F)), 2
    if i + 3 < end:
        low = np.int64(data[i + 1] & 0x3F) << 12 | np.int64(data[i + 2] & 0x3F) << 6 | np.int64(data[i + 3] & 0x3F)
        return np.int64((first & 0x07) << 18 | low), 4
    return first, 1
