"""Encoding word by word with a memory of the words already seen, where that gives exactly what SentencePiece gives for the whole text.

Why it is exact. A BPE model only ever joins two neighbours into a string that is in its vocabulary. Say that a *cut* lies between two neighbouring
characters which no piece of the vocabulary holds side by side. Then no merge crosses a cut, merges on its two sides do not see each other, and their order
within a side (best score first, then leftmost) is the order they have in the whole text. So the ids of a text are the ids of its words, one after another, if a
word ends only at cuts. `word_pattern` looks for a way of splitting that keeps to this and checks it against every piece; where the model breaks it, blanks
alone are tried, and where even those lie inside pieces, or the model rewrites text or is no BPE model, `WordEncoder` hands whole texts to SentencePiece.

    classes  B blank (" " and U+2581, which SentencePiece takes for one)   D digit 0-9   L letter, mark   P all other characters
    words    blanks in front belong to the word; then one digit, or letters, or others:  "  if", " (", "x", "1", "0", "):\\n"

A word costs a look into a table instead of 1-2 microseconds of merging: English prose 4-15 MB/s instead of 3.5 on one core, by how many words are new.
Chinese has few words that come again between cuts: texts that are not mostly ASCII go to SentencePiece as they are (30 MB/s against 6).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as spm

SPACE = "\u2581"  # what SentencePiece writes for a blank
BLANKS = " " + SPACE
_BPE = 2
_CONTROL_TYPES = (2, 3, 6)  # unknown, control, byte: never matched in a text
# Words remembered at most, about 150 bytes each; then the memory starts anew, so that it stays flat and follows the text.
MAX_WORDS = 300_000
MAX_WORD_CHARACTERS = 20_000_000
# UTF-8 bytes for each character up to which a text is read by words: beyond, most of it is not alphabetic.
MAX_BYTES_PER_CHARACTER = 1.25
LOOKED_AT = 2000
# Longer texts are split by words in blocks of so many characters.
BLOCK = 1 << 20


class WordEncoder:
    """Texts to token ids as raw bytes of `dtype` (little-endian), equal to what SentencePiece gives for each whole text."""

    def __init__(self, proto: bytes, dtype: np.dtype[Any]) -> None:
        model: Any = spm.ModelProto()  # type: ignore[attr-defined]  # made by protobuf at import
        model.ParseFromString(proto)
        self.dtype = dtype.newbyteorder("<")
        self.pattern = model_pattern(model)
        self.prefix = ""
        if self.pattern is not None and model.normalizer_spec.add_dummy_prefix:
            # The blank in front of each text is put there here: the words behind the first must not get one.
            self.prefix = SPACE
            model.normalizer_spec.add_dummy_prefix = False
            proto = model.SerializeToString()
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
        self.words: dict[str, bytes] = {}
        self.num_characters = 0

    def encode(self, texts: Sequence[str]) -> list[bytes]:
        """Ids of each text, without bos and eos."""
        found: list[bytes] = [b""] * len(texts)
        by_words = [self.pattern is not None and is_alphabetic(text) for text in texts]
        whole = [i for i, words in enumerate(by_words) if not words]
        for i, ids in zip(whole, self._encode_whole([self._prefixed(texts[i]) for i in whole]), strict=True):
            found[i] = ids
        waiting: list[int] = []
        size = 0
        for i in (i for i, words in enumerate(by_words) if words):
            waiting.append(i)
            size += len(texts[i])
            if size >= BLOCK:
                self._encode_words(texts, waiting, found)
                waiting, size = [], 0
        self._encode_words(texts, waiting, found)
        return found

    def _prefixed(self, text: str) -> str:
        return self.prefix + text if text else text

    def _encode_whole(self, texts: list[str]) -> list[bytes]:
        encoded = self.processor.encode(texts, return_type="numpy", num_threads=1) if texts else []
        return [ids.astype(self.dtype).tobytes() for ids in encoded]

    def _encode_words(self, texts: Sequence[str], chosen: Sequence[int], found: list[bytes]) -> None:
        """Fill `found` for the chosen texts, which are about a BLOCK together: what is new in them is learnt in one call, which costs 0.2 ms by itself."""
        parts: list[tuple[int, list[str]]] = []
        for i in chosen:
            for block in blocks(self._prefixed(texts[i])):
                if parts and len(block) >= BLOCK:
                    self._look_up(parts, found)
                    parts = []
                assert self.pattern is not None
                parts.append((i, self.pattern.findall(block)))
        self._look_up(parts, found)

    def _look_up(self, parts: list[tuple[int, list[str]]], found: list[bytes]) -> None:
        """Append to `found[i]` the ids of the words of each (i, words)."""
        self._learn(itertools.chain.from_iterable(words for _, words in parts))
        known = self.words
        for i, words in parts:
            found[i] += b"".join([known[word] for word in words])

    def _learn(self, words: Iterable[str]) -> None:
        """Remember the words that are new."""
        if len(self.words) > MAX_WORDS or self.num_characters > MAX_WORD_CHARACTERS:
            self.words = {}
            self.num_characters = 0
        new = list(set(words).difference(self.words))
        self.words.update(zip(new, self._encode_whole(new), strict=True))
        self.num_characters += sum(map(len, new))


def is_alphabetic(text: str) -> bool:
    """Whether most of the beginning of `text` is ASCII: then its words come again. A guess, which costs no more than time where it is wrong."""
    if text.isascii():
        return True
    beginning = text[:LOOKED_AT]
    return len(beginning.encode("utf-8", "surrogatepass")) <= MAX_BYTES_PER_CHARACTER * len(beginning)


def blocks(text: str) -> Iterator[str]:
    """`text` in parts of about BLOCK characters, each but the first beginning with a blank that follows another character."""
    start = 0
    while start < len(text):
        found = _block_start.search(text, start + BLOCK)
        end = found.start() + 1 if found else len(text)
        yield text[start:end]
        start = end


_block_start = re.compile(f"[^{BLANKS}][{BLANKS}]")


def model_pattern(model: Any) -> re.Pattern[str] | None:
    """The pattern of words of a SentencePiece model proto; None where only whole texts give its ids."""
    spec, rules = model.trainer_spec, model.normalizer_spec
    rewrites = bool(rules.precompiled_charsmap) or rules.remove_extra_whitespaces or not rules.escape_whitespaces
    if spec.model_type != _BPE or rewrites:
        return None
    return word_pattern([piece.piece for piece in model.pieces if piece.type not in _CONTROL_TYPES])


def word_pattern(pieces: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern whose `findall` splits every text into words that no piece crosses; None where blanks lie inside pieces."""
    long = [piece for piece in pieces if len(piece) > 1]
    marks = "".join(sorted(marks_of_letters(long)))
    letter, other = rf"[^\W0-9_]{'|[' + marks + ']' if marks else ''}", rf"[^\w{BLANKS}{marks}]|_"
    fine = re.compile(f"[{BLANKS}]*(?:[0-9]|(?:{letter})+|(?:{other})+)|[{BLANKS}]+")
    coarse = re.compile(f"[{BLANKS}]*[^{BLANKS}]+|[{BLANKS}]+")
    return next((pattern for pattern in (fine, coarse) if all(_keeps_whole(pattern, piece) for piece in long)), None)


def marks_of_letters(pieces: Iterable[str]) -> set[str]:
    """Combining marks that follow a letter, or such a mark, in some piece: they are letters here. Others (of emoji) stay what re takes them for."""
    pairs = {pair for piece in pieces for pair in itertools.pairwise(piece) if unicodedata.category(pair[1]).startswith("M")}
    found: set[str] = set()
    while new := {mark for before, mark in pairs if (before.isalpha() or before in found) and mark not in found}:
        found |= new
    return found


def _keeps_whole(pattern: re.Pattern[str], piece: str) -> bool:
    """Whether the pattern cuts `piece` nowhere, whatever stands around it: both patterns decide each cut by the two characters beside it alone."""
    return pattern.fullmatch(piece) is not None


def is_byte_piece(piece: str) -> bool:
    """Whether `piece` is one of byte fallback's 256, written <0x00> to <0xFF>."""
    return len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")
