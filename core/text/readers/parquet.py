"""Parquet: a row is a record, "#" and its number, counted from 0. Read row group by row group in batches; only the columns that are wanted.

A file that lies on disk is read in place, any other from a copy in Options.scratch. A row group of which nobody reads a row is not opened. What a
damaged group has in front of the damage is read; each row behind it is a `corrupt` of its own, since a worker that starts there must say the same
as one that comes from the front.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Iterator
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

from mspt.core.text.containers.compression import GRACE_BYTES
from mspt.core.text.containers.streams import FAULTS, ByteStream
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.decoding.decode import decode
from mspt.core.text.readers.arrow_values import Columns, cell, converter, is_text, raw_bytes
from mspt.core.text.readers.fields import MAX_DETAIL, MAX_META_CHARACTERS, MAX_SHOWN_BYTES, as_decoded, no_text, record_of, shown
from mspt.core.text.readers.record import Item, Options, Record

SPOOL_BYTES = 16 * 1024 * 1024  # a copy is kept in memory up to this size, then on disk
BATCH_ROWS, BATCH_BYTES = 1024, 16 * 1024 * 1024
# A page may say that the largest text of its dictionary occurs a million times, and Arrow would hold it so often.
MAX_BATCH_BYTES = 64 * 1024 * 1024
PAGE_BUFFER = 1024 * 1024  # column chunks are read through a window of this size instead of whole
# A text takes a byte at least, unless it is the same again: a file may claim so many rows more than it has bytes.
GRACE_ROWS = 1_000_000
I32_FIELD, DICTIONARY_PAGE = 0x15, 2  # parquet-format's parquet.thrift, PageHeader and PageType
ARROW_FAULTS = (*FAULTS, pa.ArrowException, MemoryError)


def items(leaf: Leaf, options: Options) -> Iterator[Item]:
    """One item for each row, or for a row group that would expand too far; a single one for a file that cannot be opened or has no text."""
    with _seekable(leaf.stream, options) as (file, size):
        try:
            source, columns = _open(file, options)
            groups = [Group(file, source, number, columns, options) for number in range(source.metadata.num_row_groups)]
            problem = _refusal(leaf.ref, source, columns, groups, size, options)
        except ARROW_FAULTS as error:
            problem = Problem(leaf.ref, "corrupt", _detail(error), size)
        if problem is None:
            yield from _rows(leaf.ref, groups, size, options)
        elif not (problem.rule == "corrupt" and (leaf.stream.fault or leaf.stream.is_cut_below)):  # else the consequence of that
            yield Item(0, functools.partial(_same, problem))


def _same(problem: Problem) -> Problem:
    return problem


def _detail(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_DETAIL]


@contextlib.contextmanager
def _seekable(stream: ByteStream, options: Options) -> Iterator[tuple[IO[bytes], int]]:
    """The bytes of the stream as a file that can be read anywhere, and their number."""
    origin = stream.origin
    if origin is not None and stream.position == 0:
        place = origin.tell()
        try:
            yield cast("IO[bytes]", origin), origin.size
        finally:
            origin.seek(place)  # where the stream goes on
        return
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES, dir=None if options.scratch is None else str(options.scratch)) as spool:
        for chunk in stream.chunks():
            spool.write(chunk)
        yield cast("IO[bytes]", spool), stream.position


def _open(file: IO[bytes], options: Options) -> tuple[pq.ParquetFile, Columns]:
    source = pq.ParquetFile(pa.PythonFile(file, mode="r"), pre_buffer=False, buffer_size=PAGE_BUFFER)
    return source, Columns.of(source.schema_arrow, options.fields)


def _refusal(ref: str, source: pq.ParquetFile, columns: Columns, groups: list[Group], size: int, options: Options) -> Problem | None:
    """Why no row of the file is read, if there is a reason."""
    if not columns.has_text and not options.fields.keep:
        names = dict.fromkeys(source.schema_arrow.names)
        problem = no_text(ref, options.fields.text, names)
        return problem if columns.text is None else Problem(ref, "no-text", f"column {options.fields.text} is {columns.text_type}")
    if any(group.num_rows < 0 for group in groups):
        return Problem(ref, "corrupt", "a row group has fewer than no rows", size)
    num_rows = sum(group.num_rows for group in groups)
    if num_rows > size + GRACE_ROWS:
        return Problem(ref, "expansion", f"{size} bytes claim {num_rows} rows", num_rows / max(1, size), 1)
    return None


def _rows(ref: str, groups: list[Group], size: int, options: Options) -> Iterator[Item]:
    first, total = 0, max(1, sum(group.num_rows for group in groups))
    for group in groups:
        if (ratio := group.expansion) > options.max_expansion:
            detail = f"{group.num_rows} rows in {group.stored} bytes unpack to {group.unpacked}"
            yield Item(size * first // total, functools.partial(_same, Problem(f"{ref}#{first}", "expansion", detail, ratio, options.max_expansion)))
        else:
            for row in range(group.num_rows):
                yield Item(size * (first + row) // total, functools.partial(_read, f"{ref}#{first + row}", group, row))
            group.close()
        first += group.num_rows


class Group:
    """A row group, read from its start when a row of it is asked for. Rows are asked for in order; any may be left out.

    stored, unpacked: bytes of the wanted columns as they lie in the file, and without compression.
    """

    def __init__(self, file: IO[bytes], source: pq.ParquetFile, number: int, columns: Columns, options: Options) -> None:
        facts = source.metadata.row_group(number)
        chunks = [facts.column(index) for index in range(facts.num_columns)]
        wanted = [chunk for chunk in chunks if columns.covers(chunk.path_in_schema)]
        self.num_rows: int = facts.num_rows
        self.stored: int = sum(chunk.total_compressed_size for chunk in wanted)
        self.unpacked: int = sum(chunk.total_uncompressed_size for chunk in wanted)
        self.columns, self.options = columns, options
        self._file, self._source, self._number = file, source, number
        # old writers do not say where the dictionary is, but it always comes first
        self._first_pages: list[int] = [chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset for chunk in wanted]
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._batch: Batch | None = None
        self._start = self._end = 0  # rows of the batch
        self._text_bytes = 0
        self._fault: tuple[str, str] | None = None

    @property
    def expansion(self) -> float:
        """How many times its stored size it unpacks to, as far as that counts: small ones may."""
        return self.unpacked / max(1, self.stored) if self.unpacked > GRACE_BYTES else 0.0

    def batch_of(self, row: int) -> tuple[Batch, int] | tuple[str, str]:
        """(the batch that holds the row, its place there), or (rule, detail) why it cannot be read."""
        while row >= self._end and self._fault is None:
            try:
                self._next()
            except ARROW_FAULTS as error:
                self._fault = ("corrupt", f"row group {self._number} from its row {self._end} on: {_detail(error)}"[:MAX_DETAIL])
        if row < self._end and self._batch is not None:
            return self._batch, row - self._start
        assert self._fault is not None
        return self._fault

    def close(self) -> None:
        """Lets go of what was read."""
        self._batches = self._batch = None

    def _next(self) -> None:
        if self._batches is None:
            self._batches = self._source.iter_batches(self._num_batch_rows(), [self._number], self.columns.names, use_threads=False)
        batch = next(self._batches, None)
        if batch is None:
            raise EOFError(f"it has {self._end} rows, not {self.num_rows}")
        self._text_bytes += _text_bytes(batch, self.columns)
        if self._text_bytes > self.options.max_expansion * self.stored + GRACE_BYTES:
            self._fault = ("expansion", f"row group {self._number}: the texts up to here have {self._text_bytes} bytes, {self.stored} in the file")
        else:
            self._batch = Batch(batch, self.columns, self.options)
            self._start, self._end = self._end, self._end + batch.num_rows

    def _num_batch_rows(self) -> int:
        """Rows of average size that make BATCH_BYTES; but no more than fit MAX_BATCH_BYTES where each is the largest of its dictionary."""
        largest = max((_dictionary_size(self._file, offset, self.unpacked) for offset in self._first_pages), default=0)
        return max(1, min(BATCH_ROWS, BATCH_BYTES * self.num_rows // max(1, self.unpacked), MAX_BATCH_BYTES // max(1, largest)))


def _dictionary_size(file: IO[bytes], offset: int, unknown: int) -> int:
    """What the page at `offset` unpacks to if it is a dictionary: fields 1 and 2 of its header (Thrift's compact protocol: a byte for field and
    type, then a zigzag varint), which pyarrow does not tell."""
    file.seek(max(0, offset))
    head = file.read(16)
    try:
        kind, place = _varint(head, 1)
        size, _ = _varint(head, place + 1)
    except IndexError:
        return unknown
    return unknown if not head[0] == head[place] == I32_FIELD else size >> 1 if kind >> 1 == DICTIONARY_PAGE else 0


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


class Batch:
    """Rows of a row group in memory."""

    def __init__(self, rows: pa.RecordBatch, columns: Columns, options: Options) -> None:
        self.options = options
        self._rows, self._text = rows, columns.text if columns.has_text else None
        fields, names = options.fields, rows.schema.names
        self._columns = [
            (name, column, converter(column.type), is_text(column.type) and not fields.keep and name not in fields.meta)
            for name, column in zip(reversed(names), reversed(rows.columns), strict=True)  # of two of one name the first counts
            if name != fields.text or fields.keep
        ]

    def text(self, row: int) -> pa.Buffer | None:
        scalar = cell(self._rows, self._text, row) if self._text else None
        return None if scalar is None else raw_bytes(scalar)

    def values(self, row: int) -> dict[str, Any]:
        """The columns of a row but its text; without keep also but long ones, which are not for `meta`."""
        value: dict[str, Any] = {}
        for name, column, convert, is_limited in self._columns:
            scalar = column[row]
            if not (is_limited and scalar.is_valid and raw_bytes(scalar).size > 4 * MAX_META_CHARACTERS):
                value[name] = convert(scalar)
        return value


def _text_bytes(batch: pa.RecordBatch, columns: Columns) -> int:
    """Bytes of all texts of a batch, repeated ones as often as they occur."""
    if columns.text is None or not columns.has_text:
        return 0
    column = batch.column(batch.schema.names.index(columns.text[0]))
    for name in columns.text[1:]:
        column = pc.struct_field(column, name)
    if kinds.is_string_view(column.type) or kinds.is_binary_view(column.type):
        column = column.cast(pa.large_binary())  # Arrow has no length of views
    if isinstance(column, pa.DictionaryArray):
        return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    return pc.sum(pc.binary_length(column)).as_py() or 0


def _read(ref: str, group: Group, row: int) -> Record | Problem:
    found = group.batch_of(row)
    if isinstance(found[0], str):
        return Problem(ref, *found)
    try:
        return _record(ref, *found)
    except ARROW_FAULTS as error:
        return Problem(ref, "corrupt", _detail(error))


def _record(ref: str, batch: Batch, row: int) -> Record | Problem:
    limit, text, decoded = batch.options.max_document_bytes, batch.text(row), None
    if text is not None and text.size > limit:
        return Problem(ref, "line-too-long", "bytes of the text", text.size, limit, shown(text.slice(0, MAX_SHOWN_BYTES).to_pybytes()))
    if text is not None:
        data = text.to_pybytes()
        try:
            decoded = as_decoded(data.decode(), "utf-8")
        except UnicodeDecodeError:
            decoded = decode(data)
    fields, values = batch.options.fields, batch.values(row)
    return record_of(ref, values if text is not None or fields.keep else {**values, fields.text: None}, fields, decoded, "")
