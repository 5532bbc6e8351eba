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

from mspt.core.kernel import kernel

BLANK, SYMBOL, WORD, CHARACTER, IGNORED = range(5)
KIND_SHIFT = 24  # a table entry is kind << 24 | folded code point (21 bits)
CODE_MASK = 0xFFFFFF
SPACE = 0x20 | BLANK << KIND_SHIFT

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


def fold(texts: pa.Array) -> Folded:
    """Fold an array of strings; a null counts as an empty text."""
    data, offsets = utf8_buffers(texts)
    out = np.empty(int(offsets[-1] - offsets[0]), np.uint32)  # a code point takes at least one byte
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
        _, offsets = utf8_buffers(chunk)
        start = 0
        while start < len(chunk):
            end = int(np.searchsorted(offsets, offsets[start] + max_bytes, "right")) - 1
            end = min(max(end, start + 1), len(chunk))
            yield chunk.slice(start, end - start)
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
    folded = _one(unicodedata.normalize("NFKC", character), character)
    folded = _one(folded.casefold(), _one(folded.lower(), folded))
    code = ord(folded)
    kind = _kind(folded)
    return SPACE if kind == BLANK else kind << KIND_SHIFT | code


def _one(folded: str, otherwise: str) -> str:
    return folded if len(folded) == 1 else otherwise


def _kind(character: str) -> int:
    category = unicodedata.category(character)
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
) -> int:
    size = 0
    for document in range(len(offsets) - 1):
        i, end = offsets[document], offsets[document + 1]
        blank = False  # white space was seen since the last code point that was written
        last = CHARACTER  # nothing is written before the first code point
        while i < end:
            code, length = _decode(data, i, end)
            i += length
            entry = table[code]
            kind = entry >> KIND_SHIFT
            if kind == IGNORED:
                continue
            if kind == BLANK:
                blank = True
                continue
            if blank and last != CHARACTER and kind != CHARACTER:
                out[size] = SPACE
                size += 1
            out[size] = entry
            size += 1
            last = kind
            blank = False
        out_offsets[document + 1] = size
    return size


@kernel
def _decode(data: npt.NDArray[np.uint8], i: int, end: int) -> tuple[np.int64, int]:
    """Code point at byte `i` and its length. Arrow strings are valid UTF-8; a cut sequence would be read as the single bytes it has."""
    first = np.int64(data[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0 and i + 1 < end:
        return np.int64((first & 0x1F) << 6 | np.int64(data[i + 1] & 0x3F)), 2
    if first < 0xF0 and i + 2 < end:
        return np.int64((first & 0x0F) << 12 | np.int64(data[i + 1] & 0x3F) << 6 | np.int64(data[i + 2] & 0x3F)), 3
    if i + 3 < end:
        low = np.int64(data[i + 1] & 0x3F) << 12 | np.int64(data[i + 2] & 0x3F) << 6 | np.int64(data[i + 3] & 0x3F)
        return np.int64((first & 0x07) << 18 | low), 4
    return first, 1
