"""Zip: what other programs write, and what is kept of archives that are cut, damaged or lie about themselves (more in support/hostile.py)."""

from __future__ import annotations

import io
import lzma
import struct
import tracemalloc
import zipfile
import zlib

import pytest
import zstandard
from py7zr.compressor import Deflate64Compressor

from mspt.core.text.containers.streams import open_raw
from mspt.core.text.containers.walk import Leaf, Limits, walk
from support.hostile_archives import raw_zip
from support.packing import damaged, zipped

TEXT = b"a line of plain text\n" * 500
PAGE = "<html><body>页面</body></html>".encode()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_of_zipfile(opened, method):
    assert opened(zipped({"a": TEXT, "b": PAGE}, method)) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [])


def deflate64(data: bytes) -> bytes:
    packer = Deflate64Compressor()
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(("method", "pack"), [(9, deflate64), (93, zstandard.ZstdCompressor().compress), (95, lzma.compress)], ids=["deflate64", "zstd", "xz"])
def test_methods_of_other_programs(opened, method, pack):
    assert opened(raw_zip({b"a": TEXT, b"b": PAGE}, b"", method, pack)) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [])


def test_the_end_record_of_zip64_is_read(opened):
    """Where the other says only that its fields are too small, as with more than 65,535 members."""
    data = raw_zip({b"a": TEXT, b"b": PAGE})
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, end - start, start)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1)
    small = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert opened(data[:end] + record + locator + small) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [])


