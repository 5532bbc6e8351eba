"""Lines of JSON: a record is "#" and its line, counted from 0. Control bytes, NULs, bad bytes and lone surrogates inside strings are survived."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.decoding.decode import decode
from mspt.core.text.readers.fields import MAX_DETAIL, as_decoded, find, record_of, shown
from mspt.core.text.readers.lines import Lines
from mspt.core.text.readers.record import Item, Options, Record

MAX_DIGITS = 4300  # sys.int_info.default_max_str_digits: int() refuses more


def items(leaf: Leaf, options: Options) -> Iterator[Item]:
    """One item for each line that is not blank: the record of its object, or bad-line, line-too-long, no-text."""
    lines = Lines(leaf.stream, options.max_document_bytes)
    for number, (at, line, length) in enumerate(lines):
        if line.strip(lines.blanks):
            yield Item(at, functools.partial(read_object, leaf.ref, number, line, length, options, lambda: lines.encoding))


def read_object(ref: str, number: int, data: bytes, length: int, options: Options, encoding: Callable[[], str]) -> Record | Problem:
    """The record of one JSON object. length: of the whole of it, where `data` is only its beginning; encoding: asked where it is not UTF-8."""
    ref = f"{ref}#{number}"
    if length > options.max_document_bytes:
        return Problem(ref, "line-too-long", "bytes", length, options.max_document_bytes, shown(data))
    value, codec, reason = parse(data, encoding)
    if not isinstance(value, dict):
        return Problem(ref, "bad-line", reason or f"a {type(value).__name__}, not an object", text=shown(data))
    text = find(value, options.fields.text)
    return record_of(ref, value, options.fields, as_decoded(text, codec) if isinstance(text, str) else None, shown(data))


def parse(data: bytes, encoding: Callable[[], str] = lambda: "utf-8") -> tuple[Any, str, str]:
    """(value, encoding, reason why there is none)."""
    try:
        return orjson.loads(data), "utf-8", ""
    except orjson.JSONDecodeError:
        decoded = decode(data, preferred=encoding())
    try:
        return json.loads(decoded.text.strip("\0"), strict=False, parse_int=_whole), decoded.encoding, ""
    except (ValueError, RecursionError) as error:
        return None, decoded.encoding, f"{type(error).__name__}: {error}"[:MAX_DETAIL]


def _whole(digits: str) -> int | float:
    """A number; one of more digits than Python reads in linear time as orjson reads it, as a float."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)
