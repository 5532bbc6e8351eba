"""Corruptions: what makes a bad text of a good one, so that a scorer can learn without labels.

| kind                | what it does                                                                                         |
|---------------------|------------------------------------------------------------------------------------------------------|
| shuffled-words      | words (Han and Kana: characters) in random order, all between them in place                          |
| shuffled-characters | letters, digits and characters in random order, all between them in place                            |
| keyword-stuffing    | a few words of the text over and over, in lists and around a connective, as pages for search engines |
| navigation-list     | labels of menus and cut-off headlines between bars, arrows, bullets or line breaks                   |
| mojibake            | bytes read in another encoding, or characters that an encoding lost                                  |
| number-table        | rows of numbers, dates and prices with a few heads                                                   |
| spam-template       | advertisements from templates around a word of the text                                              |
| machine-translation | word by word from a glossary, wrong measure words and order, fragments left untranslated             |
| random-characters   | characters replaced by any others, of the same script or of all: noise, a file that is no text       |
| disordered          | words doubled, dropped and moved by a few places, all over the text                                  |

Each is a function of (text, chooser): the same for the same state of the chooser, and about as long as the text. MIDDLE holds the milder ones, whose
results are worth something: see middle.py.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mspt.core.quality.features import UNIT, shuffle_characters, shuffle_words
from mspt.core.quality.mojibake import misread
from mspt.core.quality.translation import translate_badly

Corruption = Callable[[str, random.Random], str]

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+")
_LATIN_WORD = re.compile(r"[^\W\d_\u2e80-\u9fff\uac00-\ud7af]{3,}")
_CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")
# Symbols, Kana, Han (twice: the block of common characters), private use, ASCII. No other alphabets: a scorer would learn that languages which it does not
# know are bad.
_RANGES = ((0xA1, 0xC0), (0x2010, 0x2600), (0x3041, 0x30FF), (0x4E00, 0x9FA5), (0x4E00, 0x6C00), (0xE000, 0xE800), (0x21, 0x7F))
_SEPARATORS = (" | ", " > ", " · ", "\n", "\n", "\n", "  ", " / ", "\n- ", "\n• ", " » ", "|")


def is_han(text: str) -> bool:
    """Whether a text is written in Han characters more than in letters (a word of letters counts as one)."""
    return len(_HAN.findall(text)) > len(_LATIN_WORD.findall(text))


def stuff_keywords(text: str, chooser: random.Random) -> str:
    """A handful of the text's words, repeated with what joins keywords."""
    words = keywords(text, chooser, chooser.randint(3, 8))
    joiners = ("，", "、", " ", "_", "|", "，") if is_han(text) else (", ", " ", ", ", " - ", " | ")
    joiner = chooser.choice(joiners)
    extras = (
        ("哪家好", "多少钱", "价格", "官网", "推荐", "最新", "大全", "排行榜")
        if is_han(text)
        else ("best", "cheap", "online", "free", "buy", "2024", "near me", "review")
    )
    blank = "" if is_han(text) else " "
    parts, size = [], 0
    while size < len(text):
        part = blank.join(chooser.choices(words, k=chooser.choice((1, 1, 1, 2))) + ([chooser.choice(extras)] if chooser.random() < 0.2 else []))
        parts.append(part + ("\n" if chooser.random() < 0.03 else joiner))
        size += len(parts[-1])
    return "".join(parts)


def list_navigation(text: str, chooser: random.Random) -> str:
    """Labels of menus, some of them cut-off headlines made of the text's own words."""
    labels = list(_junk()["navigation"]["zh" if is_han(text) else "en"])
    labels = chooser.sample(labels, chooser.randint(12, 40))
    parts, size = [], 0
    separator, share = chooser.choice(_SEPARATORS), chooser.choice((0.1, 0.3, 0.6, 0.8))  # of headlines
    while size < len(text):
        if chooser.random() < 0.12:
            separator = chooser.choice(_SEPARATORS)
        label = _headline(text, chooser) if chooser.random() < share else chooser.choice(labels)
        parts.append(label + separator)
        size += len(parts[-1])
    return "".join(parts)


def tabulate_numbers(text: str, chooser: random.Random) -> str:
    """A table of numbers, a head now and then."""
    heads = _junk()["numbers"]["zh" if is_han(text) else "en"]
    separator = chooser.choice(("\t", " ", " | ", "  ", ",", "，"))
    columns = [chooser.randrange(len(_CELLS)) for _ in range(chooser.randint(3, 8))]
    lines, size = [], 0
    while size < len(text):
        chance = chooser.random()
        if chance < 0.06:
            cells = [chooser.choice(heads) for _ in columns]
        else:
            cells = [_CELLS[column](chooser) for column in columns]
            if chance < 0.35:
                cells[0] = chooser.choice(heads) if chance < 0.2 else chooser.choice(keywords(text, chooser, 3))
        lines.append(separator.join(cells))
        size += len(lines[-1]) + 1
    return "\n".join(lines)


