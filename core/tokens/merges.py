"""Tables of a SentencePiece BPE model for the compiled loops of core/tokens/merging.py, and which models those loops are exact for.

What SentencePiece does with a text (its bpe_model.cc, normalizer.cc and sentencepiece_processor.cc), and what stands for it here:

    blanks are written as U+2581, one is put in front of a text where the model says so      `prefix`; reading gives U+2581 for a blank
    user-defined pieces are found first, longest first, and never merged                     `edges`, `ends`: a trie of them
    every other character stands alone                                                       `symbols`
    of all neighbours that together are a piece, those of the best score become one;         `pairs`: symbols are numbered by score, so that the smallest
    the leftmost of equal ones; until there are none                                         number is the next merge
    what is no piece then becomes its UTF-8 bytes, or one unknown for a run of them          `ids` -1: `byte_ids`, `unknown`

`obstacle` names what these tables cannot say; such a model is left to SentencePiece itself.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mspt.core.tokens.pieces import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, UNUSED, USER_DEFINED

_BPE = 2  # a type of models (sentencepiece_model.proto)
# SentencePiece looks at no more than 64 user-defined pieces that begin at one place (its PrefixMatcher).
MAX_NESTED = 64

# A table holds left << 42 | right << 21 | value in each place: symbols have 21 bits.
SYMBOL_BITS = 21
NONE = (1 << SYMBOL_BITS) - 1  # side by side in some piece, but no piece themselves
EMPTY = -1  # a free place
HASH_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio (Knuth, The Art of Computer Programming 3, 6.4)
HASH_SHIFT = 24

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


class MergeTables(NamedTuple):
    """V pieces of several characters have the symbols 0 to V - 1, best score first; the characters in pieces have those behind.

    symbols: int32 [0x110000], symbol of each code point, -1: it is in no piece. pairs: int64 [2^k], (symbol, symbol) -> merged symbol, or NONE for two
    characters that stand side by side in pieces but are none. ids: int32 [symbols], -1: a character that is no piece itself. codes: int32 [symbols], code
    point of a character. byte_ids: int32 [256]. unknown: id of what has no piece, -1: it becomes bytes. edges: int64 [2^k], (node, code point) -> node of
    the trie of user-defined pieces. ends: int32 [nodes], id of the piece that ends there, -1: none; empty where there are no such pieces.
    """

    symbols: Int32s
    pairs: Int64s
    ids: Int32s
    codes: Int32s
    byte_ids: Int32s
    unknown: int
    edges: Int64s
    ends: Int32s
    prefix: bool


def obstacle(model: Any) -> str | None:
    """Why a SentencePiece model (its proto) cannot be told in tables; None: it can."""
    spec, rules = model.trainer_spec, model.normalizer_spec
    if spec.model_type != _BPE:
        return "it is no BPE model"
    if rules.precompiled_charsmap or rules.remove_extra_whitespaces or not rules.escape_whitespaces:
        return "it rewrites text"
    if spec.treat_whitespace_as_suffix and rules.add_dummy_prefix:
        return "it puts a blank behind each text"
    of = {kind: [piece.piece for piece in model.pieces if piece.type == kind] for kind in (NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED)}
    if of[UNUSED]:
        return "its unused pieces are taken apart by what is merged elsewhere in the text"
    if any(len(piece) == 1 for piece in of[UNKNOWN] + of[CONTROL]):
        return "a character is a control piece"
    scores = Counter(piece.score for piece in model.pieces if piece.type == NORMAL and len(piece.piece) > 1)
    if scores and max(scores.values()) > 1:
        return "two pieces have one score"
    if any("\0" in piece or (rules.add_dummy_prefix and piece.startswith(SPACE)) for piece in of[USER_DEFINED]) or _depth(of[USER_DEFINED]) > MAX_NESTED:
        return "its user-defined pieces hold NUL, begin with the blank in front of texts, or lie in each other too often"
    if len(of[NORMAL]) + len(set("".join(of[NORMAL]))) >= NONE or sum(map(len, of[USER_DEFINED])) >= NONE:
        return "it has too many pieces"
    return None


def _depth(pieces: list[str]) -> int:
    """How many of the pieces at most begin one another."""
    known, depth = set(pieces), 0
    for piece in pieces:
        depth = max(depth, sum(piece[:length] in known for length in range(1, len(piece) + 1)))
    return depth


def merge_tables(model: Any) -> MergeTables:
    """Tables of a model that has no `obstacle`."""
    normal = {piece.piece: (i, piece.score) for i, piece in enumerate(model.pieces) if piece.type == NORMAL}
    long = sorted((piece for piece in normal if len(piece) > 1), key=lambda piece: -normal[piece][1])
    characters = sorted(set("".join(normal)))
    symbol_of = {piece: symbol for symbol, piece in enumerate([*long, *characters])}
    symbols = np.full(0x110000, -1, np.int32)
    symbols[[ord(character) for character in characters]] = np.arange(len(long), len(symbol_of))
    byte_ids = np.full(256, -1, np.int32)
    for i, piece in enumerate(model.pieces):
        if piece.type == BYTE:
            byte_ids[int(piece.piece[3:5], 16)] = i
    unknown = next(i for i, piece in enumerate(model.pieces) if piece.type == UNKNOWN)
    edges, ends = _trie({piece.piece: i for i, piece in enumerate(model.pieces) if piece.type == USER_DEFINED})
    return MergeTables(
        symbols=symbols,
        pairs=hash_table(_pairs(long, symbol_of)),
        ids=np.array([normal[piece][0] if piece in normal else -1 for piece in symbol_of], np.int32),
        codes=np.array([ord(piece) if len(piece) == 1 else -1 for piece in symbol_of], np.int32),
        byte_ids=byte_ids,
        unknown=-1 if model.trainer_spec.byte_fallback else unknown,
        edges=edges,
        ends=ends,
        prefix=bool(model.normalizer_spec.add_dummy_prefix),
    )


def _pairs(long: list[str], symbol_of: Mapping[str, int]) -> dict[int, int]:
    """left << 21 | right -> merged symbol or NONE, for all ways of making the `long` pieces, whose symbols are their places."""
    numbers = [[symbol_of[character] for character in piece] for piece in long]
    found = {left << SYMBOL_BITS | right: NONE for piece in numbers for left, right in itertools.pairwise(piece)}
    known = symbol_of.get
    for merged, piece in enumerate(long):
        for cut in range(1, len(piece)):
            left, right = known(piece[:cut]), known(piece[cut:])
            if left is not None and right is not None:
                found[left << SYMBOL_BITS | right] = merged
    return found


def _trie(pieces: Mapping[str, int]) -> tuple[Int64s, Int32s]:
    """(edges, ends) of user-defined pieces; node 0 is where each begins."""
    nodes, edges, ends = {"": 0}, {}, {}
    for piece, i in pieces.items():
        for length in range(1, len(piece) + 1):
            node = nodes.setdefault(piece[:length], len(nodes))
            edges[nodes[piece[: length - 1]] << SYMBOL_BITS | ord(piece[length - 1])] = node
        ends[nodes[piece]] = i
    return hash_table(edges), np.array([ends.get(node, -1) for node in range(len(nodes))] if pieces else [], np.int32)


def hash_table(entries: Mapping[int, int]) -> Int64s:
    """Open addressing with linear probing, at most half full: what `merging.look_up` reads."""
    table = np.full(max(16, 1 << (2 * len(entries)).bit_length()), EMPTY, np.int64)
    keys = np.fromiter(entries.keys(), np.int64, len(entries))
    values = np.fromiter(entries.values(), np.int64, len(entries))
    mask = np.int64(len(table) - 1)
    places = ((keys.astype(np.uint64) * np.uint64(HASH_MULTIPLIER)) >> np.uint64(HASH_SHIFT)).astype(np.int64) & mask
    waiting = np.arange(len(keys))
    while len(waiting):
        # Of those that want the same free place one gets it; the others, and those whose place is taken, go on to the next.
        free = waiting[table[places[waiting]] == EMPTY]
        _, first = np.unique(places[free], return_index=True)
        placed = free[first]
        table[places[placed]] = keys[placed] << SYMBOL_BITS | values[placed]
        waiting = np.setdiff1d(waiting, placed, assume_unique=True)
        places[waiting] = (places[waiting] + 1) & mask
    return table
