"""Bad machine translation made on purpose: word by word from a small glossary (glossary.txt), as the translators of the 1990s did it.

Chinese: words go through English and back and so come out as other words, measure words are wrong, what stands before 的 stands behind it or the halves of
a clause change places, pronouns and 一个 are put in where Chinese has none, and some words stay English. English: some words come back as Chinese, articles and
endings are lost or wrong, neighbours change places.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PIECES = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+|[^\u3400-\u4dbf\u4e00-\u9fff]+")
_WORDS = re.compile(r"[A-Za-z']+|[^A-Za-z']+")
_MEASURES = "个只条张本位件块座台辆名把支"
_LONGEST = 3  # characters of a word of the glossary
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True)
class Glossary:
    """english: of a Chinese word; chinese: of an English word. Every word of a line leads to the first one of the other language."""

    english: dict[str, str]
    chinese: dict[str, str]


@cache
def glossary() -> Glossary:
    english: dict[str, str] = {}
    chinese: dict[str, str] = {}
    for line in Path(__file__).with_name("glossary.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            ours, theirs = (part.split() for part in line.split("\t"))
            english |= dict.fromkeys(ours, theirs[0])
            chinese |= dict.fromkeys(map(str.lower, theirs), ours[0])
    return Glossary(english, chinese)


def translate_badly(text: str, chooser: random.Random) -> str:
    """A text as bad machine translation leaves it, in its own language with fragments of the other."""
    return "".join(_clause(piece, chooser) if "\u3400" <= piece[0] <= "\u9fff" else _english(piece, chooser) for piece in _PIECES.findall(text))


def _clause(clause: str, chooser: random.Random) -> str:
    """A stretch of Han characters."""
    words = segment(clause)
    if len(words) > 3:
        words = _reorder(words, chooser)
    return "".join(_word(word, chooser) for word in words)


def segment(text: str) -> list[str]:
    """Longest match with the glossary from the left; what it lacks in pairs of characters."""
    words, start = [], 0
    known = glossary().english
    while start < len(text):
        size = next((n for n in range(_LONGEST, 0, -1) if text[start : start + n] in known), 0)
        if not size:
            size = 1 if text[start + 1 : start + 3] in known or text[start + 1 : start + 2] in known else 2
        words.append(text[start : start + size])
        start += size
    return words


def _reorder(words: list[str], chooser: random.Random) -> list[str]:
    """As English puts it: what belongs to 的 behind it; else the halves of the clause change places, or neighbours do."""
    place = words.index("的") if "的" in words[1:-1] else -1
    if place > 0:
        return [*words[place + 1 :], "的", *words[:place]]
    if chooser.random() < 0.5:
        cut = chooser.randrange(1, len(words))
        return words[cut:] + words[:cut]
    at = chooser.randrange(len(words) - 1)
    return [*words[:at], words[at + 1], words[at], *words[at + 2 :]]


def _word(word: str, chooser: random.Random) -> str:
    names = glossary()
    if word[0] in "一二三四五六七八九十两几这那每" and len(word) == 1:
        return f"{word}{chooser.choice(_MEASURES)}"
    if len(word) == 1 and word in _MEASURES:
        return chooser.choice(_MEASURES)
    english = names.english.get(word)
    chance = chooser.random()
    if english is None:
        return f"{chooser.choice(('一个', '它的', '的', '了一', '被'))}{word}" if chance < 0.12 else word
    if chance < 0.25:
        return f" {english} "
    return names.chinese.get(english, word) + (chooser.choice(("的", "了", "着", "们")) if chance > 0.85 else "")


def _english(text: str, chooser: random.Random) -> str:
    """Words one after another; blanks and punctuation stay."""
    parts = _WORDS.findall(text)
    places = [i for i, part in enumerate(parts) if part[0].isalpha()]
    for left, right in zip(places[::2], places[1::2], strict=False):
        if chooser.random() < 0.3:
            parts[left], parts[right] = parts[right], parts[left]
    for i in places:
        parts[i] = _english_word(parts[i], chooser)
    return "".join(parts)


def _english_word(word: str, chooser: random.Random) -> str:
    chinese = glossary().chinese.get(word.lower())
    chance = chooser.random()
    if word.lower() in _ARTICLES:
        return "" if chance < 0.6 else chooser.choice(("a", "the", "one"))
    if chinese is not None and chance < 0.3:
        return chinese
    if chinese is not None and chance < 0.6:
        return glossary().english[chinese]  # another word of the same line
    if len(word) > 4 and chance < 0.2:
        return chooser.choice((f"{word}s", f"{word}ing", word.rstrip("seding") or word, f"the {word}"))
    return word
