from __future__ import annotations

import json
import random
import tracemalloc

import pytest

from mspt.core.text.containers import Leaf, Problem
from mspt.core.text.records import MAX_BAD_LINE_ROWS, Fields, Options, Record, find, lines, meta_json, records
from mspt.core.text.sniff import JSONL, FileType, sniff
from mspt.core.text.streams import ByteStream


def read(data: bytes, kind: FileType | None = None, **options) -> list[Record | Problem]:
    leaf = Leaf("f", kind or sniff(data), ByteStream([data[i : i + 1000] for i in range(0, len(data), 1000)]))
    return list(records(leaf, Options(**options)))


def jsonl(*values) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def test_a_line_of_json_is_a_record_with_its_line_number():
    first, second = read(
        jsonl({"text": "一", "id": "a", "n": 3, "long": "x" * 2000, "list": [1]}) + b"\n" + jsonl({"text": "二", "title": "T", "url": "http://u"})
    )
    assert (first.ref, first.decoded.text, dict(first.meta)) == ("f#0", "一", {"id": "a", "n": 3})
    assert (second.ref, second.decoded.text, second.title, second.url) == ("f#2", "二", "T", "http://u")
    assert not second.markup


def test_fields_are_found_by_name_or_path():
    fields = Fields(text="page.body", url="page.links.self", title="a.b", meta=("page.n", "list"))
    value = {"page": {"body": "正文", "links": {"self": "u"}, "n": 1}, "a.b": "dotted name", "list": [1, 2], "x": 1}
    (record,) = read(jsonl(value), fields=fields)
    assert (record.decoded.text, record.url, record.title) == ("正文", "u", "dotted name")
    assert meta_json(record.meta) == '{"list":[1,2],"page.n":1}'
    assert find({"a": 1}, "a.b") is None


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b'{"text": "cut', "bad-line"), (b"[1, 2]", "bad-line"), (b'"text"', "bad-line"), (b'{"body": "x"}', "no-text"), (b'{"text": 5}', "no-text"),
        (b'{"text": null}', "no-text"), (b"[" * 100_000, "bad-line"), (b'{"text": "x"} trailing', "bad-line"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_has_a_row_and_costs_only_itself(line, rule):
    good = jsonl({"text": "good"})
    before, bad, after = read(good + line + b"\n" + good, kind=JSONL)
    assert (before.decoded.text, after.decoded.text, after.ref) == ("good", "good", "f#2")
    assert (bad.ref, bad.rule) == ("f#1", rule)
    assert bad.text.startswith(line[:20].decode())


def test_controls_nuls_bad_bytes_and_lone_surrogates_are_survived():
    raw = jsonl({"text": "好"}) + b'{"text": "a\x00b\x01c"}\n{"text": "d\xffe"}\n{"text": "\\ud83d x \\ud83d\\ude00"}\n{"text": "tab\there"}\n'
    texts = [record.decoded.text for record in read(raw, kind=JSONL)]
    assert texts == ["好", "a\0b\x01c", "d\ufffde", "\ufffd x \U0001f600", "tab\there"]
    assert [record.decoded.bad_lines for record in read(raw, kind=JSONL)] == [0, 0, 1, 1, 0]


def test_many_bad_lines_end_in_one_row_with_their_number():
    found = read(b'{"text": "x"}\n' * 5 + b"{broken\n" * (MAX_BAD_LINE_ROWS + 7), kind=JSONL)
    assert sum(isinstance(one, Record) for one in found) == 5
    assert sum(isinstance(one, Problem) for one in found) == MAX_BAD_LINE_ROWS + 1
    assert (found[-1].rule, found[-1].value) == ("bad-lines", 7)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "gb18030", "big5"])
def test_json_lines_in_other_encodings(encoding):
    values = [{"text": f"第{i}行的文字在這裡"} for i in range(30)]
    data = "".join(json.dumps(value, ensure_ascii=False) + "\r\n" for value in values).encode(encoding)
    assert [record.decoded.text for record in read(data)] == [value["text"] for value in values]


