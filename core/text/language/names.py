"""What is no language in a technical text, beside fenced code: inline code, addresses, link targets, tags, roff comments, identifiers (camelCase, snake_case,
a.b, x1). One compiled pass puts a blank for each; every repetition is bounded or begins at a border: linear time."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.normal.classes import set_bits
from mspt.core.text.script import Codes, code_points, text_of

MAX_INLINE_CODE, MAX_TARGET, MAX_TAG = 200, 500, 300  # characters between backticks, in the target of a link, between < and >
MAX_CAMEL, MAX_WORD = 41, 60  # letters before the hump of camelCase, before the first sign that makes a word a name
SMALL, CAPITAL, NUMBER, JOINT, BLANK, PRINTED, OPENS = (1 << bit for bit in range(7))
LETTER, IN_WORD = SMALL | CAPITAL, SMALL | CAPITAL | NUMBER
CHARACTERS = {
    SMALL: "a-z",
    CAPITAL: "A-Z",
    NUMBER: "0-9_",
    JOINT: "./@:=",  # of the parts of names
    BLANK: "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",  # as str.isspace has it
    PRINTED: "!-~",
    OPENS: "`]<.'",  # that something else than a name begins with
}

WWW, HTTP, SLASHES = (tuple(map(ord, word)) for word in ("www.", "http", "://"))


def without_names(text: str) -> str:
    """`text` with a blank for each address, name and piece of code in it."""
    codes = code_points(text)
    found = np.empty(len(codes), np.uint32)
    size, number = drop_names(codes, character_table(), found)
    found.flags.writeable = False
    return text_of(found[:size]) if number else text


@cache
def character_table() -> NDArray[np.uint8]:
    """[0x110000]: the bits of each character."""
    table = np.zeros(0x110000, dtype=np.uint8)
    for bit, charset in CHARACTERS.items():
        set_bits(table, charset, bit)
    return table


@kernel
def drop_names(codes: Codes, table: NDArray[np.uint8], found: NDArray[np.uint32]) -> tuple[int, int]:
    """Fill `found`; how long it is, and how many names there were."""
    i = size = number = 0
    is_inside = False  # a word
    while i < len(codes):
        bits = table[codes[i]]
        end = i
        if bits & LETTER:
            if codes[i] == 0x68 or codes[i] == 0x77:  # h, w
                end = _address_end(codes, table, i)
            if end == i and not is_inside:
                end = _identifier_end(codes, table, i)
        elif bits & OPENS:
            end = _sign_end(codes, table, i)
        if end > i:
            is_inside = table[codes[end - 1]] & LETTER != 0
            found[size] = 0x20
            i, number = end, number + 1
        else:
            is_inside = bits & LETTER != 0
            found[size] = codes[i]
            i += 1
        size += 1
    return size, number


@part
def _starts(codes: Codes, i: int, word: tuple[int, ...]) -> bool:
    """Whether the word, as code points, stands at `i`."""
    if i + len(word) > len(codes):
        return False
    k = 0
    while k < len(word) and codes[i + k] == word[k]:
        k += 1
    return k == len(word)


@part
def _address_end(codes: Codes, table: NDArray[np.uint8], i: int) -> int:
    """Where the address ends that begins at `i` with http://, https:// or www.; `i` where there is none."""
    if _starts(codes, i, WWW):
        start = i + len(WWW)
    elif _starts(codes, i, HTTP):
        start = i + len(HTTP)
        start += start < len(codes) and codes[start] == 0x73
        if not _starts(codes, start, SLASHES):
            return i
        start += len(SLASHES)
    else:
        return i
    end = start
    while end < len(codes) and table[codes[end]] & PRINTED:
        end += 1
    return end if end > start else i


@part
def _identifier_end(codes: Codes, table: NDArray[np.uint8], i: int) -> int:
    """Where the identifier ends whose first letter is at `i`; `i` where there is none."""
    end, is_camel = i + 1, False
    while end < len(codes) and table[codes[end]] & LETTER:
        is_camel |= bool(table[codes[end - 1]] & SMALL and table[codes[end]] & CAPITAL and end - i <= MAX_CAMEL)
        end += 1
    if is_camel:
        while end < len(codes) and table[codes[end]] & IN_WORD and codes[end] != 0x5F:
            end += 1
        return end
    joint = end
    while joint < len(codes) and table[codes[joint]] & JOINT:
        joint += 1
    if end - i > MAX_WORD or joint == len(codes) or not table[codes[joint]] & (NUMBER if joint == end else IN_WORD):
        return i
    end = joint
    while end < len(codes) and (table[codes[end]] & (IN_WORD | JOINT) or codes[end] == 0x2D):
        end += 1
    return end


@part
def _sign_end(codes: Codes, table: NDArray[np.uint8], i: int) -> int:
    """Where inline code, the target of a link, a tag or a roff comment ends that begins at `i`; `i` where there is none."""
    code = codes[i]
    if code == 0x60:  # `code`
        end = i + 1
        while end < len(codes) and end - i <= MAX_INLINE_CODE and codes[end] != 0x60 and codes[end] != 0x0A:
            end += 1
        return end + 1 if end > i + 1 and end < len(codes) and codes[end] == 0x60 else i
    if code == 0x5D:  # ](target)
        end = i + 2
        if end >= len(codes) or codes[i + 1] != 0x28:
            return i
        while end < len(codes) and end - i <= MAX_TARGET + 1 and codes[end] != 0x28 and codes[end] != 0x29 and not table[codes[end]] & BLANK:
            end += 1
        return end + 1 if end > i + 2 and end < len(codes) and codes[end] == 0x29 else i
    if code == 0x3C:  # <tag>
        start = i + 2 if i + 1 < len(codes) and codes[i + 1] == 0x2F else i + 1
        if start >= len(codes) or not table[codes[start]] & LETTER:
            return i
        end = start + 1
        while end < len(codes) and end - start <= MAX_TAG and codes[end] != 0x3C and codes[end] != 0x3E:
            end += 1
        return end + 1 if end < len(codes) and codes[end] == 0x3E else i
    end = i
    if (i == 0 or codes[i - 1] == 0x0A) and i + 2 < len(codes) and codes[i + 1] == 0x5C and codes[i + 2] == 0x22:  # .\"
        while end < len(codes) and codes[end] != 0x0A:
            end += 1
    return end
