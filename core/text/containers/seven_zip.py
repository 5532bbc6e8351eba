"""The members of a 7z, through py7zr: its directory and its decompressors, asked for one piece after another.

Members that were compressed together (a folder, in 7z's words) come out of one decompressor in the order in which they lie in it, so nothing is
unpacked to disk, and memory is bounded by the dictionary and one piece. py7zr's own extraction is not used: it writes under the members' names,
refuses the whole archive for one bad name, and ends at the first damaged folder.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from mspt.core.errors import MsptError
from mspt.core.text.containers.archives import Member, Section, seekable
from mspt.core.text.containers.compression import DICTIONARY_BYTES, FEED_BYTES, ZSTD_FEED_BYTES, Expansion
from mspt.core.text.containers.names import Names, one_line
from mspt.core.text.containers.streams import MAX_DETAIL, Broken, ByteStream, Fault, fault_of

START = struct.Struct("<6s2B I 2QI")  # magic, version, checksum; where the directory stands, counted from here, its size and checksum (7zFormat.txt)
# py7zr makes objects of the whole directory before it gives any: 870 bytes for a member with a name of 31 characters, 1.5 kB for a folder of four
# coders (measured; 60,000 folders of 64 coders, 15 MB that pack to 5 kB, take 1.3 GB). These bound that to some 300 MB.
MAX_MEMBERS, MAX_FOLDERS, MAX_CODERS, MAX_CODER_STREAMS = 2**18, 2**16, 4, 8  # more coders than four py7zr does not undo
MAX_DIRECTORY_BYTES = 32 * 2**20
PIECE_BYTES = 16 * 1024 * 1024  # what FEED_BYTES may give at once; input that gives more is kept by py7zr (a ratio of 1,000: cut by Expansion)
MAX_LINK_BYTES = 4096
LZMA2, LZMA, ZSTD = b"\x21", b"\x03\x01\x01", b"\x04\xf7\x11\x01"  # 7zip/DOC/Methods.txt


def seven_zip_members(stream: ByteStream, expansion: Expansion, scratch: Path | None) -> Iterator[Member | Fault]:
    """The files of a 7z in the order of its directory. Read in place if the stream is a file on disk, else from a copy in `scratch`."""
    with seekable(stream, scratch) as file:
        try:
            archive = _open(file)
        except MsptError:
            raise
        except Exception as error:  # over a hostile directory py7zr stumbles in any way: AttributeError, IndexError, AssertionError, ...
            yield _fault(error)
        else:
            yield from _members(archive, file, stream, expansion)


def _open(file: IO[bytes]) -> Any:
    """py7zr's archive, its directory read. Raises Broken for one that is cut or too large, else whatever py7zr raises."""
    from py7zr import SevenZipFile, archiveinfo, compressor, properties

    compressor.algorithm_class_map[properties.FILTER_PPMD] = (None, None)  # "not supported": pyppmd 1.3.1 segfaults on 14 of 40 damaged archives
    archiveinfo.MAX_NUMFILES = archiveinfo.MAX_SUBSTREAMS = MAX_MEMBERS
    archiveinfo.MAX_NUMFOLDERS, archiveinfo.MAX_HEADER_SIZE = MAX_FOLDERS, MAX_DIRECTORY_BYTES
    archiveinfo.MAX_CODERS, archiveinfo.MAX_CODER_STREAMS = MAX_CODERS, MAX_CODER_STREAMS
    file_size = file.seek(0, 2)
    file.seek(0)
    start = file.read(START.size)
    if len(start) == START.size:
        _, _, _, _, offset, size, _ = START.unpack(start)
        if START.size + offset + size > file_size:
            raise Broken(Fault("truncated", "the directory, which stands at the end of a 7z, is missing"))
        if size > MAX_DIRECTORY_BYTES:
            raise Broken(Fault("unsupported", f"a directory of {size} bytes", size, MAX_DIRECTORY_BYTES))
    file.seek(0)
    return SevenZipFile(file)


def _fault(error: Exception) -> Fault:
    from py7zr.exceptions import PasswordRequired, UnsupportedCompressionMethodError

    if isinstance(error, Broken):
        return error.fault
    if isinstance(error, PasswordRequired):
        return Fault("encrypted", "encrypted 7z")
    if isinstance(error, UnsupportedCompressionMethodError):
        why = "PPMd, whose decoder crashes on damaged input; pack it again with LZMA2" if "PPMd" in error.message else error.message
        return Fault("unsupported", f"compression of 7z: {why}"[:MAX_DETAIL])
    if any(words in str(error) for words in ("exceeds limit", "declares more than")):
        return Fault("unsupported", f"a directory that is too large: {error}"[:MAX_DETAIL])
    return fault_of(error)


