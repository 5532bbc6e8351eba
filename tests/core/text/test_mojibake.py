"""Each fault is made from sound text by the decoding that causes it; the right answer is the text before."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from mspt.core.text.decoding.mojibake import judge

CHINESE = "他在这里说了很多话，我们都没有听懂。\n但是大家还是笑了，因为天气很好。"
FRENCH = "Où est l’hôtel ? « Là-bas », dit-il, déjà fatigué.\nLe café coûte 3 €."
RUSSIAN = "Сегодня хорошая погода.\nПойдём гулять?"


def as_cp1252(raw: bytes) -> str:
    """What browsers make of bytes: cp1252, with the five undefined bytes as controls."""
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in raw)


@pytest.mark.parametrize("text", [CHINESE, FRENCH, RUSSIAN, "naïve", "don’t"])
def test_utf_8_read_as_latin(text):
    for mangled in (text.encode().decode("latin-1"), as_cp1252(text.encode())):
        assert judge(mangled).text == text
        assert judge(mangled).faults == ("utf-8 read as cp1252",)


def test_utf_8_read_as_gbk():
    text = "你好世界，大家好啊！"  # ten characters: thirty bytes pair up without a rest, and all pairs exist
    mangled = text.encode().decode("gb18030")
    assert judge(mangled).text == text
    assert judge("\n".join(["# " + mangled] * 300)).lines == 300


def test_gbk_read_as_latin():
    for mangled in (CHINESE.encode("gbk").decode("latin-1"), as_cp1252(CHINESE.encode("gbk"))):
        assert judge(mangled).text == CHINESE
        assert judge(mangled).faults == ("gbk read as cp1252",)


def test_mangled_twice():
    twice = CHINESE.encode().decode("latin-1").encode().decode("latin-1")
    assert judge(twice).text == CHINESE
    assert len(judge(twice).faults) == 2


def test_only_mangled_lines_are_touched():
    sound = "“Curly” quotes, naïve café."
    mixed = "\n".join([FRENCH.encode().decode("latin-1"), sound, "plain"])
    assert judge(mixed).text == "\n".join([FRENCH, sound, "plain"])


@pytest.mark.parametrize(
    "sound",
    [
        "“AMANHÔ e “CAFÉ” hoje", "„Ä“ und „Ö“ sind Umlaute", "10 Å² and 5 Å³", "« Je n'y ai jamais pensé\xa0», dit-il.", "It’s naïve — “quoted” café…",
        "√∑∫≠∞ ═══║╔ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ①②③", "Ελληνικά και «εισαγωγικά»", "Þæð er íslenska", "锟 是一个姓名用字", "烫，很烫，烫手。", "鐨 is a rare character",
        "Ã© is how é looks when UTF-8 is read as Latin-1: a naïve mistake", "Chapter 1 ·········· 12", "第一章 ············ 12", "°°°°°°°°° ¯\\_(ツ)_/¯",
        "áéíóú ÁÉÍÓÚ ñÑ üÜ ¿¡", "àâäçéèêëîïôöùûüÿœæ", "åäöÅÄÖ", "™®©§¶†‡", "¡¢£¤¥¦§¨©ª«¬®¯°±²³´µ¶·¸¹º»¼½¾¿", "".join(map(chr, range(0xC0, 0x100))),
        "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя", "МИНИСТЕРСТВО ОБРАЗОВАНИЯ И НАУКИ РОССИЙСКОЙ ФЕДЕРАЦИИ", "CPU/GPU模式Dump",
        "魑魅魍魉饕餮鼋鼍龟鳖", "αβγ АБВ あいう ㄅㄆㄇ ┌─┐ 汉字", "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜﾝ", "iPhone没电了", "用grep么 ls路",
    ],
)  # fmt: skip
def test_sound_text_is_never_touched(sound):
    assert judge(sound) is None


def test_words_of_a_sound_line():
    assert judge("un café et bientÃ´t") is None  # "é" speaks against it
    assert judge("Il va Ã\xa0 Paris, bientÃ´t").text == "Il va à Paris, bientôt"
    assert judge("don鈥檛 go, r谩pido").text == "don’t go, rápido"
    assert judge("ï»¿Title").text == "\ufeffTitle"


@pytest.mark.parametrize(
    ("text", "wrote", "read", "fault"),
    [
        ("Сегодня хорошая погода, пойдём гулять по городу.", "cp1251", "koi8-r", "cp1251 read as koi8-r"),
        ("Сегодня хорошая погода, пойдём гулять по городу.", "cp1251", "latin-1", "cp1251 read as cp1252"),
        ("Сегодня хорошая погода, пойдём гулять по городу.", "utf-8", "cp866", "utf-8 read as cp866"),
        ("開發者可以使用以下命令安裝軟體套件。", "big5", "latin-1", "big5 read as cp1252"),
        ("開發者可以使用以下命令安裝軟體套件。", "cp950", "gb18030", "big5 read as gbk"),
        ("次のコマンドを実行してください。", "cp932", "latin-1", "shift_jis read as cp1252"),
        ("다음 명령을 실행하십시오. 자세한 설명은", "cp949", "latin-1", "euc-kr read as cp1252"),
    ],
)
def test_each_fault_is_named(text, wrote, read, fault):
    found = judge(text.encode(wrote).decode(read))
    assert (found.text, found.faults, found.lost) == (text, (fault,), 0)


def test_lines_that_lack_bytes_are_lost_whole():
    """As GBK an odd number of bytes leaves one over, which readers drop or replace: nobody knows what the last character was."""
    text = "你好世界，大家"
    for errors in ("replace", "ignore"):
        mangled = text.encode().decode("gbk", errors)
        found = judge(f"前一行是好的。\n{mangled}\n后一行也是好的。")
        assert not found.faults
        assert found.lost == pytest.approx(len(mangled), abs=1)


def test_what_is_lost_is_measured():
    found = judge("锟斤拷锟斤拷")
    assert (found.faults, found.lost_ratio) == ((), 1)
    assert judge("锟斤拷锟斤拷一二三四五六").lost_ratio == pytest.approx(6 / 12)
    assert judge("a\ufffdb\ufffd").lost_ratio == 0.5
    assert judge("") is None


@pytest.mark.parametrize("unit", ["a没", "Ã", "Ã©", "锟", "烫", "?", "Ъа", "浣犲ソ\n", "ÄãºÃ\n", "鱻"])
def test_hostile_repetition_takes_linear_time(unit):
    judge(unit * 100_000)  # quadratic steps would run for hours here


def lines_of(path, least: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line for record in file for line in json.loads(record)["text"].split("\n") if len(line) >= least]


def test_real_sentences_are_repaired_and_sound_ones_left_alone(shared):
    chinese = random.Random(3).sample(lines_of(shared / "data/zh_wiki_hans.jsonl.gz", 20), 300)
    western = [line for line in lines_of(shared / "data/lid_tatoeba.jsonl.gz", 20) if not line.isascii()]
    western = random.Random(3).sample(western, 600)
    assert [line for line in [*chinese, *western] if judge(line)] == []
    for lines, fault in (
        (chinese, lambda line: as_cp1252(line.encode())),
        (western, lambda line: as_cp1252(line.encode())),
        (chinese, lambda line: as_cp1252(line.encode("gbk"))),
    ):
        mangled = [(line, fault(line)) for line in lines if fault_applies(line, fault)]
        repaired = [(line, found.text) for line, broken in mangled if (found := judge(broken))]
        assert [line for line, text in repaired if line != text] == []
        assert len(repaired) >= 0.97 * len(mangled)
        assert len(mangled) >= 250


def fault_applies(line: str, fault) -> bool:
    try:
        return fault(line) != line
    except UnicodeError:
        return False


def test_quotation_marks_that_lost_a_byte_in_cp1252():
    """The third byte of the closing mark, 9D, is nothing there; readers drop it."""
    sound = "The naïve café owner said “it’s fine” — and paid €6 for “everything”."
    mangled = sound.encode().decode("cp1252", "ignore")
    assert "”" in sound
    assert "\x9d" not in mangled
    found = judge(mangled)
    assert found is not None
    assert (found.text, found.lost) == (sound, 0)
