from __future__ import annotations

import gzip
import random
import zlib

import brotli
import pytest
import zstandard

from mspt.core.text.readers.http_body import undo_codings

BODY = "".join(f"<p>春天来了 {number}</p>\n" for number in range(5000)).encode()


def chunked(data: bytes, size: int = 1000, extension: bytes = b"") -> bytes:
    parts = [b"%x%b\r\n%b\r\n" % (len(data[i : i + size]), extension, data[i : i + size]) for i in range(0, len(data), size)]
    return b"".join(parts) + b"0\r\nTrailer: x\r\n\r\n"


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("coded", "transfer", "content"),
    [
        (BODY, "", ""),
        (BODY, "identity", "none"),
        (gzip.compress(BODY), "", "gzip"),
        (gzip.compress(BODY[:1000]) + gzip.compress(BODY[1000:]), "", "x-gzip"),
        (zlib.compress(BODY), "", "deflate"),
        (bare_deflate(BODY), "", "Deflate"),
        (brotli.compress(BODY), "", "br"),
        (zstandard.compress(BODY), "", "zstd"),
        (chunked(BODY), "chunked", ""),
        (chunked(BODY, extension=b";a=b"), "Chunked", ""),
        (chunked(gzip.compress(BODY)), "chunked", "gzip"),
        (chunked(gzip.compress(BODY)), "gzip, chunked", ""),
        (gzip.compress(gzip.compress(BODY)), "", "gzip, gzip"),
        (BODY, "chunked", "gzip"),  # decoded by the crawler, which kept the headers
        (BODY, "", "br"),
        (BODY, "", "deflate"),
        (BODY, "", "zstd"),
        (gzip.compress(BODY), "chunked", "gzip"),
    ],
)
def test_codings_are_undone_as_far_as_they_are_there(coded, transfer, content):
    assert undo_codings(coded, transfer, content, 10**7)[0] == BODY


@pytest.mark.parametrize(
    ("coded", "transfer", "content"),
    [
        (gzip.compress(BODY)[:-500], "", "gzip"),
        (zlib.compress(BODY)[:-500], "", "deflate"),
        (brotli.compress(BODY, quality=1)[:-300], "", "br"),
        (zstandard.compress(BODY * 20)[:-100], "", "zstd"),
        (chunked(BODY)[:-5000], "chunked", ""),
    ],
)
def test_of_a_body_that_breaks_off_the_beginning_is_read(coded, transfer, content):
    body, fault = undo_codings(coded, transfer, content, 10**7)
    assert body == (BODY * 20)[: len(body)]
    assert 1000 < len(body) < len(BODY * 20)
    assert fault.startswith(transfer or content)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_unpacked_no_further_than_allowed(name):
    bomb = {"gzip": gzip.compress, "deflate": zlib.compress, "br": lambda data: brotli.compress(data, quality=1), "zstd": zstandard.compress}[name](
        bytes(10**7)
    )
    assert undo_codings(bomb, "", name, 10**6)[0] == bytes(10**6 + 1)


def test_any_bytes_under_any_header_give_bytes():
    rng = random.Random(2)
    for content in ("gzip", "deflate", "br", "zstd", "chunked", "a, b,,c" * 50):
        for size in (0, 1, 10, 1000):
            data = rng.randbytes(size)
            assert isinstance(undo_codings(data, content, content, 1000)[0], bytes)
