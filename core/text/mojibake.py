"""Text that was decoded with the wrong encoding by whoever made it: repaired where the round trip proves what happened.

Three faults, each undone by encoding back and decoding right:

    UTF-8 read as Latin-1 or cp1252     naÃ¯ve, ä½ å¥½       the runs of accented characters of a line must be valid UTF-8
    UTF-8 read as GBK                   浣犲ソ涓栫晫         lines must be valid UTF-8 once they are GB18030 again
    GBK read as Latin-1 or cp1252       ÄãºÃÊÀ½ç            all lines must be valid GBK, and what comes out common Chinese

Sound text is never touched: a run or line that does not round-trip is evidence against it. What is lost for good (U+FFFD, 锟斤拷, 烫烫烫, 屯屯屯)
is only measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mspt.core.text.chinese import MIN_COMMON_SHARE, common_share

# What bytes 0x80-0x9F become in cp1252; Latin-1 leaves them as C1 controls. Both may stand in one text.
CP1252 = {bytes([byte]).decode("cp1252"): chr(byte) for byte in range(0x80, 0xA0) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
TO_LATIN_1 = str.maketrans(CP1252)
HIGH = "\u0080-\u00ff" + "".join(CP1252)
HIGH_RUN = re.compile(f"[{HIGH}]+")
# Sound text hardly has it. One class at the front lets the search skip at 4 ns a character; an alternation of two does not.
SUSPECT = re.compile(f"[\u00a1-\u00fe](?:(?<=[\u00c2-\u00f4])[\u0080-\u00bf{''.join(CP1252)}]|[\u00a1-\u00fe]{{3}})")
# A capital and a closing quote may be valid UTF-8 by accident: “AMANHÃ”, „Ä“.
QUOTE_MARKS = "‘’“”„‚…–—«»‹›\xa0\xad"
QUOTES = frozenset(QUOTE_MARKS)
MIN_SEQUENCES = 3  # in a line, where the leads are not those of Latin-1 letters: "10 Å²" is sound

MIN_GBK_LINE = 4  # 3-byte sequences that a line of UTF-8 read as GBK must give; no line of 46,000 sound ones gives even one
# Frequent in UTF-8 read as GBK: the first bytes of "，。的一在是人" and of CJK punctuation. In sound long texts at most .0007 of the characters.
GBK_MARKS = "锛銆鐨涓鍦鏄浜"
MIN_MARKS = 0.01  # of the characters of a long text
LONG_CHARACTERS = 2000

MIN_LONG_RUN_SHARE = 0.5  # of the accented characters stand in runs of three or more: no sound text has that

LOST_SIGNS = ("\ufffd", "锟斤", "斤拷", "烫烫烫烫", "屯屯屯屯", "葺葺葺")
LOST = re.compile("\ufffd|锟斤拷?|斤拷|烫{4,}|屯{4,}|葺{3,}")
MAX_ROUNDS = 3  # text may have been mangled twice


@dataclass(frozen=True)
class Repair:
    """The text as it was, which faults were undone (outermost first), and in how many lines."""

    text: str
    faults: tuple[str, ...]
    lines: int


def repair(text: str) -> Repair | None:
    """The repaired text, or None if nothing proves that `text` was mangled."""
    faults: list[str] = []
    lines, current = 0, text
    while len(faults) < MAX_ROUNDS and (found := _repair_once(current)):
        fault, current, repaired = found
        faults.append(fault)
        lines = max(lines, repaired)
    return Repair(current, tuple(faults), lines) if faults else None


def lost_ratio(text: str) -> float:
    """Share of the characters that are the remains of lost ones: U+FFFD, 锟斤拷, and memory fill read as GBK (烫烫烫烫, 屯屯屯屯)."""
    if not any(sign in text for sign in LOST_SIGNS):
        return 0.0
    return sum(len(match) for match in LOST.findall(text)) / len(text)


def _repair_once(text: str) -> tuple[str, str, int] | None:
    if text.isascii():
        return None
    if SUSPECT.search(text):
        return _utf8_as_latin(text) or _gbk_as_latin(text)
    if len(text) < LONG_CHARACTERS or sum(map(text.count, GBK_MARKS)) >= MIN_MARKS * len(text):
        return _utf8_as_gbk(text)
    return None


# --- UTF-8 read as Latin-1 or cp1252 -----------------------------------------------------------------------------------


@dataclass
class _Evidence:
    """What the runs of high characters of one line say."""

    sequences: int = 0
    longest: int = 0  # sequences in one run
    strong: bool = False
    against: int = 0


def _utf8_as_latin(text: str) -> tuple[str, str, int] | None:
    lines = text.split("\n")
    evidence = [_weigh(line) for line in lines]
    proven = sum(_is_proven(found) for found in evidence)
    if not proven:
        return None
    habit = proven > sum(found.against > 0 for found in evidence)
    repaired = [_is_proven(found) or (habit and found.sequences > 0 and not found.against) for found in evidence]
    mended = (HIGH_RUN.sub(_unlatin, line) if wanted else line for line, wanted in zip(lines, repaired, strict=True))
    return "utf-8 read as cp1252", "\n".join(mended), sum(repaired)


def _weigh(line: str) -> _Evidence:
    found = _Evidence()
    for match in HIGH_RUN.finditer(line):
        run = match[0].lstrip(QUOTE_MARKS) if match[0][0] in QUOTES else match[0]
        if not run:
            continue  # quotation marks on their own speak neither way
        decoded = _as_utf8(run)
        if decoded is None or "\ufffd" in decoded:
            found.against += 1
            continue
        found.sequences += len(decoded)
        found.longest = max(found.longest, len(decoded))
        found.strong |= _is_strong(run, decoded) or _is_inside_word(line, match.end() - len(run), match.end())
    return found


def _is_strong(run: str, decoded: str) -> bool:
    """Whether no sound text would have these characters in a row: "Ã©", "â€™", a C1 control behind a letter."""
    if any("\x80" <= char < "\xa0" for char in run):
        return True
    if any(ord(char) >= 0x800 for char in decoded):
        return not QUOTES.issuperset(run[1:])
    return any(lead in "ÂÃ" and tail not in QUOTES for lead, tail in zip(run[::2], run[1::2], strict=False))


def _is_inside_word(line: str, start: int, end: int) -> bool:
    """A capital in the middle of a word of small letters ("hakkÄ±nda")."""
    return line[start].isupper() and (line[start - 1 : start].islower() or line[end : end + 1].islower())


def _is_proven(found: _Evidence) -> bool:
    return not found.against and (found.strong or (found.sequences >= MIN_SEQUENCES and found.longest >= 2))


def _as_utf8(run: str) -> str | None:
    try:
        return run.translate(TO_LATIN_1).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None


def _unlatin(match: re.Match[str]) -> str:
    run = match[0]
    bare = run.lstrip(QUOTE_MARKS)
    decoded = _as_utf8(run)
    if decoded is not None:
        return decoded
    return run[: len(run) - len(bare)] + (_as_utf8(bare) or bare)


# --- GBK read as Latin-1 -----------------------------------------------------------------------------------------------


def _gbk_as_latin(text: str) -> tuple[str, str, int] | None:
    lines = text.split("\n")
    decoded = [None if line.isascii() else _latin_to_gbk(line) for line in lines]
    if (
        any(found is None and not line.isascii() for line, found in zip(lines, decoded, strict=True))
        or common_share("".join(filter(None, decoded))) < MIN_COMMON_SHARE
    ):
        return None
    runs = [len(run) for run in HIGH_RUN.findall(text)]
    if sum(run for run in runs if run >= 3) < MIN_LONG_RUN_SHARE * sum(runs):
        return None
    mended = (line if found is None else found for line, found in zip(lines, decoded, strict=True))
    return "gbk read as cp1252", "\n".join(mended), sum(found is not None for found in decoded)


def _latin_to_gbk(line: str) -> str | None:
    try:
        return line.translate(TO_LATIN_1).encode("latin-1").decode("gbk")
    except UnicodeError:
        return None


# --- UTF-8 read as GBK -------------------------------------------------------------------------------------------------


def _utf8_as_gbk(text: str) -> tuple[str, str, int] | None:
    lines = text.split("\n")
    decoded = [None if line.isascii() else _gbk_to_utf8(line) for line in lines]
    proven = sum(found is not None and _sequences(found) >= MIN_GBK_LINE for found in decoded)
    against = sum(found is None and not line.isascii() for line, found in zip(lines, decoded, strict=True))
    if not proven or proven <= against:
        return None
    return "utf-8 read as gbk", "\n".join(line if found is None else found for line, found in zip(lines, decoded, strict=True)), proven


def _gbk_to_utf8(line: str) -> str | None:
    try:
        decoded = line.encode("gb18030").decode("utf-8")
    except UnicodeError:
        return None
    return None if "\ufffd" in decoded else decoded  # 锟斤拷: what it was is gone


def _sequences(text: str) -> int:
    return sum(char >= "\u0800" for char in text)
