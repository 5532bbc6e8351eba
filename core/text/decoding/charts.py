"""Charts of characters: GB 2312, Big5, KS X 1001, JIS or Unicode row by row. They hold what no text holds, and so look misread; read otherwise they give the
chart of another encoding, which looks no worse. What they are shows in the order: nearly every character is the next one of its encoding. Text never is."""

from __future__ import annotations

import re
from itertools import pairwise

WIDE = re.compile("[\u2e80-\U0003ffff]+")
ENCODINGS = ("utf-32-be", "gbk", "big5", "cp949", "euc-kr", "shift_jis", "euc_jp")
MIN_NEIGHBOURS, MIN_SHARE = 3, 0.6  # that follow one another: rows of a chart have gaps, at their ends and between blocks
MAX_CHARACTERS = 256  # of a line that are asked


def is_chart(line: str) -> bool:
    """Whether the East Asian characters of a line stand in the order of an encoding."""
    characters = "".join(WIDE.findall(line[: 4 * MAX_CHARACTERS]))[:MAX_CHARACTERS]
    needed = max(MIN_NEIGHBOURS, MIN_SHARE * (len(characters) - 1))
    if len(characters) <= MIN_NEIGHBOURS:
        return False
    return any(_num_neighbours(characters, encoding) >= needed for encoding in ENCODINGS)


def _num_neighbours(characters: str, encoding: str) -> int:
    """How many of the characters are followed by the next one of the encoding."""
    codes = [int.from_bytes(character.encode(encoding, "ignore"), "big") for character in characters]
    return sum(one > 0 and two == one + 1 for one, two in pairwise(codes))
