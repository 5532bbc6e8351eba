"""Lines of a stream in any encoding, each with its place, found without decoding them and never held beyond a length."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from mspt.core.text.containers.sniff import HEAD_BYTES
from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.decoding.charsets import byte_order_mark, unicode_by_pattern
from mspt.core.text.decoding.decode import decode
from mspt.core.text.readers.fields import MAX_SHOWN_BYTES

Line = tuple[int, bytes, int]  # byte of the leaf at which it begins, the line without its end, its length

BLANKS = b" \t\r\n"


class Lines:
    """The lines of a stream (from its start), in order.

    newline: the bytes that end a line: a line feed, or a carriage return where those prevail in the head; two or four bytes wide in UTF-16/32.
    Of a line over max_bytes only the first MAX_SHOWN_BYTES are kept.
    """

    def __init__(self, stream: ByteStream, max_bytes: int) -> None:
        head = stream.peek(HEAD_BYTES)
        mark, codec = byte_order_mark(head) or (b"", unicode_by_pattern(head) or "")
        stream.read(len(mark))
        self._stream, self._max_bytes = stream, max_bytes
        self._codec = codec
        self._head = head[len(mark) :]
        self.is_wide = codec.startswith(("utf-16", "utf-32"))
        self.newline = self._newline()
        self.blanks = BLANKS + b"\0" if self.is_wide else BLANKS

    def _newline(self) -> bytes:
        codec = self._codec if self.is_wide else "ascii"
        feed, carriage = "\n".encode(codec), "\r".encode(codec)
        num_feeds, num_carriages, num_both = map(self._head.count, (feed, carriage, carriage + feed))  # roughly, in UTF-16
        return carriage if num_carriages - num_both > num_feeds else feed

    @functools.cached_property
    def encoding(self) -> str:
        """The codec of the stream, as far as its head tells: what lines that are not UTF-8 are tried with first."""
        whole = self._head[: self._head.rfind(self.newline) + 1] or self._head
        return self._codec if self.is_wide else decode(whole, preferred=self._codec).encoding

    @property
    def head(self) -> bytes:
        return self._head

    def __iter__(self) -> Iterator[Line]:
        kept: list[bytes] = []
        at, length, width, max_bytes = self._stream.position, 0, len(self.newline), self._max_bytes
        for chunk in _aligned(self._stream.chunks(), width):
            first, *rest = _split(chunk, self.newline)
            for following in (*rest, None):
                if length <= max_bytes:
                    kept.append(first)
                length += len(first)
                if following is None:
                    break
                yield at, self._line(kept, length), length
                at += length + width
                kept, length, first = [], 0, following
        if length:
            yield at, self._line(kept, length), length

    def _line(self, kept: list[bytes], length: int) -> bytes:
        line = kept[0] if len(kept) == 1 else b"".join(kept)
        return line if length <= self._max_bytes else line[:MAX_SHOWN_BYTES]


def _aligned(chunks: Iterator[bytes], width: int) -> Iterator[bytes]:
    """The chunks, cut so that each holds whole code units."""
    if width == 1:
        yield from chunks
        return
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        whole = len(data) // width * width
        rest = data[whole:]
        yield data[:whole]
    yield rest


def _split(chunk: bytes, newline: bytes) -> list[bytes]:
    width = len(newline)
    if width == 1:
        return chunk.split(newline)
    pieces, start, end = [], 0, chunk.find(newline)
    while end >= 0:
        if end % width == 0:  # else these bytes belong to two characters
            pieces.append(chunk[start:end])
            start = end + width
        end = chunk.find(newline, end + 1)
    pieces.append(chunk[start:])
    return pieces
