from __future__ import annotations

import random

import pytest

from mspt.core.text.decoding.charsets import byte_order_mark, codec_of, control_share, declared_charset, unicode_by_pattern

CHINESE = "《三国演义》第一回：宴桃园豪杰三结义，斩黄巾英雄首立功。"


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("GB2312", "gb18030"), ("gbk", "gb18030"), ("x-gbk", "gb18030"), ("Big5", "cp950"), ("utf8", "utf-8"), ("UTF-16", "utf-8"),
        ("iso-8859-1", "cp1252"), ("latin1", "cp1252"), ("us-ascii", "cp1252"), ("Shift_JIS", "cp932"), ("ks_c_5601-1987", "cp949"), ("windows-1251", "cp1251"),
        (" koi8-r ", "koi8-r"), ("hex", None), ("rot13", None), ("utf-7", None), ("unicode_escape", None), ("no-such-charset", None), ("", None),
    ],
)  # fmt: skip
def test_declared_names_mean_what_browsers_make_of_them(label, codec):
    assert codec_of(label) == codec


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        (b"<meta charset=gbk>", "gb18030"),
        (b'<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset = \'Big5\'">', "cp950"),
        (b'<?xml version="1.0" encoding="euc-jp"?>', "euc_jp"),
        (b"<!-- <meta charset=big5> --><meta charset=utf-8>", "utf-8"),
        (b"<meta charset=bogus><meta charset=gb2312>", "gb18030"),
        (b"<p>charset=gbk</p>", None),
    ],
)
def test_declarations(head, codec):
    assert declared_charset(b"<html><head>" + head) == codec


def test_a_mark_of_utf_32_is_not_taken_for_that_of_utf_16():
    assert byte_order_mark("x".encode("utf-32"))[1] == "utf-32-le"
    assert byte_order_mark("x".encode("utf-16"))[1] == "utf-16-le"
    assert byte_order_mark("\ufeffx".encode("gb18030"))[1] == "gb18030"
    assert byte_order_mark(b"plain") is None


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", [CHINESE, "Plain English text.\n", "Привет, мир", "안녕하세요 여러분", "emoji 😀😀😀 and text"])
def test_wide_units_are_known_without_a_mark(text, codec):
    assert unicode_by_pattern(text.encode(codec)) == codec


@pytest.mark.parametrize("codec", ["utf-8", "gb18030", "big5", "euc_kr", "shift_jis", "cp1252"])
def test_byte_wise_text_is_not_taken_for_wide_units(codec):
    assert unicode_by_pattern((CHINESE + "한국어 abc été " * 30).encode(codec, "ignore")) is None


def test_random_bytes_and_programs_are_no_text():
    data = random.Random(1).randbytes(4096)
    assert unicode_by_pattern(data) is None
    assert control_share(data) == pytest.approx(26 / 256, abs=0.02)
    assert control_share(CHINESE.encode("gbk")) == 0
