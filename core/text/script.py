"""What a text is written in: counts of characters by class, and simplified against traditional Chinese.

Characters are looked up in tables over all of Unicode, so that a census costs a few nanoseconds a character whatever the text. Which characters
are simplified and which traditional, OpenCC's tables say; which of them both sides use, the national character sets.
"""

from __future__ import annotations

import json
import tempfile
import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import opencc
from numpy.typing import NDArray

from mspt.core.errors import MachineError
from mspt.core.kernel import kernel

HAN, KANA, HANGUL, LATIN, OTHER, DIGIT, BLANK, PUNCTUATION, SYMBOL, REPLACEMENT, PRIVATE, CONTROL = range(12)
SIMPLIFIED, TRADITIONAL, JAPANESE, NOT_JAPANESE, COMMON = 1, 2, 4, 8, 16  # bits
KEPT_CHARACTERS, NUM_KEPT = 2**20, 4  # of a text whose code points are kept for the next step that asks, and how many of them
NUM_CLASSES, SIDE = 12, 4  # an entry of the table is a class, and from bit SIDE on the bits of a Han character
ENTRIES, LANES = 512, 4  # different entries; counts of each, so that no addition waits for the one before
_CONTROLS = np.uint64(sum(1 << code for code in (*range(0x01, 0x08), *range(0x0E, 0x1B), *range(0x1C, 0x20))))

# Blocks of ideographs (Unicode 14, Blocks.txt), with 〇 and 々 that Chinese words are written with.
HAN_RANGES = (
    (0x3005, 0x3005), (0x3007, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3134F),
)  # fmt: skip
KANA_RANGES = ((0x3041, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))
HANGUL_RANGES = ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7FB), (0xFFA0, 0xFFDC))
LATIN_RANGES = ((0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F), (0x1E00, 0x1EFF))
UNIFIED = (0x3400, 0x9FFF)  # the ideographs of the first plane; what stands between the two blocks (hexagrams) no table changes
ASSIGNED = ((0x0, 0x3FFFF), (0xE0000, 0xE0FFF))  # planes 4 to 13 are empty, 15 and 16 private
PRIVATE_RANGES = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
CATEGORY_CLASS = {"L": OTHER, "M": OTHER, "N": DIGIT, "Z": BLANK, "P": PUNCTUATION, "S": SYMBOL, "C": CONTROL}

# Sound text holds characters of the other script in names and quotations: the minority is under .02 of the evidence in 99 % of ../shared
# zh_wiki_*, under .13 in 99 % of zh_poetry_*.
MAX_OTHER_SCRIPT = 0.3
# Rows of the national sets, as bytes of EUC. Big5 has its 5,401 characters in common use in rows A4 to C6, the rare ones behind them.
GB_2312, KS_X_1001, JIS_X_0208 = (0xB0, 0xF7), (0xCA, 0xFD), (0xB0, 0xF4)
BIG5_COMMON, BIG5_RARE = (0xA4, 0xC6), (0xC9, 0xF9)


class Census(NamedTuple):
    """How many characters of each class a text holds. Every character is in exactly one class; `total` is their sum."""

    total: int
    han: int
    kana: int
    hangul: int
    latin: int
    other_letters: int  # letters and marks of all other scripts
    digits: int
    blanks: int  # space, tab, line end and their kin
    punctuation: int  # Unicode P*
    symbols: int  # Unicode S*
    replacement: int  # U+FFFD
    private_use: int
    controls: int  # Cc (but blanks), Cf, Cs, Cn

    @property
    def letters(self) -> int:
        """Letters of all scripts."""
        return self.han + self.kana + self.hangul + self.latin + self.other_letters

    @property
    def visible(self) -> int:
        """All but blanks and controls."""
        return self.total - self.blanks - self.controls


class Survey(NamedTuple):
    """What one pass over a text counts: its census, and the Han characters that simplified, traditional and Japanese writing has or has not.

    sided: of the first block or on any side; japanese: that only Japan writes; japanese_forms: how many different ones, at most 2.
    """

    census: Census
    simplified: int
    traditional: int
    japanese: int
    foreign_to_japan: int
    sided: int
    japanese_forms: int


# Each step asks about the same text, some of them several times: what was found last is kept, with the text that it is of.
Codes = NDArray[np.uint32]  # code points, read-only
_kept: list[tuple[str, NDArray[np.uint32]]] = []  # a step may look at parts of the text between
_last_survey: tuple[str, Survey] | None = None


