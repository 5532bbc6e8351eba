"""Undoing gzip, bzip2, xz and zstd as a stream: all members, bounded memory, bounded expansion."""

from __future__ import annotations

import bz2
import contextlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import zstandard

from mspt.core.text.containers.streams import CHUNK, Broken, ByteStream, Fault

# Small inputs may expand to this much whatever the ratio: a file of blanks is no attack.
GRACE_BYTES = 16 * 1024 * 1024
# What a decompressor may keep: xz -9 needs 65 MB, zstd --long=27 128 MB. A dictionary bomb asks for 4 GB, and so does zstd --long=31.
DICTIONARY_BYTES = 256 * 1024 * 1024
FEED_BYTES = 16 * 1024
MIN_FEED_BYTES = 64
LOST_SHARE = 1 / 8  # of the input before damage: what the piece in which it is met holds is lost, so pieces begin small
ZSTD_FEED_BYTES = 2 * 1024  # a 4-byte block of zstd may stand for 128 KiB: so much input gives at most 64 MiB at once


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How deep containers may nest and how far one raw file may grow (a bomb is cut there; what came before it stays)."""

    max_depth: int = 8
    max_expansion: float = 200.0  # times the compressed size; real text stays under 100 even at zstd -19 --long
    max_unpacked_bytes: int = 2**40  # of everything in one raw file; dumps of whole encyclopaedias and crawls unpack to a few hundred GB
    max_members: int = 10_000_000  # of all archives in one raw file


class Expansion:
    """How far one raw file has grown: everything unpacked from it together, and each compressed stream alone.

    Both stay under max_expansion times the compressed bytes (plus GRACE_BYTES), which is what stops archives of archives of zeros.
    """

    def __init__(self, raw_bytes: int, limits: Limits) -> None:
        self.limits = limits
        self._raw_bytes = raw_bytes
        self._unpacked = 0
        self._members = 0

    def charge(self, produced: int, total: int, consumed: int) -> None:
        """Count `produced` more bytes of a stream that by now gave `total` from `consumed`. Raises Broken beyond a limit."""
        self._unpacked += produced
        for unpacked, packed in ((total, consumed), (self._unpacked, self._raw_bytes)):
            if unpacked > self.limits.max_expansion * packed + GRACE_BYTES:
                ratio = unpacked / max(1, packed)
                raise Broken(Fault("expansion", f"{packed} bytes unpack to more than {unpacked}", ratio, self.limits.max_expansion))
        if self._unpacked > self.limits.max_unpacked_bytes:
            raise Broken(Fault("expansion", "more is unpacked from one file than is allowed", self._unpacked, self.limits.max_unpacked_bytes))

    def enter(self) -> None:
        """Count one more member of an archive. Raises Broken beyond the limit."""
        self._members += 1
        if self._members > self.limits.max_members:
            raise Broken(Fault("members", "the archives of one file have more members; the rest is not read", self._members, self.limits.max_members))


class Decompressor(Protocol):
    """One member of a compressed stream, as bz2 and lzma have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Zlib:
    """zlib's object with the manners of bz2's."""

    def __init__(self, wbits: int) -> None:
        self._inner = zlib.decompressobj(wbits=wbits)
        self._error: zlib.error | None = None
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._error:
            raise self._error
        data = self._inner.unconsumed_tail + data
        before = self._inner.copy()  # zlib drops what it made of the piece in which it meets damage; at a wrong checksum that may be the whole file
        try:
            out = self._inner.decompress(data, max_length)
        except zlib.error as error:
            self._error, self.needs_input = error, False
            return _before_damage(before, data)
        self.needs_input = len(out) < max_length
        return out


def _before_damage(inner: zlib._Decompress, data: bytes) -> bytes:
    out = bytearray()
    with contextlib.suppress(zlib.error):
        for byte in data:
            out += inner.decompress(bytes([byte]))
    return bytes(out)


class _Zstd:
    """zstandard's object, which has no max_length: the feed is kept small instead."""

    needs_input = True

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=DICTIONARY_BYTES).decompressobj()

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
    """How one compression is undone: a decompressor per member, the magics that may begin a member, input bytes per call."""

    name: str
    make: Callable[[], Decompressor]
    magics: tuple[bytes, ...] = ()
    feed_bytes: int = FEED_BYTES


def _make_gzip() -> Decompressor:
    return _Zlib(16 + zlib.MAX_WBITS)


def _make_deflate() -> Decompressor:
    return _Zlib(-zlib.MAX_WBITS)


def _make_xz() -> Decompressor:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=DICTIONARY_BYTES)


ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))  # frames and skippable frames
CODECS = {
    "gzip": Codec("gzip", _make_gzip, (b"\x1f\x8b",)),
    "bzip2": Codec("bzip2", bz2.BZ2Decompressor, (b"BZh",)),
    "xz": Codec("xz", _make_xz, (b"\xfd7zXZ\x00",)),
    "zstd": Codec("zstd", _Zstd, ZSTD_MAGICS, ZSTD_FEED_BYTES),
}
DEFLATE = Codec("deflate", _make_deflate)  # a stream without head and checksum, as members of a zip are


def pieces(member: Decompressor, read: Callable[[int], bytes], feed_bytes: int) -> Iterator[bytes]:
    """What a decompressor makes of the bytes that `read` gives, up to its end or theirs."""
    consumed = 0
    while not member.eof:
        data = b""
        if member.needs_input:
            data = read(min(feed_bytes, max(MIN_FEED_BYTES, int(consumed * LOST_SHARE))))
            consumed += len(data)
            if not data:
                return
        yield member.decompress(data, CHUNK)


def decompress(source: ByteStream, codec: Codec, expansion: Expansion) -> Iterator[bytes]:
    """The bytes of all members of a compressed stream, one after another. Zero padding behind a member is allowed (tar, tape).

    Raises Broken when the stream ends inside a member, when something else follows a member, or beyond the expansion limit.
    """
    total, start = 0, source.position
    while source.peek(1):
        member = codec.make()
        for out in pieces(member, source.read, codec.feed_bytes):
            total += len(out)
            expansion.charge(len(out), total, source.position - start)
            yield out
        if not member.eof:
            raise Broken(Fault("truncated", f"{codec.name} stream ends after {total} bytes of content"))
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
