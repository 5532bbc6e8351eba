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

from collections import defaultdict
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
    of = _by_type(model)
    if of[UNUSED]:
        return "its unused pieces are taken apart by what is merged elsewhere in the text"
    if any(len(piece) == 1 for kind in (UNKNOWN, CONTROL) for _, piece, _ in of[kind]):
        return "a character is a control piece"
    scores = [score for _, piece, score in of[NORMAL] if len(piece) > 1]
    if len(set(scores)) < len(scores):
        return "two pieces have one score"
    user_defined = [piece for _, piece, _ in of[USER_DEFINED]]
    if any("\0" in piece or (rules.add_dummy_prefix and piece.startswith(SPACE)) for piece in user_defined) or _depth(user_defined) > MAX_NESTED:
        return "its user-defined pieces hold NUL, begin with the blank in front of texts, or lie in each other too often"
    if len(of[NORMAL]) + len(set("".join(piece for _, piece, _ in of[NORMAL]))) >= NONE or sum(map(len, user_defined)) >= NONE:
        return "it has too many pieces"
    return None


def _by_type(model: Any) -> defaultdict[int, list[tuple[int, str, float]]]:
    """(id, piece, score) of the pieces of each type; one pass, since reading a field of a proto costs more than all that is done with it."""
    of = defaultdict(list)
    for i, piece in enumerate(model.pieces):
        of[piece.type].append((i, piece.piece, piece.score))
    return of


def _depth(pieces: list[str]) -> int:
    """How many of the pieces at most begin one another."""
    known, depth = set(pieces), 0
    for piece in pieces:
        depth = max(depth, sum(piece[:length] in known for length in range(1, len(piece) + 1)))
    return depth


def merge_tables(model: Any) -> MergeTables:
    """Tables of a model that has no `obstacle`."""
    of = _by_type(model)
    id_of = {piece: i for i, piece, _ in of[NORMAL]}
    long = [piece for _, piece, _ in sorted((entry for entry in of[NORMAL] if len(entry[1]) > 1), key=lambda entry: -entry[2])]
    characters = sorted(set("".join(id_of)))
    symbol_of = {piece: symbol for symbol, piece in enumerate([*long, *characters])}
    codes = np.array([-1] * len(long) + [ord(character) for character in characters], np.int32)
    symbols = np.full(0x110000, -1, np.int32)
    symbols[codes[len(long) :]] = np.arange(len(long), len(symbol_of))
    byte_ids = np.full(256, -1, np.int32)
    for i, piece, _ in of[BYTE]:
        byte_ids[int(piece[3:5], 16)] = i
    edges, ends = _trie({piece: i for i, piece, _ in of[USER_DEFINED]})
    return MergeTables(
        symbols=symbols,
        pairs=hash_table(dict.fromkeys(_neighbours(long, symbols), NONE) | _merges(long, symbol_of)),
        ids=np.array([id_of.get(piece, -1) for piece in symbol_of], np.int32),
        codes=codes,
        byte_ids=byte_ids,
        unknown=-1 if model.trainer_spec.byte_fallback else of[UNKNOWN][0][0],
        edges=edges,
        ends=ends,
        prefix=bool(model.normalizer_spec.add_dummy_prefix),
    )


def _neighbours(long: list[str], symbols: Int32s) -> list[int]:
    """left << 21 | right of all characters that stand side by side in pieces."""
    if not long:
        return []
    found = symbols[np.frombuffer("".join(long).encode("utf-32-le"), "<u4")].astype(np.int64)
    keys = found[:-1] << SYMBOL_BITS | found[1:]
    ends = np.cumsum([len(piece) for piece in long])
    inside = np.delete(keys, ends[:-1] - 1)  # without those of the end of a piece and the beginning of the next
    return [int(key) for key in np.unique(inside)]


def _merges(long: list[str], symbol_of: Mapping[str, int]) -> dict[int, int]:
    """left << 21 | right -> merged symbol, for all ways of making the `long` pieces, whose symbols are their places."""
    found, known = {}, symbol_of.get
    for merged, piece in enumerate(long):
        for cut in range(1, len(piece)):
            left = known(piece[:cut])
            if left is not None and (right := known(piece[cut:])) is not None:
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
