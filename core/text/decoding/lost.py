"""What is left of text that was lost for good: U+FFFD, its own mojibake (锟斤拷, ï¿½), memory fill (烫烫烫, 屯屯屯), and question marks (????)."""

from __future__ import annotations

import re
from functools import cache

# U+FFFD, written as UTF-8 and read in other encodings, as often as it stands there: 锟斤拷 in GBK, 嚙踝蕭 in Big5, 占쏙옙 in Korean, ï¿½ in Latin-1.
READERS = ("gb18030", "cp950", "cp949", "cp1252", "cp1251", "koi8-r", "cp866", "mac-roman")
# What debuggers fill memory with (0xCC fresh, 0xCD allocated, 0xDD freed, 0xFEEE freed by the system), read as text: at least so many in a row. Twice
# is how one says it: 烫烫！
FILLS, FILL_READERS = (b"\xcc\xcc", b"\xcd\xcd", b"\xdd\xdd", b"\xee\xfe"), ("gb18030", "cp950", "cp949", "cp1252", "cp932")
MIN_FILL, MIN_FILL_BYTES = 3, 8
# A line whose characters became "?" one by one: so many, so much of it, in runs. "What????" and "2024-??-??" are not.
MIN_QUESTIONS, MIN_QUESTION_SHARE, MIN_QUESTION_RUN = 6, 0.5, 4
QUESTIONS = re.compile(r"\?{3,}")


def lost_characters(text: str) -> int:
    """How many characters of `text` stand where others were lost."""
    lost = 0 if text.isascii() else sum(len(match[0]) for match in _remains().finditer(text))
    return lost + _questions(text) if "???" in text else lost


@cache
def _patterns() -> list[tuple[str, str]]:
    """What remains of lost characters: the first character, and a pattern for the others; the longest first."""
    patterns = {("\ufffd", "")}
    patterns |= {(part[0], re.escape(part[1:])) for reader in READERS for part in _misread(reader)}
    for reader in FILL_READERS:
        units = [fill.decode(reader, "ignore") for fill in FILLS]
        patterns |= {(unit[0], f"{re.escape(unit[0])}{{{(MIN_FILL_BYTES if len(unit) == 2 else MIN_FILL) - 1},}}") for unit in units if _is_fill(unit)}
    return sorted(patterns, key=lambda pattern: (-len(pattern[1]), pattern))


@cache
def _remains() -> re.Pattern[str]:
    """One class at the front lets the search skip at 4 ns a character; an alternation does not."""
    return re.compile(f"[{REMAINS_BEGIN}](?:" + "|".join(f"(?<={first}){rest}" for first, rest in _patterns()) + ")")


def _is_fill(unit: str) -> bool:
    return len(set(unit)) == 1 and unit > "\x80" and not "\ue000" <= unit[0] <= "\uf8ff"


def _misread(reader: str) -> list[str]:
    """What U+FFFD becomes: by itself, where three bytes are whole characters, else the two that two of them become."""
    one, two = ("\ufffd".encode() * count for count in (1, 2))
    try:
        return [one.decode(reader)]
    except UnicodeDecodeError:
        whole = two.decode(reader, "ignore")
        return [whole, whole[:2], whole[1:]]


def _questions(text: str) -> int:
    """Question marks of lines that are mostly such, in runs."""
    lost = 0
    for line in text.split("\n"):
        runs = QUESTIONS.findall(line)
        if runs and max(map(len, runs)) >= MIN_QUESTION_RUN:
            count, visible = line.count("?"), len(line) - line.count(" ")
            lost += count if count >= MIN_QUESTIONS and count >= MIN_QUESTION_SHARE * visible else 0
    return lost


REMAINS_BEGIN = "".join(sorted({first for first, _ in _patterns()}))  # without one of these, nothing remains of anything but question marks
