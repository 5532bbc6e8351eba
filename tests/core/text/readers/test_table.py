from __future__ import annotations

import csv
import io
import json
import random
import tracemalloc

import pytest

from mspt.core.text.containers.sniff import CSV, TSV
from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.containers.walk import Leaf
from mspt.core.text.readers.record import Fields, Options, Record
from mspt.core.text.readers.table import items


def written(rows, **dialect) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, **dialect).writerows(rows)
    return buffer.getvalue()


ROWS = [["id", "text", "url"]] + [[str(n), f'第{n}行, 有 "引号"\n和换行；还有,逗号', f"http://x/{n}"] for n in range(40)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_are_those_that_were_written(read, delimiter, end):
    found = read(written(ROWS, delimiter=delimiter, lineterminator=end).encode())
    assert [record.decoded.text for record in found] == [row[1] for row in ROWS[1:]]
    assert [(record.ref, record.url, record.meta) for record in found] == [(f"f#{n}", f"http://x/{n}", {"id": str(n)}) for n in range(40)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "gb18030", "big5"])
def test_rows_in_other_encodings(read, encoding):
    text = "春天來了，花園裡的花都開了。老人坐在樹下, 慢慢地喝著茶。"
    rows = [["id", "text"], *([str(n), f"{text}{n}"] for n in range(50))]
    found = read(written(rows).encode(encoding))
    assert [record.decoded.text for record in found] == [row[1] for row in rows[1:]]


def test_fields_name_columns(read):
    data = "编号,正文,链接,来源\n1,一二三四,http://x,wiki\n2,五六七八,http://y,news\n"
    first, second = read(data.encode(), fields=Fields(text="正文", url="链接", title="编号", source="来源", meta=("链接",)))
    assert (first.decoded.text, first.url, first.title, first.source, first.meta) == ("一二三四", "http://x", "1", "wiki", {"链接": "http://x"})
    assert (second.ref, second.source) == ("f#1", "news")


def test_without_the_column_of_the_text_there_is_one_row_for_the_file(read):
    data = b"id,body,score\n" + b"".join(b"%d,some words here,%d\n" % (n, n) for n in range(500))
    (problem,) = read(data)
    assert (problem.ref, problem.rule) == ("f", "no-text")
    assert problem.detail == "no field text; there are body, id, score"
    rows = read(data, fields=Fields(keep=True))
    assert len(rows) == 500
    assert (rows[7].decoded.text, rows[7].fields) == ("", {"id": "7", "body": "some words here", "score": "7"})


def test_ragged_rows_keep_what_they_have(read):
    data = b"id,text,url\n1,a,u\n2,b\n3\n4,d,u,more,and more\n\n5,e,u\n6,f,u\n"
    found = read(data, kind=CSV)
    assert [one.decoded.text if isinstance(one, Record) else one.rule for one in found] == ["a", "b", "bad-line", "d", "e", "f"]
    assert (found[2].ref, found[2].detail, found[2].text) == ("f#2", "1 of 3 cells, no text", "3")
    assert (found[1].url, found[4].ref) == ("", "f#4")


def test_a_quote_that_is_never_closed_costs_only_its_line(read):
    good = [b"%d,text of row %d\n" % (n, n) for n in range(300)]
    good[5] = b'5,"text of row 5"\n'
    good[6] = b'6,"text of row 6","further, quoted"\n'
    data = b"id,text\n" + b"".join(good[:100]) + b'100,"opened and left so\n' + b"".join(good[101:])
    for limit in (1000, 2**24):  # the quote is longer than a document may be; the file ends first
        found = read(data, kind=CSV, max_document_bytes=limit)
        assert len(found) == 300
        assert (found[100].ref, found[100].rule, found[100].text) == ("f#100", "bad-line", '100,"opened and left so')
        assert [one.decoded.text for one in found if isinstance(one, Record)] == [f"text of row {n}" for n in range(300) if n != 100]


def test_a_file_of_open_quotes_is_read_in_linear_time(read):
    """Each of these lines opens a quote and closes the one before it, so that the parser would never come to an end of a row."""
    lines = [b'a"%d,"c\n' % n for n in range(6_000)]
    found = read(b'id,text\n0,"a, b"\n' + b"".join(lines), kind=CSV, max_document_bytes=200_000)
    assert len(found) == 1 + len(lines)
    assert {one.rule for one in found[1:]} == {"bad-line"}


