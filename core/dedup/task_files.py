"""Test sets as texts: the items of a task file and the texts in each of them, for decontamination and leakage checks.

| file                                   | an item is                                                    |
|----------------------------------------|---------------------------------------------------------------|
| JSON lines                             | the object of a line                                          |
| JSON: an array, or an object with one  | each value of the array (of the object's: all of ARRAYS, as   |
| or more                                | {"train": [...], "test": [...]})                              |
| CSV, TSV (by the name's ending)        | a row below the header; the first row too, where its cells do |
|                                        | not all look like names of columns (is_header)                |
| anything else                          | a line that is not blank                                      |

Each may lie in gzip. The texts of an object are its strings at any depth; the strings of a list (answer choices) are one text. With `fields` only strings
below a field of such a name count. Numbers, and items without a text, count as items without a text.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
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
MAX_NO_TEXT = 0.005  # of the characters of a file: more are not a text with some bad places, but no text
LONGEST_NAME = 60  # characters of a column's name
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_LONGEST_PHRASE, _LONGEST_PHRASE_HAN = 3, 6  # words, or characters, of a name with one of COLUMN_WORDS in it: "Incorrect Answer 1", "正确答案"
_WORDS = (
    "question answer prompt text sentence premise hypothesis context passage article input output instruction target label choice option id index type "
    "category subject source problem solution explanation query response completion story ending title summary level difficulty domain language "
    "问题 题目 题干 答案 选项 文本 句子 内容 标签 类别 学科 解析 分析 难度 序号 编号 标题 材料 来源"
)
COLUMN_WORDS = frozenset(_WORDS.split())
_NO_TEXT = [chr(code) for code in range(32) if chr(code) not in "\t\n\r\f\v\x1b"] + ["\ufffd"]
ARRAYS = ("data", "examples", "questions", "items", "rows", "samples", "train", "validation", "dev", "test")


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
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not readable as a task file: {error}", FORMATS) from None
    records = list(_records(path, _text(path, data), fields))
    items = [TaskItem(number, tuple(_texts(record, fields))) for number, record in enumerate(records)]
    if not any(item.texts for item in items):
        wanted = f" in the fields {', '.join(fields)}" if fields else ""
        hint = "--decontaminate-fields names the fields that hold questions and answers" if fields else FORMATS
        raise InputError(f"{path}: no text{wanted} in {len(items)} items", hint)
    return items


def _records(path: Path, text: str, fields: Sequence[str]) -> Iterator[Any]:
    name = path.name.lower().removesuffix(".gz")
    delimiter = DELIMITERS.get(name[name.rfind(".") :] if "." in name else "")
    if delimiter is not None:
        yield from _table(path, text, delimiter, fields)
    elif text.lstrip()[:1] in ("{", "["):
        yield from _json_records(path, text)
    else:
        yield from ({"": line} for line in text.splitlines() if line.strip())


def is_header(row: Sequence[str], fields: Sequence[str] = ()) -> bool:
    """Whether the first row of a table names its columns: a cell is one of `fields`, or all cells that are not empty look like names.

    A name is an identifier (`choice_a`, `Q1`), or a few words with one of COLUMN_WORDS ("Best Answer"). So "What is 2 + 2?,3,4,5,6,B" is an item, as is
    every row with a sentence or a number; a header of names that nobody expects is one too, which loses nothing.
    """
    cells = [cell.strip() for cell in row if cell.strip()]
    return any(cell in fields for cell in cells) or (bool(cells) and all(map(_is_name, cells)))


def _is_name(cell: str) -> bool:
    if len(cell) > LONGEST_NAME:
        return False
    if _IDENTIFIER.fullmatch(cell):
        return True
    if not cell.isascii():
        return len(cell) <= _LONGEST_PHRASE_HAN and any(word in cell for word in COLUMN_WORDS if not word.isascii())
    words = cell.lower().replace("-", " ").replace("_", " ").split()
    return len(words) <= _LONGEST_PHRASE and any(word in COLUMN_WORDS or word.removesuffix("s") in COLUMN_WORDS for word in words)


def _table(path: Path, text: str, delimiter: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows by column name; where the first row is no header, all of them by column number."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        first = next(rows, [])
        named = is_header(first, fields)
        names = [name if first.index(name) == i else f"{name} {i}" for i, name in enumerate(first)]  # of equal names none is lost
        if first and not named:
            yield dict(_named(first))
        for row in rows:
            if row:
                yield dict(_named(row, names if named else ()))
    except csv.Error as error:
        raise InputError(f"{path}: line {rows.line_num}: {error}", FORMATS) from None


def _named(row: Sequence[str], names: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """The cells with the names of their columns, or their numbers where there are more cells than names."""
    return ((names[i] if i < len(names) else str(i), cell) for i, cell in enumerate(row))


def _text(path: Path, data: bytes) -> str:
    text = decode(data).text
    if sum(map(text.count, _NO_TEXT)) > MAX_NO_TEXT * len(text):
        raise InputError(f"{path}: not text (control characters, or bytes that no encoding explains)", FORMATS)
    return text


def _json_records(path: Path, text: str) -> list[Any]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        if len(lines) == 1:
            return _array(_loads(text))
        return [_loads(line) for _, line in lines]
    except ValueError:
        pass  # one value over several lines
    try:
        return _array(_loads(text))
    except ValueError as error:
        said = _first_bad_line(lines) or str(error)
        raise InputError(f"{path}: begins like JSON and is neither JSON nor JSON lines: {said}", "one object a line, or one array of objects") from None


def _loads(text: str) -> Any:
    """A JSON value. ValueError where it is none, or nested too deeply; NaN and lone surrogates, which Python writes, are read."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _first_bad_line(lines: Sequence[tuple[int, str]]) -> str:
    """Of JSON lines (whose first line is a value): which line is none, and why."""
    for place, (number, line) in enumerate(lines):
        try:
            _loads(line)
        except ValueError as error:
            where = f"line {number}, column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else f"line {number}: {error}"
            return where if place else ""
    return ""


def _array(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    found: list[Any] = []
    for name in ARRAYS if isinstance(value, dict) else ():
        inner = value.get(name)
        for array in inner.values() if isinstance(inner, dict) else (inner,):  # {"samples": {"gsm8k": [...]}}
            found += array if isinstance(array, list) else []
    return found or [value]


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
            yield value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # lone surrogates are no characters
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        strings = [inner for inner in value if isinstance(inner, str)]
        yield from _strings("\n".join(strings))
        for inner in value:
            if not isinstance(inner, str):
                yield from _strings(inner)
