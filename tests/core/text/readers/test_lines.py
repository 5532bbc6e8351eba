from __future__ import annotations

import random

import pytest

from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.readers.lines import Lines


def chunks_of(data: bytes, rng: random.Random) -> list[bytes]:
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(4))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def test_lines_are_those_of_split_wherever_chunks_end():
    rng = random.Random(5)
    for _ in range(200):
        data = bytes(rng.choices(b"ab\n", weights=(4, 4, 3), k=rng.randrange(40)))
        expected = data.split(b"\n")
        found = list(Lines(ByteStream(chunks_of(data, rng)), 100))
        assert [line for _, line, _ in found] == (expected if expected[-1] else expected[:-1])
        assert all(data[at : at + length] == line for at, line, length in found)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_line_feed_of_two_or_four_bytes_is_not_seen_across_characters(codec):
    text = "ਊĊ\n਀਀ਊ\nsecond\n" * 3  # U+0A0A, U+010A, U+0A00: bytes 0A and 00 in all places
    rng = random.Random(7)
    mark = "\ufeff".encode(codec)
    for _ in range(50):
        data = mark + text.encode(codec)
        found = list(Lines(ByteStream(chunks_of(data, rng)), 100))
        assert [line.decode(codec) for _, line, _ in found] == text.split("\n")[:-1]
        assert all(data[at : at + length] == line for at, line, length in found)


@pytest.mark.parametrize(("data", "newline"), [(b"a\rb\r", b"\r"), (b"a\r\nb\rc\r\n", b"\n"), (b"no end", b"\n"), ("a\rb\r".encode("utf-16"), b"\r\0")])
def test_carriage_returns_end_lines_where_there_are_no_line_feeds(data, newline):
    assert Lines(ByteStream([data]), 100).newline == newline


def test_the_encoding_is_that_of_whole_lines():
    text = "春天来了，花园里的花都开了。\n" * 40
    data = text.encode("gb18030")
    assert Lines(ByteStream([data + data[:1]]), 100).encoding == "gb18030"
    assert Lines(ByteStream([text.encode("utf-16")]), 100).encoding == "utf-16-le"
    assert Lines(ByteStream([b"plain\n"]), 100).encoding == "utf-8"


def test_of_a_line_that_is_too_long_only_the_beginning_is_kept():
    long = b"x" * 5000
    assert list(Lines(ByteStream([b"a\n", long, b"\nb"]), 4000)) == [(0, b"a", 1), (2, long[:2048], 5000), (5003, b"b", 1)]
