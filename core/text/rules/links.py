"""Links, and code inside a line: what stands in prose without being read as such."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.rules.characters import BLANK, CLASS_BITS, CODE, DRAWN, INLINE, JOINT, LINK, LINK_TEXT, LINKS

MAX_SCHEME = 12  # letters before "://"
MAX_TARGET = 2000  # characters of a link's target in Markdown
MAX_INLINE_CODE = 200  # characters between backticks
MAX_ROLE = 20  # characters of a role before them


@kernel
def mark_links(codes: NDArray[np.uint32], entries: NDArray[np.uint16]) -> None:
    """Give the characters of links class LINK, and what stands between the brackets of Markdown links the flag LINK_TEXT."""
    n, i = len(codes), 0
    inner = outer = -1  # the last two brackets of this line that opened and did not close
    while i < n:
        if not entries[i] & LINKS:
            i += 1
            continue
        code = codes[i]
        start = end = i
        if code == 0x5B:  # [
            inner, outer = i, inner
        elif code == 0x0A:
            inner = outer = -1
        elif code == 0x5D:  # ](target)
            end = _target_end(codes, i)
            if end > i and inner >= 0:
                for j in range(inner, i):
                    entries[j] |= np.uint16(LINK_TEXT)
                inner, outer = outer, -1  # each bracket closes once: linear time
        elif code == 0x3A and i + 2 < n and codes[i + 1] == 0x2F and codes[i + 2] == 0x2F:  # scheme://
            while start > 0 and i - start < MAX_SCHEME and 0x61 <= (codes[start - 1] | 0x20) <= 0x7A:
                start -= 1
            end = _address_end(codes, i + 3) if i - start >= 2 else i
        elif code == 0x2E and i >= 3 and (codes[i - 1] == 0x77 or codes[i - 1] == 0x57) and codes[i - 1] == codes[i - 2] == codes[i - 3]:  # www.
            start = i - 3
            end = _address_end(codes, i + 1)
        if end > i:
            for j in range(start, end):
                entries[j] = np.uint16(entries[j] & ~(CLASS_BITS | DRAWN) | LINK)
            i = end
        else:
            i += 1


@kernel
def mark_inline_code(codes: NDArray[np.uint32], entries: NDArray[np.uint16]) -> None:
    """Give the characters between backticks, `...` or ``...``, class CODE; `quoted like this' they keep theirs."""
    n, i = len(codes), 0
    while i < n:
        if codes[i] != 0x60:
            i += 1
            continue
        start = i
        while i < n and codes[i] == 0x60:
            i += 1
        end = i
        while end < n and end - i < MAX_INLINE_CODE and codes[end] != 0x60 and codes[end] != 0x0A:
            end += 1
        closes = i < end < n and codes[end] == 0x60 and entries[i] & CLASS_BITS != BLANK and entries[end - 1] & CLASS_BITS != BLANK
        if closes:
            start = _role_start(codes, start)
            while end < n and codes[end] == 0x60:
                end += 1
            for j in range(start, end):
                entries[j] = np.uint16(BLANK if entries[j] & CLASS_BITS == BLANK else entries[j] & JOINT | CODE | INLINE)
            i = end


@part
def _role_start(codes: NDArray[np.uint32], i: int) -> int:
    """Where `:role:` of reStructuredText begins that ends before the backtick at `i`; `i` itself when there is none."""
    start = i - 2
    while start >= 0 and i - start <= MAX_ROLE and (0x61 <= codes[start] <= 0x7A):
        start -= 1
    return start if i - start > 2 and start >= 0 and codes[i - 1] == 0x3A and codes[start] == 0x3A else i


@part
def _address_end(codes: NDArray[np.uint32], i: int) -> int:
    while i < len(codes) and 0x21 <= codes[i] <= 0x7E and codes[i] != 0x5D and codes[i] != 0x29:  # not ] and )
        i += 1
    return i


@part
def _target_end(codes: NDArray[np.uint32], i: int) -> int:
    """Where the target in parentheses behind "]" at `i` ends; `i` when there is none."""
    n, end = len(codes), i + 2
    if i + 1 >= n or codes[i + 1] != 0x28:
        return i
    while end < n and end - i <= MAX_TARGET and codes[end] > 0x20 and codes[end] != 0x28 and codes[end] != 0x29:
        end += 1
    return end + 1 if end < n and codes[end] == 0x29 else i
