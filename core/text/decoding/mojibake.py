"""Text that was decoded with the wrong encoding by whoever made it: repaired where the round trip proves what happened, else measured as lost.

    UTF-8 read as Latin-1 or cp1252     naÃ¯ve, ä½ å¥½      the runs of accented characters of a line must be valid UTF-8 (`latin_runs`)
    UTF-8 read as GBK, Big5, Korean     浣犲ソ涓栫晫          lines must be valid UTF-8 once they are GB18030 again
    GBK, Big5, ... read as Latin-1      ÄãºÃÊÀ½ç              lines must be valid, and far more likely as text than they were
    Big5 read as GBK, cp1251 as KOI8    ...                   the same
    UTF-8 in a console, on a Mac        µ¥ÇΣ║║, ‰Ω†ÂèØ        the same
    ÄãºÃÊÀ½ç saved and read as GBK      脛茫潞脙脢脌陆莽              the same

Lines that look like sound text of any language are not touched: only those whose characters are improbable are tried at all. A fault that one line
proves is then undone in all lines where it can be. Lines in which bytes were dropped on the way have lost what they said; so has 锟斤拷 (`lost`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from operator import and_

from mspt.core.text.decoding.charsets import MULTI_BYTE
from mspt.core.text.decoding.charts import is_chart
from mspt.core.text.decoding.dropped import is_thinned
from mspt.core.text.decoding.faults import CODECS, FAULTS, Fault, raw_bytes, undone
from mspt.core.text.decoding.latin_runs import undo_latin_runs
from mspt.core.text.decoding.likelihood import Likelihood, least_bits, likelihood
from mspt.core.text.decoding.lost import lost_characters
from mspt.core.text.decoding.mending import read_damaged
from mspt.core.text.decoding.suspicion import HIGH_LATIN, REMAINS, Screening

MAX_ROUNDS = 3  # text may have been mangled twice
# As GBK, words of Cyrillic lose their last letters and the blank behind; as Big5 and Korean, UTF-8 loses most. Nothing of that can be undone.
BROKEN_FAULTS = (
    *(fault for fault in FAULTS if not fault.through),
    *(Fault("utf-8", read) for read in ("cp1252", "big5", "euc-kr")),
    *(Fault(written, read) for written, read in permutations(CODECS, 2) if "koi8-r" not in (written, read) and Fault(written, read) not in FAULTS),
    Fault("cp1251", "gbk"),
    Fault("koi8-r", "gbk"),
)
MISREADING = ("gbk", "cp950", "cp949")  # that make pairs of the three bytes of a character
EAST_ASIAN = re.compile("[\u3400-\u9fff\uac00-\ud7a3\ue000-\uf8ff]")
TOUCHES_ASCII = re.compile("[⺀-힣](?=[!-~])|(?<=[!-~])[⺀-힣]")
MIN_RIDDLED, RIDDLED = 8, 0.5
UTF8_PARTS = bytes(0x80 <= byte <= 0xBF or 0xE2 <= byte <= 0xEF for byte in range(256))

SAMPLE_LINES, SAMPLE_CHARACTERS = 24, 4096  # of the suspicious lines, that tell which faults a text has
MAX_FAULTS = 3  # that are undone in one round
MIN_GAIN = 20.0  # bits that a line must get better: a million to one; and
MIN_GAIN_SHARE = 0.15  # of its bits beyond ASCII
MIN_UTF8_GAIN = 10.0  # where valid UTF-8 gives what Western text is full of, which is a proof of its own
MIN_KINDS, MIN_CHART = 5, 16  # characters beyond ASCII: different ones, and so many that some come back
MIN_HABIT_GAIN = 4.0  # where another line proves the fault
MIN_LINES, MIN_LINES_SHARE = 3, 0.8  # that show it, for the others to be taken for what they are
# What two bytes of UTF-8 are; frequent ones. Two bytes are soon valid: 模式 is ģʽ.
TWO_BYTES, FREQUENT = re.compile("[\u0080-\u07ff\u2010-\u2026]"), re.compile("[\u00c0-\u00ff\u2010-\u2026\u00a0«»°]")
# What was repaired must be sound. Bits a character, of alphabets and of East Asian text.
MAX_ALPHABETIC, MAX_EAST_ASIAN, MIN_EAST_ASIAN, MIN_DISTINCT = 6.8, 12.2, 4, 6
# The marks of Big5 (A1 40 to A1 7E) are no characters of GBK: a reader that drops such bytes leaves none of them.
MARKS_DROPPED, MIN_MARKED, MARKS = Fault("big5", "gbk"), 12, frozenset("，。、；：？！「」『』（）《》・…“”")
# MIN_LETTERS, MAX_KINDS_SHARE, MIXED_CASE: of alphabetic text; a Russian sentence of 20 letters has about 12 kinds, and few capitals or nothing else.
MIN_LETTERS, MAX_KINDS_SHARE, MIXED_CASE = 10, 0.8, (0.35, 0.9)
# A line whose bytes are not all there, so that the rest does not read on.
SAMPLE_BROKEN = 64  # suspicious lines that are looked at, at most, of four times SAMPLE_CHARACTERS
MAX_GAPS = 0.6  # for each character of the rest
MIN_PARTS, MIN_PARTS_SHARE = 5, 0.85  # characters that are made of bytes that UTF-8 of East Asian text is made of; of sound GBK or Big5 .2 are


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
    if text.isascii():
        lost = lost_characters(text)
        return Judgement(text, lost=lost) if lost else None
    faults: list[str] = []
    most, current = 0, text
    while True:
        screening = Screening(current)
        improbable = screening.lines()
        suspicious = sorted({*improbable, *screening.odd_japanese()})
        lines = current.split("\n") if suspicious else []
        found = _undo(lines, suspicious, screening.found) if suspicious and len(faults) < MAX_ROUNDS else None
        if found is None:
            break
        done, repaired = found
        faults += done
        most = max(most, len(repaired))
        current = "\n".join(repaired.get(number, line) for number, line in enumerate(lines))
    lost = lost_characters(current) if screening.found & REMAINS or "???" in current else 0
    lost += _beyond_repair([lines[number] for number in improbable])
    return Judgement(current, tuple(faults), most, min(lost, len(current))) if faults or lost else None


def _undo(lines: list[str], suspicious: list[int], classes: int) -> tuple[list[str], dict[int, str]] | None:
    """The faults that were undone, and the lines, by number."""
    repaired = undo_latin_runs(lines) if classes & HIGH_LATIN else {}
    faults = [str(Fault("utf-8", "cp1252"))] if repaired else []
    for fault in _faults_of([lines[number] for number in suspicious if number not in repaired]):
        if (found := _undo_fault(fault, lines, repaired)) and not is_thinned(fault, found.values()):
            repaired |= found
            faults.append(str(fault))
    return (faults, repaired) if repaired else None


def _faults_of(lines: list[str]) -> list[Fault]:
    """The faults that a sample of the suspicious lines proves, that which explains most first."""
    gains: Counter[Fault] = Counter()
    size = 0
    for line in lines[:: -(-len(lines) // SAMPLE_LINES) or 1]:
        if is_chart(line):
            continue
        line, is_cut = line[:SAMPLE_CHARACTERS], len(line) > SAMPLE_CHARACTERS
        before, is_varied = likelihood(line), _is_varied(line)
        for fault in FAULTS:
            fixed = undone(fault, line, is_cut) if fault.written == "utf-8" or is_varied else None
            if fixed is not None and (gain := _gain(before.bits, fixed, _needed(fault, fixed, before))) and _is_sound(fault, fixed):
                gains[fault] += round(gain)
        size += len(line)
        if size > SAMPLE_CHARACTERS:
            break
    return [fault for fault, _ in gains.most_common(MAX_FAULTS)]


def _is_varied(line: str) -> bool:
    """Whether the line has different characters beyond ASCII, but is no chart of them: ········ may be anything, and so may À Á Â Ã Ä ..."""
    wide = [character for character in line if character > "\x7f"]
    kinds = len(set(wide))
    return kinds >= MIN_KINDS and (kinds < len(wide) or len(wide) < MIN_CHART or EAST_ASIAN.search(line) is not None)


def _gain(bits: float, fixed: str, needed: float) -> float:
    """By how many bits `fixed` is more likely than what cost `bits`; 0 if by less than needed."""
    if bits - least_bits(fixed) < needed:
        return 0.0
    gain = bits - likelihood(fixed).bits
    return gain if gain >= needed else 0.0


def _needed(fault: Fault, fixed: str, before: Likelihood) -> float:
    """Bits that prove the fault."""
    if fault.written == "utf-8" and _is_frequent(fixed):
        return MIN_UTF8_GAIN
    return max(MIN_GAIN, MIN_GAIN_SHARE * before.wide_bits)


def _undo_fault(fault: Fault, lines: list[str], done: Mapping[int, str]) -> dict[int, str]:
    """The lines where this fault can be undone and makes them better, by number. That a line is valid UTF-8 is proof enough by then. Where that is nearly all
    lines in which it can be undone, so are those too short to tell: a text is rarely misread in part."""
    better: dict[int, str] = {}
    unclear: dict[int, str] = {}
    was_utf8 = fault.written == "utf-8" or bool(fault.through)
    for number, line in enumerate(lines):
        fixed = None if number in done or line.isascii() else undone(fault, line)
        gain = -math.inf if fixed is None else likelihood(line).bits - likelihood(fixed).bits
        if fixed is not None and gain > -MIN_GAIN and (was_utf8 or _is_sound(fault, fixed)) and not is_chart(line):
            (better if gain >= MIN_HABIT_GAIN else unclear)[number] = fixed
    is_all = len(better) >= max(MIN_LINES, MIN_LINES_SHARE * (len(better) + len(unclear)))
    return better | unclear if is_all else better


def _is_sound(fault: Fault, fixed: str) -> bool:
    """Whether a repaired line looks like the whole of what was written."""
    if Screening(fixed).lines() or len(set(fixed)) < min(len(fixed) / 2, MIN_DISTINCT):  # ÌÌÌÌÌÌ may be anything
        return False
    found, east_asian = likelihood(fixed), len(EAST_ASIAN.findall(fixed))
    if east_asian >= MIN_EAST_ASIAN:
        is_whole = fault != MARKS_DROPPED or east_asian < MIN_MARKED or not MARKS.isdisjoint(fixed)
        return found.wide_bits <= MAX_EAST_ASIAN * found.wide and is_whole
    return _is_frequent(fixed) or (found.wide_bits <= MAX_ALPHABETIC * found.wide and _is_prose(fixed))


def _is_prose(text: str) -> bool:
    """Whether the letters beyond ASCII come back and are mostly of one case, unlike those of an alphabet that is listed: áéíóú ÁÉÍÓÚ."""
    letters = [character for character in text if character > "\x7f" and character.isalpha()]
    capitals = sum(map(str.isupper, letters)) / max(1, len(letters))
    kinds = len({letter.lower() for letter in letters})
    return len(letters) >= MIN_LETTERS and kinds <= MAX_KINDS_SHARE * len(letters) and not MIXED_CASE[0] < capitals < MIXED_CASE[1]


def _is_frequent(fixed: str) -> bool:
    """Whether what UTF-8 writes in two bytes is what Western text is full of."""
    return len(TWO_BYTES.findall(fixed)) == len(FREQUENT.findall(fixed))


# --- Beyond repair -----------------------------------------------------------------------------------------------------


def _beyond_repair(lines: list[str]) -> int:
    """Characters of those of the suspicious lines that are mangled and broken; of many lines by a sample."""
    size = min(SAMPLE_BROKEN, 1 + 4 * SAMPLE_CHARACTERS * len(lines) // max(1, sum(min(len(line), SAMPLE_CHARACTERS) for line in lines)))
    sample = lines[:: -(-len(lines) // size) or 1]
    broken = [line for line in sample if not is_chart(line) and _is_broken(line[:SAMPLE_CHARACTERS])]
    return round(sum(map(len, broken)) * len(lines) / max(1, len(sample)))


def _is_broken(line: str) -> bool:
    """Whether a suspicious line was read in the wrong encoding, and bytes are missing."""
    bare = line.replace("\ufffd", "").replace("?", "")
    if not _is_varied(bare):
        return False
    before = likelihood(bare)
    needed = max(MIN_GAIN, MIN_GAIN_SHARE * before.wide_bits)
    if _is_riddled(bare) or any(_is_made_of_utf8(bare, codec) for codec in MISREADING):
        return True
    return any(_gain(before.bits, text, needed) and _is_plausible(text) for fault in BROKEN_FAULTS for text in _loosely(fault, bare))


def _loosely(fault: Fault, line: str) -> Iterator[str]:
    """What the line may have been before the fault, with U+FFFD where it does not read on. If all of it is UTF-8, nothing is missing."""
    for raw in raw_bytes(fault.read, line):
        for codec in fault.codecs:
            text = read_damaged(raw, codec) if codec in MULTI_BYTE else raw.decode(codec, "replace")
            if fault.written != "utf-8" or "\ufffd" in text:
                yield text


def _is_plausible(text: str) -> bool:
    """Whether a text with gaps is text between them; East Asian text that is misaligned behind a gap is not, and that is what it shows by."""
    rest = text.replace("\ufffd", "")
    if len(EAST_ASIAN.findall(rest)) >= MIN_EAST_ASIAN:
        return True
    found = likelihood(rest)
    return found.wide_bits <= MAX_ALPHABETIC * found.wide and len(text) - len(rest) <= MAX_GAPS * found.wide and _is_prose(rest)


def _is_riddled(line: str) -> bool:
    """Whether ASCII touches most East Asian characters of an improbable line: second bytes of Big5 whose first ones were dropped."""
    east_asian = len(EAST_ASIAN.findall(line))
    return east_asian >= MIN_RIDDLED and len(TOUCHES_ASCII.findall(line)) >= RIDDLED * east_asian


def _is_made_of_utf8(line: str, codec: str) -> bool:
    """Whether nearly all East Asian characters of the line are made of bytes that begin and continue UTF-8 sequences."""
    pairs = "".join(EAST_ASIAN.findall(line)).encode(codec, "ignore").translate(UTF8_PARTS)
    parts: int = sum(map(and_, pairs[::2], pairs[1::2]))
    return parts >= MIN_PARTS and 2 * parts >= MIN_PARTS_SHARE * len(pairs)