def code_points(text: str) -> NDArray[np.uint32]:
    """The characters of `text` as numbers, [len(text)], read-only; lone surrogates pass."""
    for known, codes in _kept:
        if known is text:
            return codes
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    _keep(text, codes)
    return codes


def text_of(codes: NDArray[np.uint32]) -> str:
    """The text that `code_points` reads as these numbers."""
    text = codes.tobytes().decode("utf-32-le", "surrogatepass")
    _keep(text, codes)
    return text


def _keep(text: str, codes: NDArray[np.uint32]) -> None:
    if len(text) <= KEPT_CHARACTERS:
        _kept.insert(0, (text, codes))
        del _kept[NUM_KEPT:]


@kernel
def num_controls(codes: NDArray[np.uint32]) -> int:
    """How many characters are controls of ASCII that no text holds: all but NUL, escape, blanks and line ends."""
    number = 0
    for code in codes:  # without a branch: several at a time
        number += np.int64(_CONTROLS >> np.uint64(min(code, np.uint32(63))) & np.uint64(1)) + (code == 0x7F)
    return number


def survey(text: str) -> Survey:
    """Count the characters of `text`, in one pass."""
    global _last_survey
    if _last_survey is not None and _last_survey[0] is text:
        return _last_survey[1]
    counts = np.zeros(NUM_CLASSES + 6, np.int64)
    _count(code_points(text), _entries(), counts)
    numbers = counts.tolist()
    found = Survey(Census(len(text), *numbers[:NUM_CLASSES]), *numbers[NUM_CLASSES:])
    _last_survey = text, found
    return found


@kernel
def _count(codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: NDArray[np.int64]) -> None:
    """Fill `counts`: characters by class, and behind them the other numbers of a Survey in its order."""
    found = np.zeros((LANES, ENTRIES), np.int32)
    for i in range(len(codes)):
        found[i & (LANES - 1), entries[codes[i]]] += 1
    for entry in range(ENTRIES):
        number, sides = 0, entry >> SIDE
        for lane in range(LANES):
            number += found[lane, entry]
        counts[entry & ((1 << SIDE) - 1)] += number
        if number and sides:
            counts[NUM_CLASSES] += number if sides & SIMPLIFIED else 0
            counts[NUM_CLASSES + 1] += number if sides & TRADITIONAL else 0
            counts[NUM_CLASSES + 2] += number if sides & JAPANESE else 0
            counts[NUM_CLASSES + 3] += number if sides & NOT_JAPANESE else 0
            counts[NUM_CLASSES + 4] += number
    if counts[NUM_CLASSES + 2]:
        counts[NUM_CLASSES + 5] = _num_forms(codes, entries)


@kernel
def _num_forms(codes: NDArray[np.uint32], entries: NDArray[np.uint16]) -> int:
    """How many different forms that only Japan writes there are: 2 for more."""
    first = np.uint32(0)
    for code in codes:
        if entries[code] >> SIDE & JAPANESE:
            if first != 0 and first != code:
                return 2
            first = code
    return 1


def census(text: str) -> Census:
    """Count the characters of `text` by class."""
    return survey(text).census


def chinese_script(text: str) -> str:
    """The script, "Hans" or "Hant", that `text` is written in; "" where no character says, or where both say so in earnest.

    A character speaks for one script when OpenCC's table changes it into the other (STCharacters, TSCharacters) and writers of the other do not
    use it all the same, as both use 里 and 后. Of ../shared zh_novels, zh_wiki and zh_poetry, cut into 44,467 paragraphs, 12,561 pieces of 12
    characters and 9,922 poems, none is called the wrong script; with the tables alone, 10 pieces are.
    """
    simplified, traditional = script_evidence(text)
    if not simplified + traditional or min(simplified, traditional) > MAX_OTHER_SCRIPT * (simplified + traditional):
        return ""
    return "Hans" if simplified > traditional else "Hant"


def script_evidence(text: str) -> tuple[int, int]:
    """How many characters of `text` only simplified and only traditional Chinese has."""
    found = survey(text)
    return found.simplified, found.traditional