def spam(text: str, chooser: random.Random) -> str:
    """Advertisements one after another."""
    templates = _junk()["spam"]["zh" if is_han(text) else "en"]
    chosen = chooser.sample(templates, chooser.randint(2, 6))
    words = keywords(text, chooser, 3)
    joiner = chooser.choice(("\n", "\n", " ", "")) if is_han(text) else chooser.choice(("\n", "\n", " "))
    parts, size = [], 0
    while size < len(text):
        parts.append(_fill(chooser.choice(chosen), words, chooser))
        size += len(parts[-1])
    return joiner.join(parts)


def replace_characters(text: str, chooser: random.Random) -> str:
    """A third to all of the letters and characters replaced, by ones of a range that is drawn for the text, or of all ranges."""
    ranges = [chooser.choice(_RANGES)] if chooser.random() < 0.7 else list(_RANGES)
    share = chooser.choice((0.3, 0.6, 1.0, 1.0))
    return UNIT.sub(lambda match: "".join(_noise(c, ranges, share, chooser) for c in match[0]), text)


def _noise(character: str, ranges: list[tuple[int, int]], share: float, chooser: random.Random) -> str:
    return chr(chooser.randrange(*chooser.choice(ranges))) if chooser.random() < share else character


def disorder(text: str, chooser: random.Random) -> str:
    """Each word (Han: character) moved by up to two places, one in eight doubled, one in eight dropped; what stands between them in place."""
    units = UNIT.findall(text)
    moved = sorted(range(len(units)), key=lambda i: i + chooser.uniform(0, 2.5))
    found = iter([units[i] * chooser.choice((0, 1, 1, 1, 1, 1, 1, 2)) for i in moved])
    return UNIT.sub(lambda _: next(found), text)


def keywords(text: str, chooser: random.Random, count: int) -> list[str]:
    """Words of the text: of letters, or stretches of two to four Han characters."""
    found: list[str] = []
    if is_han(text):
        runs = [run for run in _HAN_RUN.findall(text) if len(run) >= 2]
        for _ in range(count if runs else 0):
            run = chooser.choice(runs)
            size = min(len(run), chooser.choice((2, 2, 2, 3, 4)))
            start = chooser.randrange(len(run) - size + 1)
            found.append(run[start : start + size])
    else:
        words = _LATIN_WORD.findall(text)
        found = [chooser.choice(words) for _ in range(count if words else 0)]
    return found or ["info"]


def _headline(text: str, chooser: random.Random) -> str:
    """A stretch of the text as the title of a link, cut off."""
    if is_han(text):
        size, start = chooser.randint(6, 24), chooser.randrange(max(1, len(text)))
        return text[start : start + size].replace("\n", "") + chooser.choice(("", "...", "…"))
    words = text.split()
    start = chooser.randrange(max(1, len(words)))
    return " ".join(words[start : start + chooser.randint(2, 12)]) + chooser.choice(("", "...", ""))


def _fill(template: str, words: list[str], chooser: random.Random) -> str:
    text = _CHOICE.sub(lambda match: chooser.choice(match[1].split("|")), template)
    digits = "".join(chooser.choice("0123456789") for _ in range(chooser.randint(6, 11)))
    return text.replace("{n}", str(chooser.randint(1, 99))).replace("{d}", digits).replace("{k}", chooser.choice(words))


def _date(chooser: random.Random) -> str:
    pattern = chooser.choice(("{}-{:02}-{:02}", "{}/{}/{}", "{}.{:02}.{:02}", "{}年{}月{}日"))
    return pattern.format(chooser.randint(1990, 2025), chooser.randint(1, 12), chooser.randint(1, 28))


_CELLS: tuple[Callable[[random.Random], str], ...] = (
    lambda chooser: str(chooser.randint(0, 99)),
    lambda chooser: str(chooser.randint(0, 10**6)),
    lambda chooser: f"{chooser.uniform(0, 1000):.2f}",
    lambda chooser: f"{chooser.uniform(-10, 10):+.2f}%",
    lambda chooser: f"{chooser.randint(0, 10**7):,}",
    lambda chooser: f"{chooser.choice('$¥')}{chooser.uniform(0, 500):.2f}",
    lambda chooser: f"{chooser.randint(0, 23):02}:{chooser.randint(0, 59):02}",
    lambda chooser: f"{chooser.choice('ABCDEXSK')}{chooser.randint(1, 9999)}",
    lambda chooser: chooser.choice(("-", "--", "0", "N/A")),
    _date,
)


@cache
def _junk() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("junk.toml").read_text(encoding="utf-8"))


CORRUPTIONS: Mapping[str, Corruption] = MappingProxyType(
    {
        "shuffled-words": shuffle_words,
        "shuffled-characters": shuffle_characters,
        "keyword-stuffing": stuff_keywords,
        "navigation-list": list_navigation,
        "mojibake": misread,
        "number-table": tabulate_numbers,
        "spam-template": spam,
        "machine-translation": translate_badly,
        "random-characters": replace_characters,
        "disordered": disorder,
    }
)
