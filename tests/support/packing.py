"""Builds compressed files and archives in memory, sound and broken, for tests of what reads them."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Mapping

import zstandard

COMPRESSORS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": functools.partial(lzma.compress, preset=0), "zstd": zstandard.ZstdCompressor().compress}


def tar(members: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
    """A tar of files, then of entries that are none (links, devices, directories)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in others:
            archive.addfile(info)
    return buffer.getvalue()


def entry(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def damaged(data: bytes, place: int) -> bytes:
    """One byte wrong."""
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
