"""Readers that drop the bytes which they do not know: GBK read as Korean loses 上, 生, 身 and all else that begins with C9; read as Big5, 人, 去, 然.

What such a reader leaves reads on in the encoding that it was written in, and looks whole. So the text itself must say it: among so many characters there
must be some that the reader cannot have passed. Where there is none, they were dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import numpy as np

from mspt.core.text.decoding.charsets import MULTI_BYTE
from mspt.core.text.decoding.faults import CODECS, Fault
from mspt.core.text.decoding.likelihood import costs_of, model_of
from mspt.core.text.script import code_points

MAX_MISSING = 2.0  # expected of the characters of a text: of those that lost nothing, one in e ** 2 = 7 has none by chance, and is taken for lost
# Of the characters that are counted: punctuation, kana, Han, Hangul, full-width forms.
BLOCKS = ((0x2014, 0x2026), (0x3001, 0x3015), (0x3041, 0x30FE), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xFF01, 0xFF5E))
FREQUENT_BITS = 10.5  # cost of a character that the models know the frequency of
MODEL_CHARACTERS = 4096  # of a text, that tell the language


def is_thinned(fault: Fault, lines: Iterable[str]) -> bool:
    """Whether lines that a fault was undone in lack what its reader drops."""
    if fault.through or not MULTI_BYTE.intersection(fault.codecs) or fault.read not in CODECS:
        return False
    text = "\n".join(lines)
    codes = code_points(text)
    wide = sum(int(np.count_nonzero((codes >= first) & (codes <= last))) for first, last in BLOCKS)
    return wide * _dropped_share(fault, model_of(text[:MODEL_CHARACTERS])) > MAX_MISSING


@cache
def _dropped_share(fault: Fault, model: str) -> float:
    """Of the characters of a text in a language those that the fault's reader does not know, by the frequent ones."""
    characters = "".join(chr(code) for first, last in BLOCKS for code in range(first, last + 1))
    costs = costs_of(characters, model).tolist()
    frequent = [(one, 2.0**-cost) for one, cost in zip(characters, costs, strict=True) if cost <= FREQUENT_BITS]
    return math.fsum(share for one, share in frequent if not _passes(fault, one)) / math.fsum(share for _, share in frequent)


def _passes(fault: Fault, character: str) -> bool:
    """Whether the reader makes one character of what is written for this one; true of what cannot be written."""
    for codec in fault.codecs:
        try:
            raw = character.encode(codec)
        except UnicodeEncodeError:
            continue
        return any(_reads(raw, reader) for reader in CODECS[fault.read])
    return True


def _reads(raw: bytes, codec: str) -> bool:
    try:
        raw.decode(codec)
    except UnicodeDecodeError:
        return False
    return True
