"""A tokenizer as every stage uses it: a directory of files in, text to ids and back.

A tokenizer directory holds either `tokenizer.model` (SentencePiece, with `tokenizer.json` exported from it) or `tokenizer.json` alone (an
adopted Hugging Face tokenizer), and always `tokenizer_config.json`. `load` opens it:

    tokenizer = load(directory)
    ids = tokenizer.encode("Hello")             # int32 [T], no special tokens added, literal "<s>" stays text
    tokenizer.decode(ids)                       # "Hello"
    tokenizer.prefix_id                         # what a document starts with in training rows, a prompt in generation
    tokenizer.token_bytes[ids].sum()            # UTF-8 bytes those tokens stand for

The end of a document is `eos_id`. A document starts after `prefix_id`: eos, unless the tokenizer was adopted with a BOS rule
(`add_bos_token` in tokenizer_config.json): then its bos.
"""

from __future__ import annotations

import functools
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as spm
import tokenizers

from mspt.core.errors import InputError, MsptError
from mspt.core.tokens.encoding import MergeEncoder, Sequences, sequences_by
from mspt.core.tokens.merges import merge_tables, obstacle
from mspt.core.tokens.pieces import SPACE, is_byte_piece
from mspt.core.tokens.pieces import TOKENIZER_FILES as TOKENIZER_FILES

# Bytes of text in one process from which loading the compiled encoder (0.5 s) pays: SentencePiece takes a second for 4 MB of English.
COMPILED_FROM = 4 * 2**20

Ids = npt.NDArray[np.int32]
T = TypeVar("T")


@dataclass(frozen=True)
class SpecialIds:
    """Ids with a role. `prefix` opens a document, `eos` ends it; `unk`, `bos` and `pad` may be missing."""

    eos: int
    prefix: int
    unk: int | None = None
    bos: int | None = None
    pad: int | None = None


class _Each(Sequence[T]):
    """function(0), function(1), ... of `size` ids, asked for when they are needed."""

    def __init__(self, size: int, function: Callable[[int], T]) -> None:
        self.size = size
        self.function = function

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: Any) -> Any:
        if i >= self.size:
            raise IndexError(i)
        return self.function(i)


class Tokenizer(ABC):
    """Text to ids and back.

    `pieces[i]` is the name of id i, `surfaces[i]` the UTF-8 bytes it stands for (b"" for special ids), `token_bytes[i]` their number (int32 [V]): made when
    first asked for, which a worker that only encodes never does.
    """

    def __init__(self, pieces: Sequence[str], special: SpecialIds, surfaces: Sequence[bytes]) -> None:
        self.vocab_size = len(pieces)
        self.special = special
        self._given = pieces, surfaces

    @functools.cached_property
    def pieces(self) -> tuple[str, ...]:
        return tuple(self._given[0])

    @functools.cached_property
    def surfaces(self) -> tuple[bytes, ...]:
        return tuple(self._given[1])

    @functools.cached_property
    def token_bytes(self) -> Ids:
        return np.array([len(surface) for surface in self.surfaces], np.int32)

    @property
    def eos_id(self) -> int:
        return self.special.eos

    @property
    def prefix_id(self) -> int:
        return self.special.prefix

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of each text, without bos and eos, on the calling thread's share of the machine."""

    @abstractmethod
    def decode(self, ids: Sequence[int] | Ids) -> str:
        """The text of `ids`; special ids give nothing."""

    def encode(self, text: str) -> Ids:
        return self.encode_batch([text])[0]

    def sequences(self, texts: pa.ChunkedArray, batch: int) -> Iterator[Sequences]:
        """Ids of a column of texts with eos behind each, some documents at a time: (int32, one after another; int64, how many each has).

        The form in which a corpus is written. `batch`: documents handed to the library at once, where the ids come from there.
        """
        return sequences_by(self.encode_batch, self.eos_id, texts, batch)


class SentencePieceTokenizer(Tokenizer):
    """`tokenizer.model` through the sentencepiece library."""

    def __init__(self, model: bytes, add_bos: bool) -> None:
        if not model:
            raise InputError("an empty file is no SentencePiece model", "give a .model file that sentencepiece wrote")
        self.proto = model
        self.bytes_seen = 0
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        size = self.processor.get_piece_size()
        super().__init__(_Each(size, self.processor.id_to_piece), _sentencepiece_ids(self.processor, add_bos), _Each(size, self._surface))

    def _surface(self, i: int) -> bytes:
        if self.processor.is_control(i) or self.processor.is_unknown(i) or self.processor.is_unused(i):
            return b""
        return piece_surface(self.pieces[i])

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        # One thread: workers are processes. The numpy return type skips a Python int per token.
        encoded: list[Ids] = self.processor.encode(list(texts), return_type="numpy", num_threads=1)
        return encoded

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return str(self.processor.decode([int(i) for i in ids]))

    def sequences(self, texts: pa.ChunkedArray, batch: int) -> Iterator[Sequences]:
        self.bytes_seen += sum(chunk.nbytes for chunk in texts.chunks)
        if self.bytes_seen >= COMPILED_FROM and (merges := self.merge_encoder) is not None:
            return merges.sequences(texts)
        return super().sequences(texts, batch)

    @functools.cached_property
    def merge_encoder(self) -> MergeEncoder | None:
        """The compiled way to the same ids; None for a model that it is not exact for."""
        model: Any = spm.ModelProto()  # type: ignore[attr-defined]  # made by protobuf at import
        model.ParseFromString(self.proto)
        return None if obstacle(model) else MergeEncoder(merge_tables(model), self.eos_id)


