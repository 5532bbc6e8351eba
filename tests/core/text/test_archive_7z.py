"""7z: every method that py7zr writes, and what is kept of archives that are cut, damaged or lie about themselves (more in support/hostile.py)."""

from __future__ import annotations

import gzip
import io
import random

import py7zr
import pytest
from py7zr import compressor
from py7zr.properties import FILTER_DEFLATE64

from mspt.core.text.containers import seven_zip as archive_7z
from mspt.core.text.containers.streams import open_raw
from mspt.core.text.containers.walk import Limits, Problem, walk
from support.hostile_archives import seven_zip
from support.packing import damaged, tar, zipped

TEXTS = {f"d/{number}.txt": b"line %d of the text\n" % number * 400 for number in range(6)}
LEAVES = {f"raw!/{name}": text for name, text in TEXTS.items()}
METHODS = {
    "bcj+lzma2": [{"id": py7zr.FILTER_X86}, {"id": py7zr.FILTER_LZMA2, "preset": 1}],
    "bcj+lzma": [{"id": py7zr.FILTER_X86}, {"id": py7zr.FILTER_LZMA, "preset": 1}],
    "delta+lzma2": [{"id": py7zr.FILTER_DELTA}, {"id": py7zr.FILTER_LZMA2, "preset": 1}],
    "lzma": [{"id": py7zr.FILTER_LZMA, "preset": 1}],
    "bzip2": [{"id": py7zr.FILTER_BZIP2}],
    "deflate": [{"id": py7zr.FILTER_DEFLATE}],
    "deflate64": [{"id": FILTER_DEFLATE64}],
    "zstd": [{"id": py7zr.FILTER_ZSTD, "level": 3}],
    "brotli": [{"id": py7zr.FILTER_BROTLI, "level": 5}],
    "copy": [{"id": py7zr.FILTER_COPY}],
}


@pytest.mark.parametrize("method", METHODS)
def test_methods(opened, method):
    assert opened(seven_zip(TEXTS, METHODS[method])) == (LEAVES, [])


def test_nested_in_other_containers_and_others_in_it(opened):
    inner = zipped({"z.txt": TEXTS["d/0.txt"]})
    leaves, problems = opened(gzip.compress(tar({"a.7z": seven_zip({"b.zip": inner, "c": TEXTS["d/1.txt"]})})))
    assert leaves == {"raw!/a.7z!/b.zip!/z.txt": TEXTS["d/0.txt"], "raw!/a.7z!/c": TEXTS["d/1.txt"]}
    assert problems == []


def test_empty_members_are_leaves_and_folders_are_none(opened, tmp_path):
    (tmp_path / "tree/folder").mkdir(parents=True)
    (tmp_path / "tree/empty").touch()
    (tmp_path / "tree/folder/file").write_bytes(b"text\n")
    (tmp_path / "tree/link").symlink_to("folder/file")
    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w") as archive:
        archive.writeall(tmp_path / "tree", "t")
    for path in ("folder/file", "empty", "link"):
        (tmp_path / "tree" / path).unlink()
    (tmp_path / "tree/folder").rmdir()
    (tmp_path / "tree").rmdir()
    leaves, problems = opened(buffer.getvalue())
    assert leaves == {"raw!/t/empty": b"", "raw!/t/folder/file": b"text\n"}
    assert problems == [("raw!/t/link", "not-a-file")]


def two_folders() -> tuple[bytes, int]:
    """Two members that were packed apart, and where the second's bytes begin."""
    noise = {name: random.Random(name).randbytes(3000).hex().encode() for name in ("a", "b")}
    first = seven_zip({"a": noise["a"]}, METHODS["deflate"])
    buffer = io.BytesIO(first)
    with py7zr.SevenZipFile(buffer, "a", filters=METHODS["deflate"]) as archive:
        archive.writestr(noise["b"], "b")
        second = 32 + archive.header.main_streams.packinfo.packsizes[0]
    return buffer.getvalue(), second


