"""What lies inside a raw file: compressed streams and archives are opened, nested to a depth, until leaves are reached.

    walk(open_raw(path), "crawl.tar.gz")
      ->  Leaf("crawl.tar.gz!/a/b.html", HTML, stream), Leaf("crawl.tar.gz!/n.zip!/c.txt", TEXT, stream), Problem("crawl.tar.gz", "truncated", ...)

A compressed stream has one content and keeps its name; an archive's members stand behind "!/". Names in archives only ever become refs, never
paths; links and devices are not followed. Nothing raises for what the data is: what cannot be read is a Problem, and what came before it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mspt.core.text.archives import tar_members, zip_members
from mspt.core.text.compression import CODECS, Expansion, decompress
from mspt.core.text.sniff import EMPTY, HEAD_BYTES, TAR, FileType, sniff
from mspt.core.text.streams import Broken, ByteStream, Fault


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How deep containers may nest and how far they may expand (a bomb is cut there; what came before it stays)."""

    max_depth: int = 8
    max_expansion: float = 200.0  # times the compressed size; real text stays under 100 even at zstd -19 --long


@dataclass(frozen=True)
class Leaf:
    """A file that holds no others. What of its stream is not read before the walk goes on is skipped."""

    ref: str
    type: FileType
    stream: ByteStream


@dataclass(frozen=True)
class Problem:
    """What could not be read, and why: one row of rejected/.

    rule: truncated, corrupt, expansion, depth, encrypted, unsupported, not-a-file (from containers); see records for the others.
    """

    ref: str
    rule: str
    detail: str = ""
    value: float = 0.0
    threshold: float = 0.0
    text: str = ""  # what was there, where it can be shown


def walk(stream: ByteStream, ref: str, limits: Limits = Limits(), scratch: Path | None = None) -> Iterator[Leaf | Problem]:
    """Leaves and problems of one raw file (open_raw), in the order in which they stand in it. Reads it to its end.

    ref: what the file is called. scratch: where zips inside other archives are kept while they are read (None: the system's temporary folder).
    """
    size = stream.origin.size if stream.origin else 0
    yield from _Walk(limits, Expansion(size, limits.max_expansion), scratch).open(stream, ref, 0)


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
            inner = ByteStream(decompress(stream, CODECS[kind.name], self.expansion), under=stream)
            yield from self.open(inner, ref, depth + 1)
        elif kind.role == "archive":
            yield from self.open_archive(stream, kind, ref, depth)
        elif kind != EMPTY or not (stream.fault or stream.is_cut_below):
            yield Leaf(ref, kind, stream)
        stream.drain()
        if stream.fault:
            yield from _report(stream.fault, stream, ref)

    def open_archive(self, stream: ByteStream, kind: FileType, ref: str, depth: int) -> Iterator[Leaf | Problem]:
        members = tar_members(stream) if kind == TAR else zip_members(stream, self.expansion, self.scratch)
        try:
            for member in members:
                inner = f"{ref}!/{member.name}"
                if isinstance(member.content, Fault):
                    yield from _report(member.content, stream, inner)
                else:
                    yield from self.open(member.content, inner, depth + 1)
        except Broken as broken:
            if not (broken.fault.rule == "truncated" and stream.fault):
                yield from _report(broken.fault, stream, ref)


def _report(fault: Fault, stream: ByteStream, ref: str) -> Iterator[Problem]:
    """A problem, unless it is only the consequence of an end that came further below, which is reported there."""
    if not (fault.rule == "truncated" and stream.is_cut_below):
        yield Problem(ref, fault.rule, fault.detail, fault.value, fault.threshold)
