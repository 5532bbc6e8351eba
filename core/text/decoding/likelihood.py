"""How likely a text is as running text, in bits: the lower, the better. What encodings are told apart by, and mojibake from sound text.

The bytes of a document are given and each encoding makes another text of them, so the reading of the lowest cost is the most probable one, and the
difference of two costs is the logarithm of the odds. The model is small: a cost for each character (-log2 of its frequency, in a few tiers) by one of
four models of East Asian text, a cost for neighbours that no word has (a capital behind a small letter, two alphabets in one word), and letters
that the language of a Cyrillic text does not have. Measured bits per byte beyond ASCII of sound text in its own encoding: 4 to 6; misread: 7 and more.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.decoding.frequencies import CYRILLIC, HANGUL, HANS, HANT, HIRAGANA, KANJI, LATIN, RANKED
from mspt.core.text.script import code_points

Costs = NDArray[np.float32]

# Of letters by falling frequency the first costs FIRST_RANK bits, each further one RANK_STEP more, so that 2 ** -cost sums up to about 1.
FIRST_RANK, RANK_STEP = 3.2, 0.16
RARE_LETTER = 8.5  # of an alphabet that is not in its row
FOREIGN_LETTER = 14.0  # of a Cyrillic alphabet, that the best of the languages lacks
FIRST_ACCENTED, ACCENTED_STEP, FOREIGN_ACCENTED = 5.5, 0.15, 8.5  # the same of what Latin alphabets have beyond ASCII
LATIN_BLOCKS, CYRILLIC_BLOCK = ((0x00C0, 0x024F), (0x1E00, 0x1EFF)), (0x0400, 0x052F)
CAPITAL, CAPITALS_WORD = 2.0, 0.7  # bits more than its small letter, at a word's start and behind another capital

ASCII_COSTS = {**dict.fromkeys(" ", 2.5), **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 4.5), **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 4.5),
               **dict.fromkeys("0123456789\n\r\t", 5.0)}  # fmt: skip
ASCII_MARK, PROGRAM_MARK = 6.5, 8.0  # the second: "#$%&*+<=>@[\\]^_`{|}~", which prose has less of
IMPOSSIBLE, ESCAPE = 24.0, 14.0  # the first: controls, unassigned, U+FFFD
PRIVATE = 22.0
RARE_HAN, FOREIGN_HAN, FOREIGN_SYLLABLE = 20.0, 14.0, 16.0
HALF_KANA = 6.5
MARKS = {
    **dict.fromkeys("，。、", 6.0), **dict.fromkeys("：；？！（）「」《》“”・ー", 8.0), "’": 4.5,
    **dict.fromkeys("‘“”–—…", 6.0), **dict.fromkeys("†‡‰‹›‚ƒˆ˜¦¨¬¯¸¤", 13.0),
}  # fmt: skip
CATEGORY_COSTS = {"L": 7.0, "M": 7.0, "N": 10.0, "P": 9.0, "S": 12.0, "Z": 9.0, "C": IMPOSSIBLE}  # by first letter, of what nothing above covers
SYMBOL_BLOCKS = 11.0  # CJK marks and full-width forms that are not in MARKS
OTHER_PLANES, EMOJI = 0x10000, 0x10001  # the table's last two entries
FIRST_WIDE = 0x1100  # below it, the models do not differ

# Kinds of characters that tell which neighbours a word has.
(NEUTRAL, ASCII_SMALL, ASCII_CAPITAL, LATIN_SMALL, LATIN_CAPITAL, CYRILLIC_SMALL, CYRILLIC_CAPITAL, GREEK_SMALL, GREEK_CAPITAL, HEBREW, ARABIC, OTHER, WIDE,
 SYMBOL, HALF) = range(15)  # fmt: skip
NUM_KINDS = 15
SCRIPTS = {ASCII_SMALL: "Latin", ASCII_CAPITAL: "Latin", LATIN_SMALL: "Latin", LATIN_CAPITAL: "Latin", CYRILLIC_SMALL: "Cyrillic", CYRILLIC_CAPITAL: "Cyrillic",
           GREEK_SMALL: "Greek", GREEK_CAPITAL: "Greek", HEBREW: "Hebrew", ARABIC: "Arabic", OTHER: "Other"}  # fmt: skip
SMALL = frozenset({ASCII_SMALL, LATIN_SMALL, CYRILLIC_SMALL, GREEK_SMALL})
CAPITALS = frozenset({ASCII_CAPITAL, LATIN_CAPITAL, CYRILLIC_CAPITAL, GREEK_CAPITAL})
MIXED_SCRIPTS, CAPITAL_INSIDE, CAMEL_CASE, BESIDE_WIDE, BESIDE_SYMBOL, TWO_ACCENTS = 8.0, 7.0, 2.0, 4.0, 1.0, 2.0


@dataclass(frozen=True)
class Likelihood:
    """Cost of a text in bits, and the part of it that its characters beyond ASCII cause."""

    bits: float
    wide_bits: float
    wide: int  # characters beyond ASCII


def likelihood(text: str) -> Likelihood:
    """The cost of `text` by the model that suits it best."""
    if not text:
        return Likelihood(0.0, 0.0, 0)
    index = _index(text)
    tables = list(_models().values()) if int(index.max()) >= FIRST_WIDE else [_common()]
    costs = min((table.take(index) for table in tables), key=lambda found: float(found.sum()))
    kinds = _kinds().take(index)
    neighbours = _neighbours().take(kinds[:-1] * NUM_KINDS + kinds[1:])
    wide = index >= 0x80
    beside = wide[:-1] | wide[1:]
    wide_bits = float(costs[wide].sum()) + float(neighbours[beside].sum()) + _foreign_letters(index)
    return Likelihood(wide_bits + float(costs[~wide].sum()) + float(neighbours[~beside].sum()), wide_bits, int(np.count_nonzero(wide)))


def least_bits(text: str) -> float:
    """Less than `likelihood` gives, at a tenth of the time."""
    return float(least_costs().take(_index(text)).sum())


def model_of(text: str) -> str:
    """The model of East Asian text that suits `text` best: zh-Hans, zh-Hant, ja, ko."""
    index = _index(text)
    return min(_models(), key=lambda name: float(_models()[name].take(index).sum()))


def costs_of(text: str, model: str) -> Costs:
    """[len(text)]: the cost of each character by one model, without its neighbours."""
    return _models()[model].take(_index(text))


@cache
def least_costs() -> Costs:
    """[0x10002]: the cost of each character by the model that it costs least in."""
    least: Costs = np.minimum.reduce(list(_models().values()))
    return least


def _index(text: str) -> NDArray[np.uint32]:
    codes = code_points(text)
    if codes.max(initial=0) < OTHER_PLANES:
        return codes
    beyond = np.where((codes >= 0x1F000) & (codes < 0x1FB00), EMOJI, OTHER_PLANES).astype(np.uint32)
    return np.where(codes < OTHER_PLANES, codes, beyond)


def _foreign_letters(index: NDArray[np.uint32]) -> float:
    """What letters cost in the language that suits best, beyond what each costs in the language that has most of it."""
    total = 0.0
    for first, _, costs in _alphabets():
        letters = index - first  # wraps around for what comes before the block
        letters = letters[letters < costs.shape[1]]
        if len(letters):
            total += float((costs @ np.bincount(letters, minlength=costs.shape[1])).min())
    return total


@cache
def _alphabets() -> tuple[tuple[int, Costs, Costs], ...]:
    """For each block: its first character, what each character costs at least, and how much more in each language, [language, character]."""
    tables = [(first, _by_language(LATIN, first, last, FIRST_ACCENTED, ACCENTED_STEP, FOREIGN_ACCENTED)) for first, last in LATIN_BLOCKS]
    tables.append((CYRILLIC_BLOCK[0], _by_language(CYRILLIC, *CYRILLIC_BLOCK, FIRST_RANK, RANK_STEP, FOREIGN_LETTER)))
    return tuple((first, costs.min(axis=0), costs - costs.min(axis=0)) for first, costs in tables)


def _by_language(rows: tuple[str, ...], first: int, last: int, start: float, step: float, foreign: float) -> Costs:
    table = np.full((len(rows), last - first + 1), foreign, dtype=np.float32)
    for row, letters in enumerate(rows):
        for rank, letter in enumerate(dict.fromkeys(letters)):
            small = start + step * rank
            for form in (letter, letter.upper()):
                if len(form) == 1 and first <= ord(form) <= last:
                    table[row, ord(form) - first] = small
    return table


# --- Costs of characters -----------------------------------------------------------------------------------------------


@cache
def _models() -> dict[str, Costs]:
    """[0x10002] each: the cost of every character of the basic plane, of the other planes, of emoji."""
    return {"zh-Hans": _hans(), "zh-Hant": _hant(), "ja": _ja(), "ko": _ko()}


def _hans() -> Costs:
    return _with(_base(), (_characters("gb2312", 0xD8, 0xF7), 17.5), (_characters("gb2312", 0xB0, 0xD7), 13.8), (HANS[1], 10.3), (HANS[0], 8.0))


def _hant() -> Costs:
    return _with(_base(), (_characters("big5", 0xC9, 0xF9), 18.5), (_characters("big5", 0xA4, 0xC6), 14.3), (HANT[1], 10.3), (HANT[0], 8.0))


def _ja() -> Costs:
    table = _with(_base(), (_characters("euc_jp", 0xD0, 0xF4), 18.5), (_characters("euc_jp", 0xB0, 0xCF), 14.5), (KANJI, 10.4))
    table[0x3041:0x3097], table[0x30A1:0x30FB] = 9.5, 10.0
    table[0xFF66:0xFFA0] = HALF_KANA
    return _with(table, (HIRAGANA, 6.6), ("ー", 7.5), ("。、", 6.0))


def _ko() -> Costs:
    table = _with(_base(), (_characters("euc_kr", 0xCA, 0xFD), 16.0))
    table[0xAC00:0xD7A4] = 19.0
    return _with(table, (_characters("euc_kr", 0xB0, 0xC8), 14.2), (HANGUL[1], 9.2), (HANGUL[0], 6.6))


def _with(table: Costs, *tiers: tuple[str, float]) -> Costs:
    for characters, cost in tiers:
        table[[ord(character) for character in characters]] = cost
    return table


def _characters(codec: str, first: int, last: int) -> str:
    """What two bytes, the first of them between `first` and `last`, stand for."""
    pairs = b"".join(bytes([lead, trail]) for lead in range(first, last + 1) for trail in (*range(0x40, 0x7F), *range(0xA1, 0xFF)))
    return "".join(character for character in pairs.decode(codec, "ignore") if ord(character) >= 0x3000)


def _base() -> Costs:
    return _common().copy()


@cache
def _common() -> Costs:
    table = np.array([_cost(chr(code)) for code in range(0x10002)], dtype=np.float32)
    for first, last, cost in (
        *((0x2E80, 0x2FDF, RARE_HAN), (0x3400, 0x4DBF, RARE_HAN), (0x4E00, 0x9FFF, RARE_HAN), (0xF900, 0xFAFF, RARE_HAN)),
        (OTHER_PLANES, OTHER_PLANES, RARE_HAN),
        *((0x3041, 0x30FF, FOREIGN_HAN), (0x1100, 0x11FF, FOREIGN_SYLLABLE), (0x3130, 0x318F, FOREIGN_SYLLABLE), (0xAC00, 0xD7A3, FOREIGN_SYLLABLE)),
        *((0x3000, 0x3040, SYMBOL_BLOCKS), (0xFF01, 0xFF65, SYMBOL_BLOCKS), (0xFF66, 0xFF9F, FOREIGN_HAN), (0xE000, 0xF8FF, PRIVATE)),
        *((EMOJI, EMOJI, 12.0), (0xFFFD, 0xFFFD, IMPOSSIBLE)),
    ):
        table[first : last + 1] = cost
    for letters in RANKED:
        for rank, letter in enumerate(letters):
            table[ord(letter)] = FIRST_RANK + RANK_STEP * rank
            if letter.upper() != letter:
                table[ord(letter.upper())] = table[ord(letter)]
    for first, least, _ in _alphabets():
        table[first : first + len(least)] = least
    return _with(table, *((mark, cost) for mark, cost in MARKS.items()))


def _cost(character: str) -> float:
    if character < "\x80":
        mark = PROGRAM_MARK if character in "#$%&*+<=>@[\\]^_`{|}~" else ASCII_MARK
        return ASCII_COSTS.get(character, mark if character.isprintable() else ESCAPE if character == "\x1b" else IMPOSSIBLE)
    if character.isalpha() and character < "\u0400":
        return RARE_LETTER
    category = unicodedata.category(character)
    return 14.0 if category == "Cf" else CATEGORY_COSTS[category[0]]


# --- Costs of neighbours -----------------------------------------------------------------------------------------------


@cache
def _neighbours() -> Costs:
    """[kind * NUM_KINDS + kind of the next]: what it costs that they stand side by side."""
    return np.array([_side_by_side(left, right) for left in range(NUM_KINDS) for right in range(NUM_KINDS)], dtype=np.float32)


def _side_by_side(left: int, right: int) -> float:
    capital = 0.0 if right not in CAPITALS else CAPITALS_WORD if left in CAPITALS else CAPITAL
    return capital + _mixture(left, right)


def _mixture(left: int, right: int) -> float:
    if left in SCRIPTS and right in SCRIPTS:
        if SCRIPTS[left] != SCRIPTS[right]:
            return MIXED_SCRIPTS
        if left in SMALL and right in CAPITALS:
            return CAMEL_CASE if (left, right) == (ASCII_SMALL, ASCII_CAPITAL) else CAPITAL_INSIDE
        return TWO_ACCENTS if left in (LATIN_SMALL, LATIN_CAPITAL) and right in (LATIN_SMALL, LATIN_CAPITAL) else 0.0
    if WIDE in (left, right) and (left in SCRIPTS or right in SCRIPTS):
        return BESIDE_WIDE
    if HALF in (left, right) and (left in SCRIPTS or right in SCRIPTS):
        return MIXED_SCRIPTS
    return BESIDE_SYMBOL if SYMBOL in (left, right) and (left in SCRIPTS or right in SCRIPTS) else 0.0


@cache
def _kinds() -> NDArray[np.uint8]:
    """[0x10002]: the kind of each character."""
    table = np.array([_kind(chr(code)) for code in range(0x10002)], dtype=np.uint8)
    blocks = ((0x2E80, 0x2FDF), (0x3041, 0x30FF), (0x3130, 0x318F), (0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF))
    for first, last in (*blocks, (OTHER_PLANES, OTHER_PLANES)):
        table[first : last + 1] = WIDE
    table[0xFF66:0xFFA0] = HALF
    table[EMOJI] = NEUTRAL
    return table


def _kind(character: str) -> int:
    category = unicodedata.category(character)[0]
    if category not in "LM":
        return SYMBOL if character > "\x7f" and category in "SC" else NEUTRAL
    capital = character.lower() != character
    if character < "\x80":
        return ASCII_CAPITAL if capital else ASCII_SMALL
    alphabets = (("\u00aa", "\u024f", LATIN_SMALL), ("\u0370", "\u03ff", GREEK_SMALL), ("\u0400", "\u052f", CYRILLIC_SMALL))
    for first, last, small in (*alphabets, ("\u1e00", "\u1eff", LATIN_SMALL)):
        if first <= character <= last:
            return small + capital
    return HEBREW if "\u0590" <= character <= "\u05ff" else ARABIC if "\u0600" <= character <= "\u06ff" else NEUTRAL if character < "\u0370" else OTHER
