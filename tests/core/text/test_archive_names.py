"""Names of members and files: decoded together, on one line, each only once."""

from __future__ import annotations

import pytest

from mspt.core.text.containers.names import Fingerprints, NameCodec, Names, one_line

NAMES = {
    "gbk": ["年度报告.txt", "会议纪要（终稿）.doc", "照片", "新建文件夹/说明.txt", "第一章 起源.txt", "数据统计表.csv"],
    "big5": ["年度報告.txt", "會議紀錄（定稿）.doc", "照片", "新增資料夾/說明.txt", "第一章 起源.txt", "資料統計表.csv"],
    "cp932": ["年次報告.txt", "会議メモ.doc", "写真", "新しいフォルダ/説明.txt", "お読みください.txt", "データ集計表.csv"],
    "cp949": ["연간보고서.txt", "회의록.doc", "사진", "새 폴더/설명.txt", "읽어보세요.txt", "통계표.csv"],
    "cp866": ["годовой отчёт.txt", "протокол.doc", "фото", "новая папка/описание.txt", "глава первая.txt", "таблица.csv"],
    "cp437": ["Übersicht.txt", "Änderungen.doc", "Größe", "Neuer Ordner/Erläuterung.txt", "Bücher.txt", "Verträge.csv"],
}


def decoded(names: list[str], codec: str, last: str = "") -> list[str]:
    raw = [name.encode(codec) for name in names]
    together = NameCodec(last)
    for name in raw:
        together.learn(name)
    return [together.decode(name) for name in raw]


@pytest.mark.parametrize("codec", NAMES)
def test_all_names_together_tell_their_encoding(codec):
    assert decoded(NAMES[codec], codec, last="cp437") == NAMES[codec]


@pytest.mark.parametrize("name", NAMES["gbk"])
def test_one_short_name_is_taken_for_gb18030_when_it_may_be(name):
    assert decoded([name], "gbk") == [name]


def test_one_western_letter_in_a_word_makes_no_chinese():
    """Under GBK "ü" and the letter behind it are one character."""
    assert decoded(["Bücher.txt"], "cp437", last="cp437") == ["Bücher.txt"]
    assert decoded(["Bücher.txt"], "cp437") == ["B\\x81cher.txt"]


def test_utf_8_wins_name_by_name():
    assert decoded(["说明.txt"], "utf-8") == ["说明.txt"]
    together = NameCodec()
    for name in NAMES["gbk"]:
        together.learn(name.encode("gbk"))
    assert together.decode("说明.txt".encode()) == "说明.txt"


def test_a_word_that_is_utf_8_by_accident_is_read_like_the_others():
    """Of GBK: C1 AA CD A8, two sequences of two bytes."""
    assert decoded(["联通", *NAMES["gbk"]], "gbk")[0] == "联通"


def test_what_is_no_text_keeps_its_bytes_as_escapes():
    assert NameCodec().decode(b"a\xff\xfeb") == "a\\xff\\xfeb"


def test_names_come_only_once_and_say_which_member_they_are():
    names = Names()
    assert [names.take_next(raw) for raw in (b"a", b"a", b"a", b"a~2", b"./a", b"b")] == ["a", "a~2", "a~3", "a~2~4", "a~5", "b"]


def test_names_are_cut_and_cannot_break_out_of_a_ref():
    names = Names()
    assert names.take("x!/y") == "x%21/y"
    assert names.take("n" * 5000) == "n" * 1000
    assert names.take("n" * 6000) == "n" * 1000 + "~3"
    assert names.take("\ud800.txt") == "\\ud800.txt"


def test_control_characters_and_line_separators_are_escapes():
    assert one_line("a\nb\r\tc\x00d\x7fe\x85f\u2028g 长") == "a\\x0ab\\x0d\\x09c\\x00d\\x7fe\\x85f\\u2028g 长"


def test_a_set_of_many_names_knows_each():
    seen = Fingerprints()
    assert all(seen.add(f"name {number}") for number in range(5000))
    assert not any(seen.add(f"name {number}") for number in range(5000))
    assert seen.add("another")
