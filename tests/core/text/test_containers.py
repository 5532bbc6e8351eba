"""Containers and archives: what is found inside, under which ref, and what is said of that which cannot be read."""

from __future__ import annotations

import gzip
import hashlib
import random
import tarfile
import zipfile

import pytest

from mspt.core.text.containers import Leaf, Limits, Problem, walk
from mspt.core.text.streams import open_raw
from support.packing import COMPRESSORS, damaged, entry, tar, zipped

TEXT = b"a line of plain text\n" * 500
PAGE = "<html><body>页面</body></html>".encode()


@pytest.fixture
def opened(tmp_path):
    """open(data) -> ({ref: bytes} of the leaves, [(ref, rule)] of the problems). Checks the hash of the raw file on the way."""

    def run(data: bytes, limits: Limits = Limits(), ref: str = "raw") -> tuple[dict[str, bytes], list[tuple[str, str]]]:  # noqa: B008
        path = tmp_path / "input"
        path.write_bytes(data)
        leaves, problems = {}, []
        stream = open_raw(path)
        for found in walk(stream, ref, limits, scratch=tmp_path):
            if isinstance(found, Leaf):
                assert found.ref not in leaves
                leaves[found.ref] = b"".join(found.stream.chunks())
            else:
                problems.append((found.ref, found.rule))
        assert stream.origin.sha256() == hashlib.sha256(data).hexdigest()
        assert [p.name for p in tmp_path.iterdir()] == ["input"]  # names in archives never became files
        return leaves, problems

    return run


def test_nested_containers_give_refs_that_say_the_way(opened):
    inner = zipped({"文/c.html": PAGE, "d.txt.gz": gzip.compress(TEXT)})
    leaves, problems = opened(gzip.compress(tar({"b.zip": inner, "./e.txt": TEXT})), ref="crawl.tar.gz")
    assert leaves == {"crawl.tar.gz!/b.zip!/文/c.html": PAGE, "crawl.tar.gz!/b.zip!/d.txt.gz": TEXT, "crawl.tar.gz!/e.txt": TEXT}
    assert problems == []


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_of_zip(opened, method):
    assert opened(zipped({"a": TEXT, "b": PAGE}, method)) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [])


def test_members_of_one_name_get_refs_of_their_own(opened):
    double = tar({"a": b"first version\n"})[:1024] + tar({"a": b"second version\n", "a~2": b"named so\n"})
    leaves, problems = opened(double)
    assert leaves == {"raw!/a": b"first version\n", "raw!/a~2": b"second version\n", "raw!/a~2~2": b"named so\n"}
    assert problems == []


def test_names_are_only_names(opened):
    names = ["../../etc/passwd", "/abs", "C:\\x", "line\nend", "x!/y"]
    leaves, _ = opened(tar(dict.fromkeys(names, TEXT)))
    assert list(leaves) == ["raw!/../../etc/passwd", "raw!//abs", "raw!/C:\\x", "raw!/line\\x0aend", "raw!/x%21/y"]


def test_names_in_legacy_encodings_are_repaired(opened):
    data = zipped({"XXXX.txt": TEXT})  # "说明" has four bytes in GBK
    leaves, _ = opened(data.replace(b"XXXX", "说明".encode("gbk")))
    assert list(leaves) == ["raw!/说明.txt"]


def test_links_and_devices_are_not_followed(opened):
    links = entry("s", tarfile.SYMTYPE, "/etc/passwd"), entry("h", tarfile.LNKTYPE, "a")
    leaves, problems = opened(tar({"a": TEXT}, *links, entry("d", tarfile.CHRTYPE), entry("dir", tarfile.DIRTYPE)))
    assert list(leaves) == ["raw!/a"]
    assert problems == [("raw!/s", "not-a-file"), ("raw!/h", "not-a-file"), ("raw!/d", "not-a-file")]


def test_a_link_in_a_zip_is_not_followed(opened, tmp_path):
    path = tmp_path / "input"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("s")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    assert opened(path.read_bytes()) == ({}, [("raw!/s", "not-a-file")])


def test_an_encrypted_member_is_said_to_be_one(opened):
    data = bytearray(zipped({"a": TEXT, "b": PAGE}))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # set the flag in both headers of the first member
        data[data.index(magic) + offset] |= 1
    assert opened(bytes(data)) == ({"raw!/b": PAGE}, [("raw!/a", "encrypted")])


def test_depth_is_limited(opened):
    data = TEXT
    for _ in range(4):
        data = gzip.compress(data)
    assert opened(data, Limits(max_depth=4)) == ({"raw": TEXT}, [])
    assert opened(data, Limits(max_depth=3)) == ({}, [("raw", "depth")])


