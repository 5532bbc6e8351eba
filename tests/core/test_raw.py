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


def test_files_are_relative_and_sorted(tree):
    files = list_files([RawPath("deep"), RawPath("a")], tree)
    assert [(f.source, f.path) for f in files] == [("a", "news/x.txt"), ("deep", "er/z.txt")]


@pytest.fixture
def odd(tmp_path):
    """A folder with one file and much that is none."""
    folder = tmp_path / "odd"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner/file").write_text("text")
    (folder / "link").symlink_to("inner/file")
    (folder / "away").symlink_to("/etc/hostname")
    (folder / "gone").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    (folder / "folder").symlink_to("inner")
    (folder / "up").symlink_to("..")
    os.symlink(b"\xff\n", folder / "raw")
    os.mkfifo(folder / "pipe")
    return folder


def test_what_is_no_file_is_listed_with_the_reason_and_not_followed(odd):
    files = {f.path: f for f in list_files([RawPath("odd")], odd.parent)}
    assert {path: (f.problem, f.detail) for path, f in files.items()} == {
        "inner/file": ("", ""),
        "link": ("not-a-file", "symbolic link to inner/file"),
        "away": ("not-a-file", "symbolic link to /etc/hostname"),
        "gone": ("not-a-file", "symbolic link to nowhere"),
        "loop": ("not-a-file", "symbolic link to loop"),
        "folder": ("not-a-file", "symbolic link to inner"),
        "up": ("not-a-file", "symbolic link to .."),
        "raw": ("not-a-file", "symbolic link to \\\\xff\\n"),
        "pipe": ("not-a-file", "pipe"),
    }
    assert {f.bytes for f in files.values() if f.problem} == {0}


def test_what_is_no_file_is_told_apart_by_what_is_said_of_it(odd):
    """A link that leads elsewhere today is a changed input; nothing is opened to know it (a pipe would wait for ever)."""
    before = {f.path: rehash(f).sha256 for f in list_files([RawPath("odd")], odd.parent)}
    (odd / "link").unlink()
    (odd / "link").symlink_to("elsewhere")
    after = {f.path: rehash(f).sha256 for f in list_files([RawPath("odd")], odd.parent)}
    assert {path for path in before if before[path] != after[path]} == {"link"}
    assert all(before.values())


def test_links_to_files_are_followed_where_that_is_wanted(odd):
    files = list_files([RawPath("odd")], odd.parent, follow_links=True)
    assert [(f.path, f.problem) for f in files] == [("away", ""), ("inner/file", ""), ("link", "")]
    assert files[2].bytes == 4


def test_a_path_that_is_a_link_itself_is_followed(odd):
    assert [f.path for f in list_files([RawPath("odd/folder")], odd.parent)] == ["file"]
    assert [(f.path, f.problem) for f in list_files([RawPath("odd/link")], odd.parent)] == [("link", "")]


def test_a_path_that_is_a_pipe_is_a_mistake(odd):
    with pytest.raises(MsptError, match="neither a file nor a directory"):
        list_files([RawPath("odd/pipe")], odd.parent)


def test_what_may_not_be_read_is_listed(tree, monkeypatch):
    """Root may read everything, so the system's answers are replaced."""
    allowed, scandir = os.access, os.scandir

    def listed(path):
        if str(path).endswith("news"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("z.txt") and allowed(path, mode))
    monkeypatch.setattr(os, "scandir", listed)
    files = list_files([RawPath("a"), RawPath("deep")], tree)
    assert [(f.path, f.problem, f.detail) for f in files] == [
        ("news", "unreadable", "folder: Permission denied"),
        ("er/z.txt", "unreadable", "file: it may not be read"),
    ]


def test_a_tree_deeper_than_the_system_can_name_is_listed_as_far_as_it_goes(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(50):
        os.mkdir("d" * 100, dir_fd=here)
        inner = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    (file,) = list_files([RawPath(".", "s")], tmp_path)
    assert (file.problem, file.detail) == ("unreadable", "folder: File name too long")


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["nowhere"], "no such file or directory"),
        (["*.nothing"], "no file matches"),
        ([""], "an empty path: nothing to read"),
        (["a", ""], "an empty path: nothing to read"),
        (["~nobody-of-this-name/x"], "home directory"),
        (["x" * 5000], "x: File name too long"),
    ],
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


def make(folder: Path, *names: bytes) -> None:
    for name in names:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")


def test_names_in_a_legacy_encoding_are_repaired_together(tmp_path):
    """Each alone could be Big5 too."""
    make(tmp_path, *(name.encode("gbk") for name in ("会议纪要.txt", "年度报告.txt", "合同")), "计划".encode())
    files = list_files([RawPath(".", "s")], tmp_path)
    assert {f.path for f in files} == {"会议纪要.txt", "年度报告.txt", "合同", "计划"}
    assert all(Path(f.location).read_text() == "x" for f in files)


def test_names_that_say_nothing_keep_their_bytes_as_escapes(tmp_path):
    make(tmp_path, b"\xff\xfe.txt")
    assert [f.path for f in list_files([RawPath(".", "s")], tmp_path)] == ["\\xff\\xfe.txt"]


def test_repaired_names_stay_apart(tmp_path):
    """The same name in two encodings, then a name that spells the escapes of one (CD AC is valid UTF-8)."""
    spelt = "\\xba\\xcf\u036c"
    make(tmp_path, "合同".encode(), "合同".encode("gbk"), "报告".encode("gbk"), spelt.encode())
    paths = [f.path for f in list_files([RawPath(".", "s")], tmp_path)]
    assert len(set(paths)) == 4
    assert {"合同", "报告", spelt} < set(paths)
    assert any(path.startswith(f"{spelt}~") for path in paths)


def test_a_name_of_two_lines_is_a_path_of_one(tmp_path):
    make(tmp_path, b"a\nb")
    assert [f.path for f in list_files([RawPath(".", "s")], tmp_path)] == ["a\\x0ab"]


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
