"""Token lines and shuffled texts."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.quality.features import shuffle_characters, shuffle_words, token_lines, windows


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("我用Python 3.11写\n代码", "我 用 python 0 . 00 写 代 码"),
        ("Hello,  world!", "hello , world !"),
        ("__label__bad </s>", "_ _ label _ _ bad < / s >"),
        ("a\0b\r\nc\td", "a b c d"),
        ("snake_case2", "snake _ case0"),
        ("😀𠀀é", "😀 𠀀 é"),
        ("zero\u200bwidth", "zerowidth"),
        ("", ""),
        ("  \n", ""),
    ],
)
def test_lines_by_hand(text, line):
    assert token_lines(pa.array([text]), 100) == [line]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=5))
def test_no_text_can_break_a_line_or_pass_for_a_label(texts):
    for line in token_lines(pa.array(texts, pa.string()), 100):
        assert not any(c in line for c in "\n\r\0\v\f\t")
        tokens = line.split(" ") if line else []
        assert all(tokens)  # single blanks only
        assert not any(token.startswith("__label__") or token == "</s>" for token in tokens)


def test_only_the_first_characters_count():
    assert token_lines(pa.chunked_array([["一二三四"], ["ab cd"]]), 2) == ["一 二", "ab"]


def test_windows_are_spread_over_the_text():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 1050)))
    found = windows(text, 100, 4)
    assert [text.index(window) for window in found] == [0, 200, 500, 700]
    assert {len(window) for window in found} == {100}
    assert windows("short", 100, 4) == ["short"]
    assert len(windows(text, 100, 50)) == 10


def test_shuffled_words_move_whole_and_leave_the_rest_in_place():
    text = "Alpha beta, gamma!\n今天天气 很好。x1"
    shuffled = shuffle_words(text, random.Random(3))
    assert shuffled != text
    words = ["Alpha", "beta", "gamma", *"今天天气很好", "x1"]
    assert Counter(shuffled) == Counter(text)
    assert all(word in shuffled for word in words)
    assert [c for c in shuffled if not c.isalnum()] == [c for c in text if not c.isalnum()]


def test_shuffled_characters_keep_the_shape_of_the_text():
    text = "Alpha beta, gamma!\n今天天气 很好。"
    shuffled = shuffle_characters(text, random.Random(3))
    assert Counter(shuffled) == Counter(text)
    assert [(i, c) for i, c in enumerate(shuffled) if not c.isalnum()] == [(i, c) for i, c in enumerate(text) if not c.isalnum()]
    assert shuffle_characters(text, random.Random(3)) == shuffled != shuffle_characters(text, random.Random(4))
