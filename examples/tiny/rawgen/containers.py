"""Compressed files and archives with the same bytes in every run: no time stamps, no owners, sorted members."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence

import zstandard

ZIP_TIME = (2024, 1, 1, 0, 0, 0)
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # RFC 1952: deflate, no name, no time, unknown system


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zstd(data: bytes) -> bytes:
    compressed: bytes = zstandard.ZstdCompressor(level=9).compress(data)
    return compressed


def zipped(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name, ZIP_TIME), data, zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(members.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def json_lines(records: Iterable[Mapping[str, object] | bytes]) -> bytes:
    """One JSON object per line; bytes go in as they are (broken lines)."""
    lines = (record if isinstance(record, bytes) else json.dumps(record, ensure_ascii=False).encode() for record in records)
    return b"".join(line + b"\n" for line in lines)


def cut_gzip(lines: Sequence[bytes], whole: int) -> bytes:
    """A gzip file that breaks off inside line number `whole`: every line before can be unpacked.

    Each line is flushed to a byte boundary, so what a reader can save does not depend on how its inflater buffers.
    """
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    blocks = [deflater.compress(line + b"\n") + deflater.flush(zlib.Z_SYNC_FLUSH) for line in lines]
    return GZIP_HEADER + b"".join(blocks[:whole]) + blocks[whole][: len(blocks[whole]) // 2]
