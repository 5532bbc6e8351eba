from __future__ import annotations

import hashlib
import io
import os

import pytest

from mspt.core.errors import MachineError
from mspt.core.text.containers.streams import CHUNK, SLACK_BYTES, ByteStream, Fault, HashedFile, open_raw


def pattern(size: int) -> bytes:
    return b"".join(i.to_bytes(4, "big") for i in range(size // 4))


def test_the_hash_covers_the_file_however_little_was_read(tmp_path):
    data = pattern(3 * CHUNK)
    (tmp_path / "f").write_bytes(data)
    stream = open_raw(tmp_path / "f")
    assert stream.read(10) == data[:10]
    assert stream.origin.sha256() == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("gap", [100, SLACK_BYTES + 4])
def test_the_hash_is_right_when_reading_jumps_like_a_zip_reader(tmp_path, gap):
    data = pattern(4 * SLACK_BYTES)
    (tmp_path / "f").write_bytes(data)
    with HashedFile(tmp_path / "f") as file:
        file.seek(-22, io.SEEK_END)
        assert file.read(22) == data[-22:]
        file.seek(0)
        assert file.read(1000) == data[:1000]
        file.seek(gap, io.SEEK_CUR)
        assert file.read(50) == data[1000 + gap : 1050 + gap]
        assert file.sha256() == hashlib.sha256(data).hexdigest()


def test_a_file_that_shrinks_while_it_is_read_is_an_error_and_no_data(tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 1000)
    with HashedFile(tmp_path / "f") as file:
        (tmp_path / "f").write_bytes(b"x" * 10)
        with pytest.raises(MachineError, match="shorter"):
            file.sha256()


def test_a_file_that_cannot_be_opened_names_itself(tmp_path):
    with pytest.raises(MachineError, match="missing"):
        open_raw(tmp_path / "missing")


def test_peek_takes_nothing_and_read_goes_across_chunks():
    stream = ByteStream([b"ab", b"", b"cde", b"f"])
    assert stream.peek(4) == b"abcd"
    assert stream.position == 0
    assert stream.read(3) == b"abc"
    stream.push_back(b"bc")
    assert (stream.position, stream.read(10), stream.position) == (1, b"bcdef", 6)
    assert stream.read(1) == b""


def test_what_is_given_back_is_read_again_wherever_it_was_read():
    stream = ByteStream([b"abc", b"def"])
    assert stream.take() == b"abc"
    stream.push_back(b"c")  # its buffer is gone
    stream.push_back(b"")
    assert stream.read(2) == b"cd"
    stream.push_back(b"cd")
    stream.push_back(b"b")
    assert (stream.position, b"".join(stream.chunks())) == (1, b"bcdef")


def test_nothing_is_read_at_a_place_that_the_system_cannot_seek_to(tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 100)
    with HashedFile(tmp_path / "f") as file:
        file.seek(2**64)
        assert file.read(10) == b""


def test_a_pipe_in_the_place_of_a_file_does_not_wait(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MachineError, match="pipe"):
        open_raw(tmp_path / "pipe")


def failing(error: Exception):
    yield b"before"
    raise error


def test_an_error_of_the_data_ends_the_stream_and_keeps_what_came_before():
    stream = ByteStream(failing(EOFError("cut")))
    assert b"".join(stream.chunks()) == b"before"
    assert stream.fault == Fault("truncated", "EOFError: cut")


def test_an_error_of_the_machine_is_not_taken_for_bad_data():
    with pytest.raises(MachineError):
        ByteStream(failing(MachineError("disk", ""))).drain()


def test_an_early_end_is_known_to_come_from_below():
    below = ByteStream(failing(EOFError()))
    above = ByteStream(ByteStream(below.chunks(), under=below).chunks(), under=below)
    assert not above.is_cut_below
    above.drain()
    assert above.is_cut_below


def test_a_file_without_a_size_names_itself(tmp_path):
    """/proc/self/mem looks like a file and refuses to say where it ends."""
    (tmp_path / "link").symlink_to("/proc/self/mem")
    with pytest.raises(MachineError, match="link: Invalid argument"):
        open_raw(tmp_path / "link")
