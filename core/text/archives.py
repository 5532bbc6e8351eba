"""The members of tar and zip archives, one after another, each as a stream.

What a member cannot give is its Fault; what ends the archive is raised as Broken after the last member that could be read.
"""

from __future__ import annotations

import re
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import xxhash

from mspt.core.text.compression import FEED_BYTES, Expansion
from mspt.core.text.streams import CHUNK, FAULTS, MAX_DETAIL, Broken, ByteStream, Fault

SPOOL_BYTES = 16 * 1024 * 1024  # a zip inside another archive is kept in memory up to this size, then on disk
MAX_TAR_HEADER_BYTES = 1024 * 1024  # of one extended header (long name, PAX records), which tarfile reads whole
MAX_NAME = 1000  # characters of a member's name that enter a ref
CONTROL = re.compile("[\x00-\x1f\x7f]")

LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # APPNOTE.TXT 4.3.7
LOCAL_MAGIC = b"PK\x03\x04"
DESCRIPTOR_MAGIC = b"PK\x07\x08"
ENCRYPTED, SIZES_FOLLOW, UTF8_NAME = 1 << 0, 1 << 3, 1 << 11  # general purpose flags, APPNOTE.TXT 4.4.4


@dataclass(frozen=True)
class Member:
    """One file of an archive: its name (fit to be a part of a ref), and its bytes or why there are none."""

    name: str
    content: ByteStream | Fault


class Names:
    """Names of an archive's members as they appear in refs: readable, on one line, and each only once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()  # hashes: an archive may have millions of members

    def take(self, raw: bytes) -> str:
        """The name in `raw` (UTF-8, else GB18030, else as escapes). A second member of the same name gets "~2"."""
        name = _decode_name(raw).removeprefix("./")[:MAX_NAME]
        # "!/" separates a container from its member, so no member may have it in its own name
        name = CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", name).replace("!/", "%21/")
        unique, copy = name, 1
        while (key := xxhash.xxh3_64_intdigest(unique.encode())) in self._seen:
            copy += 1
            unique = f"{name}~{copy}"
        self._seen.add(key)
        return unique


def _decode_name(raw: bytes) -> str:
    for codec in ("utf-8", "gb18030"):
        try:
            return raw.decode(codec)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "backslashreplace")


# --- tar ---------------------------------------------------------------------------------------------------------------


class _Header(tarfile.TarInfo):
    """Says on the archive why it ended, and refuses extended headers of absurd size."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _Header:
        tar = cast("_Tar", archive)
        tar.ending = ""
        try:
            return super().fromtarfile(archive)
        except Exception as error:
            tar.ending = type(error).__name__
            raise

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:  # "can be overridden in a subclass" (CPython's tarfile.py)
        extended = {b"x", b"g", b"X", b"L", b"K"}
        if self.size < 0 or (self.type in extended and self.size > MAX_TAR_HEADER_BYTES):
            raise Broken(Fault("corrupt", f"a tar header claims {self.size} bytes"))
        return cast("tarfile.TarInfo", super()._proc_member(archive))  # type: ignore[misc]


class _Tar(tarfile.TarFile):
    tarinfo = _Header
    ending = ""  # the class of the error at which tarfile stopped looking for members
    is_cut = False  # the last member was shorter than its header said


REGULAR_END = "EOFHeaderError"  # a block of zeros
CUT_ENDS = ("EmptyHeaderError", "TruncatedHeaderError")


def tar_members(stream: ByteStream) -> Iterator[Member]:
    """Regular files as streams (to be read before the next is asked for); links, devices and the like as faults; no directories."""
    names = Names()
    tar = _open_tar(stream)
    while (info := _next_member(tar)) is not None:
        name = names.take(info.name.encode("utf-8", "surrogateescape"))
        if info.issparse():
            yield Member(name, Fault("unsupported", "sparse file"))
        elif info.isreg():
            yield Member(name, ByteStream(_tar_content(tar, info.size), under=stream))
        elif not info.isdir():
            what = _TAR_TYPES.get(info.type, f"entry of type {info.type!r}")
            yield Member(name, Fault("not-a-file", f"{what} {info.linkname}".strip()[:MAX_DETAIL]))
    if tar.ending != REGULAR_END and not tar.is_cut:
        rule = "truncated" if tar.ending in CUT_ENDS else "corrupt"
        raise Broken(Fault(rule, f"the archive ends without its end mark: {tar.ending}"))


_TAR_TYPES = {
    tarfile.LNKTYPE: "hard link to",
    tarfile.SYMTYPE: "symbolic link to",
    tarfile.CHRTYPE: "character device",
    tarfile.BLKTYPE: "block device",
    tarfile.FIFOTYPE: "pipe",
}


def _open_tar(stream: ByteStream) -> _Tar:
    try:
        return cast("_Tar", _Tar.open(fileobj=stream, mode="r|", bufsize=CHUNK, encoding="utf-8", errors="surrogateescape"))  # type: ignore[call-overload]
    except FAULTS as error:
        raise Broken(_fault(error)) from error


def _next_member(tar: _Tar) -> tarfile.TarInfo | None:
    cast("Any", tar).members.clear()  # tarfile keeps every header it has seen
    try:
        return tar.next()
    except FAULTS as error:
        if tar.is_cut:  # its member has said so
            return None
        raise Broken(_fault(error)) from error


