"""Values of Arrow arrays as JSON has them, and which columns of a schema hold what."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from mspt.core.text.decoding.decode import decode
from mspt.core.text.readers.record import ALL_FIELDS, Fields

Path = tuple[str, ...]

TEXTS = (kinds.is_string, kinds.is_large_string, kinds.is_string_view, kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view)
SIMPLE = (kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_temporal)


@dataclass(frozen=True)
class Columns:
    """The columns that are read: where the text is (None: nowhere), its type, and the paths of all that are wanted (None: every column)."""

    text: Path | None
    text_type: pa.DataType | None
    wanted: tuple[Path, ...] | None

    @staticmethod
    def of(schema: pa.Schema, fields: Fields) -> Columns:
        found = find_column(schema, fields.text)
        names = [fields.text, fields.url, fields.title, fields.source, *fields.meta]
        paths = [column[0] for name in names if (column := find_column(schema, name))]
        if ALL_FIELDS in fields.meta:
            paths += [(column.name,) for column in schema if is_simple(column.type)]
        text, kind = found or (None, None)
        return Columns(text, kind, None if fields.keep else tuple(dict.fromkeys(paths)))

    @functools.cached_property
    def names(self) -> list[str] | None:
        """As pyarrow.parquet takes them."""
        return None if self.wanted is None else [".".join(path) for path in self.wanted]

    def covers(self, path: str) -> bool:
        """Whether a column of the file, by its full path, is one of them or a part of one."""
        if self._known is None:
            return True
        parts = path.split(".")
        return any(".".join(parts[:length]) in self._known for length in range(1, len(parts) + 1))

    @functools.cached_property
    def _known(self) -> frozenset[str] | None:
        return None if self.names is None else frozenset(self.names)

    @property
    def has_text(self) -> bool:
        return self.text_type is not None and is_text(self.text_type)


def find_column(fields: Sequence[pa.Field] | pa.Schema | pa.StructType, name: str) -> tuple[Path, pa.DataType] | None:
    """The column called `name`, or by its dotted path through structs: its path and type."""
    own = {column.name: column.type for column in reversed(list(fields))}
    if name in own:
        return (name,), own[name]
    first, dot, rest = name.partition(".")
    if dot and first in own and kinds.is_struct(own[first]) and (inner := find_column(own[first], rest)):
        return (first, *inner[0]), inner[1]
    return None


def is_text(kind: pa.DataType) -> bool:
    """Whether values of the type are text, or bytes that may be text in some encoding."""
    if kinds.is_dictionary(kind):
        return is_text(kind.value_type)
    return any(is_kind(kind) for is_kind in TEXTS)


def is_simple(kind: pa.DataType) -> bool:
    """Whether a value of the type may be short enough for `meta`: text, number, boolean or time."""
    if kinds.is_dictionary(kind):
        return is_simple(kind.value_type)
    return is_text(kind) or any(is_kind(kind) for is_kind in SIMPLE)


def cell(batch: pa.RecordBatch, path: Path, row: int) -> pa.Scalar | None:
    """The value of a column, or of a field of a struct column, in one row; None where there is none."""
    scalar = batch.column(batch.schema.names.index(path[0]))[row]
    for name in path[1:]:
        if not scalar.is_valid:
            return None
        scalar = scalar[name]
    return scalar if scalar.is_valid else None


def raw_bytes(scalar: pa.Scalar) -> pa.Buffer:
    """The bytes of a text, which Arrow does not check to be UTF-8."""
    return (scalar.value if isinstance(scalar, pa.DictionaryScalar) else scalar).as_buffer()


def converter(kind: pa.DataType) -> Callable[[pa.Scalar], Any]:
    """What makes of values of a type what JSON has: times, decimals and the like as text, bytes decoded, a map as a list of pairs, no NaN."""
    if kinds.is_boolean(kind) or kinds.is_integer(kind):
        return _as_it_is
    if is_text(kind):
        return _text
    if kinds.is_floating(kind):
        return _number
    if kinds.is_dictionary(kind) or kinds.is_nested(kind):
        return plain
    return _written


def plain(scalar: pa.Scalar) -> Any:
    """A value of any type as JSON has it."""
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if kinds.is_struct(kind):
        return {name: plain(value) for name, value in scalar.items()}
    if kinds.is_map(kind):
        return [[plain(pair[0]), plain(pair[1])] for pair in scalar.values]
    if isinstance(scalar, pa.ListScalar):
        return [plain(value) for value in scalar.values]
    if kinds.is_dictionary(kind):
        return plain(scalar.value)
    return converter(kind)(scalar)


def _as_it_is(scalar: pa.Scalar) -> Any:
    return scalar.as_py()


def _text(scalar: pa.Scalar) -> str | None:
    if not scalar.is_valid:
        return None
    data: bytes = raw_bytes(scalar).to_pybytes()
    try:
        return data.decode()
    except UnicodeDecodeError:
        return decode(data).text


def _number(scalar: pa.Scalar) -> float | None:
    value = scalar.as_py()
    return float(value) if value is not None and math.isfinite(value) else None


def _written(scalar: pa.Scalar) -> str | None:
    if not scalar.is_valid:
        return None
    try:
        return str(scalar.cast(pa.string()).as_py())
    except (pa.ArrowException, ValueError, NotImplementedError):  # types that Arrow cannot write
        return str(scalar)
