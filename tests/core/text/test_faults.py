"""The way back from a misreading: exact where the bytes are all there, closed where they are not."""

from __future__ import annotations

import pytest

from mspt.core.text.decoding.faults import FAULTS, Fault, raw_bytes, undone
from support.encodings import TEXTS

LANGUAGES = {"utf-8": "zh-Hans", "gbk": "zh-Hans", "big5": "zh-Hant", "shift_jis": "ja", "euc-jp": "ja", "euc-kr": "ko"}  # others write Russian


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_fault_is_undone_where_it_lost_nothing(fault):
    """Phrases of our texts, those that the wrong reading can read: at least one in ten."""
    phrases = TEXTS[LANGUAGES.get(fault.written, "ru")].replace("，", "\n").replace("、", "\n").replace(", ", "\n").replace(" ", "\n").split("\n")
    seen = 0
    for phrase in filter(None, phrases):
        try:
            raw = phrase.encode(fault.codecs[0])
            saved = raw.decode("latin-1").encode() if fault.through else raw
            mangled = saved.decode({"gbk": "gb18030"}.get(fault.read, fault.read))
        except UnicodeError:
            continue
        if mangled != phrase and "\ufffd" not in mangled:
            seen += 1
            assert undone(fault, mangled) == phrase
    assert seen >= 3


def test_what_was_not_read_so_has_no_way_back():
    assert undone(Fault("utf-8", "gbk"), "你好") is None  # C4 E3 BA C3 is no UTF-8
    assert undone(Fault("gbk", "cp1251"), "你好") is None  # no characters of cp1251
    assert undone(Fault("utf-8", "gbk"), "浣犲ソ\ufffd") is None
    assert undone(Fault("utf-8", "gbk"), "锟斤拷") is None


def test_a_character_may_be_cut_at_the_end_of_a_sample():
    mangled = ("你好世界" * 20).encode().decode("gb18030")
    assert undone(Fault("utf-8", "gbk"), mangled[:11]) is None
    assert undone(Fault("utf-8", "gbk"), mangled[:11], is_cut=True) == ("你好世界" * 2)[:7]


def test_every_byte_of_a_single_byte_encoding_has_a_character():
    """Those that it does not define are the controls that browsers make of them."""
    everything = bytes(range(256))
    for codec in ("cp1252", "cp1251", "koi8-r"):
        text = "".join(bytes([byte]).decode(codec, "ignore") or chr(byte) for byte in everything)
        assert list(raw_bytes(codec, text)) == [everything]
