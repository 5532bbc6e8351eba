"""Undoing gzip, bzip2, xz and zstd as a stream: all members, bounded memory, bounded expansion."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import zstandard

from mspt.core.text.streams import CHUNK, Broken, ByteStream, Fault

# Small inputs may expand to this much whatever the ratio: a file of blanks is no attack.
GRACE_BYTES = 16 * 1024 * 1024
XZ_MEMORY_BYTES = 256 * 1024 * 1024  # xz -9 needs 65 MB, a dictionary bomb asks for 4 GB
FEED_BYTES = 16 * 1024  # what is lost before a damaged place of a deflate stream is at most what this much input holds
ZSTD_FEED_BYTES = 2 * 1024  # a 4-byte block of zstd may stand for 128 KiB: so much input gives at most 64 MiB at once


class Expansion:
    """How far one raw file may grow: everything unpacked from it together, and each compressed stream alone.

    Both stay under max_ratio times the compressed bytes (plus GRACE_BYTES), which is what stops archives of archives of zeros.
    """

    def __init__(self, raw_bytes: int, max_ratio: float) -> None:
        self.max_ratio = max_ratio
        self._raw_bytes = raw_bytes
        self._unpacked = 0

    def charge(self, produced: int, total: int, consumed: int) -> None:
        """Count `produced` more bytes of a stream that by now gave `total` from `consumed`. Raises Broken beyond the limit."""
        self._unpacked += produced
        for unpacked, packed in ((total, consumed), (self._unpacked, self._raw_bytes)):
            if unpacked > self.max_ratio * packed + GRACE_BYTES:
                ratio = unpacked / max(1, packed)
                raise Broken(Fault("expansion", f"{packed} bytes unpack to more than {unpacked}", ratio, self.max_ratio))


class Decompressor(Protocol):
    """One member of a compressed stream, as bz2 and lzma have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib's object with the manners of bz2's."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        out = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = len(out) < max_length
        return out


class _Zstd:
    """zstandard's object, which has no max_length: the feed is kept small instead."""

    needs_input = True

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor().decompressobj()

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inner.decompress(data)


@dataclass(frozen=True)
class Codec:
    """How one compression is undone: a decompressor per member, input bytes per call, the magics that may begin a member."""

    name: str
    make: Callable[[], Decompressor]
    magics: tuple[bytes, ...]
    feed_bytes: int = FEED_BYTES


def _make_xz() -> Decompressor:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)


ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))  # frames and skippable frames
CODECS = {
    "gzip": Codec("gzip", _Gzip, (b"\x1f\x8b",)),
    "bzip2": Codec("bzip2", bz2.BZ2Decompressor, (b"BZh",)),
    "xz": Codec("xz", _make_xz, (b"\xfd7zXZ\x00",)),
    "zstd": Codec("zstd", _Zstd, ZSTD_MAGICS, ZSTD_FEED_BYTES),
}


def decompress(source: ByteStream, codec: Codec, expansion: Expansion) -> Iterator[bytes]:
    """The bytes of all members of a compressed stream, one after another. Zero padding behind a member is allowed (tar, tape).

    Raises Broken when the stream ends inside a member, when something else follows a member, or beyond the expansion limit.
    """
    total, start = 0, source.position
    while source.peek(1):
        member = codec.make()
        while not member.eof:
            data = source.read(codec.feed_bytes) if member.needs_input else b""
            if member.needs_input and not data:
                raise Broken(Fault("truncated", f"{codec.name} stream ends after {total} bytes of content"))
            out = member.decompress(data, CHUNK)
            total += len(out)
            expansion.charge(len(out), total, source.position - start)
            yield out
        source.push_back(member.unused_data)
        _skip_padding(source)
        if (head := source.peek(8)) and not head.startswith(codec.magics):
            raise Broken(Fault("corrupt", f"{codec.name} stream is followed by something else after {total} bytes of content"))


def _skip_padding(source: ByteStream) -> None:
    while (ahead := source.peek(4096)) and not ahead[0]:
        stripped = ahead.lstrip(b"\0")
        source.read(len(ahead) - len(stripped))
        if stripped:
            return
