"""Which words that notices, footers and links hold occur in a text: all of them looked for in one pass (Shift-And, Baeza-Yates and Gonnet 1992).

Each place of each word is one bit; the state says which places the characters so far have reached. A word is listed by as many of its first characters as
tell it apart from ordinary text, each with all the characters that may stand in its place.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.script import code_points

# name: the places of the word
PLACES = {
    "javascript": ("aA", "vV", "aA", "sS"),
    "cookie": ("oO", "oO", "kK", "iI"),
    "ipsum": ("iI", "pP", "sS", "uU"),
    "link": ("]", "("),
    "ICP": ("I", "C", "P"),
    "privacy": ("rR", "iI", "vV", "aA"),
    "terms": ("e", "r", "m", "s"),
    "contact": ("oO", "nN", "tT", "aA"),
    "about us": ("b", "o", "u", "t", " ", "uU"),
    "我们": ("我", "们們"),
    "条款": ("条條", "款"),
    "版权所有": ("版", "权權", "所"),
    "登录": ("登", "录入"),
    "://": (":", "/", "/"),
    "www.": ("w", "w", "w", "."),
}
_ONE = np.uint64(1)


class Signs(NamedTuple):
    """names: of PLACES, those that occur, and perhaps some that only begin like them. longest_token: characters of the longest stretch without a blank or a
    character of a script without blanks."""

    names: frozenset[str]
    longest_token: int


_last: tuple[str, Signs] | None = None  # the text that was asked about last: several steps ask about the same


def find_signs(text: str) -> Signs:
    """Which signs `text` holds."""
    global _last
    if _last is not None and _last[0] is text:
        return _last[1]
    table = _table()
    state, longest = _find(code_points(text), table.classes, table.masks, table.starts)
    found = Signs(_named(state & int(table.ends)), longest)
    _last = text, found
    return found


class _Table(NamedTuple):
    """classes: [0x10000], the number of a character that stands in a word, 0 for others; masks: [numbers], the places where it may stand; starts and ends:
    the first and last places of the words."""

    classes: NDArray[np.uint8]
    masks: NDArray[np.uint64]
    starts: np.uint64
    ends: np.uint64


@cache
def _table() -> _Table:
    places = [place for word in PLACES.values() for place in word]
    characters = sorted({character for place in places for character in place})
    classes, masks = np.zeros(0x10000, np.uint8), np.zeros(len(characters) + 1, np.uint64)
    for number, character in enumerate(characters, 1):
        classes[ord(character)] = number
        masks[number] = sum(1 << bit for bit, place in enumerate(places) if character in place)
    first, starts, ends = 0, 0, 0
    for word in PLACES.values():
        starts, first = starts | 1 << first, first + len(word)
        ends |= 1 << (first - 1)
    return _Table(classes, masks, np.uint64(starts), np.uint64(ends))


@cache
def _named(ends: int) -> frozenset[str]:
    """The words with the given last places."""
    found, place = [], 0
    for name, word in PLACES.items():
        place += len(word)
        if ends >> (place - 1) & 1:
            found.append(name)
    return frozenset(found)


@kernel
def _find(codes: NDArray[np.uint32], classes: NDArray[np.uint8], masks: NDArray[np.uint64], starts: np.uint64) -> tuple[np.uint64, int]:
    """All places that were reached, and the longest token."""
    state = reached = np.uint64(0)
    longest, start = 0, 0
    for i in range(len(codes)):
        code = codes[i]
        number = classes[code] if code < len(classes) else np.uint8(0)
        state = ((state << _ONE) | starts) & masks[number]
        reached |= state
        ends_token = code <= 0x20 or (code >= 0x2E80 and _is_wide(code))
        start = i + 1 if ends_token else start
        longest = max(longest, i + 1 - start)
    return reached, longest


@kernel
def _is_wide(code: np.uint32) -> bool:
    """Whether a character from U+2E80 on is one of line_rules.WIDE."""
    return bool(code <= 0x9FFF or 0xAC00 <= code <= 0xD7FF or 0xF900 <= code <= 0xFAFF or 0xFF00 <= code <= 0xFFEF or 0x20000 <= code <= 0x3134F)