def test_a_line_that_is_too_long_is_never_held_whole():
    data = jsonl({"text": "a"}) + b'{"text": "' + b"x" * 50_000 + b'"}\n' + jsonl({"text": "z"})
    first, long, last = read(data, max_document_bytes=10_000)
    assert (first.decoded.text, last.decoded.text, last.ref) == ("a", "z", "f#2")
    assert (long.rule, long.value, long.threshold) == ("line-too-long", 50_012, 10_000)


def test_lines_are_those_of_split_wherever_chunks_end():
    rng = random.Random(5)
    for _ in range(200):
        data = bytes(rng.choices(b"ab\n", weights=(4, 4, 3), k=rng.randrange(40)))
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(4))
        chunks = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        expected = data.split(b"\n")
        assert [line for line, _ in lines(ByteStream(chunks), 100)] == (expected if expected[-1] else expected[:-1])


def test_one_plain_text_is_one_record():
    (record,) = read("一首诗。\n".encode("gb18030") * 50)
    assert (record.ref, record.decoded.encoding, record.decoded.text) == ("f#0", "gb18030", "一首诗。\n" * 50)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "big5", "utf-16", "utf-32-be", "utf-16-le"])
def test_a_huge_text_is_cut_at_blank_lines_and_loses_nothing(encoding):
    paragraphs = [f"第{i}段。" + "這是一段很長的文字，" * 10 + "\n\n" for i in range(100)]
    text = "".join(paragraphs)
    found = read(text.encode(encoding), max_document_bytes=4096)
    assert [record.ref for record in found] == [f"f#{i}" for i in range(len(found))]
    assert len(found) > 4
    assert "".join(record.decoded.text for record in found) == text
    assert all(record.decoded.text.endswith("\n\n") for record in found)


@pytest.mark.parametrize("text", ["一行很短\n" * 3000, "没有换行的文字" * 3000])
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16-le"])
def test_without_blank_lines_it_is_cut_at_line_ends_else_between_characters(text, encoding):
    found = read(text.encode(encoding), max_document_bytes=5000)
    assert "".join(record.decoded.text for record in found) == text
    assert all(record.decoded.text.endswith("\n") for record in found) or "\n" not in text


def test_a_page_is_one_record_with_its_markup():
    page = "<html><head><meta charset=gbk></head><body>网页</body></html>"
    (record,) = read(page.encode("gbk"))
    assert (record.ref, record.markup, record.decoded.text) == ("f#0", True, page)


def test_a_page_that_is_too_large_is_rejected():
    (problem,) = read(b"<html><body>" + b"x" * 5000, max_document_bytes=4096)
    assert (problem.rule, problem.value, problem.threshold) == ("too-large", 5012, 4096)


def test_types_that_are_not_read_have_a_row_with_type_and_size():
    (problem,) = read(b"%PDF-1.7\n" + b"x" * 3000)
    assert (problem.rule, problem.detail, problem.value) == ("unread-type", "pdf", 3009)
    (problem,) = read(b"")
    assert problem.rule == "empty-file"


def test_memory_does_not_grow_with_the_file():
    def peak(size: int) -> int:
        line = jsonl({"text": "行" * 300})
        leaf = Leaf("f", sniff(line), ByteStream(line * 100 for _ in range(size)))
        tracemalloc.start()
        assert sum(1 for _ in records(leaf)) == 100 * size
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    small, large = peak(10), peak(100)
    assert large < 1.1 * small


def test_meta_of_any_kind_is_json():
    assert meta_json({}) == ""
    assert json.loads(meta_json({"b": 1, "a": "\ud800", "c": 1 << 80})) == {"a": "\ud800", "b": 1, "c": 1 << 80}
    assert meta_json({"b": "二", "a": True}) == '{"a":true,"b":"二"}'
