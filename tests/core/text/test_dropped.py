"""What readers of other encodings drop of a text, by hand: the rows that their tables lack."""

from __future__ import annotations

import pytest

from mspt.core.text.decoding.dropped import MAX_MISSING, is_thinned
from mspt.core.text.decoding.faults import Fault

C9 = "上生身深神声升少设社射"  # of GB 2312: row 41, lead byte C9, which KS X 1001 has left to its users
C7_C8 = "人去全然如日任入取"  # rows 39 and 40, between Big5's two levels
PLAIN = "的一是在有大"  # that both have


def test_the_rows_are_what_they_are_said_to_be() -> None:
    assert {character.encode("gb2312")[0] for character in C9} == {0xC9}
    assert {character.encode("gb2312")[0] for character in C7_C8} <= {0xC7, 0xC8}


@pytest.mark.parametrize(("fault", "lacked"), [(Fault("gbk", "euc-kr"), C9), (Fault("gbk", "big5"), C7_C8)])
def test_a_long_text_without_what_the_reader_lacks_is_thinned(fault: Fault, lacked: str) -> None:
    """About 4 in 100 characters of running Chinese are in those rows: of 30 one may have none by chance, of 300 hardly any text has."""
    for character in lacked:
        with pytest.raises(UnicodeDecodeError):
            character.encode("gbk").decode({"euc-kr": "cp949", "big5": "cp950"}[fault.read])
    assert is_thinned(fault, [PLAIN * 50])
    assert not is_thinned(fault, [PLAIN * 5])


def test_a_reader_that_lacks_nothing_thins_nothing() -> None:
    for fault in (Fault("big5", "gbk"), Fault("euc-kr", "gbk"), Fault("utf-8", "gbk"), Fault("gbk", "cp1252"), Fault("cp1251", "koi8-r")):
        assert not is_thinned(fault, [PLAIN * 10_000])
    assert MAX_MISSING == 2.0
