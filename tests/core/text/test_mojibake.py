"""Each fault is made from sound text by the decoding that causes it; the right answer is the text before."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from mspt.core.text.mojibake import lost_ratio, repair

CHINESE = "他在这里说了很多话，我们都没有听懂。\n但是大家还是笑了，因为天气很好。"
FRENCH = "Où est l’hôtel ? « Là-bas », dit-il, déjà fatigué.\nLe café coûte 3 €."
RUSSIAN = "Сегодня хорошая погода.\nПойдём гулять?"


def as_cp1252(raw: bytes) -> str:
    """What browsers make of bytes: cp1252, with the five undefined bytes as controls."""
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in raw)


@pytest.mark.parametrize("text", [CHINESE, FRENCH, RUSSIAN, "naïve", "don’t"])
def test_utf_8_read_as_latin(text):
    for mangled in (text.encode().decode("latin-1"), as_cp1252(text.encode())):
        assert repair(mangled).text == text
        assert repair(mangled).faults == ("utf-8 read as cp1252",)


def test_utf_8_read_as_gbk():
    text = "你好世界，大家好啊！"  # ten characters: thirty bytes pair up without a rest, and all pairs exist
    mangled = text.encode().decode("gb18030")
    assert repair(mangled).text == text
    assert repair("\n".join(["# " + mangled] * 300)).lines == 300


def test_gbk_read_as_latin():
    for mangled in (CHINESE.encode("gbk").decode("latin-1"), as_cp1252(CHINESE.encode("gbk"))):
        assert repair(mangled).text == CHINESE
        assert repair(mangled).faults == ("gbk read as cp1252",)


def test_mangled_twice():
    twice = CHINESE.encode().decode("latin-1").encode().decode("latin-1")
    assert repair(twice).text == CHINESE
    assert len(repair(twice).faults) == 2


def test_only_mangled_lines_are_touched():
    sound = "“Curly” quotes, naïve café."
    mixed = "\n".join([FRENCH.encode().decode("latin-1"), sound, "plain"])
    assert repair(mixed).text == "\n".join([FRENCH, sound, "plain"])


@pytest.mark.parametrize(
    "sound",
    [
        "“AMANHÔ e “CAFÉ” hoje", "„Ä“ und „Ö“ sind Umlaute", "10 Å² and 5 Å³", "« Je n'y ai jamais pensé\xa0», dit-il.", "It’s naïve — “quoted” café…",
        "√∑∫≠∞ ═══║╔ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ①②③", "Ελληνικά και «εισαγωγικά»", "Þæð er íslenska", "锟 是一个姓名用字", "烫，很烫，烫手。", "鐨 is a rare character",
        "Ã© is how é looks when UTF-8 is read as Latin-1: a naïve mistake",
    ],
)  # fmt: skip
def test_sound_text_is_never_touched(sound):
    assert repair(sound) is None
    assert lost_ratio(sound) == 0


def test_what_is_lost_is_measured():
    assert repair("锟斤拷锟斤拷") is None
    assert lost_ratio("锟斤拷锟斤拷一二三四五六") == pytest.approx(6 / 12)
    assert lost_ratio("烫烫烫烫烫烫abcd") == pytest.approx(0.6)
    assert lost_ratio("屯屯屯屯") == 1
    assert lost_ratio("a\ufffdb\ufffd") == 0.5
    assert lost_ratio("") == 0


def lines_of(path, least: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line for record in file for line in json.loads(record)["text"].split("\n") if len(line) >= least]


def test_real_sentences_are_repaired_and_sound_ones_left_alone(shared):
    chinese = random.Random(3).sample(lines_of(shared / "data/zh_wiki_hans.jsonl.gz", 20), 300)
    western = [line for line in lines_of(shared / "data/lid_tatoeba.jsonl.gz", 20) if not line.isascii()]
    western = random.Random(3).sample(western, 600)
    assert [line for line in [*chinese, *western] if repair(line)] == []
    for lines, fault in (
        (chinese, lambda line: as_cp1252(line.encode())),
        (western, lambda line: as_cp1252(line.encode())),
        (chinese, lambda line: as_cp1252(line.encode("gbk"))),
    ):
        mangled = [(line, fault(line)) for line in lines if fault_applies(line, fault)]
        repaired = [(line, found.text) for line, broken in mangled if (found := repair(broken))]
        assert [line for line, text in repaired if line != text] == []
        assert len(repaired) >= 0.97 * len(mangled)
        assert len(mangled) >= 250


def fault_applies(line: str, fault) -> bool:
    try:
        return fault(line) != line
    except UnicodeError:
        return False
