"""Token sequences on disk in Megatron-LM's indexed format: `<prefix>.bin` and `<prefix>.idx`.

`.bin` holds the tokens of all sequences one after another, nothing else. `.idx`, little-endian:

    offset  bytes      what
    0       9          b"MMIDIDX\\0\\0"
    9       8          version, uint64: 1
    17      1          dtype code, uint8: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 6 float64, 7 float32, 8 uint16
    18      8          number of sequences N, uint64
    26      8          length of the document index M, uint64: documents + 1
    34      4 N        tokens of each sequence, int32
    34+4N   8 N        where each sequence begins in .bin in bytes, int64
    34+12N  8 M        the first sequence of each document, int64; last: N

mspt writes one sequence per document, so the document index is 0..N. Offsets are 64-bit: files may pass 2^31 tokens.
Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import InputError

MAGIC = b"MMIDIDX\0\0"
VERSION = 1
DTYPE_CODES = {
    1: np.uint8,
    2: np.int8,
    3: np.int16,
    4: np.int32,
    5: np.int64,
    6: np.float64,
    7: np.float32,
    8: np.uint16,
}
# Megatron-LM's own limit (DType.optimal_dtype): ids up to 65,499 take two bytes.
MAX_UINT16_VOCAB = 65500
_HEADER = struct.Struct("<9sQBQQ")
_COPY_BYTES = 16 * 2**20
_INDEX_STEP = 1 << 16

Tokens = npt.NDArray[Any]


def token_dtype(vocab_size: int) -> np.dtype[Any]:
    """The dtype of token files for a vocabulary."""
    return np.dtype(np.uint16 if vocab_size < MAX_UINT16_VOCAB else np.int32)


def write_index(path: Path, lengths: npt.ArrayLike, dtype: np.dtype[Any]) -> None:
    """Write the .idx of a .bin that holds sequences of `lengths` tokens, one per document."""
    sizes = np.asarray(lengths, dtype=np.int64)
    write_index_parts(path, lambda: iter((sizes,)), len(sizes), dtype)


def write_index_parts(path: Path, parts: Callable[[], Iterable[npt.NDArray[np.int64]]], num_sequences: int, dtype: np.dtype[Any]) -> None:
    """`write_index` for more documents than memory should hold: `parts()` gives their lengths piece by piece, and is asked twice.

    Raises:
        InputError: a document is longer than the format allows.
    """
    code = next(code for code, known in DTYPE_CODES.items() if np.dtype(known) == dtype)
    with path.open("wb") as handle:
        handle.write(_HEADER.pack(MAGIC, VERSION, code, num_sequences, num_sequences + 1))
        for sizes in parts():
            if len(sizes) and int(sizes.max()) > np.iinfo(np.int32).max:
                raise InputError(f"{path.stem}: a document of {int(sizes.max()):,} tokens; the format ends at 2^31 - 1", "split it before")
            handle.write(sizes.astype("<i4").tobytes())
        start = 0
        for sizes in parts():
            handle.write(((start + np.cumsum(sizes) - sizes) * dtype.itemsize).astype("<i8").tobytes())
            start += int(sizes.sum())
        for first in range(0, num_sequences + 1, _INDEX_STEP):
            handle.write(np.arange(first, min(first + _INDEX_STEP, num_sequences + 1), dtype="<i8").tobytes())


def append_tokens(path: Path, sequences: Iterable[Tokens], dtype: np.dtype[Any]) -> list[int]:
    """Append sequences to a .bin; returns their lengths."""
    lengths = []
    with path.open("ab") as handle:
        for sequence in sequences:
            handle.write(np.ascontiguousarray(sequence, dtype=dtype.newbyteorder("<")).tobytes())
            lengths.append(len(sequence))
    return lengths


def concatenate(parts: Sequence[Path], target: Path) -> None:
    """Join .bin files byte by byte, in order, inside the kernel where it can."""
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as handle:
                remaining = os.fstat(handle.fileno()).st_size
                while remaining:
                    out.flush()
                    copied = os.sendfile(out.fileno(), handle.fileno(), None, min(remaining, _COPY_BYTES))
                    remaining -= copied


class IndexedTokens:
    """A .bin/.idx pair, memory-mapped. `tokens[i]` is sequence i; `lengths` int32 [N]; `pointers` int64 [N] in bytes. Nothing is read before it is asked for.

    Raises:
        InputError: not this format, or the two files do not fit together.
    """

    def __init__(self, bin_path: Path, idx_path: Path) -> None:
        self.bin_path = bin_path
        raw: Tokens = np.memmap(idx_path, np.uint8, mode="r").view(np.ndarray) if idx_path.stat().st_size else np.empty(0, np.uint8)
        self.dtype, num_sequences, num_documents = _parse_header(raw, idx_path)
        at = _HEADER.size
        self.lengths = np.frombuffer(raw, "<i4", num_sequences, at)
        self.pointers = np.frombuffer(raw, "<i8", num_sequences, at + 4 * num_sequences)
        self.documents = np.frombuffer(raw, "<i8", num_documents, at + 12 * num_sequences)
        self._check(bin_path.stat().st_size)
        # A plain view of the map: slicing np.memmap itself costs ten times as much.
        self.flat: Tokens = np.memmap(bin_path, self.dtype, mode="r").view(np.ndarray) if bin_path.stat().st_size else np.empty(0, self.dtype)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, sequence: int) -> Tokens:
        start = int(self.pointers[sequence]) // self.dtype.itemsize
        return self.flat[start : start + int(self.lengths[sequence])]

    def _check(self, num_bytes: int) -> None:
        expected = int(self.lengths.sum(dtype=np.int64)) * self.dtype.itemsize
        if num_bytes != expected:
            raise InputError(
                f"{self.bin_path.name} has {num_bytes:,} bytes, its .idx describes {expected:,}",
                "one of the two is cut off or from another run: make the tokens again (mspt tokenize)",
            )


def _parse_header(raw: Tokens, path: Path) -> tuple[np.dtype[Any], int, int]:
    """(dtype, number of sequences, length of the document index) after all checks on the .idx itself."""
    hint = "give an .idx that Megatron-LM or mspt wrote"
    if len(raw) < _HEADER.size or raw[: len(MAGIC)].tobytes() != MAGIC:
        raise InputError(f"{path.name} is not an indexed dataset (no MMIDIDX header)", hint)
    _, version, code, num_sequences, num_documents = _HEADER.unpack(raw[: _HEADER.size].tobytes())
    if version != VERSION or code not in DTYPE_CODES:
        raise InputError(f"{path.name}: version {version}, dtype code {code}: unknown", hint)
    expected = _HEADER.size + 12 * num_sequences + 8 * num_documents
    if len(raw) < expected:  # multimodal files carry one more byte per sequence behind
        raise InputError(f"{path.name} is cut off: {len(raw):,} bytes of {expected:,}", hint)
    return np.dtype(DTYPE_CODES[code]).newbyteorder("<"), int(num_sequences), int(num_documents)
