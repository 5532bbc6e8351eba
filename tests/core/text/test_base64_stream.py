from __future__ import annotations

import base64
import gzip
import random
import string

import pytest

from mspt.core.text.containers.base64_stream import decode_base64
from mspt.core.text.containers.sniff import HEAD_BYTES, sniff
from mspt.core.text.containers.streams import ByteStream
from support.packing import zipped

TEXT = "春天来了，花园里的花都开了。孩子们在草地上跑来跑去，大家都很高兴。\n" * 30
PAGE = "<!DOCTYPE html><html><body>" + TEXT + "</body></html>"


def lines(data: bytes, width: int = 76, end: bytes = b"\n") -> bytes:
    coded = base64.b64encode(data)
    return b"".join(coded[i : i + width] + end for i in range(0, len(coded), width))


def kind(data: bytes) -> str:
    return sniff(data[:HEAD_BYTES]).name


WHAT = {
    "text": TEXT.encode(), "html": PAGE.encode(), "gzip": gzip.compress(TEXT.encode() * 50), "zip": zipped({"a.txt": TEXT.encode() * 9}),
    "pdf": b"%PDF-1.7\n" + bytes(range(256)) * 4, "jsonl": b'{"text": "x"}\n' * 50, "twice": base64.b64encode(TEXT.encode()),
    "large": TEXT.encode() * 30, "padded": TEXT.encode() + b"x", "utf-16": PAGE.encode("utf-16"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHAT)
@pytest.mark.parametrize(
    "form", ["{0}", "{1}", "data:text/html;charset=utf-8;base64,{0}", "-----BEGIN STUFF-----\nVersion: 1\n\n{1}-----END STUFF-----\n", "\n {1}\n"]
)
def test_a_block_of_something_known_is_decoded(name, form):
    data = form.format(base64.b64encode(WHAT[name]).decode(), lines(WHAT[name], 64).decode()).encode()
    assert (kind(data), sniff(data[:HEAD_BYTES]).role) == ("base64", "stream")
    for size in (7, 1000, 10**6):
        stream = ByteStream(decode_base64(ByteStream([data[i : i + size] for i in range(0, len(data), size)])))
        assert b"".join(stream.chunks()) == WHAT[name]
        assert stream.fault is None


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends(end):
    data = lines(TEXT.encode(), end=end)
    assert kind(data) == "base64"
    assert b"".join(decode_base64(ByteStream([data]))) == TEXT.encode()


def test_without_padding():
    data = base64.b64encode(TEXT.encode() + b"x").rstrip(b"=")
    assert kind(data) == "base64"
    assert b"".join(decode_base64(ByteStream([data]))) == TEXT.encode() + b"x"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"short",
        TEXT.encode(),
        base64.b64encode(b"too short to be sure"),
        b"0123456789abcdef" * 100,
        b"0123456789ABCDEF0123456789abcdef" * 100,
        b"A" * 5000,
        b"Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 10,
        b"ThisIsALongIdentifier1/" * 100,
        base64.b64encode(random.Random(4).randbytes(5000)),
        lines(random.Random(5).randbytes(5000)),
        b"word " * 500,
        b"AbcdEfgh1234/+" * 5 + b" and words after it\n" + lines(TEXT.encode()),
        lines(TEXT.encode()) + b"\nText that follows a block.\n",
        lines(TEXT.encode()) + b"\n" + lines(TEXT.encode())[:50] + b"\n" + lines(TEXT.encode(), 60),
    ],
)
def test_what_only_looks_like_base64(data):
    assert kind(data) != "base64"


def test_words_of_any_letters_are_no_base64():
    rng = random.Random(6)
    for _ in range(500):
        word = "".join(rng.choices(string.ascii_letters + string.digits + "+/", k=rng.randrange(200, 400)))
        assert kind(word.encode()) == "text"


def test_what_follows_a_block_is_a_fault():
    stream = ByteStream(decode_base64(ByteStream([lines(TEXT.encode() * 100), b"!!! no more of it"])))
    assert b"".join(stream.chunks()) == TEXT.encode() * 100
    assert stream.fault is not None
    assert stream.fault.rule == "corrupt"
