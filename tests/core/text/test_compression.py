from __future__ import annotations

import gzip
import random

import pytest
import zstandard

from mspt.core.text.containers.compression import CODECS, GRACE_BYTES, Expansion, Limits, decompress
from mspt.core.text.containers.streams import ByteStream
from support.packing import COMPRESSORS, damaged

TEXT = "".join(random.Random(1).choices("abcdefghij 的一是不了在人有我他\n", k=60_000)).encode()


def unpack(packed: bytes, name: str, ratio: float = 200.0) -> ByteStream:
    source = ByteStream([packed[i : i + 1000] for i in range(0, len(packed), 1000)])
    return ByteStream(decompress(source, CODECS[name], Expansion(len(packed), Limits(max_expansion=ratio))), under=source)


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("tail", [b"", b"\0" * 512], ids=["", "padded"])
def test_every_member_is_read_and_padding_ignored(name, tail):
    half = len(TEXT) // 2
    stream = unpack(COMPRESSORS[name](TEXT[:half]) + COMPRESSORS[name](TEXT[half:]) + tail, name)
    assert b"".join(stream.chunks()) == TEXT
    assert stream.fault is None


@pytest.mark.parametrize("name", CODECS)
def test_of_a_cut_stream_the_beginning_is_kept(name):
    packed = COMPRESSORS[name](TEXT)
    stream = unpack(packed + packed[: len(packed) - 100], name)
    got = b"".join(stream.chunks())
    assert got.startswith(TEXT)  # the whole first member
    assert (TEXT + TEXT).startswith(got)
    assert stream.fault.rule == "truncated"


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])  # zstd writes no checksum by default
def test_damage_is_found_and_what_stands_before_is_kept(name):
    packed = COMPRESSORS[name](TEXT)
    stream = unpack(packed + damaged(packed, len(packed) // 2), name)
    assert b"".join(stream.chunks()).startswith(TEXT)
    assert stream.fault.rule == "corrupt"


@pytest.mark.parametrize("name", CODECS)
def test_something_else_behind_a_member_is_reported(name):
    stream = unpack(COMPRESSORS[name](TEXT) + b"not compressed", name)
    assert b"".join(stream.chunks()) == TEXT
    assert stream.fault.rule == "corrupt"
    assert "followed by something else" in stream.fault.detail


def test_skippable_frames_of_zstd_are_skipped():
    frame = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    stream = unpack(frame + zstandard.ZstdCompressor().compress(TEXT), "zstd")
    assert b"".join(stream.chunks()) == TEXT
    assert stream.fault is None


@pytest.mark.parametrize("name", CODECS)
def test_a_bomb_is_stopped_at_the_ratio(name):
    packed = COMPRESSORS[name](bytes(40_000_000))
    stream = unpack(packed, name, ratio=50)
    size = sum(map(len, stream.chunks()))
    assert stream.fault.rule == "expansion"
    assert stream.fault.threshold == 50
    assert size <= 50 * len(packed) + GRACE_BYTES
    assert size > GRACE_BYTES / 4 or name == "zstd"  # 2 KiB of which hold the whole bomb


def test_with_a_wrong_checksum_the_content_is_kept():
    """Of a small gzip the checksum comes with all of the content in one piece."""
    packed = gzip.compress(TEXT[:500])
    stream = unpack(damaged(packed, len(packed) - 6), "gzip")
    assert b"".join(stream.chunks()) == TEXT[:500]
    assert stream.fault.rule == "corrupt"


@pytest.mark.parametrize("name", ["gzip", "xz"])
def test_of_a_small_damaged_stream_most_of_the_beginning_is_kept(name):
    text = random.Random(4).randbytes(2000).hex().encode()
    packed = COMPRESSORS[name](text)
    stream = unpack(damaged(packed, 3 * len(packed) // 4), name)
    got = b"".join(stream.chunks())
    assert stream.fault.rule == "corrupt"
    assert text[: len(text) // 2] == got[: len(text) // 2]


def test_a_window_larger_than_a_worker_may_take_is_unsupported():
    frame = b"\x28\xb5\x2f\xfd\x00\xa8" + (4 << 3 | 1).to_bytes(3, "little") + b"text"  # 2 GiB, RFC 8878
    stream = unpack(frame, "zstd")
    assert b"".join(stream.chunks()) == b""
    assert stream.fault.rule == "unsupported"


def test_a_stream_of_tiny_members_is_one_text():
    text = TEXT[:3000]
    stream = unpack(b"".join(gzip.compress(bytes([byte]), 1) for byte in text), "gzip")
    assert stream.peek(2000) == text[:2000]
    assert b"".join(stream.chunks()) == text


def test_bombs_inside_one_file_share_one_limit():
    """Each alone stays within the grace; together they do not (42.zip has 16 of them on each of 5 levels)."""
    packed = gzip.compress(bytes(10_000_000))
    expansion = Expansion(len(packed), Limits(max_expansion=100))
    faults = []
    for _ in range(3):
        stream = ByteStream(decompress(ByteStream([packed]), CODECS["gzip"], expansion))
        stream.drain()
        faults.append(stream.fault)
    assert faults[0] is None
    assert faults[2].rule == "expansion"
