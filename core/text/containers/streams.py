"""Forward-only byte streams: a raw file that hashes what is read of it, and streams that end at a fault instead of raising.

A stream that breaks (cut short, damaged, expanding beyond its limit) gives what could be read and then ends; what happened is its `fault`.
Memory is bounded by CHUNK and the look-ahead, whatever a stream holds.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from mspt.core.errors import MachineError

CHUNK = 256 * 1024
SLACK_BYTES = 1024 * 1024  # a gap that HashedFile reads over to keep hashing in file order

MAX_DETAIL = 200  # characters of a library's message

# What broken archives raise, in the libraries as they are. MachineError is not among them: a disk that fails is no property of the data.
FAULTS = (
    *(EOFError, OSError, ValueError, LookupError, ArithmeticError, RuntimeError, struct.error),
    *(zlib.error, lzma.LZMAError, zstandard.ZstdError, tarfile.TarError, zipfile.BadZipFile),
)


TOO_LARGE = ("Memory usage limit", "too much memory")  # how lzma and zstandard say that a dictionary or window is larger than allowed


@dataclass(frozen=True)
class Fault:
    """Why bytes could not be read, or ended before their time: truncated, corrupt, expansion, encrypted, unsupported, members, not-a-file."""

    rule: str
    detail: str
    value: float = 0.0
    threshold: float = 0.0


class Broken(Exception):
    """Carries a Fault out of the generator that found it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.detail)
        self.fault = fault


def fault_of(error: BaseException) -> Fault:
    """What an exception of a library says about the data."""
    text = f"{error}"
    detail = f"{type(error).__name__}: {text}"[:MAX_DETAIL]
    if isinstance(error, (NotImplementedError, MemoryError)) or any(words in text for words in TOO_LARGE):  # zipfile and lzma raise these two
        return Fault("unsupported", detail)
    return Fault("truncated" if isinstance(error, EOFError) else "corrupt", detail)


class HashedFile(io.RawIOBase):
    """A file on disk, hashed as it is read.

    Reading may jump about (a zip's directory stands at its end): bytes enter the hash in file order, when reading first reaches them;
    `sha256` reads what is left. Nothing is read twice for the hash's sake except gaps under SLACK_BYTES.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        try:
            self._file = io.FileIO(path, opener=_open_without_waiting)
            self.size = self._file.seek(0, io.SEEK_END)
        except OSError as error:
            raise MachineError(f"cannot open {path}: {error.strerror}", "make the file readable, or leave it out") from error
        self.path = path
        self._position = 0
        self._hashed = 0
        self._hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """`size` bytes (all that is left if negative), fewer only at the end."""
        wanted = max(0, self.size - self._position)
        if size >= 0:
            wanted = min(wanted, size)
        if not wanted:
            return b""  # a position that an archive claims may be none that the system can seek to
        if 0 < self._position - self._hashed <= SLACK_BYTES:
            self._absorb(self._hashed, self._pread(self._hashed, self._position - self._hashed))
        data = self._pread(self._position, wanted)
        self._absorb(self._position, data)
        self._position += len(data)
        return data

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def sha256(self) -> str:
        """The hash of the whole file; reads whatever has not been read yet."""
        while self._hashed < self.size:
            data = self._pread(self._hashed, min(CHUNK, self.size - self._hashed))
            if not data:
                raise MachineError(f"{self.path} became shorter while it was read", "run again when nothing writes to it")
            self._absorb(self._hashed, data)
        return self._hash.hexdigest()

    def close(self) -> None:
        self._file.close()
        super().close()

    def _pread(self, start: int, size: int) -> bytes:
        try:
            self._file.seek(start)
            parts = []
            while size > 0 and (part := self._file.read(size)):
                parts.append(part)
                size -= len(part)
        except OSError as error:
            raise MachineError(f"cannot read {self.path}: {error.strerror}", "check the disk, then run again") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _absorb(self, start: int, data: bytes) -> None:
        if start <= self._hashed < start + len(data):
            self._hash.update(memoryview(data)[self._hashed - start :])
            self._hashed = start + len(data)


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe that took the place of a listed file would wait for a writer for ever


class ByteStream:
    """Bytes from an iterator of chunks, with look-ahead. An error of the iterator that FAULTS names ends the stream and becomes `fault`.

    origin: the seekable file that these bytes are, unchanged, if there is one (a zip is opened there instead of being copied).
    under: the stream that these bytes are made from.
    """

    def __init__(self, chunks: Iterable[bytes], *, origin: HashedFile | None = None, under: ByteStream | None = None) -> None:
        self._chunks = iter(chunks)
        self._buffer = b""
        self._at = 0  # what of the buffer has been handed out: slicing it off each time would copy it each time
        self._ended = False
        self.origin = origin
        self.under = under
        self.position = 0  # bytes handed out
        self.fault: Fault | None = None

    @property
    def is_cut_below(self) -> bool:
        """Whether a stream that this one is made from broke, so that an early end here is its consequence."""
        return self.under is not None and (self.under.fault is not None or self.under.is_cut_below)

    def peek(self, size: int) -> bytes:
        """The next `size` bytes without taking them; fewer only when the stream ends before."""
        have = len(self._buffer) - self._at
        if have < size:
            pieces = [self._buffer[self._at :]]
            while have < size and (chunk := self._pull()):
                pieces.append(chunk)
                have += len(chunk)
            self._buffer, self._at = b"".join(pieces), 0  # once: a hostile stream comes byte by byte
        return self._buffer[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        data = self.peek(size)
        self._at += len(data)
        self.position += len(data)
        return data

    def push_back(self, data: bytes) -> None:
        """Give back bytes that were just read."""
        start = self._at - len(data)
        if start >= 0 and self._buffer[start : self._at] == data:  # still there: a stream of a million tiny members gives back after each
            self._at = start
        else:
            self._buffer, self._at = data + self._buffer[self._at :], 0
        self.position -= len(data)

    def take(self) -> bytes:
        """Whatever is at hand, at least one byte; b"" at the end."""
        chunk = self._buffer[self._at :] or self._pull()
        self._buffer, self._at = b"", 0
        self.position += len(chunk)
        return chunk

    def chunks(self) -> Iterator[bytes]:
        """All that is left, in pieces of about CHUNK bytes."""
        while chunk := self.take():
            yield chunk

    def drain(self) -> None:
        """Read to the end, so that `position` and `fault` speak for the whole stream."""
        for _ in self.chunks():
            pass

    def _pull(self) -> bytes:
        if self._ended:
            return b""
        try:
            for chunk in self._chunks:
                if chunk:
                    return chunk
        except Broken as broken:
            self.fault = broken.fault
        except (MemoryError, *FAULTS) as error:
            self.fault = fault_of(error)
        self._ended = True
        return b""


def open_raw(path: Path) -> ByteStream:
    """The bytes of a file on disk; `origin` is its HashedFile."""
    raw = HashedFile(path)
    return ByteStream(iter(lambda: raw.read(CHUNK), b""), origin=raw)
