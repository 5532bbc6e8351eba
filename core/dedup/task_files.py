"""Test sets as texts: the items of a task file and the texts in each of them, for decontamination and leakage checks.

| file                                   | an item is                                                    |
|----------------------------------------|---------------------------------------------------------------|
| JSON lines                             | the object of a line                                          |
| JSON: an array, or an object with one  | each value of the array (of the object's: ARRAYS)             |
| CSV, TSV (by the name's ending)        | a row below the header                                        |
| anything else                          | a line that is not blank                                      |

Each may lie in gzip. The texts of an object are its strings at any depth; the strings of a list (answer choices) are one text. With `fields` only strings
below a field of such a name count. Numbers, and items without a text, count as items without a text.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mspt.core.errors import InputError
from mspt.core.text.decoding.decode import decode

GZIP = b"\x1f\x8b"
DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMATS = "--decontaminate takes JSONL, JSON, CSV, TSV or text with an item a line, plain or in gzip"
ARRAYS = ("data", "examples", "questions", "items", "rows")


@dataclass(frozen=True)
class TaskItem:
    """One question of a test set: its number in the file, counted from 0, and its texts."""

    number: int
    texts: tuple[str, ...]


def read_items(path: Path, fields: Sequence[str] = ()) -> list[TaskItem]:
    """All items of a task file. InputError where it cannot be read, holds none, or none of its items has one of `fields`."""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data.startswith(GZIP) else data
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: not readable as a task file: {error}", FORMATS) from None
    records = list(_records(path, decode(data).text))
    items = [TaskItem(number, tuple(_texts(record, fields))) for number, record in enumerate(records)]
    if not any(item.texts for item in items):
        wanted = f" in the fields {', '.join(fields)}" if fields else ""
        hint = "--decontaminate-fields names the fields that hold questions and answers" if fields else FORMATS
        raise InputError(f"{path}: no text{wanted} in {len(items)} items", hint)
    return items


def _records(path: Path, text: str) -> Iterator[Any]:
    name = path.name.lower().removesuffix(".gz")
    delimiter = DELIMITERS.get(name[name.rfind(".") :] if "." in name else "")
    if delimiter is not None:
        yield from csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    elif text.lstrip()[:1] in ("{", "["):
        yield from _json_records(path, text)
    else:
        yield from ({"": line} for line in text.splitlines() if line.strip())


def _json_records(path: Path, text: str) -> list[Any]:
    try:
        return [orjson.loads(line) for line in text.split("\n") if line.strip()] if "\n" in text.strip() else _array(orjson.loads(text))
    except orjson.JSONDecodeError:
        pass  # one value over several lines
    try:
        return _array(json.loads(text))
    except ValueError as error:
        raise InputError(f"{path}: begins like JSON and is neither JSON nor JSON lines: {error}", "one object a line, or one array of objects") from None


def _array(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    named = value if isinstance(value, dict) else {}
    return next((inner for name in ARRAYS if isinstance(inner := named.get(name), list)), [value])


def _texts(value: Any, fields: Sequence[str]) -> Iterator[str]:
    """The texts of a record; of fields of such names only, where some are given."""
    if not fields:
        yield from _strings(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner) if name in fields else _texts(inner, fields)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, fields)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        strings = [inner for inner in value if isinstance(inner, str)]
        yield from _strings("\n".join(strings))
        for inner in value:
            if not isinstance(inner, str):
                yield from _strings(inner)
