"""Counting characters, and simplified against traditional Chinese."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import opencc
import pytest

from mspt.core.text.script import census, changed_by, chinese_script, foreign_to_japan, has_japanese_forms, script_evidence


def test_every_character_is_in_one_class() -> None:
    text = "汉字〇々㐀𠀀 かなカナー 한글 Latin ÄÖ Москва हि 12½Ⅷ ,.。！ +$€→ \ufffd\ue000\U000f0000 \t\n\u3000\x00\u200b\u0301"
    found = census(text)
    assert (found.han, found.kana, found.hangul, found.latin) == (6, 5, 2, 7)
    assert (found.other_letters, found.digits, found.punctuation, found.symbols) == (6 + 2 + 1, 4, 4, 4)
    assert (found.replacement, found.private_use, found.controls) == (1, 2, 2)
    assert found.blanks == sum(map(str.isspace, text))
    assert found.total == len(text) == found.visible + found.blanks + found.controls
    assert found.letters == 6 + 5 + 2 + 7 + 9


def test_long_texts_are_counted_like_short_ones() -> None:
    text = "汉字 かな abc，1\n"
    short, long = census(text), census(text * 2000)
    assert tuple(long) == tuple(number * 2000 for number in short)


def test_tables_are_those_of_opencc() -> None:
    simplified = opencc.OpenCC("t2s", include_tofu_risk_dictionaries=False)
    characters = [chr(code) for code in range(0x4E00, 0xA000)]
    expected = [simplified.convert(character) != character for character in characters]
    assert changed_by("TSCharacters")[0x4E00:0xA000].tolist() == expected
    assert np.count_nonzero(changed_by("STCharacters")) > 2500


def test_characters_that_japan_does_not_write() -> None:
    assert foreign_to_japan("我们说国家") == 2  # 们 and 说; Japan writes 国 and 家
    assert foreign_to_japan("國家 abc かな") == 0


def test_a_lone_surrogate_is_counted() -> None:
    assert census("a\ud800").controls == 1


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("这个国家的经济发展很快", "Hans"),
        ("這個國家的經濟發展很快", "Hant"),
        ("山高水长", "Hans"),  # one character says it
        ("山水人", ""),  # both scripts write these alike
        ("English only", ""),
        ("这个国家，這個國家", ""),  # half and half
    ],
)
def test_the_script_is_read_off_the_characters(text: str, script: str) -> None:
    assert chinese_script(text) == script


def test_evidence_counts_characters_of_one_side() -> None:
    assert script_evidence("国國家这這") == (2, 2)  # 家 is in both
    assert script_evidence("里后台云面") == (0, 0)  # simplified of 裏後臺雲麵, and words of their own in traditional text
    assert script_evidence("乾於徵") == (0, 0)  # traditional of 干于征, and words of their own in simplified text


@pytest.mark.parametrize(
    ("text", "japanese"),
    [
        ("栄養価の発見", True),
        ("营养价值的发现", False),
        ("營養價值的發現", False),
        ("後爲池", False),
        ("羊羣與馬羣", False),  # 羣 stands in the Japanese set alone, but is traditional Chinese
        ("惣無惣有", False),  # one form, twice
    ],
)
def test_japanese_forms(text: str, japanese: bool) -> None:
    assert has_japanese_forms(text) is japanese


@pytest.mark.parametrize(
    ("name", "script", "least"),
    [("zh_wiki_hans", "Hans", 1.0), ("zh_wiki_hant", "Hant", 1.0), ("zh_poetry_hans", "Hans", 0.999), ("zh_poetry_hant", "Hant", 0.977)],
)
def test_real_texts(shared: Path, name: str, script: str, least: float) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    found = Counter(map(chinese_script, texts))
    other = {"Hans": "Hant", "Hant": "Hans"}[script]
    assert found[script] >= least * found.total()
    assert found[other] == 0  # where the characters do not decide, the answer is "", never the wrong script
    pieces = Counter(chinese_script(text[start : start + 12]) for text in texts[:500] for start in range(0, len(text), 60))
    assert pieces[other] == 0
    assert pieces[script] >= 0.9 * pieces.total()
