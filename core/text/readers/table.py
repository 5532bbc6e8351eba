"""CSV and TSV: a row below the header is a record, "#" and its number, counted from 0; empty lines are no rows, nor is what stands above the
header: blank lines, Excel's `sep=;`, comments.

A row with too few or too many cells is kept with what it has; without its text it is a bad-line. A quote that is never closed would swallow the
rest of the file: the line where it opens is a bad-line then, and reading goes on behind it.
"""

from __future__ import annotations

import csv
import functools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from mspt.core.text.containers.sniff import HEAD_BYTES, TSV
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.decoding.decode import Decoded, decode
from mspt.core.text.readers.delimited import Form, find_form
from mspt.core.text.readers.fields import MAX_DETAIL, as_decoded, no_text, record_of, shown
from mspt.core.text.readers.lines import Line, Lines
from mspt.core.text.readers.record import Item, Options, Record

MAX_MARK_BYTES = 4


@dataclass(frozen=True)
class Table:
    """How the rows of one file are read. newline: what ends a line of it, decoded; names: of the columns."""

    ref: str
    form: Form
    encoding: str
    newline: str
    options: Options
    names: Sequence[str] = ()

    def cells(self, text: str) -> list[str]:
        """The cells of one row. Raises csv.Error for a carriage return outside quotes."""
        return next(csv.reader((line + self.newline for line in text.split(self.newline)), **self.form.arguments), [])


@dataclass(frozen=True)
class Row:
    """Raw lines of one row, the byte at which it begins, their length, and what is wrong with it ("" nothing)."""

    at: int
    data: bytes
    length: int
    fault: str = ""


def items(leaf: Leaf, options: Options) -> Iterator[Item]:
    """One item for each row; a single no-text where no column is called as the text should be."""
    lines = Lines(leaf.stream, options.max_document_bytes)
    table, num_above = _table(leaf, lines, options)
    rows = iter(_Rows(table, lines, num_above))
    names = _names(table, next(rows, None))
    if options.fields.text not in names and not options.fields.keep:
        yield Item(0, lambda: no_text(leaf.ref, options.fields.text, dict.fromkeys(names)))
        return
    table = replace(table, names=names)
    for number, row in enumerate(rows):
        yield Item(row.at, functools.partial(_read, table, number, row))


def _table(leaf: Leaf, lines: Lines, options: Options) -> tuple[Table, int]:
    """The table, and how many lines stand above its row of names."""
    text = decode(lines.head, preferred=lines.encoding).text
    form = find_form(text, is_whole=len(lines.head) + MAX_MARK_BYTES < HEAD_BYTES)
    newline = "\r" if b"\r" in lines.newline else "\n"
    if form is None:  # the type was given, not found
        form = Form("\t" if leaf.type == TSV else max(",;|", key=text.split(newline, 1)[0].count), is_quoted=True)
    return Table(leaf.ref, form, lines.encoding, newline, options), text.count(newline, 0, form.start)


def _names(table: Table, header: Row | None) -> list[str]:
    try:
        text = _decode(header.data, table).text if header else ""
        return [name.strip() for name in table.cells(text.lstrip("# \t") if table.form.is_comment else text)]
    except csv.Error:
        return []


def _decode(data: bytes, table: Table) -> Decoded:
    try:
        return Decoded(data.decode(table.encoding), table.encoding, "declared")
    except UnicodeError:
        return decode(data, preferred=table.encoding)


def _read(table: Table, number: int, row: Row) -> Record | Problem:
    ref, limit, fields = f"{table.ref}#{number}", table.options.max_document_bytes, table.options.fields
    if row.length > limit:
        return Problem(ref, "line-too-long", "bytes of the row", row.length, limit, shown(row.data))
    decoded = _decode(row.data, table)
    try:
        cells = table.cells(decoded.text)
    except csv.Error as error:
        return Problem(ref, "bad-line", f"{error}"[:MAX_DETAIL], text=shown(row.data))
    value: dict[str, str] = {}
    for name, cell in zip(table.names, cells, strict=False):
        if cell or name == fields.text or fields.keep:
            value.setdefault(name, cell)
    text = value.get(fields.text)
    if row.fault or (text is None and not fields.keep):
        detail = row.fault or f"{len(cells)} of {len(table.names)} cells, no {fields.text}"
        return Problem(ref, "bad-line", detail, text=shown(row.data))
    return record_of(ref, value, fields, None if text is None else as_decoded(text, decoded.encoding), "")


# --- rows --------------------------------------------------------------------------------------------------------------


class _Unclosed(Exception):
    """A quote is open at the end of the file, or for longer than a document may be."""


class _Rows:
    """Puts lines together to rows. Only those with quotes are parsed for that.

    What an open quote has swallowed is read again line by line. So that a file of such quotes stays linear, a quote may not span lines while more
    than max_document_bytes of what has been read again is still to be made up for.
    """

    def __init__(self, table: Table, lines: Lines, num_above: int) -> None:
        self.table = table
        self.limit = table.options.max_document_bytes
        self._blanks = lines.blanks.replace(b"\t", b"")
        self._newline = lines.newline
        self._lines = islice(lines, num_above, None)
        self._again: deque[Line] = deque()
        self._debt = 0

    def __iter__(self) -> Iterator[Row]:
        while (line := self.next_line()) is not None:
            at, data, length = line
            row = self._quoted(line) if self.table.form.is_quoted and b'"' in data and length <= self.limit else Row(at, data, length)
            self._debt = max(0, self._debt - row.length)
            if row.data.strip(self._blanks):
                yield row

    @property
    def span(self) -> int:
        """How many bytes a quote may span."""
        return self.limit if self._debt <= self.limit else 0

    def next_line(self) -> Line | None:
        return self._again.popleft() if self._again else next(self._lines, None)

    def _quoted(self, first: Line) -> Row:
        feed = _Feed(self, first)
        fault = ""
        try:
            next(csv.reader(feed, **self.table.form.arguments), None)
        except csv.Error:  # whoever reads the row meets it again
            pass
        except _Unclosed:
            self._again.extendleft(reversed(feed.taken[1:]))
            self._debt += sum(line[2] for line in feed.taken[1:])
            feed.taken, fault = [first], "a quote is never closed"
        data = self._newline.join(line[1] for line in feed.taken)
        return Row(first[0], data, len(data), fault)


class _Feed:
    """Lines for a csv.reader that reads one row, and those it has taken."""

    def __init__(self, rows: _Rows, first: Line) -> None:
        self.rows, self.span = rows, rows.span
        self.first: Line | None = first
        self.taken: list[Line] = []
        self._size = 0

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        is_first = not self.taken
        line = self.first if is_first else self.rows.next_line()
        if line is None:
            raise _Unclosed
        self.taken.append(line)
        self._size += line[2]
        if self._size > self.span and not is_first:
            raise _Unclosed
        return line[1].decode(self.rows.table.encoding, "replace") + self.rows.table.newline
