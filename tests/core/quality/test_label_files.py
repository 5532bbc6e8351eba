"""CSV and JSONL for labelling: what is written is read back, and spreadsheets neither lose nor run anything."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.errors import MsptError
from mspt.core.quality.label_files import MAX_CELL, as_csv, as_jsonl, num_cut, read_rows

COLUMNS = ("id", "quality", "label", "text")
TEXTS = ['two\nlines, one "quote"', "=1+1", "'=1", "-\tdash", "+ plus", "@name", "'plain", "\u2028", "我用Python\r\n写", "", "\ufeffmark", "a;b;c"]


def back(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    return [row for _, row in read_rows(path)]


def rows_of(texts):
    return [{"id": f"{i:032x}", "quality": 0.5, "label": "high", "text": text} for i, text in enumerate(texts)]


def test_round_trip(tmp_path):
    rows = rows_of(TEXTS)
    assert [row["text"] for row in back(tmp_path, as_csv(rows, COLUMNS))] == TEXTS
    assert back(tmp_path, as_csv(rows, COLUMNS))[0] == {"id": "0" * 32, "quality": "0.5", "label": "high", "text": TEXTS[0]}
    assert back(tmp_path, as_jsonl(rows)) == rows


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=20), min_size=1, max_size=5))
def test_any_text(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("any")
    assert [row["text"] for row in back(folder, as_jsonl(rows_of(texts)))] == texts
    plain = ["".join("\ufffd" if (ord(c) < 32 and c not in "\t\n\r") or ord(c) == 127 else c for c in text) for text in texts]
    assert [row["text"] for row in back(folder, as_csv(rows_of(texts), COLUMNS))] == plain


def test_what_a_spreadsheet_sees():
    """Read by Python's own csv: Excel's rules, no formula, a byte order mark."""
    content = as_csv(rows_of(["=HYPERLINK(1)", "a\0b", "x" * 40_000, "\U0001f600" * 20_000]), COLUMNS)
    assert content.startswith(b"\xef\xbb\xbfid,quality,label,text\r\n")
    cells = [row[3] for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))][1:]
    assert cells[:2] == ["'=HYPERLINK(1)", "a\ufffdb"]
    assert [len(cell.encode("utf-16-le")) // 2 for cell in cells[2:]] == [MAX_CELL, MAX_CELL]
    assert MAX_CELL < 32_767
    assert num_cut(rows_of(["x" * 40_000, "\U0001f600" * 20_000, "x" * MAX_CELL])) == 2


def test_what_spreadsheets_write(tmp_path):
    semicolons = 'Label;TEXT\r\nhigh;"a; b"\r\n;\r\nlow;c\r\n'.encode("utf-8-sig")
    assert back(tmp_path, semicolons) == [{"label": "high", "text": "a; b"}, {"label": "low", "text": "c"}]
    assert back(tmp_path, b"text\tlabel\na, b\tlow") == [{"text": "a, b", "label": "low"}]
    long = "x" * 200_000  # beyond csv's own limit
    assert back(tmp_path, f"text,label\n{long},low\n".encode())[0]["text"] == long


def test_places_are_lines_of_the_file(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(as_csv(rows_of(["a\nb\nc", "d"]), COLUMNS))
    assert [place for place, _ in read_rows(path)] == ["labels.csv:2", "labels.csv:5"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"words,label\na,low\n", "no column `text`"),
        (b"just words\n", "no column `text`"),
        (b"text,label\na,low,more\n", "labels.csv:2 has 3 cells, the first line 2"),
        (b'text,label\n"a,low\n', "is no CSV"),
        (b'text,label\n"a"b,low\n', "labels.csv:2 is no CSV"),
        (b"text,Label, label\na,low,high\n", "two columns `label`"),
        (b'{"text": "a", "label": "low", "label": "high"}\n', "labels.csv:1 has `label` twice"),
        ("text,label\n好,low\n".encode("gb18030"), "is not UTF-8"),
        ("text,label\n好,low\n".encode("utf-16"), "is not UTF-8"),
    ],
)
def test_mistakes_are_named(tmp_path, content, message):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    with pytest.raises(MsptError, match=message) as caught:
        list(read_rows(path))
    assert caught.value.hint
