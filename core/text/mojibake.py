"""Text that was decoded with the wrong encoding by whoever made it: repaired where the round trip proves what happened, else measured as lost.

    UTF-8 read as Latin-1 or cp1252     naÃ¯ve, ä½ å¥½      the runs of accented characters of a line must be valid UTF-8 (`latin_runs`)
    UTF-8 read as GBK, Big5, Korean     浣犲ソ涓栫晫          lines must be valid UTF-8 once they are GB18030 again
    GBK, Big5, ... read as Latin-1      ÄãºÃÊÀ½ç              lines must be valid, and far more likely as text than they were
    Big5 read as GBK, cp1251 as KOI8    ...                   the same

Lines that look like sound text of any language are not touched: only those whose characters are improbable are tried at all. A fault that one line
proves is then undone in all lines where it can be. Lines in which bytes were dropped on the way have lost what they said; so has 锟斤拷 (`lost`).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.latin_runs import CP1252, undo_latin_runs
from mspt.core.text.likelihood import HALF_KANA, least_costs, likelihood
from mspt.core.text.lost import lost_characters
from mspt.core.text.script import code_points

# Sound text hardly has it. One class at the front lets the search skip at 4 ns a character; an alternation of two does not.
SUSPECT = re.compile(f"[\u00a1-\u00fe](?:(?<=[\u00c2-\u00f4])[\u0080-\u00bf{''.join(CP1252)}]|[\u00a1-\u00fe]{{3}})")
MAX_ROUNDS = 3  # text may have been mangled twice


class Fault(NamedTuple):
    """Text written in one encoding and read in another."""

    written: str
    read: str

    def __str__(self) -> str:
        return f"{self.written} read as {self.read}"


# What may have been written, by what it may have been read as. The names are those of the families in CODECS.
FAULTS = tuple(
    Fault(written, read)
    for read, many in {
        "cp1252": ("gbk", "big5", "shift_jis", "euc-jp", "euc-kr", "cp1251", "koi8-r", "cp866", "iso8859-5"),
        "gbk": ("utf-8", "big5", "shift_jis", "euc-jp", "euc-kr", "cp1251", "koi8-r"),
        "big5": ("utf-8", "gbk", "shift_jis", "euc-kr"),
        "shift_jis": ("utf-8", "euc-jp", "gbk", "big5"),
        "euc-kr": ("utf-8", "gbk", "shift_jis"),
        "euc-jp": ("utf-8", "shift_jis", "gbk"),
        "cp1251": ("utf-8", "koi8-r", "cp866", "iso8859-5"),
        "koi8-r": ("utf-8", "cp1251", "cp866", "iso8859-5"),
        "cp866": ("utf-8", "cp1251", "koi8-r"),
        "iso8859-5": ("cp1251", "koi8-r"),
    }.items()
    for written in many
)
CODECS = {
    "gbk": ("gb18030",), "big5": ("cp950", "big5hkscs"), "shift_jis": ("cp932",), "euc-jp": ("euc_jp",), "euc-kr": ("cp949",),
    "koi8-r": ("koi8-r", "koi8-u"),
}  # fmt: skip
SINGLE_BYTE = frozenset({"cp1252", "cp1251", "koi8-r", "cp866", "iso8859-5"})

# A line is tried if its characters cost so much more than those of sound text may (bits, over the line). Chinese, Japanese and Korean lines of ../shared cost
# 8 to 11 bits a character and at most 13.8, mangled ones 14 to 18; Cyrillic 4.6, mangled 6 to 8.
ALLOWED, ALLOWED_HANGUL, ALLOWED_HALF_KANA, ALLOWED_CYRILLIC = 12.5, 11.0, 4.0, 5.6
MAX_CREDIT = -4.0  # of one sound character
MIN_EXCESS = 10.0
SAMPLE_LINES, SAMPLE_CHARACTERS = 24, 4096  # of the suspicious lines, that tell which faults a text has

MIN_GAIN = 40.0  # bits that a line must get better, and
MIN_GAIN_SHARE = 0.15  # of its bits beyond ASCII
MIN_UTF8_GAIN = 12.0  # valid UTF-8 is a proof of its own
MIN_HABIT_GAIN = 4.0  # where another line proves the fault
MIN_READABLE, MAX_BAD_SHARE = 4, 1.0  # of a line whose bytes are not all there: characters that are, and U+FFFD for each


@dataclass(frozen=True)
class Judgement:
    """The text as it was, which faults were undone (outermost first), in how many lines, and how many of its characters are lost."""

    text: str
    faults: tuple[str, ...] = ()
    lines: int = 0
    lost: int = 0

    @property
    def lost_ratio(self) -> float:
        return self.lost / max(1, len(self.text))


def judge(text: str) -> Judgement | None:
    """What is wrong with `text` and what it was before, or None if nothing says that anything is."""
    faults: list[str] = []
    lines, current = 0, text
    while len(faults) < MAX_ROUNDS and (found := _undo(current)):
        current, done, repaired = found
        faults += done
        lines = max(lines, repaired)
    lost = lost_characters(current) + _beyond_repair(current)
    return Judgement(current, tuple(faults), lines, min(lost, len(current))) if faults or lost else None


def repair(text: str) -> Judgement | None:
    """The repaired text, or None if nothing proves that `text` was mangled."""
    found = judge(text)
    return found if found and found.faults else None


def lost_ratio(text: str) -> float:
    """Share of the characters that are remains of lost ones, or stand in lines that are mangled beyond repair."""
    found = judge(text)
    return found.lost_ratio if found else 0.0


def _undo(text: str) -> tuple[str, list[str], int] | None:
    """The text with its outermost faults undone, these, and the number of lines."""
    if text.isascii():
        return None
    latin = has_high_latin(text) and SUSPECT.search(text) is not None
    numbers = _suspicious_lines(text)
    if not latin and not numbers:
        return None
    lines = text.split("\n")
    repaired = undo_latin_runs(lines) if latin else {}
    faults = [str(Fault("utf-8", "cp1252"))] if repaired else []
    tried = dict.fromkeys(numbers)
    if latin:
        tried |= dict.fromkeys(number for number, line in enumerate(lines) if SUSPECT.search(line))
    for fault in _faults_of([lines[number] for number in tried if number not in repaired]):
        found = _undo_fault(fault, lines, repaired)
        if found:
            repaired |= found
            faults.append(str(fault))
    if not repaired:
        return None
    return "\n".join(repaired.get(number, line) for number, line in enumerate(lines)), faults, len(repaired)


# --- Which lines, which faults -----------------------------------------------------------------------------------------


def has_high_latin(text: str) -> bool:
    return bool(((code_points(text) - np.uint32(0xA1)) <= np.uint32(0xFE - 0xA1)).any())


def _suspicious_lines(text: str) -> list[int]:
    """The numbers of lines whose characters are improbable."""
    codes = code_points(text)
    excess = _excess().take(np.minimum(codes, np.uint32(len(_excess()) - 1)))
    starts = np.concatenate(([0], np.flatnonzero(codes == 0x0A) + 1))
    if starts[-1] == len(codes):
        starts = starts[:-1]
    return np.flatnonzero(np.add.reduceat(excess, starts, dtype=np.float32) >= MIN_EXCESS).tolist() if len(starts) else []


@cache
def _excess() -> NDArray[np.float32]:
    """[0x10000]: what each character costs beyond what it may; below 0 for sound ones, 0 for what says nothing."""
    costs = least_costs()
    table = np.zeros(0x10000, dtype=np.float32)
    for first, last, allowed in (
        *((0x0400, 0x045F, ALLOWED_CYRILLIC), (0x0490, 0x0491, ALLOWED_CYRILLIC), (0x2550, 0x256C, ALLOWED_CYRILLIC)),
        *((0x3001, 0x3002, ALLOWED), (0x3041, 0x30FF, ALLOWED), (0x4E00, 0x9FFF, ALLOWED), (0xAC00, 0xD7A3, ALLOWED_HANGUL), (0xE000, 0xF8FF, ALLOWED)),
        *((0xFF01, 0xFF1F, ALLOWED), (0xFF61, 0xFF9F, ALLOWED_HALF_KANA), (0xFFFD, 0xFFFD, ALLOWED)),
    ):
        table[first : last + 1] = np.maximum(costs[first : last + 1] - allowed, MAX_CREDIT)
    table[0xFF61:0xFFA0] = HALF_KANA - ALLOWED_HALF_KANA
    return table


def _faults_of(lines: list[str]) -> Iterator[Fault]:
    """The faults that a sample of the suspicious lines proves, that which explains most first."""
    sample, size = [], 0
    for line in lines[:: -(-len(lines) // SAMPLE_LINES) or 1]:
        sample.append(line[:SAMPLE_CHARACTERS])
        size += len(sample[-1])
        if size > SAMPLE_CHARACTERS:
            break
    gains = {fault: sum(gain for line in sample if (gain := _gain(fault, line)[1]) >= _needed(fault, line)) for fault in FAULTS}
    yield from sorted((fault for fault in FAULTS if gains[fault]), key=lambda fault: -gains[fault])


def _undo_fault(fault: Fault, lines: list[str], done: Mapping[int, str]) -> dict[int, str]:
    """The lines where this fault can be undone and makes them better, by number."""
    repaired = {}
    for number, line in enumerate(lines):
        if number not in done and not line.isascii():
            fixed, gain = _gain(fault, line)
            if fixed is not None and gain >= MIN_HABIT_GAIN:
                repaired[number] = fixed
    return repaired


def _gain(fault: Fault, line: str) -> tuple[str | None, float]:
    """What the line was before the fault, and by how many bits it is more likely; (None, 0) if it cannot have been anything."""
    fixed = undone(fault, line)
    return (None, 0.0) if fixed is None else (fixed, likelihood(line).bits - likelihood(fixed).bits)


def _needed(fault: Fault, line: str) -> float:
    return MIN_UTF8_GAIN if fault.written == "utf-8" else max(MIN_GAIN, MIN_GAIN_SHARE * likelihood(line).wide_bits)


# --- One fault, one line -----------------------------------------------------------------------------------------------


def undone(fault: Fault, line: str) -> str | None:
    """What the line was before: its characters are all of the encoding that it was read as, its bytes all valid in the one it was written in."""
    for raw in _raw(fault.read, line):
        for codec in CODECS.get(fault.written, (fault.written,)):
            try:
                fixed = raw.decode(codec)
            except UnicodeDecodeError:
                continue
            if "\ufffd" not in fixed:  # 锟斤拷: what it was is gone
                return fixed
    return None


def _raw(read: str, line: str) -> Iterator[bytes]:
    """The bytes that the line may have been."""
    if read in SINGLE_BYTE:
        yield from _encoded(line, _bytes_of(read))
        return
    for codec in CODECS[read]:
        try:
            raw = line.encode(codec)
        except UnicodeEncodeError:
            continue
        yield raw
        if read == "gbk" and b"\xa2\xe3" in raw:
            yield raw.replace(b"\xa2\xe3", b"\x80")  # Windows reads the byte 0x80 of GBK as the euro sign


def _encoded(line: str, table: dict[int, int]) -> Iterator[bytes]:
    with_errors = codecs.charmap_encode(line, "ignore", table)[0]
    if len(with_errors) == len(line):
        yield with_errors


@cache
def _bytes_of(codec: str) -> dict[int, int]:
    """By character: the byte that reads as it; bytes that the codec does not define read as C1 controls, and cp1252 is Latin-1 besides."""
    table = {byte: byte for byte in range(0x80 if codec != "cp1252" else 0x100)}
    for byte in range(0x80, 0x100):
        table[ord(bytes([byte]).decode(codec, "ignore") or chr(byte))] = byte
    return table


# --- Beyond repair -----------------------------------------------------------------------------------------------------


def _beyond_repair(text: str) -> int:
    """Characters of the lines that are UTF-8 read in another encoding, of which bytes are missing."""
    if text.isascii() or not (numbers := _suspicious_lines(text)):
        return 0
    lines = text.split("\n")
    return sum(len(lines[number]) for number in numbers if _is_broken(lines[number]))


def _is_broken(line: str) -> bool:
    bare = line.replace("\ufffd", "").replace("?", "")
    before = likelihood(bare)
    return any(_is_readable(raw, before.bits) for read in ("gbk", "big5", "euc-kr", "shift_jis", "cp1251") for raw in _loose(read, bare))


def _loose(read: str, line: str) -> Iterable[bytes]:
    if read in SINGLE_BYTE:
        return [codecs.charmap_encode(line, "ignore", _bytes_of(read))[0]]
    return [line.encode(codec, "ignore") for codec in CODECS[read]]


def _is_readable(raw: bytes, bits_before: float) -> bool:
    """Whether the bytes are a UTF-8 text with gaps, and that the more likely one."""
    fixed = raw.decode("utf-8", "replace")
    bad = fixed.count("\ufffd")
    rest = fixed.replace("\ufffd", "")
    found = likelihood(rest)
    return found.wide >= max(MIN_READABLE, MAX_BAD_SHARE * bad) and found.bits + MIN_GAIN < bits_before
