"""The members of a zip: by its directory at the end, or by the headers before each member where the directory cannot be read.

    header, content | header, content | ... | directory entry | ... | end record          (PKWARE APPNOTE.TXT 6.3, sections 4.3-4.5)

Python's zipfile is not used: it keeps an object of about 1 kB per directory entry, however many a hostile directory has, and gives up the whole
archive for one entry. Here 16 bytes are kept per entry. A member whose bytes run into the next one is refused: that is how a zip of 10 MB
becomes one of 280 TB (D. Fifield, A better zip bomb, 2019).
"""

from __future__ import annotations

import stat
import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from mspt.core.text.containers.archives import Member, Section, Window, seekable
from mspt.core.text.containers.compression import Expansion, pieces
from mspt.core.text.containers.names import Names
from mspt.core.text.containers.streams import CHUNK, FAULTS, Broken, ByteStream, Fault, fault_of
from mspt.core.text.containers.zip_methods import AES, ENDLESS, METHODS, STORED

LOCAL = struct.Struct("<4s5H3I2H")  # 4.3.7
CENTRAL = struct.Struct("<4s2B3H4x3I5H2I")  # 4.3.12, without the time
END = struct.Struct("<4s4H2IH")  # 4.3.16
END_64_LOCATOR = struct.Struct("<4sIQI")  # 4.3.15
END_64 = struct.Struct("<4sQ2H2I4Q")  # 4.3.14
LOCAL_MAGIC, CENTRAL_MAGIC, DESCRIPTOR_MAGIC, END_MAGIC = b"PK\x03\x04", b"PK\x01\x02", b"PK\x07\x08", b"PK\x05\x06"
ENCRYPTED, SIZES_FOLLOW, UTF8_NAME = 1 << 0, 1 << 3, 1 << 11  # general purpose flags, 4.4.4
ZIP64_EXTRA, UNICODE_PATH_EXTRA = 0x0001, 0x7075  # 4.5.3, 4.6.9
UNIX = 3  # the system whose file types stand in the upper half of the external attributes, 4.4.2.2
LAST_CODEC = "cp437"  # of names without the UTF-8 flag, if nothing speaks for another: 4.4.17 and appendix D


@dataclass(frozen=True)
class _Entry:
    """A member as its directory entry or its own header has it. packed and crc are None where they only follow its content."""

    name: bytes | str
    flags: int
    method: int
    packed: int | None
    size: int
    crc: int | None
    offset: int = 0
    is_file: bool = True

    @property
    def is_directory(self) -> bool:
        return self.name.endswith("/") if isinstance(self.name, str) else self.name.endswith(b"/")


def zip_members(stream: ByteStream, expansion: Expansion, scratch: Path | None) -> Iterator[Member | Fault]:
    """The files of a zip in the order in which they stand in it. Read in place if the stream is a file on disk, else from a copy in `scratch`."""
    with seekable(stream, scratch) as file:
        try:
            directory = _Directory(file, expansion.limits.max_members)
        except (Broken, *FAULTS) as error:
            fault = error.fault if isinstance(error, Broken) else fault_of(error)
            yield from _salvaged(file, stream, expansion, fault)
        else:
            yield from _listed(file, directory, stream, expansion)


# --- by the directory --------------------------------------------------------------------------------------------------


class _Directory:
    """Where the entries of a directory stand, in the order of the members that they name. Raises Broken if there is none that can be read."""

    def __init__(self, file: IO[bytes], max_members: int) -> None:
        self._window = Window(file)
        self.start, end, self.shift = _find_directory(file)
        self.names = Names(LAST_CODEC)
        self._positions, self._offsets = array("Q"), array("Q")
        position = self.start
        while position < end and len(self._positions) <= max_members:
            entry, following = self._entry(position)
            if isinstance(entry.name, bytes):
                self.names.codec.learn(entry.name)
            self._positions.append(position)
            self._offsets.append(entry.offset)
            position = following
        self._order: Sequence[int] = range(len(self._positions))
        offsets = np.frombuffer(self._offsets, dtype=np.uint64)
        if len(offsets) and (offsets[1:] < offsets[:-1]).any():
            self._order = np.argsort(offsets, kind="stable")  # type: ignore[assignment]

    def entries(self) -> Iterator[tuple[_Entry, int]]:
        """Each entry, and where the next member begins."""
        for place, index in enumerate(self._order):
            following = self._offsets[self._order[place + 1]] if place + 1 < len(self._order) else self.start
            yield self._entry(self._positions[index])[0], following

    def _entry(self, position: int) -> tuple[_Entry, int]:
        head = self._window.at(position, CENTRAL.size)
        if not head.startswith(CENTRAL_MAGIC):
            raise Broken(Fault("corrupt", "the zip's directory is damaged"))
        if len(head) < CENTRAL.size:
            raise Broken(Fault("truncated", "the zip's directory ends inside an entry"))
        _, _, system, _, flags, method, crc, packed, size, name_size, extra_size, comment_size, _, _, attributes, offset = CENTRAL.unpack(head)
        rest = self._window.at(position + CENTRAL.size, name_size + extra_size)
        name, extra = rest[:name_size], dict(_extras(rest[name_size:]))
        packed, size, offset = _zip64(extra.get(ZIP64_EXTRA, b""), packed, size, offset)
        is_file = system != UNIX or stat.S_IFMT(attributes >> 16) in (0, stat.S_IFREG)
        entry = _Entry(_name(name, flags, extra), flags, method, packed, size, crc, min(offset + self.shift, self.start), is_file)
        return entry, position + CENTRAL.size + name_size + extra_size + comment_size


