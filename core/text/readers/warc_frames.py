"""Where the records of a WARC or ARC file begin and end.

FastWARC stops at the first header that it cannot read, and nobody but a scan for the next one gets behind it; ARC it does not know. So the frames
are found here, and FastWARC reads what is in them. A Content-Length is believed if a record begins where the next one should, or if none begins
before: else the record ends where the next one begins, so that a wrong length costs nothing. What belongs to no record is a frame with a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.readers.fields import MAX_SHOWN_BYTES

MAX_HEADER_BYTES = 32 * 1024
SEARCH_BYTES = 256 * 1024
LINE_ENDS = re.compile(rb"(?:\r?\n)+")
TRAILING = re.compile(rb"(?:\r?\n){1,2}\Z")  # between records: two line ends in WARC, one in ARC


@dataclass(frozen=True)
class Format:
    """header: all of a record's header; start: enough of it to know one by; length: of what follows, in it."""

    header: re.Pattern[bytes]
    start: re.Pattern[bytes]
    length: re.Pattern[bytes]
    next_start: re.Pattern[bytes]


def _format(header: bytes, start: bytes, length: bytes) -> Format:
    return Format(re.compile(header), re.compile(start), re.compile(length), re.compile(rb"(?<=\n)" + start))


WARC_LINE = rb"WARC/[01]\.\d{1,2}[ \t]*\r?\n"
WARC_FORMAT = _format(
    header=WARC_LINE + rb"(?:(?!WARC/[01]\.)[^\r\n][^\n]*\n)*\r?\n", start=WARC_LINE, length=rb"(?im)^content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$"
)
# IA's "ARC File Format" 1 and 2: URL, IP address, date, type, in version 2 five more, length. URLs and types may have blanks in them.
ARC_LINE = rb"[a-zA-Z][\w+.-]{0,30}:[^\r\n]{0,8000}? [\d.:a-fA-F-]{1,45} \d{8,17} [^\r\n]{0,500}?-?\d{1,18}\r?\n"
ARC_FORMAT = _format(header=ARC_LINE, start=ARC_LINE, length=rb" (\d{1,18})\r?\n\Z")


@dataclass(frozen=True)
class Frame:
    """A record: the byte at which it begins, its header, its block. fault: the rule that says why there is none of these, with detail and value."""

    at: int
    header: bytes
    block: bytes
    fault: str = ""
    detail: str = ""
    value: float = 0.0


class _Window:
    """What of a stream is looked at: `data` from `at` on. Nothing is copied to look, so that wrong lengths by the million stay linear."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._start = stream.position  # of the data
        self.data = b""
        self.at = 0

    @property
    def position(self) -> int:
        return self._start + self.at

    def reach(self, size: int) -> int:
        """Where `size` bytes from here on end in the data, or where the stream does."""
        if len(self.data) - self.at < size:
            parts, have = [self.data[self.at :]], len(self.data) - self.at
            while have < size and (chunk := self._stream.take()):
                parts.append(chunk)
                have += len(chunk)
            self._start, self.data, self.at = self.position, b"".join(parts), 0
        return min(len(self.data), self.at + size)

    def take(self, end: int) -> bytes:
        """The data up to `end`, passed over."""
        taken, self.at = self.data[self.at : end], end
        return taken

    def pass_over(self, size: int) -> int:
        """Passes over so many bytes, without keeping them; how many were missing."""
        while size and (end := self.reach(min(size, SEARCH_BYTES))) > self.at:
            size -= end - self.at
            self.at = end
        return size


def frames(stream: ByteStream, form: Format, max_bytes: int) -> Iterator[Frame]:
    """The records of a stream in order. A block over max_bytes is skipped (too-large), one that the stream ends in is truncated."""
    window = _Window(stream)
    while True:
        end = window.reach(MAX_HEADER_BYTES)
        if blanks := LINE_ENDS.match(window.data, window.at, end):
            window.at = blanks.end()
            continue
        if window.at == end:
            return
        at, is_last = window.position, end - window.at < MAX_HEADER_BYTES
        found = form.header.match(window.data, window.at, end)
        if found is None:
            is_cut = is_last and form.start.match(window.data, window.at, end) is not None
            yield _astray(window, form, at, is_cut)
        else:
            header = window.take(found.end())
            length = form.length.search(header)
            if length is None:
                block = _until_start(window, form, max_bytes)
                yield Frame(at, header, block, "bad-record", "no valid length", len(block))
            else:
                yield _framed(window, form, at, header, int(length[1]), max_bytes)


def _astray(window: _Window, form: Format, at: int, is_cut: bool) -> Frame:
    """What is no record, up to the next one. is_cut: the beginning of a header at the end of the file."""
    shown = window.data[window.at : window.at + MAX_SHOWN_BYTES]
    window.at += 1
    _seek_start(window, form)
    skipped = window.position - at
    rule, detail = ("truncated", "ends inside the header of a record") if is_cut else ("bad-record", "bytes that belong to no record")
    return Frame(at, b"", shown[:skipped], rule, detail, skipped)


def _framed(window: _Window, form: Format, at: int, header: bytes, length: int, max_bytes: int) -> Frame:
    if length > max_bytes:
        missing = window.pass_over(length)
        if missing:
            return Frame(at, header, b"", "truncated", f"{missing} of {length} bytes are missing", missing)
        return Frame(at, header, b"", "too-large", "bytes of the record", length)
    window.reach(length + MAX_HEADER_BYTES)
    end = min(len(window.data), window.at + length)
    missing = window.at + length - end
    if not missing and _is_end(window, form, end):
        return Frame(at, header, window.take(end))
    if inner := _find_start(window, form, end):
        return Frame(at, header, TRAILING.sub(b"", window.take(inner.start())))
    block = window.take(end)
    if missing:
        return Frame(at, header, block, "truncated", f"{missing} of {length} bytes are missing", missing)
    if not LINE_ENDS.match(window.data, window.at):
        block += _until_start(window, form, max_bytes - len(block))
    return Frame(at, header, block)


def _is_end(window: _Window, form: Format, end: int) -> bool:
    """Whether a record may end there: the next one begins, or the file ends."""
    ends = LINE_ENDS.match(window.data, end)
    start = ends.end() if ends else end
    return start == len(window.data) or form.start.match(window.data, start) is not None


def _until_start(window: _Window, form: Format, max_bytes: int) -> bytes:
    """The bytes up to the next record, without the line ends before it; at most max_bytes, what lies beyond is passed over."""
    end = window.reach(max_bytes + MAX_HEADER_BYTES)
    if found := _find_start(window, form, end):
        return TRAILING.sub(b"", window.take(found.start()))
    block = window.take(min(end, window.at + max_bytes))
    _seek_start(window, form)
    return block


def _find_start(window: _Window, form: Format, end: int) -> re.Match[bytes] | None:
    """The next record, where the line before it has been passed over."""
    return form.start.match(window.data, window.at, end) or form.next_start.search(window.data, window.at, end)


def _seek_start(window: _Window, form: Format) -> None:
    """Passes over what is before the next record, or the end."""
    while (end := window.reach(SEARCH_BYTES)) > window.at:
        if found := form.next_start.search(window.data, window.at, end):
            window.at = found.start()
            return
        if end - window.at < SEARCH_BYTES:
            window.at = end
            return
        window.at = end - MAX_HEADER_BYTES  # a header may begin at the end of what was searched
