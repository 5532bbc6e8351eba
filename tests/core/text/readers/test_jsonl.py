from __future__ import annotations

import json
import tracemalloc

import pytest

from mspt.core.text.containers.sniff import JSONL
from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.readers.jsonl import items
from mspt.core.text.readers.record import Fields, Options, Record


def jsonl(*values, **dump) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False, **dump).encode() + b"\n" for value in values)


def test_a_line_of_json_is_a_record_with_its_line_number(read):
    first, second = read(
        jsonl({"text": "一", "id": "a", "n": 3, "long": "x" * 2000, "list": [1]}) + b"\n" + jsonl({"text": "二", "title": "T", "url": "http://u"})
    )
    assert (first.ref, first.decoded.text, dict(first.meta)) == ("f#0", "一", {"id": "a", "n": 3})
    assert (second.ref, second.decoded.text, second.title, second.url) == ("f#2", "二", "T", "http://u")
    assert not second.markup
    assert first.fields == {}


def test_fields_are_found_by_name_or_path(read):
    fields = Fields(text="page.body", url="page.links.self", title="a.b", meta=("page.n", "list"), source="page.from")
    value = {"page": {"body": "正文", "links": {"self": 7}, "n": 1, "from": "wiki"}, "a.b": "dotted name", "list": [1, 2], "x": 1}
    (record,) = read(jsonl(value), fields=fields)
    assert (record.decoded.text, record.url, record.title, record.source) == ("正文", "7", "dotted name", "wiki")
    assert record.meta == {"page.n": 1, "list": [1, 2]}


def test_all_fields_are_kept_on_demand_and_no_text_is_needed_then(read):
    with_text, without = read(jsonl({"text": "x", "list": [{"a": None}]}, {"price": 1.5}), fields=Fields(keep=True))
    assert (with_text.decoded.text, with_text.fields) == ("x", {"text": "x", "list": [{"a": None}]})
    assert (without.decoded.text, without.fields, without.ref) == ("", {"price": 1.5}, "f#1")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b'{"text": "cut', "bad-line"), (b"[1, 2]", "bad-line"), (b'"text"', "bad-line"), (b'{"body": "x"}', "no-text"), (b'{"text": 5}', "no-text"),
        (b'{"text": null}', "no-text"), (b"[" * 100_000, "bad-line"), (b'{"text": "x"} trailing', "bad-line"), (b"\0" * 50, "bad-line"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_has_a_row_and_costs_only_itself(read, line, rule):
    good = jsonl({"text": "good"})
    before, bad, after = read(good + line + b"\n" + good, kind=JSONL)
    assert (before.decoded.text, after.decoded.text, after.ref) == ("good", "good", "f#2")
    assert (bad.ref, bad.rule) == ("f#1", rule)
    assert bad.text == line[:2048].decode()


def test_every_bad_line_has_a_row(read):
    found = read(b'{"text": "x"}\n' * 5 + b"{broken\n" * 1000, kind=JSONL)
    assert sum(isinstance(one, Record) for one in found) == 5
    assert [one.ref for one in found if isinstance(one, Problem)] == [f"f#{number}" for number in range(5, 1005)]


def test_controls_nuls_bad_bytes_and_lone_surrogates_are_survived(read):
    raw = (
        jsonl({"text": "好", "note": "春天来了，花园里的花都开了。" * 9})
        + b'{"text": "a\x00b\x01c"}\n{"text": "d\xffe"}\n{"text": "\\ud83d x \\ud83d\\ude00"}\n{"text": "tab\there"}\n'
    )
    found = read(raw, kind=JSONL)
    assert [record.decoded.text for record in found] == ["好", "a\0b\x01c", "d\ufffde", "\ufffd x \U0001f600", "tab\there"]
    assert [record.decoded.bad_lines for record in found] == [0, 0, 1, 1, 0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "gb18030", "big5"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_in_other_encodings_with_other_ends(read, encoding, end):
    values = [{"text": f"第{i}行的文字在這裡"} for i in range(30)]
    data = "".join(json.dumps(value, ensure_ascii=False) + end for value in values).encode(encoding)
    found = read(data)
    assert [record.decoded.text for record in found] == [value["text"] for value in values]
    assert [record.ref for record in found] == [f"f#{number}" for number in range(30)]


def test_a_line_that_is_too_long_is_never_held_whole():
    size = 30_000_000
    long = [b'{"text": "', *[b"x" * 100_000] * (size // 100_000), b'"}\n']
    leaf = Leaf("f", JSONL, ByteStream([jsonl({"text": "a"}), *long, jsonl({"text": "z"})]))
    tracemalloc.start()
    first, problem, last = [item.read() for item in items(leaf, Options(max_document_bytes=1_000_000))]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first.decoded.text, last.decoded.text, last.ref) == ("a", "z", "f#2")
    assert (problem.rule, problem.value, problem.threshold, len(problem.text)) == ("line-too-long", size + 12, 1_000_000, 2048)
    assert used < 5_000_000


def test_a_line_of_5_megabytes_and_one_with_200000_fields_are_read(read):
    wide = {f"f{number}": "" for number in range(200_000)}
    long, many = read(jsonl({"text": "好" * 1_700_000}, {**wide, "text": "x"}), fields=Fields(meta=()))
    assert (len(long.decoded.text), many.decoded.text) == (1_700_000, "x")


def test_memory_does_not_grow_with_the_file():
    def peak(size: int) -> int:
        line = jsonl({"text": "行" * 3000})
        tracemalloc.start()
        assert sum(1 for item in items(Leaf("f", JSONL, ByteStream(line * 10 for _ in range(size))), Options()) if item.read()) == 10 * size
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    small, large = peak(10), peak(100)
    assert large < 1.1 * small


def test_what_nobody_reads_is_not_parsed():
    lines = [b'{"text": "x"}\n', b"{broken\n"] * 3
    places = [item.at for item in items(Leaf("f", JSONL, ByteStream(lines)), Options())]
    assert places == [0, 14, 22, 36, 44, 58]
