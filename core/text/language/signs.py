"""Whether a text may hold words of Cantonese, told by pairs of characters: most hold none, and no pattern needs to read them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel

# Words of Cantonese are one of ALONE, or begin with a character of FIRST before one of SECOND.
ALONE = "嘅喺咗哋啲嚟冇嗰佢唔嘢咁攞嗌啱㗎嘥瞓攰㩒孭嗱喐唞嚿吖喎"
FIRST, SECOND = "鍾钟而邊边呢係點聽尋琴無我你真諗谂", "意家個个度件隻首咪解日啦係住"
_ALONE, _FIRST, _SECOND = 1, 2, 4  # bits


@cache
def _cantonese_table() -> NDArray[np.uint8]:
    """[0x10000]: bits of the characters of Cantonese words."""
    table = np.zeros(0x10000, np.uint8)
    for characters, bit in ((ALONE, _ALONE), (FIRST, _FIRST), (SECOND, _SECOND)):
        table[[ord(character) for character in characters]] |= bit
    return table


def num_cantonese(codes: NDArray[np.uint32]) -> int:
    """At least as many as lid.CANTONESE finds."""
    return _num_cantonese(codes, _cantonese_table())


@kernel
def _num_cantonese(codes: NDArray[np.uint32], table: NDArray[np.uint8]) -> int:
    number = before = 0
    for code in codes:
        bits = table[code] if code < len(table) else 0
        number += bits & _ALONE or (bits & _SECOND and before & _FIRST) != 0
        before = bits
    return number
