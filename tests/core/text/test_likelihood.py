"""The cost of a text: that of the right reading is lower than that of any wrong one, and known facts about the model."""

from __future__ import annotations

import itertools

import pytest

from mspt.core.text.decoding import frequencies
from mspt.core.text.decoding.likelihood import costs_of, least_bits, likelihood, model_of
from support.encodings import TEXTS

WRITTEN = {
    "zh-Hans": "gb18030",
    "zh-Hant": "cp950",
    "ja": "cp932",
    "ko": "cp949",
    "ru": "cp1251",
    "uk": "cp1251",
    "bg": "koi8-r",
    "sr": "iso8859-5",
    "be": "cp1251",
}
READERS = (
    "gb18030",
    "cp950",
    "cp932",
    "euc_jp",
    "cp949",
    "johab",
    "cp1251",
    "koi8-r",
    "cp866",
    "iso8859-5",
    "mac-cyrillic",
    "cp1252",
    "cp1253",
    "cp1255",
    "cp874",
)


@pytest.mark.parametrize("language", WRITTEN)
def test_no_wrong_reading_is_as_likely_as_the_right_one(language):
    raw = TEXTS[language].encode(WRITTEN[language], "ignore")
    right = raw.decode(WRITTEN[language])
    wrong = {text for reader in READERS if (text := raw.decode(reader, "replace")) != right}
    assert len(wrong) >= 10
    assert likelihood(right).bits < min(likelihood(text).bits for text in wrong)


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant", "ja", "ko"])
def test_the_model_is_that_of_the_language(language):
    assert model_of(TEXTS[language]) == language


def test_costs_add_up():
    found = likelihood("abc 中文")
    assert found.wide == 2
    assert found.bits == pytest.approx(3 * 4.5 + 2.5 + costs_of("中文", "zh-Hans").sum())
    assert found.bits - found.wide_bits == pytest.approx(3 * 4.5 + 2.5)
    assert likelihood("") == likelihood("")
    assert likelihood("").bits == 0


def test_frequent_characters_cost_less_than_rare_ones():
    assert [costs_of(character, "zh-Hans").item() for character in "的鱼纂麤"] == [8.0, pytest.approx(10.3), pytest.approx(13.8), 20.0]
    small, capital_inside, mixed = (likelihood(text).bits for text in ("слово", "слОво", "слoво"))  # the last one has a Latin o
    assert small < capital_inside
    assert small < mixed
    assert likelihood("\ufffd").bits == likelihood("\x01").bits == 24.0


def test_letters_of_two_languages_are_not_of_one():
    """Kazakh in the encoding of Kazakh costs less than as Macedonian letters, although each of these is a frequent one somewhere."""
    raw = TEXTS["kk"].encode("kz1048")
    assert likelihood(raw.decode("kz1048")).bits < likelihood(raw.decode("cp1251")).bits


@pytest.mark.parametrize("text", [*TEXTS.values(), "Ã©Ä£µ", "ГЎ\x98 ����"])
def test_least_bits_are_less(text):
    assert least_bits(text) <= likelihood(text).bits


def test_no_character_is_in_two_tiers():
    for one, two in itertools.combinations((*frequencies.HANS,), 2):
        assert set(one).isdisjoint(two)
    assert set(frequencies.HANT[0]).isdisjoint(frequencies.HANT[1])
    assert set(frequencies.HANGUL[0]).isdisjoint(frequencies.HANGUL[1])
    for characters in (*frequencies.HANS, *frequencies.HANT, frequencies.KANJI, frequencies.HIRAGANA, *frequencies.HANGUL, *frequencies.RANKED):
        assert len(set(characters)) == len(characters)
