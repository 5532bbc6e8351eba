"""Which lines are looked at: all mangled ones, hardly any sound one."""

from __future__ import annotations

import pytest

from mspt.core.text.decoding.suspicion import Screening
from support.encodings import TEXTS


@pytest.mark.parametrize("text", [*TEXTS.values(), "It’s naïve — “quoted” café.", "iPhone没电了，用grep路径", "price: £5 © 2024", "", "\n", "日本語かな\n"])
def test_sound_lines_are_not(text):
    assert Screening(text).lines() == []


@pytest.mark.parametrize(
    ("line", "wrote", "read"),
    [
        ("你好世界，大家好啊！", "utf-8", "gb18030"), ("你好世界，大家好啊！", "utf-8", "latin-1"), ("你好世界，大家好啊！", "gbk", "latin-1"),
        ("你好，世界，大家好", "utf-8", "koi8-r"), ("привет, мир", "utf-8", "cp1251"), ("Привет, мир, как дела", "koi8-r", "cp1251"),
        ("привет, мир", "utf-8", "cp866"),
        ("rápido e fácil", "utf-8", "gb18030"), ("こんにちは世界", "utf-8", "latin-1"), ("안녕하세요 여러분", "utf-8", "latin-1"),
    ],
)  # fmt: skip
def test_mangled_lines_are(line, wrote, read):
    mangled = line.encode(wrote).decode(read)
    assert Screening("\n".join(["sound", mangled, "也是好的", ""])).lines() == [1]
