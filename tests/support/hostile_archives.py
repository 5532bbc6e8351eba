"""Hostile archives and compressed streams (see hostile.py)."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import py7zr
import zstandard

from support.hostile import Entry, prose
from support.packing import damaged, entry, tar, zipped

NAMES = ["../../etc/passwd", "/etc/shadow", "C:\\Windows\\x.txt", "CON", "line\nend", "a!/b", "x" * 60_000]
REFS = ["../../etc/passwd", "/etc/shadow", "C:\\Windows\\x.txt", "CON", "line\\x0aend", "a%21/b", "x" * 1000]


def archives() -> Iterable[Entry]:
    yield from _zips()
    yield from _zip_names()
    yield from _tars()
    yield from _tar_names()
    yield from _seven_zips()
    yield from _streams()
    yield from _bombs()


def texts(*numbers: int, sentences: int = 4) -> dict[str, bytes]:
    return {f"{number}.txt": prose(number, sentences).encode() for number in numbers}


def docs(*numbers: int) -> list[str]:
    return [f"!/{number}.txt#0" for number in numbers]


# --- zip ---------------------------------------------------------------------------------------------------------------


def _zips() -> Iterable[Entry]:
    two = zipped(texts(1, 2))
    stored = zipped(texts(3, 4, sentences=14), zipfile.ZIP_STORED)
    second, directory = stored.index(b"PK\x03\x04", 10), stored.index(b"PK\x01\x02")
    yield Entry("zip/crc.zip", damaged(zipped(texts(1, 2)), two.index(b"PK\x01\x02") + 16), kept=docs(1, 2), rejected=[("!/1.txt", "corrupt")])
    yield Entry("zip/content.zip", damaged(stored, 200), kept=docs(3, 4), rejected=[("!/3.txt", "corrupt")])
    yield Entry("zip/cut.zip", stored[: directory - 100], kept=docs(3, 4), rejected=[("!/4.txt", "truncated")])
    yield Entry("zip/cut-in-directory.zip", two[: two.index(b"PK\x01\x02") + 10], kept=docs(1, 2), rejected=[("", "truncated")])
    yield Entry("zip/no-directory.zip", stored[:directory], kept=docs(3, 4), rejected=[("", "truncated")])
    garbage = stored[:second] + b"garbage" * 1000 + stored[second:directory]
    yield Entry("zip/garbage.zip", garbage, kept=docs(3, 4), rejected=[("", "corrupt"), ("", "truncated")])
    yield Entry("zip/encrypted.zip", _with_flag(two, 1), kept=docs(2), rejected=[("!/1.txt", "encrypted")])
    yield Entry("zip/method.zip", _with_method(two, 1), kept=docs(2), rejected=[("!/1.txt", "unsupported")])
    yield Entry("zip/directory-damaged.zip", damaged(two, two.index(b"PK\x01\x02")), kept=docs(1, 2), rejected=[("", "corrupt")])
    yield Entry("zip/dictionary.zip", _with_dictionary(texts(5)), rejected=[("!/5.txt", "unsupported")])
    yield Entry("zip/elsewhere.zip", _with_offset(two, 10**6), kept=docs(2), rejected=[("!/1.txt", "corrupt")])
    yield Entry("zip/link.zip", _zip_link(), rejected=[("!/link", "not-a-file")])
    yield Entry("zip/empty.zip", zipped({}), rejected=[("", "empty-file")])
    yield Entry("zip/deep.zip", _nested(12), rejected=[("!/in.zip" * 8, "depth")])


def _with_flag(data: bytes, flag: int) -> bytes:
    return _changed(data, (6, 8), bytes([flag]))


def _with_method(data: bytes, method: int) -> bytes:
    return _changed(data, (8, 10), bytes([method]))


def _changed(data: bytes, places: Sequence[int], value: bytes) -> bytes:
    """Sets a field of the first member, in its own header and in the directory."""
    changed = bytearray(data)
    for magic, place in zip((b"PK\x03\x04", b"PK\x01\x02"), places, strict=True):
        start = changed.index(magic) + place
        changed[start : start + len(value)] = value
    return bytes(changed)


def _with_offset(data: bytes, offset: int) -> bytes:
    start = data.index(b"PK\x01\x02") + 42
    return data[:start] + offset.to_bytes(4, "little") + data[start + 4 :]


def _with_dictionary(members: dict[str, bytes]) -> bytes:
    data = zipped(members, zipfile.ZIP_LZMA)
    start = data.index(b"\x05\x00\x5d") + 3  # size of the properties, their first byte; then the dictionary's size
    return data[:start] + (0xFFFFFFF0).to_bytes(4, "little") + data[start + 4 :]


def _zip_link() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def _nested(depth: int) -> bytes:
    data = zipped(texts(6))
    for _ in range(depth):
        data = zipped({"in.zip": data})
    return data


def _zip_names() -> Iterable[Entry]:
    hostile = zipped({name: prose(20 + number).encode() for number, name in enumerate(NAMES)})
    yield Entry("zip/names.zip", hostile, kept=[f"!/{ref}#0" for ref in REFS])
    legacy = {"gbk": ["会议纪要.txt", "新建文件夹/说明.txt", "联通"], "big5": ["會議紀錄.txt", "合約範本.txt"], "cp932": ["お読みください.txt", "テスト"]}
    for codec, names in legacy.items():
        members = {name.encode(codec): prose(30 + number).encode() for number, name in enumerate(names)}
        yield Entry(f"zip/{codec}.zip", raw_zip(members), kept=[f"!/{name}#0" for name in names])
    extra = "说明.txt".encode()
    field = struct.pack("<HHBI", 0x7075, 5 + len(extra), 1, zlib.crc32(b"SHUOMING.TXT")) + extra
    yield Entry("zip/unicode-path.zip", raw_zip({b"SHUOMING.TXT": prose(40).encode()}, field), kept=["!/说明.txt#0"])
    yield Entry("zip/nul.zip", raw_zip({b"a\0b.txt": prose(41).encode(), b"\xff\xfe\xfd": prose(42).encode()}), kept=["!/a\\x00b.txt#0", "!/\xa0■²#0"])
    same = raw_zip({b"a.txt": prose(43).encode(), b"b.txt": prose(44).encode()}).replace(b"b.txt", b"a.txt")
    yield Entry("zip/same.zip", same, kept=["!/a.txt#0", "!/a.txt~2#0"])


def raw_zip(members: dict[bytes, bytes], extra: bytes = b"", method: int = 0, pack: Callable[[bytes], bytes] = bytes) -> bytes:
    """Members under any names, without flags, packed in any way: what zipfile does not write."""
    body, directory = b"", b""
    for name, data in members.items():
        packed = pack(data)
        middle = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0x21, zlib.crc32(data), len(packed), len(data), len(name), len(extra))
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + middle + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name + extra
        body += b"PK\x03\x04" + middle + name + extra + packed
    return body + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)


# --- tar ---------------------------------------------------------------------------------------------------------------


def _tars() -> Iterable[Entry]:
    first, second = tar(texts(50)), tar(texts(51))
    size = len(first) // 10240 * 10240
    one = first[: 512 + -(-len(prose(50).encode()) // 512) * 512]  # header and content, no end
    yield Entry("tar/cut.tar", one + second[:700], kept=docs(50, 51), rejected=[("!/51.txt", "truncated")])
    yield Entry("tar/cut-header.tar", one + second[:300], kept=docs(50), rejected=[("", "truncated")])
    yield Entry("tar/no-end.tar", one, kept=docs(50), rejected=[("", "truncated")])
    yield Entry("tar/garbage.tar", one + b"garbage " * 640 + second, kept=docs(50, 51), rejected=[("", "corrupt")])
    yield Entry("tar/odd-garbage.tar", one + b"garbage " * 640 + b"odd", kept=docs(50), rejected=[("", "corrupt")])
    yield Entry("tar/two.tar", first[:size] + second, kept=docs(50, 51))
    yield Entry("tar/damaged-header.tar", damaged(one, 3) + second, kept=docs(51), rejected=[("", "corrupt")])
    yield Entry("tar/negative.tar", one + _header("n", size=-1) + second, kept=docs(50, 51), rejected=[("", "corrupt")])
    yield Entry("tar/huge.tar", one + _header("h", size=1 << 62) + second, kept=[*docs(50), "!/h!/51.txt#0"], rejected=[("!/h", "truncated")])
    yield Entry("tar/huge-unknown.tar", one + _header("u", b"Z", size=1 << 62) + second, kept=docs(50), rejected=[("!/u", "not-a-file"), ("", "truncated")])
    yield Entry("tar/sparse.tar", one + _header("s", b"S") + second, kept=docs(50, 51), rejected=[("!/s", "unsupported")])
    pax_sparse = _pax(b"x", b"22 GNU.sparse.major=1\n") + _header("s") + second
    yield Entry("tar/sparse-pax.tar", one + pax_sparse, kept=docs(50, 51), rejected=[("!/s", "unsupported")])
    yield Entry("tar/links.tar", tar(texts(52), *_links()), kept=docs(52), rejected=[(f"!/{link.name}", "not-a-file") for link in _links()])
    yield Entry("tar/pax-claim.tar", one + _header("p", b"x", size=1 << 40) + second, kept=docs(50, 51), rejected=[("", "corrupt")])
    yield Entry("tar/pax-digits.tar.gz", gzip.compress(_pax(b"x", b"1" * 10**6) + second, 1), kept=docs(51))
    yield Entry("tar/pax-global.tar.gz", gzip.compress(_pax(b"g", _records(60_000)) * 10 + second, 1), kept=docs(51))
    yield Entry("tar/long-names.tar.gz", gzip.compress(_pax(b"L", b"name\0") * 20_000 + second, 1), kept=["!/name#0"])


def _header(name: str, kind: bytes = b"0", size: int = 0) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def _pax(kind: bytes, data: bytes) -> bytes:
    return _header("pax", kind, len(data)) + data + bytes(-len(data) % 512)


def _records(number: int) -> bytes:
    return b"".join(b"17 key%07d=xx\n" % i for i in range(number))


def _links() -> list[tarfile.TarInfo]:
    link = entry("link", tarfile.SYMTYPE, "/etc/passwd")
    loops = entry("loop-a", tarfile.SYMTYPE, "loop-b"), entry("loop-b", tarfile.SYMTYPE, "loop-a"), entry("hard", tarfile.LNKTYPE, "hard")
    return [
        link,
        *loops,
        entry("odd", tarfile.SYMTYPE, "\udcff\n"),
        entry("null", tarfile.CHRTYPE),
        entry("disk", tarfile.BLKTYPE),
        entry("pipe", tarfile.FIFOTYPE),
    ]


def _tar_names() -> Iterable[Entry]:
    hostile = tar({name: prose(60 + number).encode() for number, name in enumerate(NAMES)})
    yield Entry("tar/names.tar", hostile, kept=[f"!/{ref}#0" for ref in REFS])
    for codec, names in {"gbk": ["会议纪要.txt", "新建文件夹/说明.txt"], "big5": ["會議紀錄.txt", "合約範本.txt"]}.items():
        members = {name.encode(codec).decode("utf-8", "surrogateescape"): prose(70 + number).encode() for number, name in enumerate(names)}
        yield Entry(f"tar/{codec}.tar", _legacy_tar(members), kept=[f"!/{name}#0" for name in names])
    yield Entry("tar/same.tar.gz", gzip.compress(_header("a") * 3000 + tar({"a": prose(75).encode()})), kept=["!/a~3001#0"], rules=["empty-file"])


def _legacy_tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


# --- 7z ----------------------------------------------------------------------------------------------------------------


def _seven_zips() -> Iterable[Entry]:
    sound = seven_zip(texts(80, 81))
    yield Entry("7z/sound.7z", sound, kept=docs(80, 81))
    yield Entry("7z/in.zip", zipped({"in.7z": seven_zip(texts(82), [{"id": py7zr.FILTER_ZSTD, "level": 3}])}), kept=["!/in.7z!/82.txt#0"])
    yield Entry("7z/encrypted.7z", seven_zip(texts(83), password="secret"), rejected=[("!/83.txt", "encrypted")])
    yield Entry("7z/encrypted-names.7z", seven_zip(texts(84), password="secret", header_encryption=True), rejected=[("", "encrypted")])
    yield Entry("7z/cut.7z", sound[:-20], rejected=[("", "truncated")])
    yield Entry("7z/directory.7z", damaged(sound, len(sound) - 10), rejected=[("", "corrupt")])
    copied = seven_zip(texts(85, 86, sentences=14), [{"id": py7zr.FILTER_COPY}])
    yield Entry("7z/damaged.7z", damaged(copied, 100), kept=docs(85, 86), rejected=[("!/85.txt", "corrupt")])
    yield Entry("7z/ppmd.7z", _with_coder(b"\x03\x04\x01", b"\x06\0\0\0\x01"), rejected=[("!/87.txt", "unsupported")])
    yield Entry("7z/unknown.7z", _with_coder(b"\x06\x66", b""), rejected=[("!/87.txt", "unsupported")])
    yield Entry("7z/dictionary.7z", _with_coder(b"\x03\x01\x01", b"\x5d\xff\xff\xff\xff"), rejected=[("!/87.txt", "unsupported")])
    named = seven_zip({name: prose(88 + number).encode() for number, name in enumerate(NAMES[:-1])})
    yield Entry("7z/names.7z", named, kept=[f"!/{ref}#0" for ref in [*REFS[:2], "C:/Windows/x.txt", *REFS[3:-1]]])


def seven_zip(members: dict[str, bytes], filters: list[dict[str, Any]] | None = None, **options: Any) -> bytes:
    """Any names: those that py7zr refuses are put in afterwards."""
    buffer = io.BytesIO()
    quick = filters or [{"id": py7zr.FILTER_LZMA2, "preset": 1}]
    if "password" in options:
        quick = [*quick, {"id": py7zr.FILTER_CRYPTO_AES256_SHA256}]
    with py7zr.SevenZipFile(buffer, "w", filters=quick, **options) as archive:
        for number, data in enumerate(members.values()):
            archive.writestr(data, f"{number}")
        for info, name in zip(archive.header.files_info.files, members, strict=True):
            info["filename"] = name
    return buffer.getvalue()


def _with_coder(method: bytes, properties: bytes) -> bytes:
    """An archive that says its content was packed by another method than it was. Its directory is not packed."""
    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w", filters=[{"id": py7zr.FILTER_COPY}]) as archive:
        archive.set_encoded_header_mode(False)
        archive.writestr(prose(87).encode(), "87.txt")
        archive.header.main_streams.unpackinfo.folders[0].coders[0] |= {"method": method, "properties": properties}
    return buffer.getvalue()


# --- compressed streams ------------------------------------------------------------------------------------------------


def _streams() -> Iterable[Entry]:
    text = prose(100).encode()
    sound = gzip.compress(text)
    yield Entry("gz/garbage.gz", sound + b"garbage" * 100, kept=["#0"], rejected=[("", "corrupt")])
    yield Entry("gz/padded.gz", sound + bytes(5000), kept=["#0"])
    yield Entry("gz/cut.gz", sound[:-6], kept=["#0"], rejected=[("", "truncated")])
    yield Entry("gz/crc.gz", damaged(sound, len(sound) - 7), kept=["#0"], rejected=[("", "corrupt")])
    yield Entry("gz/many-members.gz", gzip.compress(b"") * 30_000 + sound, kept=["#0"])
    yield Entry("gz/byte-by-byte.gz", b"".join(gzip.compress(bytes([byte]), 1) for byte in prose(101, 14).encode()), kept=["#0"])
    yield Entry("gz/header-only.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", rejected=[("", "truncated")])
    yield Entry("gz/matryoshka.gz", _repeated(gzip.compress, text, 8), kept=["#0"])
    yield Entry("gz/too-deep.gz", _repeated(gzip.compress, text, 9), rejected=[("", "depth")])
    yield Entry("xz/dictionary.xz", _xz_dictionary(text), rejected=[("", "unsupported")])
    yield Entry("xz/damaged.xz", damaged(lzma.compress(text), -20), rejected=[("", "corrupt")], kept=["#0"])
    yield Entry("xz/alone.lzma", lzma.compress(text, lzma.FORMAT_ALONE), rejected=[("", "unread-type")])
    yield Entry("zst/window.zst", _zstd_window(text), rejected=[("", "unsupported")])
    yield Entry("zst/skippable.zst", b"\x50\x2a\x4d\x18\x05\x00\x00\x00hello" + zstandard.ZstdCompressor().compress(text), kept=["#0"])
    yield Entry("zst/reserved-block.zst", b"\x28\xb5\x2f\xfd\x00\x58\x07\x00\x00", rejected=[("", "corrupt")])
    yield Entry("bz2/damaged.bz2", damaged(bz2.compress(text), 100), rejected=[("", "corrupt")])
    yield Entry("bz2/cut.bz2", bz2.compress(text)[:-8], rules=["truncated"], kept=["#0"])


def _repeated(compress: Callable[[bytes], bytes], data: bytes, times: int) -> bytes:
    for _ in range(times):
        data = compress(data)
    return data


def _xz_dictionary(text: bytes) -> bytes:
    """A block header that asks for a dictionary of 4 GiB (The .xz File Format, 3.1 and 5.3.1)."""
    data = bytearray(lzma.compress(text))
    end = 12 + 4 * data[12]
    data[data.index(b"\x21\x01", 12, end) + 2] = 40
    data[end : end + 4] = zlib.crc32(data[12:end]).to_bytes(4, "little")
    return bytes(data)


def _zstd_window(text: bytes) -> bytes:
    """A frame that asks for a window of 2 GiB (RFC 8878, 3.1.1.1.2: 10 + 21 binary digits) around one block as it is."""
    return b"\x28\xb5\x2f\xfd\x00\xa8" + (len(text) << 3 | 1).to_bytes(3, "little") + text


# --- bombs -------------------------------------------------------------------------------------------------------------


def _bombs() -> Iterable[Entry]:
    zeros = bytes(30_000_000)
    yield Entry("bomb/zeros.gz", gzip.compress(zeros), rejected=[("", "expansion"), ("", "unread-type")])
    yield Entry("bomb/zeros.bz2", bz2.compress(zeros), rejected=[("", "expansion"), ("", "unread-type")])
    yield Entry("bomb/zeros.xz", lzma.compress(zeros, preset=0), rejected=[("", "expansion"), ("", "unread-type")])
    yield Entry("bomb/rle.zst", _zstd_rle(5000), rejected=[("", "expansion"), ("", "unread-type")])
    yield Entry("bomb/gz-of-gz.gz", _repeated(gzip.compress, zeros, 2), rejected=[("", "expansion"), ("", "unread-type")])
    yield Entry("bomb/in-a-tar.tar", tar({"0.gz": gzip.compress(zeros), **texts(110)}), kept=docs(110), rules=["expansion", "unread-type"])
    yield Entry("bomb/42.zip", _fan(4, 16), rules=["expansion", "unread-type"])
    yield Entry("bomb/overlap.zip", _overlapping(200), rules=["corrupt", "unread-type"])
    yield Entry("bomb/solid.7z", seven_zip({"0": zeros, **texts(111)}), rules=["expansion", "unread-type"])
    blanks = gzip.compress(b" " * 30_000_000)
    yield Entry("bomb/blanks.gz", blanks, rules=["expansion", "too-short"])


def _zstd_rle(blocks: int) -> bytes:
    """Blocks of 4 bytes that stand for 128 KiB each (RFC 8878, 3.1.1.2: type 1, a run of one byte)."""
    size = 128 * 1024
    return b"\x28\xb5\x2f\xfd\x00\x58" + ((size << 3 | 2).to_bytes(3, "little") + b"\0") * blocks + b"\x01\0\0"


def _fan(levels: int, width: int) -> bytes:
    data = bytes(1_000_000)
    for level in range(levels):
        data = zipped({f"{level}-{number}": data for number in range(width)})
    return data


def _overlapping(number: int) -> bytes:
    """One member under many directory entries (D. Fifield's full overlap, without its quoting)."""
    data = zipped({f"{i:03}": bytes(100_000) for i in range(number)})
    member, directory = data[: data.index(b"PK\x03\x04", 10)], bytearray(data[data.index(b"PK\x01\x02") :])
    start = 0
    while (start := directory.find(b"PK\x01\x02", start)) >= 0:
        directory[start + 42 : start + 46] = bytes(4)
        start += 46
    end = directory.index(b"PK\x05\x06")
    directory[end + 16 : end + 20] = len(member).to_bytes(4, "little")
    return member + bytes(directory)