def test_a_directory_takes_little_memory(tmp_path):
    """zipfile keeps 900 bytes for each of these members."""
    path = tmp_path / "many.zip"
    path.write_bytes(zipped({f"{number}": b"" for number in range(3_000)}))
    tracemalloc.start()
    try:
        found = sum(isinstance(leaf, Leaf) for leaf in walk(open_raw(path), "z"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == 3_000
    assert peak < 3_000 * 300


def test_fields_too_large_for_32_bits_are_read_from_the_extra_field(opened):
    data = bytearray(raw_zip({b"a": TEXT}, struct.pack("<HHQQQ", 1, 24, len(TEXT), len(TEXT), 0)))
    start = data.index(b"PK\x01\x02")
    data[start + 20 : start + 28] = b"\xff" * 8  # both sizes
    data[start + 42 : start + 46] = b"\xff" * 4  # where the member begins
    assert opened(bytes(data)) == ({"raw!/a": TEXT}, [])


def test_members_come_in_the_order_in_which_they_stand(opened):
    """A directory may name them in any."""
    data = raw_zip({b"a": TEXT, b"b": PAGE})
    start = data.index(b"PK\x01\x02")
    first, second, end = data[start : start + 47], data[start + 47 : start + 94], data[start + 94 :]
    assert list(opened(data[:start] + second + first + end)[0].items()) == [("raw!/a", TEXT), ("raw!/b", PAGE)]


def test_what_stands_before_the_zip_shifts_it(opened):
    """As in what extracts itself; here the stub looks like a member, or it would be told as a program."""
    stub = b"PK\x03\x04" + bytes(96)
    assert opened(stub + zipped({"a": TEXT}))[0] == {"raw!/a": TEXT}


@pytest.mark.parametrize(
    ("codec", "names"), [("gbk", ["说明.txt", "联通"]), ("big5", ["說明.txt", "一"]), ("cp932", ["説明.txt", "ﾃｽﾄ"]), ("cp437", ["é.txt", "Größe"])]
)
def test_names_without_the_flag_are_repaired_together(opened, codec, names):
    raw = {name.encode(codec): TEXT for name in names}
    assert [ref.removeprefix("raw!/") for ref in opened(raw_zip(raw))[0]] == names


def test_the_unicode_path_counts_only_for_the_name_that_it_was_made_for(opened):
    def extra(name: bytes) -> bytes:
        return struct.pack("<HHBI", 0x7075, 5 + 6, 1, zlib.crc32(name)) + "说明".encode()

    assert list(opened(raw_zip({b"SM": TEXT}, extra(b"SM")))[0]) == ["raw!/说明"]
    assert list(opened(raw_zip({b"SM": TEXT}, extra(b"renamed since")))[0]) == ["raw!/SM"]


def test_a_link_is_not_followed(opened):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("s")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    assert opened(buffer.getvalue()) == ({}, [("raw!/s", "not-a-file")])


def test_an_encrypted_member_is_said_to_be_one(opened):
    data = bytearray(zipped({"a": TEXT, "b": PAGE}))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # set the flag in both headers of the first member
        data[data.index(magic) + offset] |= 1
    assert opened(bytes(data)) == ({"raw!/b": PAGE}, [("raw!/a", "encrypted")])


def test_overlapping_members_are_refused_but_the_last(opened):
    """David Fifield's bomb: many directory entries point at one compressed member."""
    data = zipped({f"{i:03}": bytes(1_000_000) for i in range(100)})
    first = data[: data.index(b"PK\x03\x04", 10)]  # one member, then the directory of all, each entry pointing at offset 0
    directory = bytearray(data[data.index(b"PK\x01\x02") :])
    start = 0
    while (start := directory.find(b"PK\x01\x02", start)) >= 0:
        directory[start + 42 : start + 46] = bytes(4)
        start += 46
    end = directory.index(b"PK\x05\x06")
    directory[end + 16 : end + 20] = len(first).to_bytes(4, "little")
    leaves, problems = opened(first + bytes(directory))
    assert leaves == {"raw!/099": bytes(1_000_000)}
    assert problems == [(f"raw!/{i:03}", "corrupt") for i in range(99)]


def test_a_member_that_claims_more_than_it_has_costs_only_itself(opened):
    data = bytearray(raw_zip({b"a": TEXT, b"b": PAGE}))
    place = data.index(b"PK\x01\x02") + 20
    data[place : place + 4] = (10**6).to_bytes(4, "little")
    assert opened(bytes(data)) == ({"raw!/b": PAGE}, [("raw!/a", "corrupt")])


def test_a_damaged_member_costs_only_itself(opened):
    data = zipped({"a": TEXT, "b": PAGE}, zipfile.ZIP_STORED)
    leaves, problems = opened(damaged(data, 100))
    assert leaves["raw!/b"] == PAGE
    assert problems == [("raw!/a", "corrupt")]


def test_of_damaged_deflate_the_beginning_is_kept(opened):
    text = b"".join(b"line %d of many\n" % i for i in range(5000))
    data = zipped({"a": text})
    leaves, problems = opened(damaged(data, len(data) // 2))
    assert problems == [("raw!/a", "corrupt")]
    assert len(leaves["raw!/a"]) > len(text) / 4
    assert leaves["raw!/a"][: len(text) // 4] == text[: len(text) // 4]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_cut_zip_is_read_by_its_local_headers(opened, method):
    data = zipped({"a": TEXT, "b": PAGE}, method)
    assert opened(data[: data.index(b"PK\x01\x02") + 10]) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [("raw", "truncated")])
    second = data.index(b"PK\x03\x04", 10)
    assert opened(data[: second + 50])[0]["raw!/a"] == TEXT


class Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError


def test_a_cut_zip_whose_sizes_follow_is_read_and_checked(opened):
    """As written to a pipe: size and checksum stand behind each member."""
    buffer = Unseekable()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", TEXT)
        archive.writestr("b", PAGE)
    data = buffer.getvalue()
    cut = data[: data.index(b"PK\x01\x02")]
    assert opened(data) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [])
    assert opened(cut) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [("raw", "truncated")])
    wrong = damaged(cut, cut.index(b"PK\x07\x08") + 4)
    assert opened(wrong) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [("raw!/a", "corrupt"), ("raw", "truncated")])


def test_a_zip_of_too_many_members_is_read_up_to_the_limit(opened):
    leaves, problems = opened(zipped({f"{i}": TEXT for i in range(5)}), Limits(max_members=3))
    assert list(leaves) == ["raw!/0", "raw!/1", "raw!/2"]
    assert problems == [("raw", "members")]