def _find_directory(file: IO[bytes]) -> tuple[int, int, int]:
    """(start, end, how many bytes stand before what the zip takes for its own beginning)."""
    file_size = file.seek(0, 2)
    tail_start = max(0, file_size - END.size - 0xFFFF - END_64_LOCATOR.size)
    file.seek(tail_start)
    tail = file.read(file_size - tail_start)
    place = tail.rfind(END_MAGIC)
    if place < 0 or len(tail) - place < END.size:
        raise Broken(Fault("truncated", "the zip's directory is missing"))
    size, offset = END.unpack_from(tail, place)[5:7]
    end = tail_start + place
    if place >= END_64_LOCATOR.size and tail.startswith(b"PK\x06\x07", place - END_64_LOCATOR.size):
        locator = END_64_LOCATOR.unpack_from(tail, place - END_64_LOCATOR.size)
        file.seek(min(locator[2], file_size))
        record = file.read(END_64.size)
        if record.startswith(b"PK\x06\x06"):
            size, offset = END_64.unpack(record)[8:10]
            end = locator[2]
    if size + offset > end:
        raise Broken(Fault("corrupt", "the zip's directory lies outside of it"))
    return end - size, end, end - size - offset


def _extras(data: bytes) -> Iterator[tuple[int, bytes]]:
    start = 0
    while start + 4 <= len(data):
        kind, size = struct.unpack_from("<HH", data, start)
        yield kind, data[start + 4 : start + 4 + size]
        start += 4 + size


def _zip64(extra: bytes, packed: int, size: int, offset: int) -> tuple[int, int, int]:
    """The fields that are too large for 32 bits, in the order of the specification: size, packed size, offset."""
    values = list(struct.unpack_from(f"<{min(3, len(extra) // 8)}Q", extra)) if extra else []
    size, packed, offset = (values.pop(0) if field == 0xFFFFFFFF and values else field for field in (size, packed, offset))
    return packed, size, offset


def _name(raw: bytes, flags: int, extra: dict[int, bytes]) -> bytes | str:
    """A name that is said to be UTF-8 as text, others as their bytes."""
    path = extra.get(UNICODE_PATH_EXTRA, b"")
    if len(path) > 5 and path[0] == 1 and int.from_bytes(path[1:5], "little") == zlib.crc32(raw):
        raw, flags = path[5:], UTF8_NAME
    try:
        return raw.decode("utf-8") if flags & UTF8_NAME else raw
    except UnicodeDecodeError:
        return raw


def _listed(file: IO[bytes], directory: _Directory, stream: ByteStream, expansion: Expansion) -> Iterator[Member | Fault]:
    for entry, following in directory.entries():
        if entry.is_directory:
            continue
        name = directory.names.take(entry.name)
        if not entry.is_file:
            yield Member(name, Fault("not-a-file", "link or device"))
        elif fault := _obstacle(entry):
            yield Member(name, fault)
        else:
            yield Member(name, ByteStream(_content_of(file, entry, following, expansion), under=stream))


def _obstacle(entry: _Entry) -> Fault | None:
    if entry.flags & ENCRYPTED or entry.method == AES:
        return Fault("encrypted", "encrypted member of a zip")
    if entry.method not in METHODS:
        return Fault("unsupported", f"compression method {entry.method} of zip")
    return None


