"""The messages of a mailbox, one after another in one file (mbox, RFC 4155): each begins with a line `From sender date` behind a blank line, and lines of its
text that begin so have a ">" before them, which is taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mspt.core.text.containers.archives import Member
from mspt.core.text.containers.mime import MAX_MESSAGE_BYTES
from mspt.core.text.containers.streams import ByteStream, Fault

# The date, as asctime writes it, tells it from a sentence, the header line behind it from a quotation.
DAY, MONTH = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)", rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
POSTMARK = rb"From [^\r\n]{1,200}? %b %b [ \d]\d \d\d:\d\d[^\r\n]{0,60}\r?\n(?=>?[!-9;-~]{1,60}:)" % (DAY, MONTH)
FIRST, NEXT = re.compile(rb"\s{0,20}" + POSTMARK), re.compile(rb"\n\r?\n(" + POSTMARK + rb")")
MOST_BYTES = 400  # of what NEXT matches and looks at: it may be cut
QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def is_mbox(head: bytes) -> bool:
    """Whether bytes begin as a mailbox does."""
    return FIRST.match(head) is not None


def mbox_members(stream: ByteStream) -> Iterator[Member | Fault]:
    """The messages, named by their number, counted from 0."""
    for number, message in enumerate(_messages(stream)):
        yield Member(f"{number}", message if isinstance(message, Fault) else ByteStream([QUOTED.sub(rb"\1", message)], under=stream))


def _messages(stream: ByteStream) -> Iterator[bytes | Fault]:
    data, begin, dropped = bytearray(), 0, 0  # the message so far, where its end is looked for, and what of it was too much to hold
    for chunk in stream.chunks():
        data += chunk
        while found := NEXT.search(data, begin):
            yield _whole(data[: found.start(1)], dropped)
            del data[: found.start(1)]
            begin = dropped = 0
        if dropped or len(data) > MAX_MESSAGE_BYTES:
            surplus = max(0, len(data) - MOST_BYTES)
            dropped += surplus
            del data[:surplus]
        begin = max(0, len(data) - MOST_BYTES)
    if data:
        yield _whole(data, dropped)


def _whole(data: bytearray, dropped: int) -> bytes | Fault:
    """The message without its postmark."""
    size = dropped + len(data)
    if size > MAX_MESSAGE_BYTES:
        return Fault("unsupported", "bytes of one message", size, MAX_MESSAGE_BYTES)
    return bytes(data.lstrip().partition(b"\n")[2])
