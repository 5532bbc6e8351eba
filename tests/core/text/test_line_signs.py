"""What is seen of lines at once against the patterns that it saves."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.form import COMMENT_LINE, _is_code_line, _is_table
from mspt.core.text.line_signs import FIRST_WORDS, MAY_BE_COMMENT, PLAIN, mark_lines, read_lines
from mspt.core.text.rules.line_rules import TOKEN
from mspt.core.text.rules.signs import PLACES, find_signs

CODE = [
    "def f(x):",
    "return x",
    "x = 1",
    "}",
    "});",
    "a\\",
    "key: 1,",
    '"a": 2,',
    "'a',",
    "'a' +",
    "else:",
    "foo(bar)",
    "x <- y",
    "f :: a",
    "=>",
    "a |>",
    "do |x|",
    "one two;",
    "fi",
]
PROSE = ["It was late, and nobody came.", "春眠不觉晓，处处闻啼鸟。", "He said: come", "the end", "", " \u3000", "a" * 600, "x(" + "a" * 600]


@settings(max_examples=500, deadline=None)
@given(
    st.text(alphabet="aDefFi中é \t\u3000;:,.{}()[]=<>-|\\\"'#/@$+&%_1", max_size=14)
    | st.sampled_from(sorted(FIRST_WORDS)).map(lambda word: f"{word} x:")
    | st.sampled_from(CODE + PROSE)
)
def test_a_plain_line_is_neither_code_nor_comment(line: str) -> None:
    marks, bounds = mark_lines(line)
    assert len(marks) == bool(line.strip())
    if marks:
        start, end = bounds[0].tolist()
        assert line[start:end] == line.rstrip()[:500]
        if marks[0] == PLAIN:
            assert not _is_code_line(line.rstrip())
        if marks[0] != MAY_BE_COMMENT:
            assert COMMENT_LINE.match(line) is None


@pytest.mark.parametrize("line", ["It was late, and nobody came.", "春眠不觉晓，处处闻啼鸟。", "He said: come here.", "“Why?” she asked (twice),"])
def test_prose_is_plain(line: str) -> None:
    assert mark_lines(line).marks == bytes([PLAIN])


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab,|;\t \n\r\x0c\u2028<中", max_size=40))
def test_lines_are_those_of_the_library(text: str) -> None:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    found = read_lines(text)
    assert (found.number, found.longest) == (len(lines), max(map(len, lines), default=0))
    assert found.markup == sum(line.lstrip()[0] == "<" for line in lines)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a,b,c", "1,2,3", "x, y", "a\tb\tc\t", "a;b;c", "|a|b|", "text"]), min_size=1, max_size=14))
def test_a_table_agrees_by_the_vote(lines: list[str]) -> None:
    text = "\n".join(lines)
    shares = [Counter(line.rstrip().count(separator) for line in lines).most_common(1)[0] for separator in "\t,|;"]
    for number, agreeing in shares:
        if number >= 2:
            assert read_lines(text).agreeing >= 2 * agreeing - len(lines)
    if _is_table([line.rstrip() for line in lines]):
        assert read_lines(text).agreeing >= 0.8 * len(lines) - 1e-6


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "avaScript",
                "ookie",
                "ipsum",
                "](",
                "ICP",
                "rivacy",
                "erms",
                "ontact",
                "bout us",
                "我们",
                "條款",
                "版权所有",
                "登录",
                "://",
                "www.",
                "a",
                "我",
                " ",
                "ww",
            ]
        ),
        max_size=8,
    ).map("".join)
)
def test_signs_are_found(text: str) -> None:
    """A name is found where one of the spellings of its places stands in the text."""
    spelt = {
        name for name, places in PLACES.items() if any(all(text[i + k] in place for k, place in enumerate(places)) for i in range(len(text) - len(places) + 1))
    }
    assert find_signs(text).names == spelt


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a" * 600, "-" * 500, " ", "\n", "中", "\u3000", "\xa0", "b", "ｆ", "\U00020000"]), max_size=6).map("".join))
def test_a_long_token_is_long(text: str) -> None:
    longest = max((len(match[0]) for match in TOKEN.finditer(text)), default=0)
    assert find_signs(text).longest_token >= longest