def _content_of(file: IO[bytes], entry: _Entry, following: int, expansion: Expansion) -> Iterator[bytes]:
    file.seek(entry.offset)
    header = file.read(LOCAL.size)
    if len(header) < LOCAL.size or not header.startswith(LOCAL_MAGIC):
        raise Broken(Fault("corrupt", "no member stands where the zip's directory says"))
    name_size, extra_size = LOCAL.unpack(header)[9:]
    start = entry.offset + LOCAL.size + name_size + extra_size
    if start + (entry.packed or 0) > following:
        raise Broken(Fault("corrupt", f"{start + (entry.packed or 0) - following} of its bytes belong to the next member too"))
    yield from _unpacked(Section(file, start, entry.packed), entry, expansion)


# --- without it --------------------------------------------------------------------------------------------------------


def _salvaged(file: IO[bytes], stream: ByteStream, expansion: Expansion, why: Fault) -> Iterator[Member | Fault]:
    """Members by the headers before them, as long as there are any; what lies between them is passed over."""
    names, position, is_cut = Names(LAST_CODEC), 0, False
    while True:
        start = _next_header(file, position)
        if start > position:
            yield Fault("corrupt", f"{start - position} bytes from {position} on belong to no member", start - position)
        file.seek(start)
        header = file.read(LOCAL.size)
        if len(header) < LOCAL.size or not header.startswith(LOCAL_MAGIC):
            break
        entry, position = _local_entry(file, header, start)
        name = names.take(entry.name) if isinstance(entry.name, str) else names.take_next(entry.name)
        fault = _obstacle(entry)
        if fault or (entry.packed is None and entry.method == STORED):
            yield Member(name, fault or Fault("unsupported", "stored member of unknown size in a cut zip"))
            position += entry.packed or 0
            continue
        section = Section(file, position, entry.packed)
        content = ByteStream(_unpacked(section, entry, expansion), under=stream)
        if not entry.is_directory:
            yield Member(name, content)
        content.drain()
        is_cut = content.fault is not None and content.fault.rule == "truncated"
        position = section.position if entry.packed is None or content.fault else position + entry.packed
    if not is_cut:  # else the cut member has said so
        yield why


def _local_entry(file: IO[bytes], header: bytes, start: int) -> tuple[_Entry, int]:
    """A member by its own header, and where its content begins."""
    _, _, flags, method, _, _, crc, packed, size, name_size, extra_size = LOCAL.unpack(header)
    name, extra = file.read(name_size), dict(_extras(file.read(extra_size)))
    packed, size, _ = _zip64(extra.get(ZIP64_EXTRA, b""), packed, size, 0)
    follows = bool(flags & SIZES_FOLLOW)
    entry = _Entry(_name(name, flags, extra), flags, method, None if follows else packed, size, None if follows else crc)
    return entry, start + LOCAL.size + name_size + extra_size


def _next_header(file: IO[bytes], position: int) -> int:
    """Where the next member's header or the directory begins, or the end of the file."""
    file.seek(position)
    kept = b""
    while chunk := file.read(CHUNK):
        data = kept + chunk
        places = [place for magic in (LOCAL_MAGIC, CENTRAL_MAGIC, END_MAGIC) if (place := data.find(magic)) >= 0]
        if places:
            return position + min(places)
        position += len(data) - 3
        kept = data[-3:]
    return position + len(kept)


# --- content -----------------------------------------------------------------------------------------------------------


def _unpacked(section: Section, entry: _Entry, expansion: Expansion) -> Iterator[bytes]:
    codec = METHODS[entry.method]
    member = codec.make()
    total, crc, start = 0, 0, section.position
    is_endless = entry.method in ENDLESS and entry.packed is not None
    for out in pieces(member, section.read, codec.feed_bytes):
        if is_endless:
            out = out[: entry.size - total]  # LZMA makes a few bytes more of its last ones
        total, crc = total + len(out), zlib.crc32(out, crc)
        expansion.charge(len(out), total, section.position - start)
        yield out
        if is_endless and total >= entry.size:
            break
    if not (total >= entry.size if is_endless else member.eof):
        raise Broken(Fault("truncated", f"the member ends after {total} bytes of content"))
    section.position -= len(member.unused_data)
    wanted = entry.crc if entry.packed is not None else _following_crc(section)
    if wanted is not None and crc != wanted:
        raise Broken(Fault("corrupt", "the content is not the one whose checksum is recorded"))


def _following_crc(section: Section) -> int | None:
    """The checksum that stands behind a member whose header does not have it (4.3.9): with or without a magic, then two sizes."""
    head = section.read(16)
    if not head.startswith(DESCRIPTOR_MAGIC):
        section.position -= len(head[12:])
        head = DESCRIPTOR_MAGIC + head
    return int.from_bytes(head[4:8], "little") if len(head) >= 8 else None
