"""Text made comparable: what counts as the same text when documents are compared.

Folded away, one code point at a time (a table, so that a compiled loop reads a whole shard):

- width and compatibility forms (NFKC where the result is one code point): `Ａ` = `A`, `，` = `,`, `㈱` stays;
- case (case folding where the result is one code point): `Ａ` = `a`;
- white space: any run counts as one blank, none at the ends and none beside a Han or Kana character (`中文 abc` = `中文abc`);
- format characters and variation selectors (soft hyphen, zero-width characters, BOM): ignored.

Punctuation and symbols stay: the exact level must not take `1+1` for `1-1`. The near level does not compare them, there they only separate
words (see shingles.py). Not folded: traditional and simplified characters, composed and decomposed accents (clean composes them), ligatures.

Scripts written without blanks between words (Han, Kana, Bopomofo, Thai, Lao, Khmer, Myanmar) are CHARACTER, the letters, marks and digits of all
others are WORD. The table follows the Unicode version of Python 3.11 (14.0).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from mspt.core.dedup.utf8 import read_code_point
from mspt.core.kernel import kernel

BLANK, SYMBOL, WORD, CHARACTER, IGNORED = range(5)
KIND_SHIFT = 24  # a table entry is kind << 24 | folded code point (21 bits)
CODE_MASK = 0xFFFFFF
SPACE = 0x20 | BLANK << KIND_SHIFT

_AS_IT_IS = frozenset({"Lo", "Mn", "So", "Cn", "Po", "Sm", "No", "Nd", "Cf"})  # mostly without case and without decomposition
# Typed for the kernel.
_0, _1, _2, _3, _6, _12 = (np.uint64(number) for number in (0, 1, 2, 3, 6, 12))
_ASCII, _THREE_BYTES, _HIGH_4, _LOW_4, _LOW_6 = (np.uint64(number) for number in (0x80, 0xE0, 0xF0, 0x0F, 0x3F))
_KIND_SHIFT, _BLANK, _CHARACTER, _IGNORED = (np.uint32(number) for number in (KIND_SHIFT, BLANK, CHARACTER, IGNORED))

# 2^21 entries: a four-byte UTF-8 sequence can spell no larger number, so that no input reads beyond the table.
_TABLE_SIZE = 1 << 21
# Code points looked at one by one; all others are Han (below), Hangul syllables, private use or unassigned.
_LISTED = ((0, 0x3400), (0x4DC0, 0x4E00), (0xA000, 0xAC00), (0xD7B0, 0xD800), (0xF900, 0x20000), (0x2F800, 0x2FA20), (0xE0000, 0xE0200))
_UNIFORM = ((0x3400, 0x4DC0, CHARACTER), (0x4E00, 0xA000, CHARACTER), (0x20000, 0x2F800, CHARACTER), (0x30000, 0x40000, CHARACTER),
            (0xAC00, 0xD7A4, WORD))  # fmt: skip
_WITHOUT_BLANKS = ((0x0E00, 0x0F00), (0x1000, 0x10A0), (0x1780, 0x1800), (0x2E80, 0x3100), (0x3100, 0x3130), (0x31A0, 0x3200),
                   (0x3400, 0x4DC0), (0x4E00, 0xA000), (0x1AFF0, 0x1B170), (0x20000, 0x40000))  # fmt: skip


@dataclass(frozen=True)
class Folded:
    """Folded documents one after another: document i is `codes[offsets[i]:offsets[i + 1]]`, each entry `kind << 24 | code point`."""

    codes: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Code points of each folded document."""
        return np.diff(self.offsets)


def fold_text(text: str) -> str:
    """`text` as documents are compared, for people and tests."""
    folded = fold(pa.array([text], pa.string()))
    return "".join(chr(code) for code in folded.codes & CODE_MASK)


def fold(texts: pa.Array, buffer: npt.NDArray[np.uint32] | None = None) -> Folded:
    """Fold an array of strings; a null counts as an empty text. `buffer`: where to put the code points, if they fit (fresh memory costs time)."""
    data, offsets = utf8_buffers(texts)
    most = int(offsets[-1] - offsets[0])  # a code point takes at least one byte
    out = buffer if buffer is not None and len(buffer) >= most else np.empty(most, np.uint32)
    out_offsets = np.zeros(len(offsets), np.int64)
    size = _fold(data, offsets, fold_table(), out, out_offsets)
    return Folded(out[:size], out_offsets)


def exact_hashes(folded: Folded) -> npt.NDArray[np.uint64]:
    """128-bit hash (xxh3) of each folded document: [documents, 2], high half first."""
    hashes = np.empty((len(folded.offsets) - 1, 2), np.uint64)
    view = folded.codes.data.cast("B")
    bounds = (folded.offsets * 4).tolist()
    for i in range(len(hashes)):
        value = xxhash.xxh3_128_intdigest(view[bounds[i] : bounds[i + 1]])
        hashes[i, 0], hashes[i, 1] = value >> 64, value & 0xFFFFFFFFFFFFFFFF
    return hashes


