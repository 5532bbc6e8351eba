"""The members of tar, zip and 7z archives, one after another, each as a stream.

What a member cannot give is its Fault; what is wrong with the archive itself comes as a Fault between the members.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from mspt.core.errors import MachineError
from mspt.core.text.containers.streams import ByteStream, Fault

SPOOL_BYTES = 16 * 1024 * 1024  # an archive inside another is kept in memory up to this size, then on disk


@dataclass(frozen=True)
class Member:
    """One file of an archive: its name (fit to be a part of a ref), and its bytes or why there are none.

    content: to be read before the next member is asked for; what is not read by then is skipped.
    """

    name: str
    content: ByteStream | Fault


@contextlib.contextmanager
def seekable(stream: ByteStream, scratch: Path | None) -> Iterator[IO[bytes]]:
    """The rest of a stream as a file: the file on disk that it is, else a copy in `scratch`, which is as large as the stream."""
    if stream.origin is not None:
        try:
            yield cast("IO[bytes]", stream.origin)
        finally:
            stream.origin.seek(0, 2)  # so that what the stream has not given yet is not read again
        return
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES, dir=None if scratch is None else str(scratch)) as spool:
        for chunk in stream.chunks():
            spool.write(chunk)
        yield cast("IO[bytes]", _Spool(spool))


class _Spool(io.RawIOBase):
    """A copy on disk: if it cannot be read that is the disk's fault and not the archive's."""

    def __init__(self, file: tempfile.SpooledTemporaryFile[bytes]) -> None:
        super().__init__()
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise MachineError(f"cannot read the copy of an archive: {error.strerror}", "check the disk that holds the workspace, then run again") from error


class Window:
    """Pieces of a file at any place, read a block at a time: for what lies close together."""

    def __init__(self, file: IO[bytes], block_bytes: int = 64 * 1024) -> None:
        self._file = file
        self._block_bytes = block_bytes
        self._start = 0
        self._block = b""

    def at(self, position: int, size: int) -> bytes:
        """Fewer bytes only at the end of the file."""
        if not self._start <= position <= position + size <= self._start + len(self._block):
            self._file.seek(position)
            self._start, self._block = position, self._file.read(max(size, self._block_bytes))
        return self._block[position - self._start :][:size]


class Section:
    """A part of a file, read from its start on."""

    def __init__(self, file: IO[bytes], start: int, size: int | None = None) -> None:
        self._file = file
        self._end = None if size is None else start + size
        self.position = start

    @property
    def left(self) -> int | None:
        return None if self._end is None else self._end - self.position

    def read(self, size: int) -> bytes:
        if self._end is not None:
            size = min(size, self._end - self.position)
        self._file.seek(self.position)  # others read the same file in between
        data = self._file.read(size)
        self.position += len(data)
        return data
