"""Charts of characters are sound, whatever their rows could be read as. Made row by row from the codecs."""

from __future__ import annotations

import pytest

from mspt.core.text.decoding.charts import is_chart
from mspt.core.text.decoding.mojibake import judge


def rows_of(encoding: str, leads: range, trails: range) -> list[str]:
    return [bytes(two for trail in trails for two in (lead, trail)).decode(encoding, "ignore") for lead in leads]


CHARTS = {
    "GB 2312, common": rows_of("gb2312", range(0xB0, 0xD8), range(0xA1, 0xFF)),
    "GB 2312, rare": rows_of("gb2312", range(0xD8, 0xF8), range(0xA1, 0xFF)),
    "Big5": rows_of("big5", range(0xA4, 0xC6), range(0xA1, 0xFF)),
    "KS X 1001": rows_of("euc-kr", range(0xB0, 0xC9), range(0xA1, 0xFF)),
    "JIS X 0208": rows_of("euc-jp", range(0xB0, 0xD0), range(0xA1, 0xFF)),
    "Han of Unicode": ["".join(map(chr, range(first, first + 50))) for first in range(0x4E00, 0x9F00, 50)],
    "Hangul of Unicode": ["".join(map(chr, range(first, first + 40))) for first in range(0xAC00, 0xD7A0, 40)],
}
SIXTEEN = {
    name: [f"{number:04X}  {' '.join(row[start : start + 16])}" for number, row in enumerate(rows) for start in range(0, len(row), 16)]
    for name, rows in CHARTS.items()
}


@pytest.mark.parametrize("rows", [*CHARTS.values(), *SIXTEEN.values()], ids=[*CHARTS, *(f"{name}, by sixteen" for name in SIXTEEN)])
def test_a_chart_is_left_as_it_is(rows):
    assert judge("\n".join(rows)) is None


def test_charts_of_two_encodings_are_told_from_text():
    assert is_chart("B0A1 啊阿埃挨哎唉哀皑")  # B0A1 to B0A8 of GB 2312
    assert is_chart("一 丁 丂 七 丄 丅")  # U+4E00 to U+4E05
    assert not is_chart("浣犲ソ锛屼笘鐣岋紝浠婂ぉ澶╂皵寰堝ソ")  # UTF-8 read as GBK
    assert not is_chart("一丁点儿也不知道")
    assert not is_chart("abcdefgh")
    assert not is_chart("")
