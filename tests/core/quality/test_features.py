"""Token lines, shapes of unknown tokens, and shuffled texts."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.quality.features import Vocabulary, count_tokens, encoded_lines, most_frequent, shuffle_characters, shuffle_words, token_lines, windows
from mspt.core.quality.token_kernel import MOST_BYTES


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("我用Python 3.11写\n代码", "我 用 python 0 . 00 写 ¶cx 代 码 ¶bx"),
        ("Hello,  world!", "hello , world ! ¶c."),
        ("好。\n\n\n", "好 。 ¶b."),
        ("__label__bad </s>", "_ _ label _ _ bad < / s > ¶dx"),
        ("¶a ¤H", "¶ a ¤ h ¶cx"),  # what looks like a token of ours in a text is two
        ("a\0b\r\nc\td", "a b ¶bx c d ¶bx"),
        ("snake_case2", "snake _ case0 ¶bx"),
        ("😀𠀀é", "😀 𠀀 é ¶bx"),
        ("zero\u200bwidth", "zerowidth ¶ax"),
        ("x " * 64, "x " * 64 + "¶gx"),
        ("", ""),
        ("  \n", ""),
    ],
)
def test_lines_by_hand(text, line):
    assert token_lines(pa.array([text]), 1000) == [line]


def test_lines_of_unknown_words_by_hand():
    known = Vocabulary.of(["我", "the", ","])
    texts = ["我们, the cat\nthe 我", "strength 2024 Привет naïve ご飯 ☃ _ xkcd, queue", "the", "abcdefghijklmnopq ae"]
    assert token_lines(pa.array(texts), 100, known) == [
        "我 ¤H , the ¤l1 ¶cx the 我 ¶bx",
        "¤q3 ¤02 ¤l2 ¤l2 ¤C ¤H ¤S ¤S ¤q2 , ¤q2 ¶dx",  # ngth; no vowel in xkcd; ueue
        "the ¶ax",
        "¤q4 ¤l1 ¶bx",
    ]


def test_no_line_is_longer_than_the_room_for_it():
    """The worst: single letters and marks on lines of their own, as shapes; letters that are longer once folded."""
    nothing = Vocabulary.of(["never"])
    for text in ["a", "!", "1\n!\n☃", "\n\na", "Ⱥ", "Ⱥ\n" * 50, "我\n" * 50, "a !\n" * 50]:
        (line,) = encoded_lines(pa.array([text]), 1000, nothing)
        assert len(line) <= MOST_BYTES * (len(text.encode()) + 1)


def test_a_vocabulary_finds_each_of_its_tokens_and_no_other():
    tokens = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]
    line = token_lines(pa.array(["".join(tokens)]), 10_000, Vocabulary.of(tokens[::2]))[0].split(" ")
    assert line == [token if i % 2 == 0 else "¤H" for i, token in enumerate(tokens)] + ["¶gx"]


def test_the_most_frequent_tokens():
    counts = count_tokens(["b a ¶cx b", "c ¶ a", ""])
    assert counts == {"b": 2, "a": 2, "c": 1, "¶": 1}  # tokens of the layout need no vocabulary, the mark itself does
    assert most_frequent(counts, 3) == ["a", "b", "c"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=5), st.booleans())
def test_no_text_can_break_a_line_or_pass_for_a_label(texts, known):
    lines = token_lines(pa.array(texts, pa.string()), 100, Vocabulary.of("abc") if known else None)
    assert len(lines) == len(texts)
    for line in lines:
        assert not any(c in line for c in "\n\r\0\v\f\t")
        tokens = line.split(" ") if line else []
        assert all(tokens)  # single blanks only
        assert not any(token.startswith("__label__") or token == "</s>" for token in tokens)


def test_only_the_first_characters_count():
    assert token_lines(pa.chunked_array([["一二三四"], ["ab cd"]]), 2) == ["一 二 ¶bx", "ab ¶ax"]


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
