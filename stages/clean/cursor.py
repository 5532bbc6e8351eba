"""Everything that lies in the files of a unit, in order, read part by part.

A unit may hold one huge compressed stream, so its parts are told by how many unpacked bytes lie before: part n is what begins in
[n * part_bytes, (n + 1) * part_bytes). A worker keeps its cursor between parts and only ever goes forward; what belongs to the parts of other workers is
unpacked and cut into records, but not read. So each worker unpacks a file once, and memory does not depend on its size.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mspt.core.stage import RawFile
from mspt.core.text.containers.streams import ByteStream, open_raw
from mspt.core.text.containers.walk import Leaf, Limits, Problem, walk
from mspt.core.text.readers.read import items
from mspt.core.text.readers.record import Item, Options


@dataclass(frozen=True)
class Found:
    """One record, or a problem in its place. at: unpacked bytes of the unit before it; type: of its leaf ("" of a problem outside of leaves)."""

    file: RawFile
    at: int
    item: Item
    type: str = ""
    is_first: bool = False


@dataclass(frozen=True)
class LeafEnd:
    """A leaf was read to its end: what it was, and how many bytes it had."""

    file: RawFile
    at: int
    type: str
    bytes: int


Event = Found | LeafEnd


class Cursor:
    """Where a worker stands in the files of one unit."""

    def __init__(self, files: Sequence[RawFile], options: Options, limits: Limits, scratch: Path) -> None:
        self.files = files
        self.hashes: dict[tuple[str, str], str] = {}  # of the files that were read to their end
        self.raw_position = 0  # bytes of the raw files before what was read last ...
        self.raw_read = 0  # ... and how many of them were read: less where a file was left early
        self.consumed: float = 0  # what begins before it has been given out
        self._options, self._limits, self._scratch = replace(options, scratch=scratch), limits, scratch
        self._base = 0  # unpacked bytes of all leaves before the one that is open
        self._left = False
        self._events = self._read()
        self._pending: Event | None = next(self._events, None)

    def between(self, start: int, end: int | None) -> Iterator[Event]:
        """The events that begin in [start, end); what lies before `start` is passed over. end None: up to the end."""
        while (event := self._pending) is not None and (end is None or event.at < end):
            if event.at >= start:
                yield event
            self._pending = next(self._events, None)
        self.consumed = math.inf if end is None else end

    @property
    def has_more(self) -> bool:
        return self._pending is not None

    @property
    def position(self) -> int:
        """Unpacked bytes before what comes next."""
        return self._pending.at if self._pending else self._base

    def leave_file(self) -> None:
        """Pass over what is left of the file at hand."""
        self._left = True

    def _read(self) -> Iterator[Event]:
        before = 0
        for file in self.files:
            self._left = False
            if file.problem:
                yield Found(file, self._base, _as_item(Problem(_escaped(file.path), file.problem, file.detail)))
                self.hashes[file.source, file.path] = file.sha256
                continue
            stream = open_raw(Path(file.location))
            assert stream.origin is not None
            with stream.origin as raw:
                for event in self._events_in(stream, file):
                    self.raw_position = before + raw.tell()
                    yield event
                    if self._left:
                        break
                self.raw_read += min(raw.tell(), file.bytes)
                self.hashes[file.source, file.path] = raw.sha256()
            before += file.bytes
            self.raw_position = before

    def _events_in(self, stream: ByteStream, file: RawFile) -> Iterator[Event]:
        for found in walk(stream, _escaped(file.path), self._limits, scratch=self._scratch):
            yield from self._events_of(found, file)

    def _events_of(self, found: Leaf | Problem, file: RawFile) -> Iterator[Event]:
        if isinstance(found, Problem):
            yield Found(file, self._base, _as_item(found))
            return
        is_first = True
        for item in items(found, self._options):
            yield Found(file, self._base + item.at, item, found.type.name, is_first)
            is_first = False
        found.stream.drain()
        self._base += found.stream.position
        yield LeafEnd(file, self._base, found.type.name, found.stream.position)


def _as_item(problem: Problem) -> Item:
    return Item(0, lambda: problem)


def _escaped(path: str) -> str:
    return path.replace("!/", "%21/")  # as for members of archives: "!/" is theirs


_kept: dict[Path, tuple[Sequence[RawFile], Cursor]] = {}  # where this process stands, by the folder of the units: the next part need not start at the top


@contextlib.contextmanager
def cursor_at(start: int, files: Sequence[RawFile], options: Options, limits: Limits, scratch: Path) -> Iterator[Cursor]:
    """A cursor that can give what begins at `start`: that of the part before, or a new one. scratch: the folder of the part."""
    known, cursor = _kept.pop(scratch.parent, (None, None))
    if cursor is None or known != files or cursor.consumed > start:
        cursor = Cursor(files, options, limits, scratch)
    yield cursor
    _kept.clear()
    if cursor.has_more:
        _kept[scratch.parent] = (files, cursor)
