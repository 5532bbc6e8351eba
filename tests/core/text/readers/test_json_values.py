from __future__ import annotations

import json
import random
import tracemalloc

import pytest

from mspt.core.text.containers.sniff import JSON
from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.readers.json_values import items
from mspt.core.text.readers.record import Fields, Options, Record


def texts(found: list[Record | Problem]) -> list[str]:
    return [one.decoded.text if isinstance(one, Record) else one.rule for one in found]


def test_an_array_of_objects_gives_a_record_for_each(read):
    value = [{"text": "一", "id": 5}, {"text": 'quote " and [brackets]} \\', "id": 6}, {"body": "none"}]
    found = read(json.dumps(value, ensure_ascii=False, indent=2).encode())
    assert texts(found) == ["一", 'quote " and [brackets]} \\', "no-text"]
    assert [one.ref for one in found] == ["f#0", "f#1", "f#2"]
    assert found[0].meta == {"id": 5}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{\n "text": "alone",\n "b": {"c": [1, 2]}\n}\n', ["alone"]),
        ('{\n"text": "one"\n}\n{\n"text": "two"\n}\n', ["one", "two"]),
        ('{"text": "one"}{"text": "two"}', ["one", "two"]),
        ('[\n{"text": "x"}, 1, "s,]", [2, [3]], null, {"text": "y"}]', ["x", "bad-line", "bad-line", "bad-line", "bad-line", "y"]),
        ('[\n{"text": "x"},\n{"text": "cut', ["x", "bad-line"]),
        ('[\n{"text": "x"}}, ], {"text": "y"}\n]', ["x", "bad-line", "y", "bad-line"]),
        ('[\n{"text": "x" oops},\n{"text": "y"}]', ["bad-line", "y"]),
        ("[\n{\n}\n]", ["no-text"]),
        ('[\n{"text": "x"}]\n[\n{"text": "y"}]', ["x", "y"]),
        ('[ {"text": "\\ud800 lone"},\n {"text": "a\0b"} ]', ["\ufffd lone", "a\0b"]),
    ],
)
def test_values_are_told_apart_by_their_brackets(read, data, expected):
    assert texts(read(data.encode("utf-8"), kind=JSON)) == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "gb18030", "big5", "utf-32-be"])
def test_arrays_in_other_encodings(read, encoding):
    """功 and 許 end with a backslash in Big5, 誠 and the like with brackets: bytes are not what is looked at."""
    words = ["功能許可", "蓋子閱讀", "誠實的花園裡的花都開了", "老人坐在樹下慢慢地喝著茶"] * 20
    found = read(json.dumps([{"text": word} for word in words], ensure_ascii=False, indent=1).encode(encoding))
    assert texts(found) == words
    (named,) = {record.decoded.encoding for record in found}
    assert named in {"utf-16": ["utf-16-le"], "utf-8-sig": ["utf-8"], "big5": ["big5hkscs", "cp950"]}.get(encoding, [encoding])


def random_value(rng: random.Random, depth: int) -> object:
    kind = rng.randrange(6 if depth else 4)
    if kind == 4:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return {f"k{n}": random_value(rng, depth - 1) for n in range(rng.randrange(4))}
    return [rng.randrange(1000), None, "".join(rng.choices('a"\\[]{},\n好', k=rng.randrange(8))), True][kind]


def test_any_array_is_read_as_a_parser_reads_it_wherever_chunks_end():
    rng = random.Random(3)
    for _ in range(200):
        value = [{"text": str(n), "v": random_value(rng, 3)} for n in range(rng.randrange(1, 5))]
        data = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1])).encode()
        size = rng.choice([1, 2, 3, 7, 1000])
        leaf = Leaf("f", JSON, ByteStream([data[i : i + size] for i in range(0, len(data), size)]))
        found = [item.read().fields for item in items(leaf, Options(fields=Fields(keep=True)))]
        assert found == value


def test_an_element_that_is_too_long_is_never_held_whole():
    parts = [b'[{"text": "a"}, {"text": "', *[b"x" * 100_000] * 200, b'"}, {"text": "z"}]']
    tracemalloc.start()
    first, problem, last = [item.read() for item in items(Leaf("f", JSON, ByteStream(parts)), Options(max_document_bytes=1_000_000))]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first.decoded.text, last.decoded.text) == ("a", "z")
    assert (problem.ref, problem.rule, problem.value, len(problem.text)) == ("f#1", "line-too-long", 20_000_012, 2048)
    assert used < 5_000_000


def test_deep_nesting_is_a_bad_line(read):
    deep = '{"a":' * 20_000 + "1" + "}" * 20_000
    assert texts(read(f'[\n{{"text": "x"}}, {deep}, {{"text": "y"}}]'.encode())) == ["x", "bad-line", "y"]
