"""Chinese marks in full width: which marks change, and which are none of a Chinese sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.normal.normalize import Document
from mspt.core.text.normal.punctuation import unify
from mspt.core.text.spans import Span, edit

PIECES = st.sampled_from(
    [*",.!?:;()'\"` \n", "...", "中", "文", "a", "B", "3", "。", "，", "）", "（", "”", "』", "一", "は", "http://a.cn/", "```\n", "x=", ":)", "]("]
)
texts = st.lists(PIECES, max_size=40).map("".join)


def unified(text: str, form: str = "prose") -> str:
    return edit(text, (), list(unify(Document(text, (), form))))[0]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("你好,世界!", "你好，世界！"),
        ("今天好.明天也好.", "今天好。明天也好。"),
        ("真的?!是吗? 是的;好", "真的？！是吗？是的；好"),
        ('他说:"好."然后走了...', '他说："好。"然后走了……'),
        ("用Python,然后运行 GPU,CPU!", "用Python，然后运行 GPU,CPU!"),
        ("卷积(Convolution)网络(CNN),好", "卷积（Convolution）网络（CNN），好"),
        ("f(x),其中(一种)", "f(x)，其中（一种）"),
        ("见http://x.com/a.html,然后", "见http://x.com/a.html，然后"),
        ("《史记》,《汉书》:前者", "《史记》，《汉书》：前者"),
        ("时间:12:30,共1,000个(约),值3.14.", "时间：12:30，共1,000个（约），值3.14."),
    ],
)
def test_marks_of_chinese_sentences(raw: str, expected: str) -> None:
    assert unified(raw) == expected
    assert unified(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "3.14, 1,000 (12:30).\n",
        "文件.txt与配置.yaml",
        "参见:ref:`目录` 与:smile:",
        "搜索?q=中文 好:) 说明::",
        "一.安装\n二.运行",
        "1.安装 2.运行",
        "列夫.托尔斯泰写了它。这很长。",  # the text ends sentences with 。
        "官吏?障，深水?区。是的。",  # lost characters
        "[链接](http://a.cn) print(中文)",
        "`代码,代码` 和\n```\n中文,中文\n```",
        "C:\\目录,文件",
        "English, “quoted”, text: (fine)!",
        "これは(テスト)です,はい.ひらがなとカタカナ",  # Japanese
        "“引号”与'单引号'",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert unified(text) == text


def test_code_stays() -> None:
    assert unified("x = '中文,中文'  # 注释,说明", form="code") == "x = '中文,中文'  # 注释,说明"
    text = "正文,正文 代码,代码"
    spans = (Span("p", 0, 11), Span("code", 6, 11))
    written, moved = edit(text, spans, list(unify(Document(text, spans, "prose"))))
    assert written == "正文，正文 代码,代码"
    assert moved == spans


@settings(max_examples=400, deadline=None)
@given(texts, st.data())
def test_twice_is_once_and_spans_stay_valid(text: str, data: st.DataObject) -> None:
    borders = st.integers(0, len(text))
    spans = tuple(Span("p", *sorted(pair)) for pair in data.draw(st.lists(st.tuples(borders, borders), max_size=3)) if pair[0] != pair[1])
    written, moved = edit(text, spans, list(unify(Document(text, spans, "prose"))))
    assert unified(written) == written
    assert all(0 <= start < end <= len(written) for _, start, end in moved)
    plain = str.maketrans("，。！？：；（）…", ",.!?:;().")  # nothing but marks and blanks has changed
    assert [one for one in written.translate(plain) if one not in " ."] == [one for one in text.translate(plain) if one not in " ."]


@settings(max_examples=200, deadline=None)
@given(st.text("abc ,.!?:;()\n'\"é“”", max_size=60))
def test_text_without_han_stays(text: str) -> None:
    assert unified(text) == text


@pytest.mark.parametrize("unit", ["好.", "好(", "好?", "好:a", "(好", "...好", "好,  ", "?好?a_", "一.\n"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    assert len(unified(unit * 30_000)) <= 30_000 * len(unit)


@pytest.mark.parametrize("name", ["zh_novels", "zh_wiki_hant"])
def test_real_text_changes_in_marks_alone(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(300), lines, strict=False)]
    for text in texts:
        for one in unify(Document(text, (), "prose")):
            assert text[one.start : one.end].rstrip(" ")[0] in ",.!?:;()"
            assert one.replacement in ("，", "。", "！", "？", "：", "；", "（", "）", "……") or set(one.replacement) <= set("！？")
