"""Text that was coded as a whole: quoted-printable (RFC 2045, 6.7), and sequences of JSON texts between record separators (RFC 7464). Decoded as streams."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from mspt.core.text.containers.streams import ByteStream

ESCAPE = re.compile(rb"=(?:[0-9A-F]{2}|[ \t]*\r?\n)")
HIGH_ESCAPE = re.compile(rb"=[89A-F][0-9A-F]")
SOFT_BREAK = re.compile(rb"=[ \t]*\r?\n")
MAX_LINE_BYTES = 80  # RFC 2045 has 76
MIN_ESCAPES, MIN_SOFT_BREAKS = 10, 2
MIN_WHOLE = 0.9  # of the equals signs are escapes: those of a program are not
SEPARATOR, LINE_END = b"\x1e", b"\n"
SEQUENCE = re.compile(rb"\x1e\s{0,20}[{\[]")


def is_quoted_printable(head: bytes) -> bool:
    """Whether text is all quoted-printable: short lines of ASCII, of which some end in the sign that they go on, and hardly an equals sign but of
    escapes."""
    if b"=" not in head or not head.isascii():
        return False
    lines = head.split(b"\n")[:-1] or [head]
    if max(map(len, lines)) > MAX_LINE_BYTES or len(SOFT_BREAK.findall(head)) < MIN_SOFT_BREAKS:
        return False
    return len(HIGH_ESCAPE.findall(head)) >= MIN_ESCAPES and len(ESCAPE.findall(head)) >= MIN_WHOLE * head.count(b"=")


def decode_quoted_printable(source: ByteStream) -> Iterator[bytes]:
    """What the text was before it was coded."""
    rest = b""
    for chunk in source.chunks():
        lines, end, last = (rest + chunk).rpartition(b"\n")
        yield binascii.a2b_qp(lines + end)
        rest = last
    yield binascii.a2b_qp(rest)


def is_json_sequence(head: bytes) -> bool:
    """Whether bytes begin with a record separator and a JSON value."""
    return SEQUENCE.match(head) is not None


def without_separators(source: ByteStream) -> Iterator[bytes]:
    """The JSON texts, each on lines of its own."""
    before = LINE_END
    for chunk in source.chunks():
        data = before + chunk
        yield data.replace(LINE_END + SEPARATOR, LINE_END).replace(SEPARATOR, LINE_END)[1:]
        before = chunk[-1:]
