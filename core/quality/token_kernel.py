"""The compiled pass from UTF-8 to tokens: the token line of each text for fastText (features.py) and the shape of each token (shapes.py)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mspt.core.dedup.folding import BLANK, CHARACTER, CODE_MASK, IGNORED, KIND_SHIFT, WORD
from mspt.core.dedup.utf8 import read_code_point
from mspt.core.kernel import kernel, part

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_LINE_END, _SPACE, _ZERO, _NINE, _UNDERSCORE, _DOT, _X, _A = 0x0A, 0x20, 0x30, 0x39, 0x5F, 0x2E, 0x78, 0x61
# Folded forms of what ends a sentence: full stops, question and exclamation marks, the ellipsis, closing quotes and brackets, colons before a list.
_ENDS = np.array(sorted(ord(c) for c in "。.!?…”’」』\"')）:;"), np.int64)
_LAYOUT, _SHAPE = 0xB6, 0xA4  # ¶ and ¤
_MAX_LENGTH = 6  # the letter g
FNV_OFFSET, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
# Bytes that a token line may have for each byte of text, and for its end: a lone letter is a blank and four bytes as a shape, the layout of a line, the last
# one included, five with its blank, and a line end closes each text.
MOST_BYTES = 6
# ASCII inside words: what each byte becomes (0: it is not inside a word), and whether it is a vowel.
_INSIDE, _IS_VOWEL = np.zeros(256, np.uint8), np.zeros(128, np.uint64)
for _character in map(chr, range(128)):
    if _character.isalnum():
        _INSIDE[ord(_character)] = ord("0" if _character.isdigit() else _character.lower())
    _IS_VOWEL[ord(_character)] = _character in "aeiouyAEIOUY"
_LOG2 = np.array([0, *(min(_MAX_LENGTH, number.bit_length() - 1) for number in range(1, 2**_MAX_LENGTH + 1))], np.int64)
_CHUNK = 32  # letters of a word that are read before its runs are looked at; they are held in 64 bits

# --- shapes: 64 of them, so that three in a row make an index of 18 bits -----------------------------------------------

SHAPES = 64
HAN, OTHER_CHARACTER, SPOKEN, UNSPOKEN, DIGITS, LINES, MARKS = 0, 1, 2, 7, 12, 17, 29  # the first of each group
_WORD_LENGTHS, _LINE_LENGTHS = 5, 6
MARK_GROUPS = (
    *".,;:!?'\"()[]{}<>-_/|@#$%&*+=", "。", "、", "“‘「『《【〈〔", "”’」』》】〉〕", "…", "—–―", "",
)  # fmt: skip
assert len(MARK_GROUPS) == SHAPES - MARKS
_OF_MARK = np.full(0x3100, SHAPES - 1, np.uint8)
for _number, _group in enumerate(MARK_GROUPS):
    for _mark in _group:
        _OF_MARK[ord(_mark)] = MARKS + _number


@kernel
def write_tokens(
    data: U8, offsets: I64, limit: int, fold: U32, vocabulary: U64, out: U8, out_offsets: I64, shapes: U8, shape_offsets: I64, strange: I64
) -> None:
    """Of each text its first `limit` code points.

    data, offsets [texts + 1]: UTF-8; fold: folding.fold_table(); vocabulary: table of hashes, empty where every token is known; out: room for MOST_BYTES a
    byte and a text, out_offsets [texts + 1]; shapes: room for two each byte, shape_offsets [texts + 1]; strange [texts], zeros: words outside the vocabulary
    that can be spoken.
    """
    size, count = 0, 0
    for text in range(len(offsets) - 1):
        i, end, left, start = offsets[text], offsets[text + 1], limit, size
        tokens, last = 0, np.int64(0)  # of the line
        while i < end and left > 0:
            if data[np.uint64(i)] == _SPACE:
                i, left = i + 1, left - 1
                continue
            raw, width = read_code_point(data, i, end)
            i += width
            left -= 1
            if raw == _LINE_END:
                if tokens:
                    size, shapes[count] = _write_layout(tokens, last, out, size)
                    count += 1
                tokens = 0
                continue
            kind, code = fold[raw] >> KIND_SHIFT, _digits_as_zero(np.int64(fold[raw] & CODE_MASK))
            if kind in (BLANK, IGNORED):
                continue
            if size > start:
                out[size] = _SPACE
                size += 1
            token = size
            size = _encode(code, out, size)
            value = (FNV_OFFSET ^ np.uint64(code)) * FNV_PRIME
            if kind == WORD and code != _UNDERSCORE:
                # A word can be spoken that has no run of four consonants or three vowels; letters beyond ASCII count as either. Runs as bits of the last ones.
                ascii = np.uint64(code < 0x80)
                vowels = _IS_VOWEL[code & 0x7F] & ascii
                consonants, spoken = ascii - vowels, True
                begins_with_digit, length = code == _ZERO, 1
                while True:
                    begin, stop = i, min(end, i + left, i + _CHUNK)
                    while i < stop:  # the same as below, most of what is written in letters
                        byte = data[np.uint64(i)]
                        inside = _INSIDE[byte]
                        if not inside:
                            break
                        out[np.uint64(size + i - begin)] = inside
                        value = (value ^ np.uint64(inside)) * FNV_PRIME
                        vowel = _IS_VOWEL[byte]
                        vowels, consonants = vowels << _1 | vowel, consonants << _1 | (vowel ^ _1)
                        i += 1
                    if i > begin:
                        code = np.int64(_INSIDE[data[i - 1]])
                        left, size, length = left - (i - begin), size + i - begin, length + i - begin
                    spoken &= _has_no_run(vowels, consonants)
                    if i >= end or left <= 0:
                        break
                    raw, width = read_code_point(data, i, end)
                    kind = fold[raw] >> KIND_SHIFT
                    if kind != IGNORED:  # what is ignored does not end a word
                        folded = _digits_as_zero(np.int64(fold[raw] & CODE_MASK))
                        if kind != WORD or folded == _UNDERSCORE:
                            break
                        code = folded
                        size = _encode(code, out, size)
                        value = (value ^ np.uint64(code)) * FNV_PRIME
                        if code < 0x80:
                            vowels, consonants = vowels << _1 | _IS_VOWEL[code], consonants << _1 | (_IS_VOWEL[code] ^ _1)
                        else:
                            vowels, consonants = _0, _0
                        spoken &= _has_no_run(vowels, consonants)
                        length += 1
                    i, left = i + width, left - 1
                last = code
                group = DIGITS if begins_with_digit else SPOKEN if spoken else UNSPOKEN
                shapes[count] = group + min(_WORD_LENGTHS - 1, _log2(length))
                if len(vocabulary) and not _is_known(vocabulary, value):
                    strange[text] += group == SPOKEN
                    size = _write_mark(0x30 if begins_with_digit else 0x6C if spoken else 0x71, out, token)  # 0, l, q
                    out[size] = _ZERO + _log2(length)
                    size += 1
            else:
                last = code
                is_han = kind == CHARACTER and (0x3400 <= code < 0xA000 or code >= 0x20000)
                shapes[count] = HAN if is_han else OTHER_CHARACTER if kind == CHARACTER else _OF_MARK[code if code < len(_OF_MARK) else len(_OF_MARK) - 1]
                if len(vocabulary) and not _is_known(vocabulary, value):
                    size = _write_mark(0x48 if is_han else 0x43 if kind == CHARACTER else 0x53, out, token)  # H, C, S
            count += 1
            tokens += 1
        if tokens:
            size, shapes[count] = _write_layout(tokens, last, out, size)
            count += 1
        out[size] = _LINE_END
        size += 1
        out_offsets[text + 1], shape_offsets[text + 1] = size, count


@part
def _write_mark(letter: int, out: U8, size: int) -> int:
    """`¤` and a letter, over the token at `size`."""
    size = _encode(np.int64(_SHAPE), out, size)
    out[size] = letter
    return size + 1


@part
def _write_layout(tokens: int, last: np.int64, out: U8, size: int) -> tuple[int, int]:
    """The token at the end of a line; the size after it, and its shape."""
    out[size] = _SPACE
    size = _encode(np.int64(_LAYOUT), out, size + 1)
    ends = False
    for code in _ENDS:
        ends |= code == last
    length = _log2(tokens)
    out[size] = _A + length
    out[size + 1] = _DOT if ends else _X
    return size + 2, LINES + 2 * min(_LINE_LENGTHS - 1, length) + (0 if ends else 1)


@part
def _is_known(table: U64, value: np.uint64) -> bool:
    mask = np.uint64(len(table) - 1)
    place = value & mask
    while table[place] != _0:
        if table[place] == value:
            return True
        place = (place + _1) & mask
    return False


@part
def _digits_as_zero(code: np.int64) -> np.int64:
    return np.int64(_ZERO) if _ZERO <= code <= _NINE else code


@part
def _log2(number: int) -> int:
    """Whole binary logarithm, at most _MAX_LENGTH. By a table: no jump depends on how long a word is."""
    found: int = _LOG2[np.uint64(min(number, len(_LOG2) - 1))]
    return found


@part
def _has_no_run(vowels: np.uint64, consonants: np.uint64) -> bool:
    """Of three vowels or four consonants, among the last 64 characters, a bit for each."""
    runs = (vowels & vowels >> _1 & vowels >> _2) | (consonants & consonants >> _1 & consonants >> _2 & consonants >> _3)
    return bool(runs == _0)


@part
def _encode(code: np.int64, out: U8, size: int) -> int:
    """Write a code point in UTF-8 at `size`; returns the position after it."""
    if code < 0x80:
        out[size] = code
        return size + 1
    if code < 0x800:
        out[size] = 0xC0 | code >> 6
        out[size + 1] = 0x80 | code & 0x3F
        return size + 2
    if code < 0x10000:
        out[size] = 0xE0 | code >> 12
        out[size + 1] = 0x80 | code >> 6 & 0x3F
        out[size + 2] = 0x80 | code & 0x3F
        return size + 3
    out[size] = 0xF0 | code >> 18
    out[size + 1] = 0x80 | code >> 12 & 0x3F
    out[size + 2] = 0x80 | code >> 6 & 0x3F
    out[size + 3] = 0x80 | code & 0x3F
    return size + 4
