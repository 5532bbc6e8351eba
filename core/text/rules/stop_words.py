"""Function words of Chinese and English: sound sentences are full of them, lists of names, goods and key words are not."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.script import code_points

# Particles, pronouns, prepositions, conjunctions and adverbs that are written with one character, modern and classical, simplified and traditional: the
# closed word classes of the grammar, less the characters that are mostly parts of other words (上, 中, 来, 个, 一).
FUNCTION_CHARACTERS = frozenset(
    "的了在是和有不也就都而及与與或被把从從到对對为為于於以之其此这這那我你他她它们們着著过過呢吗嗎吧啊没沒很最更還还又再只但却卻因所使让讓给給会會能可将將已并並则則即乃者矣焉哉乎曰吾汝若何谁誰如且故"
)
# Of the same classes. Gopher (Rae et al. 2021, A.1.1) uses eight: the, be, to, of, and, that, have, with.
ENGLISH = """
    the a an and or but if of to in on at by for from with as into than then so that this these those which who whom whose what when where how why
    it its he his him she her they their them we our us you your i my me be is are was were been am have has had do does did not no
    can could will would shall should may might must there
"""
FUNCTION_WORDS = frozenset(ENGLISH.split())
LONGEST = max(map(len, FUNCTION_WORDS))

WORD_START = np.uint64(0xCBF29CE484222325)  # of the hash of a word: FNV-1a, 64 bits
WORD_PRIME = np.uint64(0x100000001B3)
_MASK = np.uint64(1023)  # of the hash table: one slot in nine is filled
_NONE, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)


@cache
def stop_table() -> NDArray[np.uint64]:
    """[1024]: an open hash table of the function words' hashes, 0 for an empty slot."""
    table = np.zeros(int(_MASK) + 1, np.uint64)
    for word in sorted(FUNCTION_WORDS):
        _insert(table, code_points(word))
    return table


@part
def is_stop_word(value: np.uint64, table: NDArray[np.uint64]) -> bool:
    """Whether the hash of a word, in small letters, is that of a function word."""
    return bool(table[_slot(value, table)] == value)


@part
def _slot(value: np.uint64, table: NDArray[np.uint64]) -> np.uint64:
    """The slot of `value`, or the empty one where it belongs."""
    slot = (value ^ (value >> _HALF)) & _MASK
    while table[slot] != _NONE and table[slot] != value:
        slot = (slot + _ONE) & _MASK
    return slot


@kernel
def _insert(table: NDArray[np.uint64], codes: NDArray[np.uint32]) -> None:
    value = WORD_START
    for code in codes:
        value = (value ^ np.uint64(code)) * WORD_PRIME
    table[_slot(value, table)] = value
