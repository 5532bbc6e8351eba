"""Tar: every format that tarfile writes, and what is kept of archives that are cut, damaged or lie about themselves (more in support/hostile.py)."""

from __future__ import annotations

import io
import tarfile

import pytest

from support.packing import damaged, entry, tar

TEXT = b"a line of plain text\n" * 500
WHOLE = 512 + 10752  # header and content of TEXT in blocks


def written(members: dict[str, bytes], kind: int, *others: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind, encoding="utf-8", errors="surrogateescape") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in others:
            archive.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_long_targets_are_whole(opened, kind):
    name, target = "目录/" * 60 + "文件.txt", "t/" * 150
    leaves, problems = opened(written({name: TEXT, "z": TEXT}, kind, entry("l", tarfile.SYMTYPE, target)))
    assert leaves == {f"raw!/{name}": TEXT, "raw!/z": TEXT}
    assert problems == [("raw!/l", "not-a-file")]


def test_names_of_ustar_are_put_together(opened):
    name = "folder/" * 20 + "file"
    assert list(opened(written({name: TEXT}, tarfile.USTAR_FORMAT))[0]) == [f"raw!/{name}"]


def test_headers_before_posix_are_read(opened):
    """Without magic: the checksum is all there is."""
    block = bytearray(tar({"old": b"x"})[:512])
    block[257:265] = bytes(8)
    block[148:156] = b"%06o\0 " % (256 + sum(block[:148]) + sum(block[156:]))
    assert opened(bytes(block) + b"x".ljust(512, b"\0") + bytes(1024)) == ({"raw!/old": b"x"}, [])


def test_sizes_beyond_the_octal_field_are_read(opened):
    """More than 8 GiB in base 256 (GNU) and in a PAX record: both say the size of what stands here."""
    block = bytearray(tar({"a": TEXT})[:512])
    block[124:136] = b"\x80" + len(TEXT).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    body = TEXT.ljust(10752, b"\0")
    assert opened(bytes(block) + body + bytes(1024)) == ({"raw!/a": TEXT}, [])
    info = tarfile.TarInfo("a")
    info.pax_headers = {"size": f"{len(TEXT)}"}
    assert opened(info.tobuf(tarfile.PAX_FORMAT) + body + bytes(1024)) == ({"raw!/a": TEXT}, [])


def test_names_get_better_with_each_name(opened):
    """Names of a tar come one by one: the first may be undecided, those behind it are not."""
    names = [name.encode("big5").decode("utf-8", "surrogateescape") for name in ("會議紀錄", "合約範本", "讀我", "照片")]
    assert list(opened(written(dict.fromkeys(names, TEXT), tarfile.GNU_FORMAT))[0]) == ["raw!/會議紀錄", "raw!/合約範本", "raw!/讀我", "raw!/照片"]


def test_members_of_one_name_get_refs_of_their_own(opened):
    double = tar({"a": b"first version\n"})[:1024] + tar({"a": b"second version\n", "a~2": b"named so\n"})
    leaves, problems = opened(double)
    assert leaves == {"raw!/a": b"first version\n", "raw!/a~2": b"second version\n", "raw!/a~2~3": b"named so\n"}
    assert problems == []


def test_links_and_devices_are_not_followed(opened):
    links = entry("s", tarfile.SYMTYPE, "/etc/passwd"), entry("h", tarfile.LNKTYPE, "a")
    leaves, problems = opened(tar({"a": TEXT}, *links, entry("d", tarfile.CHRTYPE), entry("dir", tarfile.DIRTYPE)))
    assert list(leaves) == ["raw!/a"]
    assert problems == [("raw!/s", "not-a-file"), ("raw!/h", "not-a-file"), ("raw!/d", "not-a-file")]


def test_a_cut_tar_gives_all_before_the_cut(opened):
    data = tar({"a": TEXT, "b": TEXT})
    leaves, problems = opened(data[: WHOLE + 512 + 5000])  # half of b
    assert leaves == {"raw!/a": TEXT, "raw!/b": TEXT[:5000]}
    assert problems == [("raw!/b", "truncated")]


def test_a_tar_without_its_end_mark_is_reported(opened):
    assert opened(tar({"a": TEXT})[:WHOLE]) == ({"raw!/a": TEXT}, [("raw", "truncated")])


def test_a_damaged_header_costs_only_its_member(opened):
    data = tar({"a": TEXT, "b": TEXT, "c": TEXT})
    assert opened(damaged(data, WHOLE + 5)) == ({"raw!/a": TEXT, "raw!/c": TEXT}, [("raw", "corrupt")])


def test_what_stands_behind_the_end_mark_is_read_or_reported(opened):
    data = tar({"a": TEXT})
    assert opened(data + tar({"b": TEXT})) == ({"raw!/a": TEXT, "raw!/b": TEXT}, [])
    assert opened(data + b"left over") == ({"raw!/a": TEXT}, [("raw", "truncated")])
    assert opened(data + b"left over" * 100) == ({"raw!/a": TEXT}, [("raw", "corrupt")])


@pytest.mark.parametrize("size", [1 << 40, 1 << 62, -1])
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, b"Z"])
def test_a_header_of_absurd_size_is_not_read_into_memory_nor_skipped_for_ever(opened, size, kind):
    header = entry("p", kind)
    header.size = size
    leaves, problems = opened(tar({"a": TEXT})[:WHOLE] + header.tobuf(tarfile.GNU_FORMAT) + bytes(10240))
    assert leaves == {"raw!/a": TEXT}
    assert problems[-1] in [("raw", "corrupt"), ("raw", "truncated")]


@pytest.mark.parametrize(
    "record", [b"", b"x", b"99 path=far\n", b"0 path=\n", b"-5 path=x\n", b"9 path=ab\n" * 2, b"1" * 100_000, b"12 path=ok.x\n5 size=-1\n"]
)
def test_pax_records_of_any_kind_cost_no_more_than_their_name(opened, record):
    header = entry("pax", tarfile.XHDTYPE)
    header.size = len(record)
    extended = header.tobuf(tarfile.GNU_FORMAT) + record + bytes(-len(record) % 512)
    leaves, problems = opened(extended + tar({"a": TEXT}))
    assert list(leaves.values()) == [TEXT]
    assert problems == []