def test_a_bomb_in_an_archive_costs_only_itself(opened):
    bomb = gzip.compress(bytes(30_000_000))
    leaves, problems = opened(tar({"a": TEXT, "bomb.gz": bomb, "z": TEXT}), Limits(max_expansion=20))
    assert leaves["raw!/a"] == leaves["raw!/z"] == TEXT
    assert problems == [("raw!/bomb.gz", "expansion")]


def test_overlapping_members_of_a_zip_share_the_limit(opened):
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
    leaves, problems = opened(first + bytes(directory), Limits(max_expansion=200))
    assert sum(map(len, leaves.values())) < 25_000_000
    assert problems  # the other entries have another name than the header, or exceed the limit


@pytest.mark.parametrize("name", COMPRESSORS)
def test_one_cut_is_one_problem_however_deep_it_cuts(opened, name):
    texts = [random.Random(i).randbytes(20_000).hex().encode() for i in range(90)]
    packed = COMPRESSORS[name](tar({f"{i}.gz": gzip.compress(text, 1) for i, text in enumerate(texts)}))
    leaves, problems = opened(packed[: len(packed) * 2 // 3])
    assert problems == [("raw", "truncated")]
    assert leaves["raw!/0.gz"] == texts[0]
    assert 10 < len(leaves) < 61


def test_a_cut_tar_gives_all_before_the_cut(opened):
    data = tar({"a": TEXT, "b": TEXT})
    leaves, problems = opened(data[: 512 + 10752 + 512 + 5000])  # header, a in whole blocks, header, half of b
    assert leaves == {"raw!/a": TEXT, "raw!/b": TEXT[:5000]}
    assert problems == [("raw!/b", "truncated")]


def test_a_tar_without_its_end_mark_is_reported(opened):
    data = tar({"a": TEXT})
    assert opened(data[: 512 + 10752]) == ({"raw!/a": TEXT}, [("raw", "truncated")])


def test_a_damaged_header_ends_a_tar_and_is_reported(opened):
    data = tar({"a": TEXT, "b": TEXT})
    assert opened(damaged(data, 512 + 10752 + 5)) == ({"raw!/a": TEXT}, [("raw", "corrupt")])


def test_a_tar_header_of_absurd_size_is_not_read_into_memory(opened):
    header = entry("p", tarfile.XHDTYPE)
    header.size = 1 << 40
    first = tar({"a": TEXT})[: 512 + 10752]
    assert opened(first + header.tobuf(tarfile.GNU_FORMAT) + bytes(10240)) == ({"raw!/a": TEXT}, [("raw", "corrupt")])


def test_a_damaged_member_of_a_zip_costs_only_itself(opened):
    data = zipped({"a": TEXT, "b": PAGE}, zipfile.ZIP_STORED)
    leaves, problems = opened(damaged(data, 100))
    assert leaves["raw!/b"] == PAGE
    assert problems == [("raw!/a", "corrupt")]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_cut_zip_is_read_by_its_local_headers(opened, method):
    data = zipped({"a": TEXT, "b": PAGE}, method)
    assert opened(data[: data.index(b"PK\x01\x02") + 10]) == ({"raw!/a": TEXT, "raw!/b": PAGE}, [("raw", "truncated")])
    second = data.index(b"PK\x03\x04", 10)
    assert opened(data[: second + 50])[0]["raw!/a"] == TEXT


def test_truncated_gzip_in_a_tar_is_one_problem_of_that_member(opened):
    cut = gzip.compress(TEXT)[:-20]
    leaves, problems = opened(tar({"cut.gz": cut, "z": TEXT}))
    assert leaves["raw!/z"] == TEXT
    assert problems == [("raw!/cut.gz", "truncated")]


def test_an_empty_file_is_a_leaf_of_type_empty(opened, tmp_path):
    (tmp_path / "input").write_bytes(b"")
    assert [found.type.name for found in walk(open_raw(tmp_path / "input"), "raw") if isinstance(found, Leaf)] == ["empty"]


def test_what_a_reader_leaves_is_skipped(tmp_path):
    (tmp_path / "f").write_bytes(tar({"a": TEXT, "b": TEXT}))
    assert [found.ref for found in walk(open_raw(tmp_path / "f"), "f")] == ["f!/a", "f!/b"]


def test_a_problem_tells_value_and_threshold(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(bytes(50_000_000)))
    problem = next(found for found in walk(open_raw(tmp_path / "f"), "f", Limits(max_expansion=2)) if isinstance(found, Problem))
    assert (problem.rule, problem.threshold) == ("expansion", 2)
    assert problem.value > 2
