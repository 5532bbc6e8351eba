"""The middle class: texts worth something, between the good ones and junk.

| kind      | what it does                                                                                             |
|-----------|----------------------------------------------------------------------------------------------------------|
| listed    | sentences as items of a list, each cut to its first words                                                |
| fragments | pieces of sentences that begin and end anywhere, joined by dots or blanks                                |
| mixed     | about a third to a half of the lines (sentences where there are few) replaced by junk of one of the kinds |
| light     | one of the corruptions on about a third of the sentences                                                 |
| gaps      | about one word (Han: character) in seven missing                                                         |
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from mspt.core.quality.corruptions import Corruption, is_han
from mspt.core.quality.features import UNIT

Middle = Callable[[str, random.Random, Sequence[Corruption]], str]

_SENTENCE = re.compile(r"[^。！？!?\n]*[^。！？!?.\n](?:[。！？!?\n]+|\.(?=\s)|$)[”」』\"']?\s*|[^。！？!?\n]+|\n+")


def sentences(text: str) -> list[str]:
    """Sentences with what ends them and blanks behind; together they are the text."""
    return _SENTENCE.findall(text) or [text]


def listed(text: str, chooser: random.Random, corruptions: Sequence[Corruption]) -> str:
    """Items of a list: the first words of each sentence."""
    mark = chooser.choice(("- ", "* ", "• ", "", "", "{}. ", "{}、"))
    items = [_cut(sentence.strip(), chooser, start=False) for sentence in sentences(text) if sentence.strip()]
    return "\n".join(mark.format(number) + item for number, item in enumerate(items, 1))


def fragments(text: str, chooser: random.Random, corruptions: Sequence[Corruption]) -> str:
    """Pieces of sentences."""
    joiner = chooser.choice(("…", "... ", " ", "\n", "\n"))
    return joiner.join(_cut(sentence.strip(), chooser, start=True) for sentence in sentences(text) if sentence.strip())


def mixed(text: str, chooser: random.Random, corruptions: Sequence[Corruption]) -> str:
    """Junk between good lines."""
    return _some(text, chooser, corruptions, chooser.uniform(0.33, 0.5), ending="\n")


def light(text: str, chooser: random.Random, corruptions: Sequence[Corruption]) -> str:
    """A third of the sentences corrupted."""
    return _some(text, chooser, corruptions, 0.33, ending="")


def gaps(text: str, chooser: random.Random, corruptions: Sequence[Corruption]) -> str:
    """Words missing."""
    return UNIT.sub(lambda match: match[0] if chooser.random() > 1 / 7 else "", text)


def _some(text: str, chooser: random.Random, corruptions: Sequence[Corruption], share: float, ending: str) -> str:
    """`corruptions` applied to a share of the sentences: always the first of them that chance names, so that a text has one fault throughout."""
    corrupt = chooser.choice(corruptions)
    parts = sentences(text)
    chosen = set(chooser.sample(range(len(parts)), max(1, round(share * len(parts)))))
    return "".join(corrupt(part, chooser) + ending if i in chosen and part.strip() else part for i, part in enumerate(parts))


def _cut(sentence: str, chooser: random.Random, *, start: bool) -> str:
    """Some words of a sentence: the first ones, or any."""
    if is_han(sentence):
        size = chooser.randint(4, 14)
        begin = chooser.randrange(max(1, len(sentence) - size)) if start else 0
        return sentence[begin : begin + size]
    words = sentence.split()
    size = chooser.randint(2, 8)
    begin = chooser.randrange(max(1, len(words) - size)) if start else 0
    return " ".join(words[begin : begin + size])


MIDDLE: Mapping[str, Middle] = MappingProxyType({"listed": listed, "fragments": fragments, "mixed": mixed, "light": light, "gaps": gaps})