def has_japanese_forms(text: str) -> bool:
    """Whether the Han characters of `text` are Japanese: at least two different forms that only Japan writes, like 発 and 栄, at least one
    character in 20, and more of them than of characters that Japan does not write."""
    found = survey(text)
    return found.japanese >= max(2, found.sided / 20) and found.japanese_forms > 1 and found.japanese > found.foreign_to_japan


def foreign_to_japan(text: str) -> int:
    """How many Han characters of `text` the Japanese character set (JIS X 0208) does not hold."""
    return survey(text).foreign_to_japan


@cache
def _entries() -> NDArray[np.uint16]:
    """[0x110000]: class and sides of each code point in one."""
    entries: NDArray[np.uint16] = class_table() + (_sides().astype(np.uint16) << SIDE)
    return entries


@cache
def class_table() -> NDArray[np.uint8]:
    """[0x110000]: the class of each code point."""
    table = np.full(0x110000, CONTROL, dtype=np.uint8)
    for first, last in ASSIGNED:
        table[first : last + 1] = [CATEGORY_CLASS[unicodedata.category(chr(code))[0]] for code in range(first, last + 1)]
    for ranges, value in ((KANA_RANGES, KANA), (HANGUL_RANGES, HANGUL), (LATIN_RANGES, LATIN), (HAN_RANGES, HAN), (PRIVATE_RANGES, PRIVATE)):
        for first, last in ranges:
            table[first : last + 1] = value
    table[[0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85]] = BLANK
    table[0xFFFD] = REPLACEMENT
    return table


@cache
def _sides() -> NDArray[np.uint8]:
    """[0x110000]: bits of each Han character: SIMPLIFIED and TRADITIONAL by OpenCC and the national sets, JAPANESE what JIS X 0208 alone holds
    and OpenCC does not know as traditional (羣), NOT_JAPANESE what it does not hold, COMMON all of the first block; 0 for all others."""
    simplified, traditional = changed_by("STCharacters"), changed_by("TSCharacters")
    mainland, taiwan, rare = _charset("gb2312", GB_2312), _charset("big5", BIG5_COMMON), _charset("big5", BIG5_RARE)
    japan, korea = _charset("euc_jp", JIS_X_0208), _charset("euc_kr", KS_X_1001)
    table = np.zeros(0x110000, dtype=np.uint8)
    table[0x4E00:0xA000] = COMMON
    table[simplified & ~traditional & ~taiwan] |= SIMPLIFIED
    table[traditional & ~simplified & ~mainland] |= TRADITIONAL
    table[japan & ~(mainland | taiwan | rare | korea | traditional)] |= JAPANESE
    table[(table > 0) & ~japan] |= NOT_JAPANESE
    return table


def _charset(encoding: str, rows: tuple[int, int]) -> NDArray[np.bool_]:
    """[0x110000]: whether the rows of a two-byte character set hold a character."""
    cells = (*range(0x40, 0x7F), *range(0xA1, 0xFF))
    grid = np.array([(row, cell) for row in range(rows[0], rows[1] + 1) for cell in cells], dtype=np.uint8)
    held = np.zeros(0x110000, dtype=np.bool_)
    held[code_points(grid.tobytes().decode(encoding, "ignore"))] = True
    held[:0x80] = False  # the halves of cells that the set leaves free
    return held


def changed_by(dictionary: str) -> NDArray[np.bool_]:
    """[0x110000]: whether a table of OpenCC ("STCharacters", "TSCharacters") changes a character of UNIFIED that stands alone."""
    codes = np.arange(UNIFIED[0], UNIFIED[1] + 1, dtype="<u4")
    changed = np.zeros(0x110000, dtype=np.bool_)
    changed[codes] = code_points(_converter(dictionary).convert(codes.tobytes().decode("utf-32-le"))) != codes
    return changed


def _converter(dictionary: str) -> opencc.OpenCC:
    """A converter of one table of OpenCC alone: 2 ms to load, where the configuration s2t needs 45 for its phrases."""
    path = Path(opencc.__file__).parent / "clib" / "share" / "opencc" / f"{dictionary}.ocd2"
    if not path.is_file():
        raise MachineError(f"the table {dictionary} of OpenCC is missing: {path}", "pip install --force-reinstall opencc")
    source = {"type": "ocd2", "file": str(path)}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as config:
        json.dump({"name": dictionary, "segmentation": {"type": "mmseg", "dict": source}, "conversion_chain": [{"dict": source}]}, config)
        config.flush()
        return opencc.OpenCC(config.name)
