"""What lies inside a raw file: compressed streams and archives are opened, nested to a depth, until leaves are reached.

    walk(open_raw(path), "crawl.tar.gz")
      ->  Leaf("crawl.tar.gz!/a/b.html", HTML, stream), Leaf("crawl.tar.gz!/n.zip!/c.txt", TEXT, stream), Problem("crawl.tar.gz", "truncated", ...)

A compressed stream has one content and keeps its name; an archive's members stand behind "!/". Names in archives only ever become refs, never
paths; links and devices are not followed. Nothing raises for what the data is: what cannot be read is a Problem, and what came before it is kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from mspt.core.text.containers.archives import Member
from mspt.core.text.containers.base64_stream import decode_base64
from mspt.core.text.containers.compression import CODECS, Expansion, Limits, decompress
from mspt.core.text.containers.mbox import mbox_members
from mspt.core.text.containers.mime import message_members
from mspt.core.text.containers.names import one_line
from mspt.core.text.containers.seven_zip import seven_zip_members
from mspt.core.text.containers.sniff import BASE64, EMPTY, HEAD_BYTES, JSON_SEQUENCE, MBOX, MESSAGE, QUOTED_PRINTABLE, FileType, sniff
from mspt.core.text.containers.streams import Broken, ByteStream, Fault
from mspt.core.text.containers.tar import tar_members
from mspt.core.text.containers.text_codings import decode_quoted_printable, without_separators
from mspt.core.text.containers.zip import zip_members

__all__ = ["Leaf", "Limits", "Problem", "walk"]

DEFAULTS = Limits()
DECODERS = {BASE64: decode_base64, QUOTED_PRINTABLE: decode_quoted_printable, JSON_SEQUENCE: without_separators}  # which give less than they take


@dataclass(frozen=True)
class Leaf:
    """A file that holds no others. What of its stream is not read before the walk goes on is skipped."""

    ref: str
    type: FileType
    stream: ByteStream


@dataclass(frozen=True)
class Problem:
    """What could not be read, and why: one row of rejected/.

    rule: truncated, corrupt, expansion, members, depth, encrypted, unsupported, not-a-file, alternative, not-content (from containers); see records
    for the others.
    """

    ref: str
    rule: str
    detail: str = ""
    value: float = 0.0
    threshold: float = 0.0
    text: str = ""  # what was there, where it can be shown
    url: str = ""  # of the record, and its other fields as JSON, where they can be read
    meta: str = ""


def walk(stream: ByteStream, ref: str, limits: Limits = DEFAULTS, scratch: Path | None = None) -> Iterator[Leaf | Problem]:
    """Leaves and problems of one raw file (open_raw), in the order in which they stand in it. Reads it to its end.

    ref: what the file is called. scratch: where a zip or 7z inside another container is copied to while it is read (None: the system's temporary
    folder). All copies at one time together are not larger than what the limits let one raw file unpack to, plus the file itself for each depth.
    """
    size = stream.origin.size if stream.origin else 0
    yield from _Walk(limits, Expansion(size, limits), scratch).open(stream, ref, 0)


@dataclass(frozen=True)
class _Walk:
    limits: Limits
    expansion: Expansion
    scratch: Path | None

    def open(self, stream: ByteStream, ref: str, depth: int) -> Iterator[Leaf | Problem]:
        """Everything in one stream, then what broke it."""
        kind = sniff(stream.peek(HEAD_BYTES))
        if kind.role in ("stream", "archive") and depth >= self.limits.max_depth:
            yield Problem(ref, "depth", f"{kind.name} inside {depth} containers", depth + 1, self.limits.max_depth)
        elif kind.role == "stream":
            decoder = DECODERS.get(kind)
            unpacked = decoder(stream) if decoder else decompress(stream, CODECS[kind.name], self.expansion)
            yield from self.open(ByteStream(unpacked, under=stream), ref, depth + 1)
        elif kind.role == "archive":
            yield from self.open_archive(stream, kind, ref, depth)
        elif kind != EMPTY or not (stream.fault or stream.is_cut_below):
            yield Leaf(ref, kind, stream)
        stream.drain()
        if stream.fault:
            yield from _report(stream.fault, stream, ref)

    def members(self, stream: ByteStream, kind: FileType) -> Generator[Member | Fault, None, None]:
        if kind == MBOX:
            yield from mbox_members(stream)
        elif kind == MESSAGE:
            yield from message_members(stream)
        elif kind.name == "tar":
            yield from tar_members(stream)
        elif kind.name == "zip":
            yield from zip_members(stream, self.expansion, self.scratch)
        else:
            yield from seven_zip_members(stream, self.expansion, self.scratch)

    def open_archive(self, stream: ByteStream, kind: FileType, ref: str, depth: int) -> Iterator[Leaf | Problem]:
        is_empty = True
        with contextlib.closing(self.members(stream, kind)) as members:
            for found in members:
                is_empty = False
                try:
                    self.expansion.enter()
                except Broken as broken:
                    yield from _report(broken.fault, stream, ref)
                    return
                if isinstance(found, Fault):
                    if not (found.rule == "truncated" and stream.fault):  # which is reported for itself
                        yield from _report(found, stream, ref)
                elif isinstance(found.content, Fault):
                    yield from _report(found.content, stream, f"{ref}!/{found.name}")
                else:
                    yield from self.open(found.content, f"{ref}!/{found.name}", depth + 1)
        if is_empty and not stream.fault and not stream.is_cut_below:
            yield Problem(ref, "empty-file", f"{kind.name} without files")


def _report(fault: Fault, stream: ByteStream, ref: str) -> Iterator[Problem]:
    """A problem, unless it is only the consequence of an end that came further below, which is reported there."""
    if not (fault.rule == "truncated" and stream.is_cut_below):
        detail = one_line(fault.detail.encode("utf-8", "backslashreplace").decode())  # a library's message may quote what it stumbled over
        yield Problem(ref, fault.rule, detail, fault.value, fault.threshold)
