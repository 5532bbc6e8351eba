"""What the competition of readings looks at, and what it says."""

from __future__ import annotations

import re

import pytest

from mspt.core.text.decoding.decode import decode
from mspt.core.text.decoding.readings import EVIDENCE_BYTES, compete, evidence_of
from support.encodings import TEXTS


def test_evidence_is_taken_from_the_whole_document():
    parts = [f"{i:04d} " + "字" * 10 + "。 " + "ascii " * 30 for i in range(400)]
    evidence = evidence_of("".join(parts).encode("gbk"), EVIDENCE_BYTES[-1]).decode("gbk", "ignore")
    assert len(evidence.encode("gbk")) <= EVIDENCE_BYTES[-1] + 1000
    numbers = [int(word) for word in re.findall(r"\d{4}", evidence)]
    assert min(numbers) < 10
    assert max(numbers) > 380


def test_long_words_behind_a_bad_byte_cost_no_more_than_their_length():
    """A pattern that tried every start took 62 s for this; the evidence is the odd bytes with their surroundings, not the words."""
    data = b"\xb9\xfe \n" + b"x" * 2_000_000 + b"\n" + b"y" * 100_000 + "漢字".encode("gbk") + b"z" * 100_000
    assert evidence_of(data, 8192) == b"\xb9\xfe " + b" " + b"y" * 24 + "漢字".encode("gbk") + b"z" * 25  # one more: it could be the second half of a character


@pytest.mark.parametrize(
    ("language", "codec"), [("zh-Hans", "gb18030"), ("zh-Hant", "cp950"), ("ja", "euc_jp"), ("ko", "cp949"), ("ru", "koi8-r"), ("sr", "cp1251")]
)
def test_sound_text_leads_by_far_and_costs_what_sound_text_costs(language, codec):
    verdict = compete(TEXTS[language].encode(codec, "ignore"), {})
    assert verdict.codec == codec
    assert verdict.lead > 60
    assert verdict.bits_per_byte < 6


def test_codecs_that_make_the_same_text_are_named_and_do_not_count_as_rivals():
    verdict = compete(TEXTS["ru"].encode("cp1251"), {})
    assert {"kz1048", "ptcp154"} <= set(verdict.others)
    assert verdict.lead > 60


def test_a_head_start_decides_between_readings_that_are_alike():
    raw = "模".encode("gbk")
    assert compete(raw, {"gb18030": 30.0}).codec == "gb18030"
    assert compete(raw, {"cp1252": 30.0}).codec == "cp1252"
    assert compete(TEXTS["zh-Hans"].encode("gb18030"), {"cp1252": 40.0}).codec == "gb18030"


@pytest.mark.parametrize("number", [1, 5, 50])
def test_a_line_of_chinese_is_not_korean_in_hanja(number):
    text = "一首诗。\n" * number
    assert decode(text.encode("gb18030")).text == text
