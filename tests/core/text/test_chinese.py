from __future__ import annotations

import pytest

from mspt.core.text.chinese import common_share, is_chinese

MODERN = "他在这里说了很多话，我们都没有听懂。"


def test_common_characters_are_counted_among_han_and_marks():
    assert common_share("的的的的") == 1
    assert common_share("的的的纂") == 0.75
    assert common_share("的纂纂纂，") == pytest.approx(2 / 5)
    assert common_share("的的的") == 0  # too few to say anything
    assert common_share("plain ASCII") == 0


def test_chinese_is_told_from_bytes_read_wrongly():
    assert is_chinese(MODERN)
    assert is_chinese(MODERN + " with some English")
    assert not is_chinese(MODERN.encode("gbk").decode("big5", "ignore"))
    assert not is_chinese("Сегодня хорошая погода, пойдём гулять по городу.".encode("cp1251").decode("gb18030", "ignore"))
    assert not is_chinese("오늘은 날씨가 좋아서 산책을 하고 싶습니다.".encode("cp949").decode("gb18030", "ignore"))
    assert not is_chinese("Сегодня хорошая погода")
