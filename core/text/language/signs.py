"""Whether patterns of lid.py can match at all, told by pairs of characters: most paragraphs of prose hold none, and no pattern needs to read them."""

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


@kernel
def has_names(codes: NDArray[np.uint32]) -> bool:
    """Whether lid.NOT_LANGUAGE may find anything: False is certain."""
    before = second = np.uint32(0)  # the characters before
    joins = False  # whether the one before is the last of a run of . / @ : = behind a letter
    for code in codes:
        if code >= 0x80:
            joins, second, before = False, before, code
            continue
        is_joint = code == 0x2E or code == 0x2F or code == 0x40 or code == 0x3A or code == 0x3D
        is_upper, is_lower, is_number = 0x41 <= code <= 0x5A, 0x61 <= code <= 0x7A, 0x30 <= code <= 0x39 or code == 0x5F
        after_lower = 0x61 <= before <= 0x7A
        after_letter = after_lower or 0x41 <= before <= 0x5A
        if (
            code == 0x60  # `code`
            or (joins and (is_upper or is_lower or is_number))  # a.b, a::b
            or (after_lower and is_upper)  # camelCase
            or (after_letter and is_number)  # x1, a_b
            or (before == 0x3C and (is_upper or is_lower or code == 0x2F))  # <tag>
            or (before == 0x5D and code == 0x28)  # ](target)
            or (before == 0x2F and second == 0x3A and code == 0x2F)  # ://
            or (before == 0x77 and second == 0x77 and code == 0x2E)  # www.
            or (before == 0x5C and code == 0x22)  # .\"
        ):
            return True
        joins = bool(is_joint and (joins or after_letter))
        second, before = before, code
    return False