def test_a_cell_of_5_megabytes_and_200000_cells_are_read(read):
    data = b"id,text\n1,short text\n2," + b"x" * 5_000_000 + b"\n3,y" + b",z" * 200_000 + b'\n4,"' + b"q" * 4_980_000 + b"q\n" * 10_000 + b'"\n5,last\n'
    found = read(data, kind=CSV)
    assert [len(record.decoded.text) for record in found] == [10, 5_000_000, 1, 5_000_000, 4]


def test_a_row_that_is_too_long_is_never_held_whole():
    parts = [b"id,text\n1,a\n2,", *[b"x" * 100_000] * 200, b"\n3,z\n"]
    tracemalloc.start()
    first, problem, last = [item.read() for item in items(Leaf("f", CSV, ByteStream(parts)), Options(max_document_bytes=1_000_000))]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first.decoded.text, last.decoded.text, last.ref) == ("a", "z", "f#2")
    assert (problem.rule, problem.value, len(problem.text)) == ("line-too-long", 20_000_002, 2048)
    assert used < 5_000_000


def test_quotes_are_text_in_a_table_that_does_not_use_them(read):
    lines = ["id\ttext", *(f'{n}\t"he said {n}' for n in range(30))]
    found = read("\n".join(lines).encode())
    assert [record.decoded.text for record in found] == [f'"he said {n}' for n in range(30)]


def test_nuls_bad_bytes_and_stray_carriage_returns_cost_only_their_rows(read):
    data = b"id,text\n1,a\0b\n2,c\xffd\n3,e\rf\n4,g\n" + "5,春天来了花园里的花都开了\n".encode() * 50
    found = read(data, kind=CSV)[:4]
    assert [one.decoded.text if isinstance(one, Record) else one.rule for one in found] == ["a\0b", "c\ufffdd", "bad-line", "g"]
    assert found[1].decoded.bad_lines == 1


def test_any_table_is_read_as_the_csv_module_reads_it():
    rng = random.Random(11)
    for _ in range(150):
        rows = [["id", "text"], *(["".join(rng.choices('ab",\n é', k=rng.randrange(6))) for _ in range(2)] for _ in range(rng.randrange(1, 6)))]
        data = written(rows, quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), lineterminator=rng.choice(["\n", "\r\n"]))
        expected = [row for row in csv.reader(io.StringIO(data, newline="")) if row][1:]
        size = rng.choice([1, 5, 1000])
        raw = data.encode()
        leaf = Leaf("f", CSV, ByteStream([raw[i : i + size] for i in range(0, len(raw), size)]))
        found = [item.read().fields for item in items(leaf, Options(fields=Fields(keep=True)))]
        assert found == [dict(zip(["id", "text"], row, strict=False)) for row in expected], json.dumps(data)


def test_memory_does_not_grow_with_the_file():
    def peak(size: int) -> int:
        line = ("7," + "一行" * 2000 + ',"有引号, 的"\n').encode() * 20
        leaf = Leaf("f", CSV, ByteStream([b"id,text,title\n", *(line for _ in range(size))]))
        tracemalloc.start()
        assert sum(1 for item in items(leaf, Options()) if isinstance(item.read(), Record)) == 20 * size
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    small, large = peak(3), peak(30)
    assert large < 1.1 * small


def test_a_table_of_nothing_has_no_text(read):
    (problem,) = read(b"\n\n\n", kind=TSV)
    assert problem.rule == "no-text"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("above", "delimiter"),
    [
        ("sep=;{end}", ";"),
        ('"sep=^"{end}', "^"),
        ("SEP=,{end}", ","),
        ("{end}  {end}", ","),
        ('# made by hand, "2024{end}# rows: 40{end}', ","),
        ("{end}{end}#{end}", "|"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_what_stands_above_the_header_is_no_row(read, above, delimiter, end, encoding):
    table = written(ROWS, delimiter=delimiter, lineterminator=end)
    found = read((above.format(end=end) + table).encode(encoding))
    assert [(record.ref, record.decoded.text) for record in found] == [(f"f#{n}", row[1]) for n, row in enumerate(ROWS[1:])]


def test_a_header_that_is_a_comment(read):
    found = read(b"# a list of words\n# id,text\n1,first words of it\n2,other words\n")
    assert [(record.decoded.text, record.meta) for record in found] == [("first words of it", {"id": "1"}), ("other words", {"id": "2"})]


def test_a_table_of_sep_alone_has_no_text(read):
    found = read(b"sep=;\na;b\n")
    assert [problem.rule for problem in found] == ["no-text"]
