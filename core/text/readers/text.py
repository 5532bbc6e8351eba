"""Plain text (Markdown too): one record, "#0"; several where it is larger than max_document_bytes, cut at blank lines or line ends."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Iterator

from mspt.core.text.containers.walk import Leaf
from mspt.core.text.decoding.decode import decode
from mspt.core.text.readers.record import Item, Options, Record


def items(leaf: Leaf, options: Options) -> Iterator[Item]:
    """One item for each piece. What the first piece is in is tried first for the others: no piece depends on the one before it."""
    stream, encoding, number = leaf.stream, "", 0
    while data := stream.read(options.max_document_bytes):
        at = stream.position - len(data)
        if len(data) == options.max_document_bytes and stream.peek(1):
            encoding = encoding or decode(data).encoding
            piece = _cut(data, encoding)
            stream.push_back(data[len(piece) :])
            data = piece
        yield Item(at, functools.partial(_read, f"{leaf.ref}#{number}", data, encoding))
        number += 1


def _read(ref: str, data: bytes, encoding: str) -> Record:
    return Record(ref, decode(data, preferred=encoding))


def _cut(data: bytes, encoding: str) -> bytes:
    """A beginning of `data` that ends at a blank line in its second half, else at a line end there, else at a whole character."""
    width = {"utf-16": 2, "utf-32": 4}.get(encoding[:6], 1)
    for separator in ("\n\n", "\r\n\r\n", "\r\r", "\n", "\r"):
        if end := _last_end(data, separator.encode(encoding), width):
            return data[:end]
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    decoder.decode(data)
    pending = decoder.getstate()[0]
    return data[: len(data) - len(pending)] or data


def _last_end(data: bytes, separator: bytes, width: int) -> int:
    """Behind the last separator in the second half, 0 if there is none. width: of a code unit, as a newline's bytes may belong to two."""
    end = data.rfind(separator, len(data) // 2)
    while end >= 0 and end % width:
        end = data.rfind(separator, len(data) // 2, end + len(separator) - 1)
    return end + len(separator) if end >= 0 else 0