def test_damage_costs_what_was_packed_with_it(opened):
    data, second = two_folders()
    whole, problems = opened(data)
    assert problems == []
    leaves, problems = opened(damaged(data, second // 2))
    assert problems == [("raw!/a", "corrupt")]
    assert leaves["raw!/b"] == whole["raw!/b"]
    assert whole["raw!/a"].startswith(leaves["raw!/a"][:100])
    leaves, problems = opened(damaged(data, second + 1000))
    assert problems == [("raw!/b", "corrupt")]
    assert leaves["raw!/a"] == whole["raw!/a"]


def test_behind_damage_in_one_block_every_member_has_a_row(opened):
    noise = {f"{number}": random.Random(number).randbytes(20_000).hex().encode() for number in range(5)}
    data = seven_zip(noise, METHODS["lzma"])
    leaves, problems = opened(damaged(data, 32 + 45_000))
    sound = [name for name, text in noise.items() if leaves.get(f"raw!/{name}") == text]
    assert sound == ["0", "1", "2"][: len(sound)]
    assert problems == [(f"raw!/{name}", "corrupt") for name in noise if name not in sound]


def test_a_bomb_is_stopped_and_all_behind_it_has_a_row(opened):
    leaves, problems = opened(seven_zip({"a": TEXTS["d/0.txt"], "bomb": bytes(40_000_000), "z": TEXTS["d/1.txt"]}), Limits(max_expansion=50))
    assert leaves["raw!/a"] == TEXTS["d/0.txt"]
    assert len(leaves["raw!/bomb"]) < 35_000_000  # the grace, and one piece
    assert problems == [("raw!/bomb", "expansion"), ("raw!/z", "expansion")]


def test_encrypted_members_and_encrypted_names(opened):
    assert opened(seven_zip({"a": b"x" * 99, "b": b"y" * 99}, password="p")) == ({}, [("raw!/a", "encrypted"), ("raw!/b", "encrypted")])
    assert opened(seven_zip({"a": b"x" * 99}, password="p", header_encryption=True)) == ({}, [("raw", "encrypted")])


def test_without_its_directory_nothing_can_be_read(opened):
    data = seven_zip(TEXTS)
    assert opened(data[:-1]) == ({}, [("raw", "truncated")])
    assert opened(data[:20]) == ({}, [("raw", "corrupt")])
    assert opened(damaged(data, len(data) - 1)) == ({}, [("raw", "corrupt")])


@pytest.mark.parametrize("limit", ["MAX_MEMBERS", "MAX_FOLDERS", "MAX_CODERS", "MAX_CODER_STREAMS", "MAX_DIRECTORY_BYTES"])
def test_a_directory_that_would_take_too_much_memory_is_refused(opened, monkeypatch, limit):
    monkeypatch.setattr(archive_7z, limit, 0)
    assert opened(seven_zip(TEXTS)) == ({}, [("raw", "unsupported")])


def test_names_that_are_no_names_are_only_names(opened):
    names = ["../../up", "/abs", "same", "same", "line\nend", "长" * 3000]
    data = seven_zip({f"{number}": b"text %d\n" % number for number in range(6)})
    buffer = io.BytesIO()
    with py7zr.SevenZipFile(buffer, "w", filters=METHODS["copy"]) as archive:
        for number in range(6):
            archive.writestr(b"text %d\n" % number, f"{number}")
        for info, name in zip(archive.header.files_info.files, names, strict=True):
            info["filename"] = name
    assert opened(data)[1] == []
    assert [ref.removeprefix("raw!/") for ref in opened(buffer.getvalue())[0]] == ["../../up", "/abs", "same", "same~4", "line\\x0aend", "长" * 1000]


def test_ppmd_is_refused_with_its_name(tmp_path, monkeypatch):
    """pyppmd ends the process on damaged input (14 of 40 archives with three wrong bytes), and whoever sends an archive may damage it."""
    monkeypatch.setitem(compressor.algorithm_class_map, py7zr.FILTER_PPMD, (compressor.PpmdCompressor, compressor.PpmdDecompressor))
    path = tmp_path / "p.7z"
    with py7zr.SevenZipFile(path, "w", filters=[{"id": py7zr.FILTER_PPMD, "order": 6, "mem": 24}]) as archive:
        archive.writestr(b"a line of plain text\n" * 500, "a.txt")
    (problem,) = walk(open_raw(path), "p.7z")
    assert isinstance(problem, Problem)
    assert (problem.ref, problem.rule) == ("p.7z!/a.txt", "unsupported")
    assert "PPMd" in problem.detail
    assert "LZMA2" in problem.detail
