"""Languages of real sentences and documents; Chinese by its characters, whatever the model says."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from mspt.core.text.language import Language, identify

BCP_47 = {
    "eng": "en", "fra": "fr", "deu": "de", "rus": "ru", "vie": "vi", "tur": "tr", "spa": "es", "por": "pt", "ita": "it", "nld": "nl", "pol": "pl",
    "ukr": "uk", "heb": "he", "hin": "hi", "tha": "th", "ell": "el", "fin": "fi", "hun": "hu", "ces": "cs", "swe": "sv", "ron": "ro", "jpn": "ja", "kor": "ko",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("今天的天气很好，我们去公园散步。", "zh-Hans"),
        ("今天的天氣很好，我們去公園散步。", "zh-Hant"),
        ("佢哋而家喺邊度呀？我唔知道喎。", "yue-Hant"),
        ("山水", "zh"),
        ("今日は天気がいいので、公園を散歩します。", "ja"),
        ("東京都立図書館発行", "ja"),  # no kana: characters that only Japan has
        ("오늘은 날씨가 좋아서 공원에 갑니다.", "ko"),
        ("The weather is fine today,\nso we take a walk\nin the park.", "en"),
        ("12.5 + 3 = 15.5", "zxx"),
        ("。", "zxx"),
        ("", "und"),
        (" \n", "und"),
    ],
)
def test_short_texts(text: str, tag: str) -> None:
    assert identify(text).tag == tag


def test_a_chinese_manual_is_chinese_in_spite_of_its_commands() -> None:
    text = "运行下面的命令安装：\n\n```bash\npip install mindspore && python -c 'import mindspore; print(mindspore.__version__)'\n```\n\n参见 https://example.org/install/guide/index.html。"
    assert identify(text).tag == "zh-Hans"
    quoted = "The word 图书馆 means library, and 公园 means park; both are common words that a learner meets early."
    assert identify(quoted).tag == "en"


def test_code_has_no_language() -> None:
    assert identify("def f(x):\n    return x  # 返回参数", form="code") == Language("zxx", 1.0)


def test_only_a_sample_of_a_long_text_is_read_but_head_middle_and_tail() -> None:
    english = "This is a plain sentence in English. " * 30_000
    assert identify(english).tag == "en"
    assert identify(english).confidence > 0.8


def test_line_ends_do_not_matter() -> None:
    text = "Das Wetter ist heute schön, und wir gehen im Park spazieren."
    assert identify(text.replace(" ", "\n")) == identify(text)


@pytest.mark.parametrize("unit", ["字a", "字`a", "字](x", "字<a", "字aB", "字a1.", "```\n字a\n", "字a@"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    assert identify(unit * 50_000).tag == "zh"


@pytest.mark.parametrize(
    ("name", "tag", "least"),
    [
        ("zh_wiki_hans", "zh-Hans", 0.99),
        ("zh_wiki_hant", "zh-Hant", 1.0),
        ("zh_poetry_hans", "zh-Hans", 0.99),
        ("zh_techdocs", "zh-Hans", 0.99),
        ("zh_manpages_hans", "zh-Hans", 0.98),
        ("en_wikitext2", "en", 0.98),
    ],
)
def test_real_documents(shared: Path, name: str, tag: str, least: float) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(400), lines, strict=False)]
    found = Counter(identify(text).tag for text in texts)
    assert found[tag] >= least * len(texts), found


def test_real_sentences(shared: Path) -> None:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    with gzip.open(shared / "data" / "lid_tatoeba.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, record in enumerate(map(json.loads, lines)):
            if number % 4 == 0 and record["lang"] in {*BCP_47, "cmn", "yue"}:
                found[record["lang"]][identify(record["text"]).tag] += 1
    for code, tag in BCP_47.items():
        assert found[code][tag] >= 0.85 * found[code].total(), (code, found[code])  # .962 over 28 languages of all sentences
    chinese = {tag: number for tag, number in found["cmn"].items() if tag.startswith("zh")}
    assert sum(chinese.values()) >= 0.98 * found["cmn"].total()
    assert sum(number for tag, number in found["yue"].items() if tag.startswith("yue")) >= 0.7 * found["yue"].total()
