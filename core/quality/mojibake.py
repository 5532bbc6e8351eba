"""Mojibake made on purpose: a text as it looks after its bytes were read in the wrong encoding, or after an encoding lost its characters."""

from __future__ import annotations

import base64
import quopri
import random
import re
from collections.abc import Callable

# (written as, read as). Characters that the first lacks become `?`, bytes that the second lacks U+FFFD, as a careless program does it.
WRONG_READINGS = (
    ("utf-8", "gb18030"),
    ("utf-8", "cp1252"),
    ("utf-8", "latin-1"),
    ("utf-8", "big5"),
    ("utf-8", "shift_jis"),
    ("gb18030", "latin-1"),
    ("gb18030", "big5"),
    ("gb18030", "cp1252"),
    ("gb18030", "utf-8"),
    ("big5", "gb18030"),
    ("ascii", "ascii"),
)
_ENOUGH = 0.3  # share of the characters that must have changed: text in ASCII looks the same in most encodings
_PRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def misread(text: str, chooser: random.Random) -> str:
    """The text misread in one of the ways that change enough of it; text in ASCII by the ways that touch ASCII."""
    plain = sum(c < "\x80" for c in text) > len(text) / 2
    ways: list[Callable[[str], str]] = list(_OF_ASCII) if plain else [_reading(*names) for names in WRONG_READINGS]
    found = ""
    for way in chooser.sample(ways, len(ways)):
        found = _PRINTABLE.sub("\ufffd", way(text))[: 2 * len(text)]
        if _changed(text, found) >= _ENOUGH:
            break
    return found


def _reading(written: str, read: str) -> Callable[[str], str]:
    return lambda text: text.encode(written, "replace").decode(read, "replace")


def _changed(before: str, after: str) -> float:
    known = set(before)
    return sum(c not in known for c in after if not c.isspace()) / max(1, len(after))


_OF_ASCII: tuple[Callable[[str], str], ...] = (
    _reading("utf-16-le", "utf-8"),
    lambda text: text.encode("utf-8", "replace").decode("utf-16-le", "replace"),
    lambda text: text.encode("utf-8", "replace").decode("utf-16-be", "replace"),
    lambda text: text.encode("cp037", "replace").decode("latin-1"),
    lambda text: text.encode("utf-8", "replace").decode("cp037"),
    lambda text: base64.encodebytes(text.encode("utf-8", "replace")).decode("ascii"),
    lambda text: quopri.encodestring(re.sub(r"[aeo\s]", lambda m: "\u00c3" + m[0], text).encode("utf-8", "replace")).decode("ascii"),
    lambda text: "".join(chr(ord(c) + 0x80) if c.isalpha() and c < "\x80" else c for c in text),  # the eighth bit set
)
