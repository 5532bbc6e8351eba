"""Documents on both sides of the split: none may be.

Clusters fall on one side by construction; that is proved again here by their keys. A training document whose tokens are those of a validation
document, word for word, is put aside (documents.LEAKED): without dedup a corpus has such copies. Which ones is decided by xxh3-64 of the tokens among
those of equal numbers of tokens and bytes, so that few are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from mspt.core.tokens.documents import LEAKED, TRAIN, VALIDATION, Documents, Records
from mspt.core.tokens.packing import mix64
from mspt.core.tokens.split import Split
from mspt.core.tokens.token_files import TokenFiles

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Leakage:
    """What was compared: validation documents, the training documents whose tokens were read, the copies put aside and their tokens."""

    validation: int
    compared: int
    documents: int
    tokens: int


def apply_split(documents: Documents, split: Split, files: TokenFiles) -> Leakage:
    """Write each document's side into its record. Memory: 24 bytes for each validation document."""
    keys, sizes, texts = _validation(documents, split, files)
    compared, copies, tokens = 0, 0, 0
    for code, first, records in documents.chunks():
        rows = np.flatnonzero(records["side"] == TRAIN)
        if np.isin(records["key"][rows], keys).any():
            raise RuntimeError("a cluster lies on both sides of the split")
        alike = rows[np.isin(_size_key(records[rows]), sizes)]
        leaked = alike[np.isin(_text_hashes(records[alike], code, files), texts)]
        records["side"][leaked] = LEAKED
        documents.update(first, records)
        compared += len(alike)
        copies += len(leaked)
        tokens += int(records["tokens"][leaked].sum(dtype=np.int64))
    return Leakage(len(texts), compared, copies, tokens)


def _validation(documents: Documents, split: Split, files: TokenFiles) -> tuple[Hashes, Hashes, Hashes]:
    """Marks the validation documents; their keys, sizes and texts as hashes."""
    keys, sizes, texts = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for code, first, records in documents.chunks():
        held = np.flatnonzero((records["side"] == TRAIN) & split.holds_out(records["key"]))
        if not len(held):
            continue
        records["side"][held] = VALIDATION
        documents.update(first, records)
        keys.append(records["key"][held])
        sizes.append(_size_key(records[held]))
        texts.append(_text_hashes(records[held], code, files))
    return np.concatenate(keys), np.unique(np.concatenate(sizes)), np.concatenate(texts)


def _size_key(records: Records) -> Hashes:
    """Tokens and bytes as one number."""
    return mix64(records["tokens"].astype(np.uint64), 0) ^ records["bytes"].astype(np.uint64)


def _text_hashes(records: Records, code: int, files: TokenFiles) -> Hashes:
    places = zip(records["start"].tolist(), records["tokens"].tolist(), strict=True)
    found: list[Any] = [xxhash.xxh3_64_intdigest(files.read(code, start, length).tobytes()) for start, length in places]
    return np.array(found, np.uint64)
