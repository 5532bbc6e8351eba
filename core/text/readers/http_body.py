"""The body of an HTTP response as its server had it before it was coded for the way. Headers are only believed where the bytes agree.

Archives often hold bodies that were decoded already, under the headers of when they were not.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import zstandard
from fastwarc.stream_io import BrotliReader

from mspt.core.text.containers.streams import FAULTS

FEED_BYTES = 16 * 1024  # what is lost before a damaged place is at most what this much gives
PIECE_BYTES = 64 * 1024
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_FEED_BYTES = 512  # a 4-byte block may stand for 128 KiB: 16 MiB at once
MAX_WINDOW_BYTES = 2**27  # zstd --long, as compressed files may have
MAX_CODINGS = 4
CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]{0,500})?\r?\n")  # RFC 9112, section 7.1

Decoded = tuple[bytes, str]  # what could be decoded, and what broke ("" nothing)


def undo_codings(body: bytes, transfer: str, content: str, max_bytes: int) -> Decoded:
    """The body without the codings of Transfer-Encoding and Content-Encoding; at most max_bytes + 1 of it. Unchanged where it is not so coded."""
    faults = []
    names = [name.strip().lower() for name in [*content.split(","), *transfer.split(",")][-MAX_CODINGS:]]
    for name in reversed(names):  # the last one was applied last
        if name in DECODERS:
            decoded, fault = DECODERS[name](body, max_bytes + 1)
            body = decoded or body
            faults += [f"{name}: {fault}"] if fault else []
    return body, "; ".join(faults)


def _dechunk(data: bytes, limit: int) -> Decoded:
    parts: list[bytes] = []
    place = 0
    while size := CHUNK_SIZE.match(data, place):
        end = size.end() + int(size[1], 16)
        if end == size.end():
            return b"".join(parts), ""
        parts.append(data[size.end() : end])
        place = end + (2 if data.startswith(b"\r\n", end) else data.startswith(b"\n", end))
    return b"".join(parts), "breaks off" if parts else ""


def _inflate(data: bytes, limit: int) -> Decoded:
    """deflate is zlib's format (RFC 9110, section 8.4.1.2), but some servers send it bare."""
    decoded, fault = _drain(_inflated(data, zlib.MAX_WBITS), limit)
    bare, bare_fault = _drain(_inflated(data, -zlib.MAX_WBITS), limit) if fault and not decoded else (b"", fault)
    return (bare, bare_fault) if bare and not bare_fault else (decoded, fault)


def _gunzip(data: bytes, limit: int) -> Decoded:
    return _drain(_inflated(data, 16 + zlib.MAX_WBITS), limit) if data.startswith(b"\x1f\x8b") else (b"", "")


def _inflated(data: bytes, wbits: int) -> Iterator[bytes]:
    """All members, piece by piece."""
    place = 0
    while place < len(data):
        inflater = zlib.decompressobj(wbits)
        while not inflater.eof:
            fed = inflater.unconsumed_tail or data[place : place + FEED_BYTES]
            place += 0 if inflater.unconsumed_tail else len(fed)
            piece = inflater.decompress(fed, PIECE_BYTES)
            if not fed and not piece:
                raise EOFError("breaks off")
            yield piece
        place -= len(inflater.unused_data)
        if data[place : place + 2] != b"\x1f\x8b":
            return


def _unbrotli(data: bytes, limit: int) -> Decoded:
    return _drain(_pieces(BrotliReader(io.BytesIO(data))), limit)


def _unzstd(data: bytes, limit: int) -> Decoded:
    return _drain(_unzipped(data), limit)


def _unzipped(data: bytes) -> Iterator[bytes]:
    """All frames; fed little by little, since an error keeps what the same call has decoded."""
    place = 0
    while data.startswith(ZSTD_MAGIC, place):
        frame = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj()
        while not frame.eof:
            fed = data[place : place + ZSTD_FEED_BYTES]
            if not fed:
                raise EOFError("breaks off")
            place += len(fed)
            yield frame.decompress(fed)
        place -= len(frame.unused_data)


def _pieces(reader: Any) -> Iterator[bytes]:
    while piece := reader.read(PIECE_BYTES):
        yield piece


def _drain(pieces: Iterator[bytes], limit: int) -> Decoded:
    """The first `limit` bytes, or what there was before it broke."""
    found: list[bytes] = []
    left = limit
    try:
        for piece in pieces:
            found.append(piece[:left])
            left -= len(piece)
            if left <= 0:
                break
    except FAULTS as error:
        return b"".join(found), f"{error}"
    return b"".join(found), ""


DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "chunked": _dechunk,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
