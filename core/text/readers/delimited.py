"""Whether text is a table of delimited values with a header (CSV, TSV), and how it is written.

Prose has commas, code has tabs: what counts is that a first row of names stands above rows of as many cells that look unlike names. Above that row there may
be blank lines, Excel's line that names the delimiter (`sep=;`), and comments, the last of which may be the row of names itself (`# id,text`).
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

csv.field_size_limit(sys.maxsize)  # the default, 128 KiB, is a page of a long text; readers bound rows themselves

DELIMITERS = "\t,;|"
MAX_ROWS = 200  # looked at
MAX_NAMES = 1000  # a first line with more cells than that is data
MIN_EVEN_SHARE = 0.8  # of the rows have as many cells as the header
MIN_ROWS_FOR_RAGGED = 5  # with fewer all have
MAX_PROSE_SHARE = 0.5  # of the cells begin with a blank, as what follows a comma in a sentence
MIN_UNLIKE_SHARE = 0.8  # of the cells of a column do not look like a name
FIRST_LINE = re.compile(r"[^\r\n]*")
END = r"(?:\r\n|\n|\r)"
PREAMBLE = re.compile(rf"(?:[ \t]*+{END})*+(?:\"?sep=(?P<delimiter>[^\"\r\n])\"?[ \t]*+{END})?+(?P<comments>(?:\#[^\r\n]*+{END})*+)", re.IGNORECASE)
COMMENT = re.compile(rf"\#+[ \t]*+(?=[^\r\n]*+{END}\Z)")
NAME = re.compile(r"[^\W\d][\w .:/()%#$@-]{0,63}")
IDENTIFIER = re.compile(r"[A-Za-z_][\w.:@/-]{0,39}")
MAX_NAME_WORDS = 4
VALUE = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d{1,3})?%?|\d{4}[-/]\d\d?[-/]\d\d?.{0,20}|https?://\S+|[0-9a-fA-F-]{24,}|true|false", re.IGNORECASE)
# Names that columns of a corpus have; with one of them a single row, or a head that ends inside the first row, is enough.
KNOWN = frozenset(
    (
        *("text", "content", "contents", "body", "title", "url", "link", "id", "label", "name", "date", "author", "source", "category"),
        *("question", "answer", "sentence", "lang", "language", "summary", "abstract"),
        *("正文", "内容", "內容", "文本", "标题", "標題", "链接", "連結", "作者", "日期", "时间", "時間", "来源", "來源", "类别", "類別"),
        *("标签", "標籤", "编号", "編號", "问题", "問題", "答案", "摘要"),
    )
)


@dataclass(frozen=True)
class Form:
    """How a table is written. is_quoted: a cell may stand in double quotes (else they are text like any other); start: where the row of names begins, in
    characters; is_comment: it begins with "#"."""

    delimiter: str
    is_quoted: bool
    start: int = 0
    is_comment: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """As csv.reader takes them."""
        return {"delimiter": self.delimiter, "quoting": csv.QUOTE_MINIMAL if self.is_quoted else csv.QUOTE_NONE}


def find_form(text: str, is_whole: bool) -> Form | None:
    """The form of the table that begins with `text` (is_whole: and ends with it), or None where it is no table."""
    above = PREAMBLE.match(text)
    assert above is not None
    start, delimiter = above.end(), above["delimiter"]
    found = _form(text[start:], is_whole) if not delimiter else _named(text[start:], delimiter, is_whole)
    if found:
        return replace(found, start=start)
    last = next((mark for mark in COMMENT.finditer(text, *above.span("comments"))), None)
    if last and (found := _form(text[last.end() :], is_whole)):
        return replace(found, start=last.start(), is_comment=True)
    return None


def may_begin_table(text: str) -> bool:
    """Whether a delimiter stands where the row of names would."""
    above = PREAMBLE.match(text)
    assert above is not None
    first = FIRST_LINE.match(text, above.end())
    assert first is not None
    return above["delimiter"] is not None or any(one in first[0] or one in above["comments"] for one in DELIMITERS)


def _named(text: str, delimiter: str, is_whole: bool) -> Form | None:
    """The form of a table whose delimiter is named above it."""
    form = Form(delimiter, is_quoted=True)
    return form if _rows(text, form, is_whole) else None


def _form(text: str, is_whole: bool) -> Form | None:
    first = FIRST_LINE.match(text)
    assert first is not None
    if max(map(first[0].count, DELIMITERS)) >= MAX_NAMES:
        return None
    best, best_score = None, (0.0, 0)
    for delimiter in DELIMITERS:
        if delimiter in first[0]:
            form, score = _best(text, delimiter, is_whole)
            if score > best_score:
                best, best_score = form, score
    return best


def _best(text: str, delimiter: str, is_whole: bool) -> tuple[Form, tuple[float, int]]:
    """With quotes; tabs also without, where no line has one too few: text hardly ever has tabs of its own, so no quote spanned lines."""
    quoted, plain = (Form(delimiter, is_quoted) for is_quoted in (True, False))
    score = _score(_rows(text, quoted, is_whole))
    if delimiter == "\t" and '"' in text:
        plain_score = _score(_rows(text, plain, is_whole))
        if not score[0] or (plain_score[0] == 1.0 and plain_score[1] > score[1]):
            return plain, plain_score
    return quoted, score


def _rows(text: str, form: Form, is_whole: bool) -> list[list[str]]:
    """The first rows, without one that `text` may have cut in half; none where the first is no header."""
    reader = csv.reader(io.StringIO(text, newline=""), **form.arguments)
    try:
        header = next(reader, [])
        if not _is_header(header):
            return []
        rows = [header, *islice(reader, MAX_ROWS)]
    except csv.Error:  # a carriage return inside a cell that is not quoted
        return []
    return rows if is_whole else rows[:-1] if len(rows) > 1 else rows


def _score(rows: Sequence[list[str]]) -> tuple[float, int]:
    """(share of rows as wide as the header, number of rows) of a table, (0, 0) of anything else."""
    if not rows:
        return 0.0, 0
    header = rows[0]
    data = [row for row in rows[1:] if row and row != header]  # a header that comes again: files that were put together
    even = [row for row in data if len(row) == len(header)]
    share = len(even) / max(1, sum(row != header for row in rows[1:]))
    num_known = sum(name.lower() in KNOWN for name in header)
    if not data:
        return (MIN_EVEN_SHARE, 1) if num_known and all(map(IDENTIFIER.fullmatch, header)) else (0.0, 0)
    needed = MIN_EVEN_SHARE if len(data) >= MIN_ROWS_FOR_RAGGED else 1.0
    if share < needed or _is_rule(data[0]):
        return 0.0, 0
    return (share, len(even)) if _stands_out(header, even, num_known) else (0.0, 0)


def _is_header(cells: Sequence[str]) -> bool:
    """Whether these may be names of columns. The first may be without one: row numbers, as pandas writes them."""
    named = cells[1:] if cells and not cells[0] else cells
    return 2 <= len(cells) <= MAX_NAMES and len(set(named)) == len(named) >= 1 and all(map(_is_name, named))


def _is_name(cell: str) -> bool:
    return bool(NAME.fullmatch(cell)) and cell[-1] not in " .:" and cell.count(" ") < MAX_NAME_WORDS


def _is_rule(cells: Sequence[str]) -> bool:
    """The line under the header of a Markdown table."""
    return all(not cell.strip(" :-=+") for cell in cells)


def _stands_out(header: Sequence[str], data: Sequence[list[str]], num_known: int) -> bool:
    """Whether the first row is of another kind than those below it."""
    columns = list(zip(*data, strict=True))
    if any(name and name in column for name, column in zip(header, columns, strict=True)):
        return False
    if _share([cell for column in columns[1:] for cell in column], lambda cell: cell[0] == " ") > MAX_PROSE_SHARE:
        return False
    values = any(_share(column, lambda cell: bool(VALUE.fullmatch(cell))) >= MIN_UNLIKE_SHARE for column in columns)
    unlike = any(_share(column, lambda cell: not IDENTIFIER.fullmatch(cell)) >= MIN_UNLIKE_SHARE for column in columns)
    if num_known > 1 or (values and (num_known or len(data) > 1)):
        return True
    return all(map(IDENTIFIER.fullmatch, filter(None, header))) and bool(num_known or values or (unlike and len(data) > (1 if len(header) > 2 else 2)))


def _share(column: Sequence[str], test: Callable[[str], bool]) -> float:
    filled = [cell for cell in column if cell]
    return sum(map(test, filled)) / len(filled) if filled else 0.0
