"""Code, addresses and paths in prose: what is found, and that looking for it takes linear time."""

from __future__ import annotations

import pytest

from mspt.core.text.normal.normalize import Document
from mspt.core.text.normal.verbatim import Regions, verbatim
from mspt.core.text.spans import Span


def found(text: str, *, form: str = "prose", spans: tuple[Span, ...] = (), addresses: bool = True, indented: bool = False) -> list[str]:
    regions = verbatim(Document(text, spans, form), addresses=addresses, indented=indented)
    return [text[start:end] for start, end in zip(regions.starts, regions.ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `a, b` and ``c`d`` now", ["`a, b`"]),
        ("it`s so\nand `s", []),
        ("before\n```\na, b\n```\nafter", ["```\na, b\n```"]),
        ("see http://a.cn/b?c=1,2. 然后 ftp://x.org/,y", ["http://a.cn/b?c=1,2", "ftp://x.org/,y"]),
        ("见https://a.cn/中文,然后", ["https://a.cn/"]),
        ("at www.a.cn/b, mail mailto:a@b.cn!", ["www.a.cn/b", "mailto:a@b.cn"]),
        ("[链接](a/b(c).md) 与 [x](y z)", ["](a/b(c).md", "](y"]),
        ("in C:\\new\\table,文件 but hk:\\u7f57", ["C:\\new\\table,文件"]),
        ("plain, text: nothing (here)!", []),
    ],
)
def test_code_addresses_and_paths_are_found(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_what_is_asked_for() -> None:
    text = "    x = 1\nsee http://a.cn now\n\tmore\nC:\\a"
    assert found(text, addresses=False) == ["C:\\a"]
    assert found(text, addresses=False, indented=True) == ["    x = 1", "\n\tmore", "C:\\a"]
    assert found("all, of it", form="code") == ["all, of it"]
    assert found("a, b, c", spans=(Span("p", 0, 7), Span("code", 3, 4))) == ["b"]


def test_regions_are_merged_and_touched() -> None:
    regions = Regions([(8, 9), (2, 5), (4, 6), (7, 7)])
    assert (regions.starts, regions.ends) == ([2, 8], [6, 9])
    assert [place for place in range(10) if regions.touch(place, place + 1)] == [2, 3, 4, 5, 8]
    assert not regions.touch(6, 8)
    assert regions.touch(0, 20)


@pytest.mark.parametrize("unit", ["`", "``x", "](", "](a", "://", "a://", "www.", "c:\\", "mailto:", "    ", "\t\n", "a+"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    text = unit * 100_000
    assert sum(map(len, found(text, indented=True))) <= len(text)  # quadratic looking would run for hours here
