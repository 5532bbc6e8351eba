"""Raw inputs: names of sources, what PATHs mean, and cuts that depend on content alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.errors import InputError, MsptError
from mspt.core.raw import UNIT_BYTES, RawFile, RawPath, cut_units, list_files, name_sources, read_inputs, rehash, write_inputs


def sources(base: Path, *paths: str) -> list[str]:
    return [name for name, _ in name_sources([RawPath(p) for p in paths], base)]


@pytest.fixture
def tree(tmp_path):
    for name in ("a/news/x.txt", "b/news/y.txt", "web pages/p.html", "novels.jsonl.gz", "deep/er/z.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_source_is_the_base_name_slugged(tree):
    assert sources(tree, "web pages", "novels.jsonl.gz", "deep") == ["web-pages", "novels", "deep"]


def test_equal_base_names_take_the_shortest_distinguishing_parents(tree):
    assert sources(tree, "a/news", "b/news", "deep") == ["a-news", "b-news", "deep"]


def test_a_pattern_is_named_by_its_folder(tree):
    assert sources(tree, "deep/er/*.txt") == ["er"]


def test_given_names_win_and_may_repeat(tree):
    files = list_files([RawPath.parse_source("n=a/news"), RawPath.parse_source("n=b/news")], tree)
    assert [(f.source, f.path) for f in files] == [("n", "x.txt"), ("n", "y.txt")]


def test_files_are_relative_sorted_and_links_to_folders_are_not_followed(tree):
    os.symlink(tree / "a", tree / "deep" / "link")
    files = list_files([RawPath("deep"), RawPath("a")], tree)
    assert [(f.source, f.path) for f in files] == [("a", "news/x.txt"), ("deep", "er/z.txt")]


@pytest.mark.parametrize(
    ("paths", "words"),
    [(["nowhere"], "no such file or directory"), (["*.nothing"], "no file matches")],
)
def test_missing_paths_are_named(tree, paths, words):
    with pytest.raises(MsptError, match=words):
        list_files([RawPath(p) for p in paths], tree)


def test_two_files_of_one_name_in_one_source_are_refused(tree):
    (tree / "b/news/x.txt").write_text("another")
    with pytest.raises(MsptError, match=r"source `n` has two files x\.txt"):
        list_files([RawPath("a/news", "n"), RawPath("b/news", "n")], tree)


def test_empty_folder_is_unusable_input(tmp_path):
    with pytest.raises(InputError):
        list_files([RawPath(".")], tmp_path)


@pytest.mark.parametrize("text", ["novels", "=x", "x=", "a b=x"])
def test_bad_source_flags(text):
    with pytest.raises(MsptError, match="--source"):
        RawPath.parse_source(text)


def test_a_name_that_is_no_utf8_keeps_a_readable_path(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xb9\xfe.txt")).write_text("x")
    assert [f.path for f in list_files([RawPath(".", "s")], tmp_path)] == ["\\xb9\\xfe.txt"]


def files_of(sizes: list[int]) -> list[RawFile]:
    return [RawFile("s", f"{i:05d}", "", size, 0) for i, size in enumerate(sizes)]


@given(st.lists(st.integers(0, UNIT_BYTES * 2), min_size=1, max_size=400), st.data())
def test_a_removed_file_changes_only_the_units_around_it(sizes, data):
    files = files_of(sizes)
    units = cut_units(files)
    assert [f for unit in units for f in unit] == files
    gone = data.draw(st.integers(0, len(files) - 1))
    rest = cut_units(files[:gone] + files[gone + 1 :])
    before = [u for u in units if u[-1].path < files[gone].path]
    assert rest[: len(before)] == before
    # From the next hash boundary on, the cuts are the same again.
    closing = [f for f in files[gone + 1 :] if cut_units([f, RawFile("s", "zzz", "", 1, 0)])[0] == [f] and f.bytes < UNIT_BYTES]
    if closing:
        after = [u for u in units if u[0].path > closing[0].path]
        assert [u for u in rest if u[0].path > closing[0].path] == after


def test_units_never_mix_sources_and_close_when_large():
    files = [RawFile("a", "1", "", 1, 0), RawFile("b", "1", "", UNIT_BYTES, 0), RawFile("b", "2", "", 1, 0)]
    assert [[(f.source, f.path) for f in unit] for unit in cut_units(files)] == [[("a", "1")], [("b", "1")], [("b", "2")]]


def test_inputs_file_round_trip(tree, tmp_path):
    files = [rehash(f) for f in list_files([RawPath("a")], tree)]
    write_inputs(tmp_path / "inputs.parquet", files)
    (found,) = read_inputs(tmp_path / "inputs.parquet").values()
    assert (found.source, found.path, found.bytes, found.sha256) == ("a", "news/x.txt", 12, files[0].sha256)