def _members(archive: Any, file: IO[bytes], stream: ByteStream, expansion: Expansion) -> Iterator[Member | Fault]:
    names, starts, at, folder = Names(), _starts(archive), None, _Folder(None, Section(file, 0, 0), expansion)
    for entry in archive.files:
        if entry.emptystream:
            if not entry.is_directory:
                yield Member(names.take(entry.filename), ByteStream((), under=stream))
            continue
        if entry.folder is not at:
            at = entry.folder
            folder = _Folder(at, Section(file, *next(starts)), expansion)
        name, content = names.take(entry.filename), ByteStream(folder.content(entry.uncompressed, entry.crc32), under=stream)
        if entry.is_file:
            yield Member(name, content)
        else:
            target = content.read(MAX_LINK_BYTES).decode("utf-8", "backslashreplace")
            yield Member(name, Fault("not-a-file", f"link or device {one_line(target)}".strip()[:MAX_DETAIL]))
        content.drain()


def _starts(archive: Any) -> Iterator[tuple[int, int]]:
    """Where the packed bytes of each folder begin, and how many there are."""
    streams = archive.header.main_streams
    sizes, position = iter(streams.packinfo.packsizes if streams else ()), archive.afterheader + (streams.packinfo.packpos if streams else 0)
    for folder in streams.unpackinfo.folders if streams else ():
        size = sum(next(sizes, 0) for _ in folder.packed_indices)
        yield position, size
        position += size


class _Folder:
    """Members that lie behind one another in one decompressed stream."""

    def __init__(self, folder: Any, section: Section, expansion: Expansion) -> None:
        self._folder = folder
        self._section = section
        self._start = section.position
        self._expansion = expansion
        self._decompressor: Any = None
        self._unpacked = 0
        self._fault: Fault | None = None  # what ended it: none of the members behind can be had either

    def content(self, size: int, wanted_crc: int | None) -> Iterator[bytes]:
        """The next member. Raises Broken where it cannot be had whole."""
        left, crc = size, 0
        while left > 0:
            piece = self._piece(left)
            left -= len(piece)
            crc = zlib.crc32(piece, crc)
            yield piece
        if wanted_crc is not None and crc != wanted_crc:
            raise Broken(Fault("corrupt", "the content is not the one whose checksum is recorded"))

    def _piece(self, left: int) -> bytes:
        if self._fault:
            raise Broken(self._fault)
        try:
            return self._decompress(min(left, PIECE_BYTES))
        except MsptError:
            raise
        except Exception as error:  # decompressors of py7zr raise what they like
            fault = _fault(error)
            why = f"what lies before it: {fault.detail}" if self._unpacked else fault.detail
            self._fault = Fault(fault.rule, why[:MAX_DETAIL], fault.value, fault.threshold)
            raise Broken(fault) from error

    def _decompress(self, size: int) -> bytes:
        if self._decompressor is None:
            self._decompressor = _decompressor(self._folder, self._section)
        while True:
            before = self._section.position
            piece = bytes(self._decompressor.decompress(self._section, size))
            self._unpacked += len(piece)
            self._expansion.charge(len(piece), self._unpacked, self._section.position - self._start)
            if piece:
                return piece
            if self._section.position == before:
                raise Broken(Fault("truncated", f"the packed stream ends after {self._unpacked} bytes of content"))


def _decompressor(folder: Any, section: Section) -> Any:
    from py7zr.compressor import SevenZipDecompressor

    for coder in folder.coders:
        needed = _dictionary_bytes(coder["method"], coder["properties"] or b"")
        if needed > DICTIONARY_BYTES:
            raise Broken(Fault("unsupported", f"a dictionary of {needed} bytes", needed, DICTIONARY_BYTES))
    feed = ZSTD_FEED_BYTES if any(coder["method"] == ZSTD for coder in folder.coders) else FEED_BYTES
    return SevenZipDecompressor(folder.coders, section.left or 0, folder.unpacksizes, folder.crc, None, feed)


def _dictionary_bytes(method: bytes, properties: bytes) -> int:
    """What a coder allocates: its properties say so."""
    if method == LZMA:
        return int.from_bytes(properties[1:5], "little")
    if method == LZMA2 and properties:
        return (2 | properties[0] & 1) << min(properties[0] // 2 + 11, 40)
    return 0
