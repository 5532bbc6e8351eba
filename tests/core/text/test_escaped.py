"""Encodings that switch character sets by escapes; the right answer is what we wrote, or what the RFCs print."""

from __future__ import annotations

import codecs
import random

import pytest

from mspt.core.text.decoding.decode import decode
from mspt.core.text.decoding.escaped import read_escaped, unescape
from support.encodings import TEXTS

HEAD = "Subject: a letter from the lighthouse + 1 parcel\n" * 20


@pytest.mark.parametrize(
    ("language", "codec"),
    [
        ("zh-Hans", "hz"), ("zh-Hans", "utf-7"), ("zh-Hans", "iso2022_jp_2"), ("ja", "iso2022_jp"), ("ja", "iso2022_jp_1"), ("ja", "iso2022_jp_2004"),
        ("ja", "utf-7"),
        ("ko", "iso2022_kr"), ("ko", "utf-7"), ("ru", "iso2022_jp"), ("ru", "hz"), ("ru", "utf-7"),
    ],
)  # fmt: skip
def test_what_python_wrote_comes_back(language, codec):
    text = HEAD + TEXTS[language].encode(codec, "ignore").decode(codec)
    assert decode(text.encode(codec)).text == text


def iso2022_cn(text: str) -> bytes:
    """RFC 1922: GB 2312 designated to SO once in each line, then used between SO and SI."""
    lines = (b"\x1b$)A\x0e" + bytes(byte & 0x7F for byte in line.encode("gb2312")) + b"\x0f" for line in text.split("\n"))
    return b"\n".join(lines)


def test_iso_2022_cn_which_python_lacks():
    text = "春天的花园里开满了花\n孩子们在草地上跑来跑去"
    raw = iso2022_cn(text)
    found = decode(HEAD.encode() + raw)
    assert (found.text, found.encoding) == (HEAD + text, "iso2022_cn")
    assert raw.decode("iso2022_cn") == text
    decoder = codecs.getincrementaldecoder("iso2022_cn")()
    assert decoder.decode(raw[:40]) + decoder.decode(raw[40:], True) == text
    assert "\n".encode("iso2022_cn") == b"\n"


def test_the_example_of_rfc_1843():
    """Its "~~" is a tilde, and a tilde at a line's end breaks the line of the file alone."""
    raw = b"This sentence is in ASCII.\nThe next sentence is in GB.~{<:Ky2;S{#,NpJ)l6HK!#~}Bye. ~~ 1~\n2"
    assert decode(raw).text == "This sentence is in ASCII.\nThe next sentence is in GB.己所不欲，勿施於人。Bye. ~ 12".replace("於", raw_character(b"l6"))


def raw_character(pair: bytes) -> str:
    return bytes(byte | 0x80 for byte in pair).decode("gb2312")


def test_a_tilde_may_be_half_of_a_character():
    assert decode("文件，文件。".encode("hz")).text == "文件，文件。"


@pytest.mark.parametrize(("language", "codec"), [("zh-Hans", "hz"), ("ja", "iso2022_jp"), ("ko", "iso2022_kr")])
def test_a_wrong_byte_costs_a_few_characters(language, codec):
    text = TEXTS[language].encode(codec, "ignore").decode(codec)
    lines = text.split("\n")
    chooser = random.Random(5)
    for _ in range(10):
        raw = text.encode(codec).split(b"\n")
        line = raw[1]
        place = chooser.randrange(20, len(line) - 20)
        raw[1] = line[:place] + b"\xff" + line[place + 1 :]
        got = decode(b"\n".join(raw)).text.split("\n")
        assert got[:1] + got[2:] == lines[:1] + lines[2:]


@pytest.mark.parametrize(
    "text",
    [
        "a+b-c + d+efgh-i", "C++ and +ACTION- flags +49 30 1234567", "rsync ~{a,b} ~/{x,y}/", "print ~{1,2}", "\x1b[31mred\x1b[0m $B in the shell",
        "+" * 300, "~{" * 200,
        "x = {a: ~{b}}", "cost: +20%, ++i, a+++b", "SGVsbG8gd29ybGQ+SGVsbG8gd29ybGQ=",
    ],
)  # fmt: skip
def test_plain_ascii_stays(text):
    assert unescape(text.encode()) is None
    assert decode(text.encode()).text == text


def test_later_pieces_are_read_without_the_designation():
    raw = TEXTS["ko"].encode("iso2022_kr")
    assert raw.startswith(b"\x1b$)C")
    text, codec = read_escaped(raw[4:], "iso2022_kr") or ("", "")
    assert (text, codec) == (TEXTS["ko"], "iso2022_kr")
    assert read_escaped(b"abc", "gb18030") is None
