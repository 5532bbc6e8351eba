"""The members of a tar, read forward only: nothing is looked up, nothing kept but the header at hand.

Headers are decoded by Python's tarfile; the way through them is our own, because tarfile's goes back in loops over sizes that a header claims
(2^60 bytes to skip), keeps global headers without limit, parses PAX records in quadratic time, and stops at the first damaged block.

    header | content, padded to blocks of 512 | header | ... | zeros          (POSIX.1-2017 pax, ustar; GNU tar's L, K and S)
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from mspt.core.text.containers.archives import Member
from mspt.core.text.containers.names import Names, one_line
from mspt.core.text.containers.streams import CHUNK, MAX_DETAIL, Broken, ByteStream, Fault

BLOCK = 512
MAX_EXTENDED_BYTES = 1024 * 1024  # of one extended header (long name, PAX records), which is read whole
LONG_NAME, LONG_LINK = tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK
PAX, PAX_GLOBAL = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE), tarfile.XGLTYPE
SPARSE = b"GNU.sparse."
NOT_FILES = {
    tarfile.LNKTYPE: "hard link to",
    tarfile.SYMTYPE: "symbolic link to",
    tarfile.CHRTYPE: "character device",
    tarfile.BLKTYPE: "block device",
    tarfile.FIFOTYPE: "pipe",
}


@dataclass
class _Extended:
    """What extended headers say about the member that follows them."""

    records: dict[bytes, bytes] = field(default_factory=dict)  # PAX keywords

    def name(self, info: tarfile.TarInfo) -> bytes:
        return self.records.get(b"GNU.sparse.name") or self.records.get(b"path") or info.name.encode("utf-8", "surrogateescape")

    def link(self, info: tarfile.TarInfo) -> bytes:
        return self.records.get(b"linkpath") or info.linkname.encode("utf-8", "surrogateescape")

    def size(self, info: tarfile.TarInfo) -> int:
        digits = self.records.get(b"size", b"")
        return int(digits) if digits.isdigit() and len(digits) < 20 else info.size

    @property
    def is_sparse(self) -> bool:
        return SPARSE in self.records


def tar_members(stream: ByteStream) -> Iterator[Member | Fault]:
    """Regular files as streams; links, devices and the like as faults; no directories. Blocks that are no header are passed over, as a fault."""
    names, extended, ended = Names(), _Extended(), False
    while block := stream.read(BLOCK):
        if not block.strip(b"\0"):
            ended = True
            continue
        info = _header(block)
        if len(block) < BLOCK:
            yield Fault("truncated", "the archive ends inside a header")
            ended = True
        elif info is None:
            yield _lost(stream)
            extended, ended = _Extended(), True
        elif info.type in (LONG_NAME, LONG_LINK, *PAX, PAX_GLOBAL):
            ended = False
            if fault := _extend(extended, info, stream):
                yield fault
        else:
            ended = False
            if (member := _member(info, block, extended, names, stream)) is not None:
                yield member
                if isinstance(member.content, ByteStream):
                    member.content.drain()
                    ended = member.content.fault is not None  # cut: the member has said so
            extended = _Extended()
    if not ended and not stream.fault:
        yield Fault("truncated", "the archive ends without its end mark")


def _header(block: bytes) -> tarfile.TarInfo | None:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError, OverflowError):
        return None
    return info if info.size >= 0 else None


def _lost(stream: ByteStream) -> Fault:
    """Skips to the next header; the block before was none."""
    start, end = stream.position - BLOCK, stream.position
    while (block := stream.read(BLOCK)) and _header(block) is None:
        end = stream.position if block.strip(b"\0") else end
    stream.push_back(block)
    size = end - start
    return Fault("corrupt", f"{size} bytes from {start} on belong to no member", size)


def _extend(extended: _Extended, info: tarfile.TarInfo, stream: ByteStream) -> Fault | None:
    if info.size > MAX_EXTENDED_BYTES:
        return Fault("corrupt", f"a tar header claims {info.size} bytes", info.size, MAX_EXTENDED_BYTES)
    data = stream.read(info.size)
    _skip(stream, -info.size % BLOCK)
    if info.type == LONG_NAME:
        extended.records[b"path"] = data.rstrip(b"\0")
    elif info.type == LONG_LINK:
        extended.records[b"linkpath"] = data.rstrip(b"\0")
    elif info.type in PAX:
        extended.records.update(_pax_records(data))
    return None  # what a global header says (a commit, a comment) is about no file's content


def _pax_records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """ "27 path=..." and a line end, one after another, up to the first that is not so."""
    start = 0
    while (blank := data.find(b" ", start, start + 20)) > 0 and data[start:blank].isdigit():
        end = start + int(data[start:blank])
        if end <= blank or end > len(data):
            return
        key, equals, value = data[blank + 1 : end - 1].partition(b"=")
        if equals and key in (b"path", b"linkpath", b"size", b"GNU.sparse.name"):
            yield key, value
        elif key.startswith(SPARSE):
            yield SPARSE, b""
        start = end


def _member(info: tarfile.TarInfo, block: bytes, extended: _Extended, names: Names, stream: ByteStream) -> Member | None:
    if info.isdir():
        return None
    name, size = names.take_next(extended.name(info)), extended.size(info)
    if info.type == tarfile.GNUTYPE_SPARSE or extended.is_sparse:
        more = info.type == tarfile.GNUTYPE_SPARSE and block[482]  # whether a further block of the map follows
        while more and len(further := stream.read(BLOCK)) == BLOCK:
            more = further[504]
        _skip(stream, size + -size % BLOCK)
        return Member(name, Fault("unsupported", "sparse file"))
    if info.isreg():
        return Member(name, ByteStream(_content(stream, size), under=stream))
    if info.type not in tarfile.SUPPORTED_TYPES:
        _skip(stream, size + -size % BLOCK)
    target = one_line(names.codec.decode(extended.link(info)))
    what = NOT_FILES.get(info.type, f"entry of type {info.type!r}")
    return Member(name, Fault("not-a-file", f"{what} {target}".strip()[:MAX_DETAIL]))


def _content(stream: ByteStream, size: int) -> Iterator[bytes]:
    left = size
    while left:
        chunk = stream.read(min(CHUNK, left))
        if not chunk:
            raise Broken(Fault("truncated", f"{left} bytes are missing"))
        left -= len(chunk)
        yield chunk
    _skip(stream, -size % BLOCK)


def _skip(stream: ByteStream, size: int) -> None:
    while size and (chunk := stream.read(min(CHUNK, size))):
        size -= len(chunk)