def _tar_content(tar: _Tar, size: int) -> Iterator[bytes]:
    while size:
        chunk = cast("IO[bytes]", tar.fileobj).read(min(CHUNK, size))  # extractfile would lose the last piece of a cut member
        if not chunk:
            tar.is_cut = True
            raise Broken(Fault("truncated", f"{size} bytes are missing"))
        size -= len(chunk)
        yield chunk


def _fault(error: BaseException) -> Fault:
    cut = isinstance(error, EOFError) or "unexpected end" in str(error) or "Truncated" in type(error).__name__
    return Fault("truncated" if cut else "corrupt", f"{type(error).__name__}: {error}"[:MAX_DETAIL])


# --- zip ---------------------------------------------------------------------------------------------------------------


def zip_members(stream: ByteStream, expansion: Expansion, scratch: Path | None) -> Iterator[Member]:
    """The files of a zip in the order in which they stand in it. Opened in place if the stream is a file on disk, else copied to `scratch`.

    A zip whose directory is missing (cut off at the end) is read by the headers before each member.
    """
    if stream.origin is not None:
        yield from _seekable_zip_members(cast("IO[bytes]", stream.origin), stream, expansion)
        stream.origin.seek(0, 2)  # so that what the stream has not given yet is not read again
        return
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES, dir=None if scratch is None else str(scratch)) as spool:
        for chunk in stream.chunks():
            spool.write(chunk)
        yield from _seekable_zip_members(cast("IO[bytes]", spool), stream, expansion)


def _seekable_zip_members(file: IO[bytes], stream: ByteStream, expansion: Expansion) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(file)
        infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    except FAULTS as error:
        salvage = _Salvage(file)
        yield from _salvaged_zip_members(salvage, stream, expansion)
        if not salvage.is_cut:  # else the cut member has said so
            raise Broken(Fault("truncated", f"the zip's directory cannot be read: {error}"[:MAX_DETAIL])) from error
        return
    names = Names()
    for info in infos:
        name = names.take(info.orig_filename.encode("utf-8" if info.flag_bits & UTF8_NAME else "cp437", "surrogateescape"))
        if info.is_dir():
            continue
        if info.flag_bits & ENCRYPTED:
            yield Member(name, Fault("encrypted", "encrypted member of a zip"))
        elif info.create_system == 3 and stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            yield Member(name, Fault("not-a-file", "link or device"))
        else:
            yield Member(name, ByteStream(_zip_content(archive, info, expansion), under=stream))


def _zip_content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, expansion: Expansion) -> Iterator[bytes]:
    total = 0
    with archive.open(info) as content:
        while chunk := cast("zipfile.ZipExtFile", content).read1(CHUNK):  # read() would lose what came before damage
            total += len(chunk)
            expansion.charge(len(chunk), total, info.compress_size)
            yield chunk


@dataclass
class _Salvage:
    """A zip without its directory: where reading stands."""

    file: IO[bytes]
    position: int = 0
    is_cut: bool = False


def _salvaged_zip_members(place: _Salvage, stream: ByteStream, expansion: Expansion) -> Iterator[Member]:
    names, file = Names(), place.file
    while True:
        file.seek(place.position)
        header = file.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size or not header.startswith(LOCAL_MAGIC):
            return
        _, _, flags, method, _, _, _, packed, _, name_size, extra_size = LOCAL_HEADER.unpack(header)
        raw_name = file.read(name_size)
        name = names.take(raw_name)
        place.position += LOCAL_HEADER.size + name_size + extra_size
        if flags & ENCRYPTED or method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or (method == zipfile.ZIP_STORED and flags & SIZES_FOLLOW):
            yield Member(name, Fault("unsupported", f"member of a cut zip: method {method}, flags {flags:#x}"))
            if flags & SIZES_FOLLOW:
                return  # nothing says where the next one begins
            place.position += packed
            continue
        member = ByteStream(_stored(place, packed) if method == zipfile.ZIP_STORED else _inflated(place, flags, expansion), under=stream)
        if not raw_name.endswith(b"/"):
            yield Member(name, member)
        member.drain()
        if member.fault:
            place.is_cut = member.fault.rule == "truncated"
            return


def _stored(place: _Salvage, size: int) -> Iterator[bytes]:
    while size:
        place.file.seek(place.position)
        chunk = place.file.read(min(CHUNK, size))
        if not chunk:
            raise Broken(Fault("truncated", f"{size} bytes are missing"))
        place.position += len(chunk)
        size -= len(chunk)
        yield chunk


def _inflated(place: _Salvage, flags: int, expansion: Expansion) -> Iterator[bytes]:
    inflater, start, total = zlib.decompressobj(-zlib.MAX_WBITS), place.position, 0
    while not inflater.eof:
        data = inflater.unconsumed_tail
        if not data:
            place.file.seek(place.position)
            data = place.file.read(FEED_BYTES)
            place.position += len(data)
        out = inflater.decompress(data, CHUNK)
        if not data and not out:
            raise Broken(Fault("truncated", f"the member ends after {total} bytes of content"))
        total += len(out)
        expansion.charge(len(out), total, place.position - start)
        yield out
    place.position -= len(inflater.unused_data)
    if flags & SIZES_FOLLOW:
        place.file.seek(place.position)
        place.position += 16 if place.file.read(4) == DESCRIPTOR_MAGIC else 12
