"""Containers and archives: what is found inside, under which ref, and what is said of that which cannot be read."""

from __future__ import annotations

import base64
import gzip
import random
import tarfile

import pytest

from mspt.core.text.containers.streams import open_raw
from mspt.core.text.containers.walk import Leaf, Limits, Problem, walk
from support.packing import COMPRESSORS, entry, tar, zipped

TEXT = b"a line of plain text\n" * 500
PAGE = "<html><body>页面</body></html>".encode()


def test_nested_containers_give_refs_that_say_the_way(opened):
    inner = zipped({"文/c.html": PAGE, "d.txt.gz": gzip.compress(TEXT)})
    leaves, problems = opened(gzip.compress(tar({"b.zip": inner, "./e.txt": TEXT})), ref="crawl.tar.gz")
    assert leaves == {"crawl.tar.gz!/b.zip!/文/c.html": PAGE, "crawl.tar.gz!/b.zip!/d.txt.gz": TEXT, "crawl.tar.gz!/e.txt": TEXT}
    assert problems == []


def test_names_are_only_names(opened):
    names = ["../../etc/passwd", "/abs", "C:\\x", "line\nend", "x!/y"]
    leaves, _ = opened(tar(dict.fromkeys(names, TEXT)))
    assert list(leaves) == ["raw!/../../etc/passwd", "raw!//abs", "raw!/C:\\x", "raw!/line\\x0aend", "raw!/x%21/y"]


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


@pytest.mark.parametrize("name", COMPRESSORS)
def test_one_cut_is_one_problem_however_deep_it_cuts(opened, name):
    texts = [random.Random(i).randbytes(20_000).hex().encode() for i in range(90)]
    packed = COMPRESSORS[name](tar({f"{i}.gz": gzip.compress(text, 1) for i, text in enumerate(texts)}))
    leaves, problems = opened(packed[: len(packed) * 2 // 3])
    assert problems == [("raw", "truncated")]
    assert leaves["raw!/0.gz"] == texts[0]
    assert 10 < len(leaves) < 61


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


def test_members_of_all_archives_of_a_file_are_counted_together(opened):
    data = tar({"a.zip": zipped({"1": TEXT, "2": TEXT}), "b.zip": zipped({"3": TEXT}), "c": TEXT})
    assert opened(data, Limits(max_members=6))[1] == []
    leaves, problems = opened(data, Limits(max_members=4))  # a.zip, 1, 2, b.zip
    assert list(leaves) == ["raw!/a.zip!/1", "raw!/a.zip!/2"]
    assert problems == [("raw!/b.zip", "members"), ("raw", "members")]


def test_what_is_unpacked_from_a_file_is_bounded_whatever_the_ratio(opened):
    noise = random.Random(1).randbytes(400_000)  # which no compression makes smaller
    data = tar({"a.gz": gzip.compress(noise), "b.gz": gzip.compress(noise), "c": TEXT})
    leaves, problems = opened(data, Limits(max_unpacked_bytes=600_000))
    assert leaves["raw!/a.gz"] == noise
    assert noise.startswith(leaves["raw!/b.gz"])
    assert leaves["raw!/c"] == TEXT  # not unpacked
    assert problems == [("raw!/b.gz", "expansion")]


@pytest.mark.parametrize("data", [zipped({}), tar({}, entry("folder", tarfile.DIRTYPE))], ids=["zip", "tar"])
def test_an_archive_without_files_has_a_row(opened, data):
    assert opened(data) == ({}, [("raw", "empty-file")])


def test_a_block_of_base64_is_opened_like_any_stream(opened):
    block = base64.encodebytes(gzip.compress(random.Random(2).randbytes(300).hex().encode()))
    assert opened(block)[0] == {"raw": random.Random(2).randbytes(300).hex().encode()}


def test_what_is_said_of_a_member_is_text_on_one_line(tmp_path):
    (tmp_path / "f").write_bytes(tar({}, entry("l", tarfile.SYMTYPE, "\udcff\n")))
    (problem,) = walk(open_raw(tmp_path / "f"), "f")
    assert (problem.ref, problem.detail) == ("f!/l", "symbolic link to \\xff\\x0a")


def test_a_problem_tells_value_and_threshold(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(bytes(50_000_000)))
    problem = next(found for found in walk(open_raw(tmp_path / "f"), "f", Limits(max_expansion=2)) if isinstance(found, Problem))
    assert (problem.rule, problem.threshold) == ("expansion", 2)
    assert problem.value > 2
