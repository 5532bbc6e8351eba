"""Files that people label texts in: JSON lines, or CSV as spreadsheets read and write it.

CSV has its traps, and each has an answer here: Excel takes a file without a byte order mark for the system's old encoding (it is written); it cuts cells at
32,767 characters (texts are cut before, and counted); a cell that begins with = + - @ is a formula, which could also do harm (an apostrophe is put before it
and taken off again); in many countries it saves with semicolons (read, too). Line ends, quotes and commas in a text are quoted as RFC 4180 says; NUL and
other controls, which no spreadsheet keeps, become U+FFFD.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mspt.core.errors import MsptError

FORM = '{"text": "...", "label": "high"}: high, middle, low or a number from 0 to 1, one a line; or CSV with columns `text` and `label`'
MAX_CELL = 32_000  # characters of a text in CSV; Excel's limit is 32,767, counted in UTF-16
MAX_FIELD = 2**31 - 1  # of a cell that is read; csv's own limit is 131,072
_FORMULA, _ESCAPED = re.compile(r"'*[=+\-@\t\r]"), re.compile(r"'+[=+\-@\t\r]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
DELIMITERS = ",;\t"


# --- writing -----------------------------------------------------------------------------------------------------------


def as_jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """With a byte order mark and CRLF, every text cut to MAX_CELL."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return file.getvalue().encode("utf-8-sig", "replace")


def num_cut(rows: Sequence[Mapping[str, Any]]) -> int:
    """Texts that as_csv cuts."""
    return sum(_utf16_length(value) > MAX_CELL for row in rows for value in row.values() if isinstance(value, str))


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    value = _CONTROLS.sub("\ufffd", value)
    if _utf16_length(value) > MAX_CELL:
        value = value.encode("utf-16-le", "replace")[: 2 * MAX_CELL].decode("utf-16-le", "ignore")
    return f"'{value}" if _FORMULA.match(value) else value


def _utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


# --- reading -----------------------------------------------------------------------------------------------------------


def read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(file:line, row) of each row that holds anything. JSON lines where the file begins with `{` or `[`, else CSV. MsptError names what cannot be read."""
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MsptError(f"{path.name} is not UTF-8: {error}", "save it as UTF-8 (Excel: CSV UTF-8)") from None
    if content.lstrip()[:1] in ("{", "[", ""):
        return _json_rows(path.name, content)
    return _csv_rows(path.name, content)


def _json_rows(name: str, content: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(content.split("\n"), 1):  # no other line ends: texts may hold U+2028
        if not line.strip():
            continue
        place = f"{name}:{number}"
        try:
            row = json.loads(line, object_pairs_hook=_each_once)
        except _RepeatedError as error:
            raise MsptError(f"{place} has `{error}` twice", "keep one of them: the two may say different things") from None
        except (ValueError, RecursionError) as error:
            raise MsptError(f"{place} is no JSON: {error}", FORM) from None
        yield place, row if isinstance(row, dict) else {}


class _RepeatedError(Exception):
    """A name that a JSON object has twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedError(next(name for name in names if names.count(name) > 1))
    return found


def _csv_rows(name: str, content: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    csv.field_size_limit(MAX_FIELD)
    delimiter = max(DELIMITERS, key=content.split("\n", 1)[0].count)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [column.strip().lower() for column in next(reader, [])]
        if "text" not in header:
            raise MsptError(f"{name}: no column `text` in its first line, and it is no JSON either", FORM)
        twice = next((column for column in header if column and header.count(column) > 1), None)
        if twice is not None:
            raise MsptError(f"{name} has two columns `{twice}`", "rename or delete one of them: the two may say different things")
        start = reader.line_num + 1
        for cells in reader:
            place, start = f"{name}:{start}", reader.line_num + 1
            if len(cells) > len(header):
                raise MsptError(f"{place} has {len(cells)} cells, the first line {len(header)}", "a text with commas or line ends stands in quotes")
            row = {column: _unescaped(cell) for column, cell in zip(header, cells, strict=False)}
            if any(cell.strip() for cell in cells):
                yield place, row
    except csv.Error as error:
        raise MsptError(
            f"{name}:{reader.line_num} is no CSV: {error}", "a text with commas, quotes or line ends stands in quotes, quotes in it doubled"
        ) from None


def _unescaped(cell: str) -> str:
    return cell[1:] if _ESCAPED.match(cell) else cell
