"""Conversion of script: phrases decide, Japanese and code stay, spans follow. Expected texts are written by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import opencc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.text.normal.script_conversion import Target, convert
from mspt.core.text.script import chinese_script
from mspt.core.text.spans import Span


def converted(text: str, target: Target, tag: str = "zh", spans: tuple[Span, ...] = ()) -> str:
    return convert(text, spans, target, tag).text


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("头发的发展", "hant", "頭髮的發展"),  # 发 is 髮 or 發 by the phrase
        ("干净的树干，干涉", "hant", "乾淨的樹幹，干涉"),
        ("頭髮的發展", "hans", "头发的发展"),
        ("乾隆皇帝的乾淨衣服", "hans", "乾隆皇帝的干净衣服"),
        ("裡面的軟體和滑鼠", "hans", "里面的软体和滑鼠"),
        ("裡面的軟體和滑鼠", "hans-cn", "里面的软件和鼠标"),
        ("里面的软件和鼠标", "hant-tw", "裡面的軟體和滑鼠"),
        ("为群众", "hant", "為群眾"),  # Taiwan's forms, not 爲羣衆
        ("English 12，。", "hant", "English 12，。"),
    ],
)
def test_phrases_decide(text: str, target: Target, expected: str) -> None:
    assert converted(text, target) == expected


def test_what_is_in_the_wanted_script_stays() -> None:
    traditional = "山里人在台北，這裡的後台"  # OpenCC would write 裏, 臺 and 臺
    assert converted(traditional, "hant") == traditional
    assert converted("山里人的云", "hant") == "山里人的云"  # both scripts write every character
    assert converted(traditional + "\n这个国家的后台\n", "hant") == traditional + "\n這個國家的後臺\n"
    assert converted("这个国家", "hans") == "这个国家"


def test_lines_that_do_not_say_follow_the_text() -> None:
    assert converted("國家的發展\n然後\n", "hans") == "国家的发展\n然后\n"  # 後 is written in simplified text too, as a name
    assert converted("国家的发展\n山里人\n", "hant") == "國家的發展\n山裡人\n"
    assert converted("國家的發展\n國家的发展国家的发展\n山里人\n", "hant") == "國家的發展\n國家的發展國家的發展\n山里人\n"  # of both: left alone


@pytest.mark.parametrize(
    "text",
    [
        "東京で國際的な會議が開かれた。",
        "他看了《國際の會議》。",  # a word with kana
        "東京で國際的な會議が開かれた。國際會議",  # a Japanese line, kana or not
    ],
)
def test_japanese_is_never_converted(text: str) -> None:
    assert converted(text, "hans") == text


def test_around_japanese_chinese_is_converted() -> None:
    assert converted("這個國家的動畫很有趣，《進撃の巨人》最有名，還有這個這個。", "hans") == "这个国家的动画很有趣，《進撃の巨人》最有名，还有这个这个。"


@pytest.mark.parametrize("tag", ["ja", "ko", "en", "yue-Hant", "und", "zxx"])
def test_only_chinese_documents_are_converted(tag: str) -> None:
    assert convert("國際會議", (Span("p", 0, 2),), "hans", tag) == ("國際會議", (Span("p", 0, 2),), 0, tag)


def test_code_stays() -> None:
    text = "國際會議\n```\n# 國際\n```\n國際\n國際"
    spans = (Span("pre", len(text) - 2, len(text)),)
    assert convert(text, spans, "hans", "zh-Hant").text == "国际会议\n```\n# 國際\n```\n国际\n國際"


def test_spans_and_counts() -> None:
    text = "標題開關\n裡面的軟體"
    spans = (Span("h1", 0, 4), Span("p", 5, 10), Span("code", 9, 10))
    same = convert(text, spans[:2], "hans", "zh-Hant")
    assert same == ("标题开关\n里面的软体", spans[:2], 7, "zh-Hans")  # 標題開關 裡 軟體, 面 and 的 are alike
    shorter = convert("在網際網路上發展", (Span("p", 0, 1), Span("a", 1, 5), Span("p", 5, 8)), "hans-cn", "zh-Hant")
    assert shorter.text == "在互联网上发展"
    assert shorter.spans == (Span("p", 0, 1), Span("a", 1, 4), Span("p", 4, 7))


def test_what_is_no_text_does_not_stop_it() -> None:
    assert converted("a\ud800b軟體\x00國", "hans") == "a\ud800b软体\x00国"
    assert converted("", "hans") == ""


@given(st.text("國国這这后後里裡發发頭软軟體体の東ア a，\n`", max_size=60), st.sampled_from(["hans", "hant", "hans-cn", "hant-tw"]), st.data())
def test_a_second_conversion_changes_nothing_and_spans_stay_inside(text: str, target: Target, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    first = convert(text, (Span("p", *cuts),) if cuts[0] < cuts[1] else (), target, "zh")
    assert all(0 <= span.start < span.end <= len(first.text) for span in first.spans)
    assert first.text.count("\n") == text.count("\n")
    assert (first.changed == 0) == (first.text == text)
    if target == "hans":
        assert convert(first.text, (), target, "zh").text == first.text


def test_real_texts(shared: Path) -> None:
    with gzip.open(shared / "data/zh_wiki_hant.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines][:300]
    simplified = [convert(text, (), "hans", "zh-Hant") for text in texts]
    assert {one.tag for one in simplified} == {"zh-Hans"}
    whole = opencc.OpenCC("t2s", include_tofu_risk_dictionaries=False)
    plain = [(one, text) for one, text in zip(simplified, texts, strict=True) if not any("\u3041" <= char <= "\u30ff" for char in text)]
    assert len(plain) > 250
    assert all(one.text == whole.convert(text) for one, text in plain)
    back = [convert(one.text, (), "hant", one.tag).text for one in simplified]
    differing = sum(a != b for one, text in zip(back, texts, strict=True) for a, b in zip(one, text, strict=True))
    assert differing <= 0.005 * sum(map(len, texts))  # .0036 of all of zh_wiki_hant
    assert all(chinese_script(text) == "Hant" for text in back)
