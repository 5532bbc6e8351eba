"""A JSON file that is no JSONL: one array of objects, one object, or several written one after another over many lines.

The elements are told apart by their brackets alone, so that memory is bounded by one of them; each is parsed when somebody reads it. A record is
"#" and its place in the array, counted from 0.
"""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.readers.fields import MAX_SHOWN_BYTES
from mspt.core.text.readers.jsonl import read_object
from mspt.core.text.readers.lines import Lines
from mspt.core.text.readers.record import Item, Options, Record

BETWEEN = re.compile(rb"[\s,]*+")
BRACKET = re.compile(rb'["{}\[\]]')
BRACKET_OR_COMMA = re.compile(rb'["{}\[\],]')  # between elements, where a comma ends what is no object

QUOTE, BACKSLASH, COMMA, LIST_END = b'"\\,]'
OPENING = b"{["


def items(leaf: Leaf, options: Options) -> Iterator[Item]:
    """One item for each element: the record of its object, or bad-line, line-too-long, no-text."""
    stream, encoding = _as_bytewise(leaf.stream)
    for number, (at, data, length) in enumerate(_Scanner(options.max_document_bytes).elements(stream)):
        place = at if stream is leaf.stream else min(at, leaf.stream.position - 1)
        yield Item(place, functools.partial(_read, leaf.ref, number, data, length, options, encoding))


def _read(ref: str, number: int, data: bytes, length: int, options: Options, encoding: str) -> Record | Problem:
    found = read_object(ref, number, data, length, options, lambda: "utf-8")
    return found if isinstance(found, Problem) else replace(found, decoded=replace(found.decoded, encoding=encoding))


def _as_bytewise(stream: ByteStream) -> tuple[ByteStream, str]:
    """The stream in an encoding in which no byte of a character looks like a bracket or a quote, and the codec it was in: all become UTF-8."""
    lines = Lines(stream, 0)
    if lines.encoding == "utf-8":
        return stream, "utf-8"
    decoder = codecs.getincrementaldecoder(lines.encoding)("replace")
    return ByteStream((decoder.decode(chunk).encode("utf-8", "replace") for chunk in stream.chunks()), under=stream), lines.encoding


@dataclass
class _Scanner:
    """Where reading stands: how many brackets are open, whether the outermost is an array of elements, whether a string is."""

    max_bytes: int
    depth: int = 0
    is_list: bool = False
    is_string: bool = False
    is_escape: bool = False  # the chunk before ended between a backslash and what it escapes
    is_open: bool = False  # an element has begun
    at: int = 0
    length: int = 0
    kept: list[bytes] = field(default_factory=list)

    def elements(self, stream: ByteStream) -> Iterator[tuple[int, bytes, int]]:
        """(byte at which it begins, the element, its length), of one over max_bytes only its beginning."""
        position = stream.position
        for chunk in stream.chunks():
            yield from self._of_chunk(chunk, position)
            position += len(chunk)
        if self.is_open:
            yield self._close()

    def _of_chunk(self, chunk: bytes, position: int) -> Iterator[tuple[int, bytes, int]]:
        start = place = 0  # of the element's part in this chunk; of what is looked at
        while place < len(chunk):
            if not self.is_open and (place := self._skip(chunk, place)) < len(chunk):
                self.is_open, self.at, start = True, position + place, place
            if place < len(chunk):
                place, ended = self._step(chunk, place)
                if ended:
                    self._keep(chunk[start:place])
                    yield self._close()
                    start = place
        if self.is_open:
            self._keep(chunk[start:])

    def _skip(self, chunk: bytes, place: int) -> int:
        """Over blanks and commas, into the array and out of it: to where an element begins."""
        while (place := BETWEEN.match(chunk, place).end()) < len(chunk):  # type: ignore[union-attr]
            byte = chunk[place : place + 1]
            if not (byte == b"[" and not self.is_list) and not (byte == b"]" and self.is_list):
                break
            self.is_list = byte == b"["
            place += 1
        return place

    def _step(self, chunk: bytes, place: int) -> tuple[int, bool]:
        """From one bracket or string to behind it; whether the element ends there."""
        if self.is_string:
            return self._in_string(chunk, place), False
        found = (BRACKET if self.depth else BRACKET_OR_COMMA).search(chunk, place)
        if found is None:
            return len(chunk), False
        byte, place = chunk[found.start()], found.end()
        if byte == QUOTE:
            self.is_string = True
        elif byte in OPENING:
            self.depth += 1
        elif self.depth:
            self.depth -= 1
            return place, self.depth == 0
        else:  # behind a number, a comma and the end of the array are not its own; any other bracket is astray
            return place - (byte == COMMA or (byte == LIST_END and self.is_list)), True
        return place, False

    def _in_string(self, chunk: bytes, place: int) -> int:
        start = end = place + self.is_escape
        while (end := chunk.find(b'"', end)) >= 0:
            if _num_backslashes(chunk, start, end) % 2 == 0:
                self.is_string = self.is_escape = False
                return end + 1
            end += 1
        self.is_escape = _num_backslashes(chunk, start, len(chunk)) % 2 == 1
        return len(chunk)

    def _keep(self, part: bytes) -> None:
        if self.length <= self.max_bytes:
            self.kept.append(part)
        self.length += len(part)

    def _close(self) -> tuple[int, bytes, int]:
        data = b"".join(self.kept)
        element = (self.at, data if self.length <= self.max_bytes else data[:MAX_SHOWN_BYTES], self.length)
        self.kept, self.length, self.depth, self.is_open, self.is_string, self.is_escape = [], 0, 0, False, False, False
        return element


def _num_backslashes(chunk: bytes, start: int, end: int) -> int:
    """How many there are directly before `end`."""
    place = end
    while place > start and chunk[place - 1] == BACKSLASH:
        place -= 1
    return end - place
