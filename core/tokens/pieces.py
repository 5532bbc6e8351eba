"""The files of a tokenizer, and how SentencePiece writes its pieces: what can be known without loading a library."""

from __future__ import annotations

# The files that make a tokenizer: what tokens, mindrecord and model artifacts carry along. Absent ones are skipped.
TOKENIZER_FILES = ("tokenizer.model", "tokenizer.json", "tokenizer_config.json", "vocab.txt")

# Types of pieces in SentencePiece's own numbering (sentencepiece_model.proto).
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
SPACE = "\u2581"  # what SentencePiece writes for a blank


def is_byte_piece(piece: str) -> bool:
    """Whether `piece` is one of byte fallback's 256, written <0x00> to <0xFF>."""
    return len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")
