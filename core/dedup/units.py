"""Documents as sequences of units with their places: what decontamination and leakage checks compare.

A unit is what core/dedup/shingles.py calls so: a Han, Kana, Thai, ... character, or a word of the scripts that put blanks between words, both folded as
core/dedup/folding.py says. White space and punctuation only separate. Here each unit knows where in the *unfolded* text it stands, in code points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.folding import CHARACTER, CODE_MASK, IGNORED, KIND_SHIFT, WORD, fold, fold_table, utf8_buffers
from mspt.core.dedup.utf8 import read_code_point
from mspt.core.kernel import fmix64, kernel

_FNV_PRIME = np.uint64(0x100000001B3)  # FNV-1a, 64 bits
_FNV_START = np.uint64(0xCBF29CE484222325)


@dataclass(frozen=True)
class Units:
    """Units of documents one after another: document i has the places offsets[i] to offsets[i + 1].

    hashes: 64 bits of each unit; starts, ends: where it stands in its document's text, in code points.
    """

    hashes: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]


def find_units(texts: pa.Array) -> Units:
    """The units of each text. Scratch memory: 16 bytes for each byte of text, touched as far as there are units."""
    data, offsets = utf8_buffers(texts)
    most = int(offsets[-1] - offsets[0])
    hashes, starts, ends = np.empty(most, np.uint64), np.empty(most, np.int32), np.empty(most, np.int32)
    unit_offsets = np.zeros(len(offsets), np.int64)
    size = _find_units(data, offsets, fold_table(), hashes, starts, ends, unit_offsets)
    return Units(hashes[:size], starts[:size], ends[:size], unit_offsets)


def spell_units(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The folded units of each text as texts, for people and for comparing letter by letter."""
    folded = fold(pa.array(texts, pa.string()))
    found = []
    for i in range(len(texts)):
        units, word = [], ""
        for entry in folded.codes[folded.offsets[i] : folded.offsets[i + 1]].tolist():
            kind, character = entry >> KIND_SHIFT, chr(entry & CODE_MASK)
            if kind == WORD:
                word += character
                continue
            units += [word] if word else []
            units += [character] if kind == CHARACTER else []
            word = ""
        found.append(tuple([*units, word] if word else units))
    return found


@kernel
def _find_units(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    table: npt.NDArray[np.uint32],
    hashes: npt.NDArray[np.uint64],
    starts: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    unit_offsets: npt.NDArray[np.int64],
) -> int:
    size = 0
    for document in range(len(offsets) - 1):
        i, end = offsets[document], offsets[document + 1]
        place = 0  # in code points
        in_word = False
        word = _FNV_START
        while i < end:
            code, length = read_code_point(data, i, end)
            entry = table[code]
            kind = entry >> KIND_SHIFT
            i += length
            place += 1
            if kind == IGNORED:
                continue
            if kind == WORD:
                if not in_word:
                    in_word = True
                    word = _FNV_START
                    starts[size] = place - 1
                word = (word ^ np.uint64(entry)) * _FNV_PRIME
                ends[size] = place
                continue
            if in_word:
                hashes[size] = fmix64(word)
                size += 1
                in_word = False
            if kind == CHARACTER:
                hashes[size] = fmix64(np.uint64(entry))
                starts[size] = place - 1
                ends[size] = place
                size += 1
        if in_word:
            hashes[size] = fmix64(word)
            size += 1
        unit_offsets[document + 1] = size
    return size
