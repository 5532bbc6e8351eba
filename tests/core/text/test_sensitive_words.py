"""Word lists: their format and its errors, and what they find, against a search word by word."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.errors import MsptError
from mspt.core.text.privacy.sensitive_words import MAX_POSITIONS, WINDOW_CHARACTERS, Entry, SensitiveWords, load, parse


def words(*lines: str, **options: bool) -> SensitiveWords:
    return SensitiveWords(parse("\n".join(lines).encode(), "list.txt"), **options)


def found(listed: SensitiveWords, text: str) -> list[str]:
    return [hit.entry.text for hit in listed.find(text)]


def test_the_format() -> None:
    content = "\ufeff# a comment\r\n\r\n赌博\tflag\r\n  枪支 \n毒品 && 交易 && 转账\tdrop\n\\#话题\nC#\t\n".encode()
    assert parse(content, "x") == (
        Entry(3, ("赌博",), "flag"),
        Entry(4, ("枪支",), "drop"),
        Entry(5, ("毒品", "交易", "转账"), "drop"),
        Entry(6, ("#话题",), "drop"),
        Entry(7, ("C#",), "drop"),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("好\n坏\twarn\n".encode(), r"list.txt, line 2: level 'warn'"),
        ("坏\tdrop\tflag\n".encode(), r"line 1: level 'drop\\tflag'"),
        (b"a\na &&\n", r"line 2: an empty word in 'a &&'"),
        (b"\tflag\n", r"line 1: an empty word"),
        ("好\n".encode() + "坏".encode("gb18030"), r"line 2: not UTF-8"),
        (b"a" * 300, r"line 1: a word of 300 characters"),
        (b"# nothing\n", r"list.txt holds no entries"),
        (b"", r"list.txt holds no entries"),
    ],
)
def test_errors_name_the_line(content: bytes, message: str) -> None:
    with pytest.raises(MsptError, match=message) as error:
        parse(content, "list.txt")
    assert error.value.hint


def test_a_file_is_read_and_a_missing_one_is_a_persons_mistake(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("赌博\n", encoding="utf-8")
    assert found(load(tmp_path / "words.txt"), "网络赌博") == ["赌博"]
    with pytest.raises(MsptError, match="cannot be read"):
        load(tmp_path / "none.txt")


def test_hits_say_what_where_and_how_often() -> None:
    hits = words("赌博\tflag", "毒品&&交易", "没有").find("赌博和毒品，赌博，交易")
    assert [(hit.entry.line, hit.entry.level, hit.occurrences, hit.positions) for hit in hits] == [
        (1, "flag", 2, ((0, 2), (6, 8))),
        (2, "drop", 2, ((3, 5), (9, 11))),
    ]


def test_all_words_of_an_entry_must_occur() -> None:
    listed = words("a && b && c")
    assert found(listed, "c x b x a") == ["a&&b&&c"]
    assert found(listed, "a b") == []


def test_words_overlap_and_contain_each_other() -> None:
    assert found(words("博彩", "赌博", "赌博彩票", "博"), "赌博彩票") == ["博彩", "赌博", "赌博彩票", "博"]


@pytest.mark.parametrize(
    ("word", "text", "hit"),
    [
        ("sex", "Essex and Sussex", False),
        ("sex", "sex, drugs", True),
        ("sex", "性sex性", True),
        ("c++", "c++11", True),  # ends with no letter: no border there
        ("c++", "abc++", False),
        ("40", "1400", False),
        ("赌", "a赌b", True),
    ],
)
def test_ascii_words_have_borders(word: str, text: str, hit: bool) -> None:
    assert bool(words(word).find(text)) is hit


def test_case_and_width_are_folded_unless_told_otherwise() -> None:
    assert found(words("VPN翻墙", "ＡＢＣ"), "vpn翻墙 ａｂｃ") == ["VPN翻墙", "ＡＢＣ"]
    assert found(words("VPN翻墙", "ＡＢＣ", fold_case=False), "vpn翻墙 ABC") == ["ＡＢＣ"]
    assert found(words("VPN翻墙", "ＡＢＣ", fold_width=False), "vpn翻墙 ABC") == ["VPN翻墙"]


def test_folding_moves_no_position() -> None:
    hit = words("abc").find("İİ ＡＢＣ")[0]  # İ in small letters is two characters
    assert hit.positions == ((3, 6),)


def test_words_across_the_border_of_two_windows_are_found_once() -> None:
    text = "山" * (WINDOW_CHARACTERS - 1) + "赌博" + "水" * 10 + "赌博"
    first, second = WINDOW_CHARACTERS - 1, WINDOW_CHARACTERS + 11
    hits = words("赌博", "赌", "博").find(text)
    assert hits[0].positions == ((first, first + 2), (second, second + 2))
    assert [hit.occurrences for hit in hits] == [2, 2, 2]


def test_positions_are_bounded_and_counts_are_not() -> None:
    hit = words("啊").find("啊" * 1000)[0]
    assert (hit.occurrences, len(hit.positions)) == (1000, MAX_POSITIONS)


def test_half_a_surrogate_pair_stops_nothing() -> None:
    assert found(words("赌博"), "\ud800赌博") == ["赌博"]


def test_a_list_crosses_process_borders() -> None:
    listed = words("赌博\tflag", "ＡＢＣ", fold_width=False)
    listed.find("x")  # has built what cannot be sent
    sent = pickle.loads(pickle.dumps(listed))
    assert sent.entries == listed.entries
    assert sent.find("赌博ABC") == listed.find("赌博ABC")


@given(st.lists(st.text("赌博彩票", min_size=1, max_size=3), min_size=1, max_size=6), st.text("赌博彩票 ", max_size=40))
def test_what_is_found_equals_a_search_word_by_word(listed: list[str], text: str) -> None:
    hits = SensitiveWords([Entry(number, (word,), "drop") for number, word in enumerate(listed)]).find(text)
    expected = {number: [place for place in range(len(text)) if text.startswith(word, place)] for number, word in enumerate(listed)}
    assert {hit.entry.line: [start for start, _ in hit.positions] for hit in hits} == {
        number: places[:MAX_POSITIONS] for number, places in expected.items() if places
    }
    assert all(hit.occurrences == len(expected[hit.entry.line]) for hit in hits)