class HuggingFaceTokenizer(Tokenizer):
    """`tokenizer.json` through the tokenizers library; literal special tokens in a text stay text."""

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        try:
            self.backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for any malformed file
            raise InputError(f"{path}: not a tokenizer.json: {error}", "give a file that `tokenizers` can load") from error
        self.backend.encode_special_tokens = True
        self.backend.no_padding()
        self.backend.no_truncation()
        self.added = self.backend.get_added_tokens_decoder()
        self.byte_level = byte_level_table() if isinstance(self.backend.decoder, tokenizers.decoders.ByteLevel) else None
        size = self.backend.get_vocab_size(with_added_tokens=True)
        pieces = _Each(size, lambda i: self.backend.id_to_token(i) or "")
        super().__init__(pieces, _huggingface_ids(self.backend, config, path), _Each(size, self._surface))

    def _surface(self, i: int) -> bytes:
        if i in self.added:  # written as they are, also in byte-level vocabularies
            return b"" if self.added[i].special else piece_surface(self.pieces[i])
        return piece_surface(self.pieces[i], self.byte_level)

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        encodings = self.backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int32) for encoding in encodings]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return str(self.backend.decode([int(i) for i in ids], skip_special_tokens=True))


def load(directory: Path) -> Tokenizer:
    """Open a tokenizer directory (see TOKENIZER_FILES).

    Raises:
        InputError: the directory holds no tokenizer, or one without an end-of-document token.
    """
    config = read_config(directory)
    model = directory / "tokenizer.model"
    if model.is_file():
        return SentencePieceTokenizer(model.read_bytes(), add_bos=bool(config.get("add_bos_token", False)))
    if (directory / "tokenizer.json").is_file():
        return HuggingFaceTokenizer(directory / "tokenizer.json", config)
    raise InputError(
        f"{directory}: neither tokenizer.model nor tokenizer.json",
        "name a tokenizer made by `mspt train-tokenizer` (also `--from` adopts one)",
    )


def digest(directory: Path) -> str:
    """sha256 of what decides ids: the model file and the ids that open and end a document. Equal for an adopted tokenizer and its source."""
    tokenizer = load(directory)
    model = directory / "tokenizer.model"
    data = (model if model.is_file() else directory / "tokenizer.json").read_bytes()
    return hashlib.sha256(data + f"\0{tokenizer.prefix_id} {tokenizer.eos_id}".encode()).hexdigest()


def read_config(directory: Path) -> dict[str, Any]:
    """tokenizer_config.json of a directory; {} when it has none."""
    path = directory / "tokenizer_config.json"
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}", "repair or remove the file") from error
    if not isinstance(config, dict):
        raise InputError(f"{path}: a JSON object was expected", "repair or remove the file")
    return config


def token_content(value: Any) -> str | None:
    """The text of a special token in tokenizer_config.json, where it stands as "</s>" or as {"content": "</s>", ...}."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def _sentencepiece_ids(processor: Any, add_bos: bool) -> SpecialIds:
    unk, bos, eos, pad = (i if i >= 0 else None for i in (processor.unk_id(), processor.bos_id(), processor.eos_id(), processor.pad_id()))
    if eos is None:
        raise InputError("this SentencePiece model has no end-of-sentence piece", "train it with eos_id >= 0")
    if add_bos and bos is None:
        raise InputError("add_bos_token is set, but this SentencePiece model has no bos piece", "unset add_bos_token")
    return SpecialIds(eos=eos, prefix=bos if add_bos and bos is not None else eos, unk=unk, bos=bos, pad=pad)


def piece_surface(piece: str, byte_level: dict[str, int] | None = None) -> bytes:
    """The UTF-8 bytes behind a piece; `byte_level` is the table of a vocabulary that writes each byte as one character."""
    if byte_level is not None:
        return bytes(byte_level[c] for c in piece)
    if is_byte_piece(piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace(SPACE, " ").encode("utf-8", "replace")


def byte_level_table() -> dict[str, int]:
    """Character -> byte of byte-level BPE: printable Latin-1 stands for itself, the other bytes in order for U+0100 and up (GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def _huggingface_ids(backend: Any, config: dict[str, Any], path: Path) -> SpecialIds:
    def find(role: str) -> int | None:
        content = token_content(config.get(role))
        if content is None:
            return None
        found = backend.token_to_id(content)
        if found is None:
            raise InputError(f"{path}: no token {content!r}, which tokenizer_config.json calls {role}", "make them agree")
        return int(found)

    eos, bos = find("eos_token"), find("bos_token")
    if eos is None:
        raise MsptError(f"{path}: no eos_token is known", "name the token that ends a document: --eos-token TEXT")
    # The rule stands in the configuration or, as older exports have it, only in the post-processor.
    added = backend.encode("", add_special_tokens=True).ids
    starts_with_bos = bool(config.get("add_bos_token", bool(added) and added[0] == bos))
    prefix = bos if starts_with_bos and bos is not None else eos
    return SpecialIds(eos=eos, prefix=prefix, unk=find("unk_token"), bos=bos, pad=find("pad_token"))
