"""Charts of characters: GB 2312, Big5, KS X 1001, JIS or Unicode row by row. They hold what no text holds, and so look misread; read otherwise they give the
chart of another encoding, which looks no worse. What they are shows in the order: nearly every character is the next one of its encoding. Text never is."""

from __future__ import annotations

import re
from operator import sub

WIDE = re.compile("[\u2e80-\ufaff]+")  # two bytes each
ENCODINGS = ("utf-16-be", "gbk", "big5", "cp949", "euc-kr", "shift_jis", "euc_jp")
MIN_NEIGHBOURS, MIN_SHARE = 3, 0.6  # that follow one another: rows of a chart have gaps, at their ends and between blocks
MAX_CHARACTERS, FIRST = 256, 9  # of a line that are asked; those of which one pair must be neighbours


def is_chart(line: str) -> bool:
    """Whether the East Asian characters of a line stand in the order of an encoding."""
    characters = "".join(WIDE.findall(line[: 4 * MAX_CHARACTERS]))[:MAX_CHARACTERS]
    needed = max(MIN_NEIGHBOURS, MIN_SHARE * (len(characters) - 1))
    asked = (encoding for encoding in ENCODINGS if _num_neighbours(characters[:FIRST], encoding))
    return any(_num_neighbours(characters, encoding) >= needed for encoding in asked)


def _num_neighbours(characters: str, encoding: str) -> int:
    """How many of the characters are followed by the next one of the encoding, by their second bytes."""
    seconds = characters.encode(encoding, "ignore")[1::2]
    return list(map(sub, seconds[1:], seconds)).count(1)
