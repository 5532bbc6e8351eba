"""What the corruptions and the middle kinds do to a text."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from mspt.core.quality.corruptions import CORRUPTIONS, is_han, keywords
from mspt.core.quality.examples import changed
from mspt.core.quality.middle import MIDDLE, sentences
from mspt.core.quality.mojibake import misread
from mspt.core.quality.translation import glossary, segment, translate_badly

ZH = "北风与太阳正在争论谁比较有本事，他们正好看到有个人走过，那个人穿着一件斗篷。他们就说好了，谁可以让那个人脱掉那件斗篷，就算谁比较有本事。\n" * 4
EN = "The north wind and the sun were disputing which was the stronger, when a traveller came along wrapped in a warm cloak. They agreed that one.\n" * 4
ODD = ["", " ", "\n", "。", "a", "好", "\0", "123 456", "😀" * 30, "\u2028", "http://x/y?z", "x" * 300, "的" * 300, "ก็ไม่รู้"]


@pytest.mark.parametrize("kind", CORRUPTIONS)
@pytest.mark.parametrize("text", [ZH, EN])
def test_a_corruption_changes_much_and_depends_on_the_seed_only(kind, text):
    corrupt = CORRUPTIONS[kind]
    made = corrupt(text, random.Random(1))
    assert made == corrupt(text, random.Random(1)) != corrupt(text, random.Random(2))
    assert changed(text, made) > 0.2
    assert 0.3 * len(text) < len(made) < 3 * len(text)


@pytest.mark.parametrize("kind", [*CORRUPTIONS, *MIDDLE])
def test_any_text_can_be_corrupted(kind):
    for text in ODD:
        for seed in range(4):
            made = CORRUPTIONS[kind](text, random.Random(seed)) if kind in CORRUPTIONS else MIDDLE[kind](text, random.Random(seed), list(CORRUPTIONS.values()))
            made.encode("utf-8")  # no lone surrogates: it goes into a column of strings


def test_the_words_of_a_text():
    assert is_han("我用 Python 写代码")
    assert not is_han("I write 代码 in Python with care")
    assert set(keywords("Alpha beta 12 x", random.Random(1), 20)) == {"Alpha", "beta"}
    assert all(word in "北风与太阳" for word in keywords("北风与太阳。", random.Random(1), 20))
    assert keywords("...", random.Random(1), 2) == ["info"]


def test_mojibake_is_what_a_wrong_decoder_shows():
    found = {misread("编码错误的文字", random.Random(seed)) for seed in range(60)}
    assert "编码错误的文字".encode().decode("gb18030", "replace") in found
    assert "±àÂë´íÎóµÄÎÄ×Ö" in found  # GBK bytes read as Latin-1, known from the web
    assert "???????" in found
    assert all(changed(EN, misread(EN, random.Random(seed))) > 0.2 for seed in range(20))  # text in ASCII too


def test_a_number_table_holds_numbers_and_little_else():
    made = CORRUPTIONS["number-table"](ZH, random.Random(1))
    assert sum(c.isdigit() for c in made) > len(made) / 4
    assert len(sentences(ZH)) == 8


def test_bad_translation_keeps_measure_words_wrong_and_words_foreign():
    assert segment("我们知道这个问题") == ["我们", "知道", "这个", "问题"]
    assert glossary().english["咱们"] == "we"
    assert glossary().chinese["big"] == "大"
    made = [translate_badly("我们知道三本书的历史", random.Random(seed)) for seed in range(30)]
    assert any(re.search("[a-z]{2,}", text) for text in made)
    assert any("历史的" in text.replace(" ", "") or "history 的" in text for text in made)  # what 的 ties is turned around
    english = translate_badly("The government has a new computer and the people think it is good.", random.Random(3))
    assert is_han(english) or re.search("[\u4e00-\u9fff]", english)


def test_every_line_of_the_glossary_goes_both_ways():
    words = glossary()
    assert len(words.english) > 250
    assert all(re.fullmatch("[a-z-]+", word) for word in words.chinese)
    assert all(words.english[chinese] for chinese in words.chinese.values())


def test_sentences_are_the_whole_text():
    for text in (ZH, EN, *ODD, "他说：“好。”然后走了！Version 3.11 is out. Yes?\n\n- item"):
        assert "".join(sentences(text)) == text
    assert sentences("一。二！三") == ["一。", "二！", "三"]


def test_the_middle_class_keeps_a_part_of_the_text():
    corruptions = [CORRUPTIONS["number-table"]]
    mixed = MIDDLE["mixed"](ZH, random.Random(1), corruptions)
    whole = sum(mixed.count(sentence) for sentence in set(sentences(ZH)))
    assert 4 <= whole <= 5  # of 8 a third to a half is replaced
    gaps = MIDDLE["gaps"](ZH, random.Random(1), corruptions)
    assert 0.75 < len(gaps) / len(ZH) < 0.95
    assert not Counter(gaps) - Counter(ZH)
    assert all(len(line) <= 18 for line in MIDDLE["listed"](ZH, random.Random(1), corruptions).splitlines())
