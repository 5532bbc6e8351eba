"""Remains of lost characters are counted, and nothing else."""

from __future__ import annotations

import pytest

from mspt.core.text.decoding.lost import lost_characters


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0), ("a\ufffdb\ufffd", 2), ("锟斤拷锟斤拷一二三四五六", 6), ("锟斤拷锟", 3), ("烫烫烫烫烫烫abcd", 6), ("屯屯屯屯", 4), ("葺葺葺", 3),
        ("嚙踝蕭嚙踝蕭台北", 6), ("占쏙옙서울", 3), ("caf\u00ef\u00bf\u00bd", 3), ("пїЅпїЅ", 6), ("ÌÌÌÌÌÌÌÌ", 8), ("????????,?????????", 17),
    ],
)  # fmt: skip
def test_remains(text, number):
    assert lost_characters(text) == number


@pytest.mark.parametrize("reader", ["gb18030", "cp950", "cp949", "latin-1", "cp1251", "koi8-r", "cp866"])
def test_the_replacement_character_read_in_other_encodings(reader):
    """Twice, because three bytes are not always whole characters there."""
    remains = "\ufffd\ufffd".encode().decode(reader)
    assert lost_characters(remains) == len(remains)


@pytest.mark.parametrize(
    "sound",
    [
        "锟 是一个姓名用字",
        "烫，很烫，烫手。好烫好烫",
        "屯屯",
        "What????",
        "2024-??-??",
        "???",
        "占地很大，一斤两斤",
        "ÌÍÎÏ",
        "a?b?c?d?e?f?g",
        "正確嗎？？？？？？？？",
        "ｿｽ",
    ],
)
def test_sound_text(sound):
    assert lost_characters(sound) == 0