def utf8_buffers(texts: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The UTF-8 bytes of a string array and the offsets of its rows, without a copy of the text."""
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        raise TypeError(f"expected strings, got {texts.type}")
    texts = texts.fill_null("") if texts.null_count else texts
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, raw_offsets, raw_data = texts.buffers()
    if raw_offsets is None or len(texts) == 0:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(raw_offsets, width)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(raw_data, np.uint8) if raw_data is not None else np.zeros(0, np.uint8)
    return data, offsets


def batches(texts: pa.Array | pa.ChunkedArray, max_bytes: int) -> Iterator[pa.Array]:
    """Slices of a text column of at most `max_bytes` of UTF-8 each, a longer document alone: working memory follows the slice."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        for start, end in slices_of(chunk, max_bytes):
            yield chunk.slice(start, end - start)


def slices_of(texts: pa.Array, max_bytes: int) -> Iterator[tuple[int, int]]:
    """The same as (first, last + 1)."""
    _, offsets = utf8_buffers(texts)
    start = 0
    while start < len(texts):
        end = int(np.searchsorted(offsets, offsets[start] + max_bytes, "right")) - 1
        end = min(max(end, start + 1), len(texts))
        yield start, end
        start = end


@cache
def fold_table() -> npt.NDArray[np.uint32]:
    """Kind and folded code point of every code point (built once per process, about 0.1 s)."""
    table = np.arange(_TABLE_SIZE, dtype=np.uint32) | np.uint32(SYMBOL << KIND_SHIFT)
    for start, end, kind in _UNIFORM:
        table[start:end] = np.arange(start, end, dtype=np.uint32) | np.uint32(kind << KIND_SHIFT)
    for start, end in _LISTED:
        table[start:end] = [_entry(chr(code)) for code in range(start, end)]
    table.flags.writeable = False
    return table


def _entry(character: str) -> int:
    category = unicodedata.category(character)
    if category in _AS_IT_IS and not unicodedata.decomposition(character) and character.casefold() == character:
        return _kind(character, category) << KIND_SHIFT | ord(character)
    folded = _one(unicodedata.normalize("NFKC", character), character)
    folded = _one(folded.casefold(), _one(folded.lower(), folded))
    kind = _kind(folded, unicodedata.category(folded))
    return SPACE if kind == BLANK else kind << KIND_SHIFT | ord(folded)


def _one(folded: str, otherwise: str) -> str:
    return folded if len(folded) == 1 else otherwise


def _kind(character: str, category: str) -> int:
    code = ord(character)
    if character.isspace() or category == "Cc":
        return BLANK
    if category == "Cf" or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return IGNORED
    if not (character.isalnum() or character == "_" or category[0] == "M"):
        return SYMBOL
    if category != "Nd" and any(start <= code < end for start, end in _WITHOUT_BLANKS):
        return CHARACTER
    return WORD


@kernel
def _fold(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    table: npt.NDArray[np.uint32],
    out: npt.NDArray[np.uint32],
    out_offsets: npt.NDArray[np.int64],
) -> np.int64:
    """A blank is remembered, and written before what follows unless a CHARACTER is beside it. No jump depends on the kind: punctuation is unpredictable.

    Unsigned indices: numba asks of signed ones, at each access, whether they are negative.
    """
    size = _0
    for document in range(len(offsets) - 1):
        i, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        blank = _0  # 1: white space was seen since the last code point that was written
        apart = _0  # 1: the last code point written was no CHARACTER; nothing is written before the first one
        while i < end:
            first = np.uint64(data[i])
            if first < _ASCII:  # BLANK, SYMBOL or WORD
                entry = table[first]
                shown = np.uint64(entry >> _KIND_SHIFT != _BLANK)
                out[size] = SPACE  # overwritten where there is none
                size += blank & shown & apart
                out[size] = entry
                size += shown
                apart |= shown
                blank = _1 - shown
                i += _1
                continue
            if first & _HIGH_4 == _THREE_BYTES and i + _2 < end:  # most of Chinese
                code = (first & _LOW_4) << _12 | (np.uint64(data[i + _1]) & _LOW_6) << _6 | (np.uint64(data[i + _2]) & _LOW_6)
                i += _3
            else:
                rare, length = read_code_point(data, np.int64(i), np.int64(end))
                code = np.uint64(rare)
                i += np.uint64(length)
            entry = table[code]
            kind = entry >> _KIND_SHIFT
            shown = np.uint64((kind != _BLANK) & (kind != _IGNORED))
            alone = np.uint64(kind != _CHARACTER)
            out[size] = SPACE
            size += blank & shown & apart & alone
            out[size] = entry
            size += shown
            apart = alone if shown != _0 else apart
            blank = np.uint64(kind == _BLANK) | (blank & np.uint64(kind == _IGNORED))
        out_offsets[document + 1] = np.int64(size)
    return np.int64(size)
