"""Damaged text of two-byte encodings, and of UTF-16/32."""

from __future__ import annotations

import random

import pytest

from mspt.core.text.decoding.decode import decode
from mspt.core.text.decoding.mending import BLOCK_BYTES, join_surrogates, read_damaged, read_wide
from support.encodings import TEXTS

WRITTEN = [("zh-Hans", "gb18030"), ("zh-Hant", "cp950"), ("ja", "cp932"), ("ja", "euc_jp"), ("ko", "cp949"), ("ko", "johab")]


def common_ends(one: str, two: str) -> int:
    """Characters that two texts share at their beginnings and ends."""
    shortest = min(len(one), len(two))
    head = next((i for i in range(shortest) if one[i] != two[i]), shortest)
    return head + next((i for i in range(shortest - head) if one[-1 - i] != two[-1 - i]), shortest - head)


@pytest.mark.parametrize(("language", "codec"), WRITTEN)
def test_sound_text_is_read_as_it_is(language, codec):
    raw = TEXTS[language].encode(codec, "ignore")
    assert read_damaged(raw, codec) == raw.decode(codec)


@pytest.mark.parametrize("text", ["价格是€100，运费另计，请注意查收。", "票价：€12.5 起，学生€8", "欧元符号是€。"])
def test_the_euro_of_windows_is_read_as_browsers_do(text):
    """WHATWG, Encoding, GBK's decoder: the byte 0x80 is U+20AC."""
    raw = b"\x80".join(part.encode("gbk") for part in text.split("€"))
    assert read_damaged(raw, "gb18030") == text
    assert decode(raw).text == text
    assert read_damaged(b"\x80\x80\xff" + raw, "gb18030").startswith("€€\ufffd")
    assert read_damaged(b"\x80abc", "cp950") == "\ufffdabc"


@pytest.mark.parametrize(("language", "codec"), WRITTEN)
def test_a_lost_byte_costs_its_neighbours_only(language, codec):
    text = TEXTS[language].replace("\n", "").encode(codec, "ignore").decode(codec)
    raw = text.encode(codec)
    chooser = random.Random(1)
    lost = []
    for place in chooser.sample(range(20, len(raw) - 20), 20):
        lost.append(len(text) - common_ends(text, read_damaged(raw[:place] + raw[place + 1 :], codec)))
    assert sorted(lost)[len(lost) // 2] <= 2
    assert sum(number > 8 for number in lost) <= 2  # where what is there may well be text


def test_a_long_line_is_read_again_block_by_block():
    text = TEXTS["zh-Hans"].replace("\n", "") * 200
    raw = text.encode("gb18030")
    assert len(raw) > 3 * BLOCK_BYTES
    for place in (100, BLOCK_BYTES - 1, BLOCK_BYTES, len(raw) // 2 + 1, len(raw) - 3):
        found = read_damaged(raw[:place] + b"\xff" + raw[place + 1 :], "gb18030")
        assert len(text) - common_ends(text, found) <= 3


def test_rare_characters_are_no_damage():
    text = "魑魅魍魉、饕餮、鼋鼍、囹圄、蹀躞、觳觫、谶纬，" * 3
    assert read_damaged(text.encode("gb18030"), "gb18030") == text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("language", ["zh-Hans", "ko", "ru"])
def test_bytes_lost_or_gained_in_wide_units(codec, language):
    text = TEXTS[language] * 2
    raw = text.encode(codec)
    assert read_wide(raw, codec) == text
    for place in range(401, 420):
        for damaged in (raw[:place] + b"\x4f" + raw[place:], raw[:place] + raw[place + 1 :]):
            assert len(text) - common_ends(text, read_wide(damaged, codec)) <= 30  # Hangul is plausible at either parity


def test_surrogates_are_joined():
    halves = "\U0001f600".encode("utf-16-be")
    raw = b"".join(chr(int.from_bytes(halves[i : i + 2])).encode("utf-8", "surrogatepass") for i in (0, 2))
    assert raw == b"\xed\xa0\xbd\xed\xb8\x80"
    assert join_surrogates(b"a" + raw + b"b").decode() == "a\U0001f600b"
    assert join_surrogates("한국어".encode()).decode() == "한국어"
