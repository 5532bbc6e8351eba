"""A text file whose whole body is one block of base64 (bare, PEM or a data: URI): told by what it decodes to, decoded as a stream."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from mspt.core.text.containers.streams import CHUNK, Broken, ByteStream, Fault

MIN_CHARACTERS = 200
MIN_LINE = 32  # of the first line, unless nothing else stands on it
MAX_PREFIX_BYTES = 4 * 1024  # before the block: PEM's first line and headers, or what names the type of a data: URI
PREFIX = re.compile(
    rb"\s{0,100}(?:data:[\w.+-]{0,60}/?[\w.+-]{0,100}(?:;[\w.+-]{1,60}=[^;,\s]{1,100}){0,5};base64,"
    rb"|-----BEGIN [^\r\n-]{1,80}-----\r?\n(?:[\w-]{1,60}: [^\r\n]{0,200}\r?\n){0,20})?\s{0,100}"
)
LINE = re.compile(rb"[A-Za-z0-9+/]+")
SUFFIX = re.compile(rb"={0,2}\s{0,100}(?:-----END [^\r\n-]{1,80}-----\s{0,100})?\Z")
BLANKS = b" \t\r\n"


def block_of(head: bytes, is_whole: bool) -> bytes | None:
    """What the base64 that `head` begins with (is_whole: and ends with) stands for, as far as it goes; None where it is none.

    Any text decodes to something: what it is decides whether it was base64.
    """
    start = PREFIX.match(head)
    assert start is not None
    first = LINE.match(head, start.end())
    if first is None or (first.end() - first.start() < MIN_LINE and not head.startswith((b"\r", b"\n"), first.end())):
        return None  # nearly all text, at once
    body = head[start.end() :]
    if is_whole:
        end = SUFFIX.search(body, max(0, len(body) - 300))
        body = body[: end.start()] if end else body
    lines = body.split()
    if sum(map(len, lines)) < MIN_CHARACTERS or not all(map(LINE.fullmatch, lines)) or not _is_even(lines):
        return None
    characters = b"".join(lines)
    if not all(re.search(kind, characters) for kind in (rb"[A-Z]", rb"[a-z]", rb"[0-9]")):  # hexadecimal digits, one long word
        return None
    return binascii.a2b_base64(characters[: len(characters) // 4 * 4])


def _is_even(lines: list[bytes]) -> bool:
    """Whether all lines are of one length, but for the last."""
    return len({len(line) for line in lines[:-1]}) <= 1 and (len(lines) < 2 or len(lines[-1]) <= len(lines[0]))


def decode_base64(source: ByteStream) -> Iterator[bytes]:
    """The bytes that a block of base64 stands for. Raises Broken where something else follows."""
    prefix = PREFIX.match(source.peek(MAX_PREFIX_BYTES))
    source.read(prefix.end() if prefix else 0)
    rest = b""
    for chunk in source.chunks():
        data = rest + chunk.translate(None, BLANKS)
        good = LINE.match(data)
        size = good.end() if good else 0
        if size < len(data):
            yield _decoded(data[:size])
            _check_end(data[size:] + source.peek(CHUNK).translate(None, BLANKS))
            return
        rest = data[size // 4 * 4 :]
        yield binascii.a2b_base64(data[: size // 4 * 4])
    yield _decoded(rest)


def _decoded(characters: bytes) -> bytes:
    """The last bytes of a block, whose padding may be missing."""
    if len(characters) % 4 == 1:
        characters = characters[:-1]
    return binascii.a2b_base64(characters + b"=" * (-len(characters) % 4))


def _check_end(rest: bytes) -> None:
    if not re.match(rb"={0,2}(?:-----END[^-]{1,80}-----)?\Z", rest):
        raise Broken(Fault("corrupt", "a block of base64 is followed by something else"))
