"""What the rules measure of written text. Each measure takes a Sample and gives a number, or None where it does not apply to the text; beside some stands
a function that shows where the number comes from.

Counts of lines are of lines that hold something (scan.py). Where an alphabet and characters meet, each counts by its mass: a word is a word, and so are
HAN_PER_WORD characters; a line's width is in letters, a Han character for three.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from mspt.core.text.form import fenced_blocks
from mspt.core.text.rules.characters import BLANK, CHARACTER, CODE, DIGIT, HAN, HIDDEN, KANA, LINE_END, LINK, NUM_CLASSES, PRIVATE_USE, REPLACEMENT, SYMBOL
from mspt.core.text.rules.counts import (
    ALL_WORDS,
    BULLET_LINES,
    ELLIPSES,
    ELLIPSIS_LINES,
    ENDED_LINES,
    HASHES,
    LINES,
    LINKED_LINES,
    SENTENCES,
    SHORT_LINES,
    STOP_CHARACTERS,
    STOP_WORDS,
    TOKEN_END,
    TOKEN_START,
    WORD_LETTERS,
    WORDS,
)
from mspt.core.text.rules.repetition import REPEATED_WORDS, TOP_WORDS, NGrams, Repeats, most_of_n_grams, n_grams, repeats
from mspt.core.text.rules.scan import paragraphs, scan

LETTERS_PER_WORD = 5  # lid_udhr: 8,675 letters in 1,778 words of English
HAN_PER_WORD = 1.5  # lid_udhr: 1,778 words in English, 2,675 Han characters in Chinese
MIN_LINES = 5  # fewer lines say nothing about how lines are
MIN_PARTS = 4  # fewer lines or paragraphs say nothing about repetition
MIN_WORDS = 50  # fewer words say nothing about how words are, and a name that occurs twice is a third of the text: Gopher's least number of words
FILLER = re.compile(r"lorem ipsum|dolor sit amet|consectetur adipi|eiusmod tempor|ut labore et dolore", re.IGNORECASE)
FILLER_WORDS = ("ipsum", "IPSUM")


class Place(NamedTuple):
    """The part of a text that shows what was measured, [start, end) in code points, and a remark."""

    detail: str = ""
    start: int = 0
    end: int = 0


NOWHERE = Place()
FEW = Repeats(0, 0, 0.0)  # of too few parts


class Sample:
    """A document, and what several rules count in it. private_use: characters that normalisation has removed; name: of its file."""

    def __init__(self, text: str, *, form: str = "prose", private_use: int = 0, name: str = "") -> None:
        self.text = text
        self.name = name
        self.removed_private_use = private_use
        has_fences = form == "prose" and ("```" in text or "~~~" in text)
        found = scan(text, fenced_blocks(text) if has_fences else (), inline_code=form == "prose")
        self.units, self.lines = found.units, found.lines
        self.counts = counts = found.counts
        # All but blanks and hidden characters, and of these what is no link.
        self.characters = sum(counts[:NUM_CLASSES]) - counts[BLANK] - counts[LINE_END] - counts[HIDDEN]
        self.visible = self.characters - counts[LINK]
        # Words of alphabets, and what the characters of other scripts make in words.
        self.words = counts[ALL_WORDS] + (counts[HAN] + counts[KANA] + counts[CHARACTER]) / HAN_PER_WORD

    def share(self, number: float) -> float:
        """`number` of the visible characters."""
        return number / max(1, self.visible)

    @property
    def is_chinese(self) -> bool:
        """Whether Han characters make more words than alphabets do, with less than a tenth of kana (Japanese has .52 in lid_udhr)."""
        han, kana = self.counts[HAN], self.counts[KANA]
        return han / HAN_PER_WORD > self.counts[WORDS] and kana < 0.1 * (han + kana)

    @cached_property
    def repeated_lines(self) -> Repeats:
        return repeats(self.lines.hashes, self.lines.bounds) if len(self.lines.hashes) >= MIN_PARTS else FEW

    @cached_property
    def repeated_paragraphs(self) -> Repeats:
        numbers = self.lines.paragraphs
        return repeats(*paragraphs(self.lines)) if len(numbers) and numbers[-1] >= MIN_PARTS - 1 else FEW

    @cached_property
    def n_grams(self) -> NGrams:
        return n_grams(self.units)

    @cached_property
    def most_of_n_grams(self) -> tuple[float, float]:
        return most_of_n_grams(self.units)


def length(sample: Sample) -> float:
    return sample.visible


def num_words(sample: Sample) -> float:
    return sample.words


def num_sentences(sample: Sample) -> float:
    return sample.counts[SENTENCES]


def replacement(sample: Sample) -> float:
    return sample.counts[REPLACEMENT] / max(1, sample.characters)


def show_replacement(sample: Sample) -> Place:
    place = sample.text.find("\ufffd")
    return Place("", place, place + 1)


def private_use(sample: Sample) -> float:
    removed = sample.removed_private_use
    return (sample.counts[PRIVATE_USE] + removed) / max(1, sample.characters + removed)


def letters(sample: Sample) -> float | None:
    """The share of letters, code blocks and inline code of prose counting as such."""
    return sample.share(sum(sample.counts[HAN:DIGIT]) + sample.counts[CODE]) if sample.visible else None


def symbols(sample: Sample) -> float:
    return sample.share(sample.counts[SYMBOL])


def digits(sample: Sample) -> float:
    return sample.share(sample.counts[DIGIT])


def long_token(sample: Sample) -> float:
    """The longest stretch of characters of alphabets, digits and marks without a blank that is neither a link nor a path nor a drawn line."""
    return sample.counts[TOKEN_END] - sample.counts[TOKEN_START]


def show_token(sample: Sample) -> Place:
    start, end = sample.counts[TOKEN_START], sample.counts[TOKEN_END]
    return Place(sample.text[start : min(end, start + 40)], start, end)


def filler(sample: Sample) -> float:
    """The share of the characters in lines of "lorem ipsum"."""
    if not any(word in sample.text for word in FILLER_WORDS):
        return 0.0
    return sum(end - start for start, end in _filler_lines(sample)) / max(1, len(sample.text.replace("\n", "")))


def show_filler(sample: Sample) -> Place:
    return Place("", *_filler_lines(sample)[0])


def is_filler(line: str) -> bool:
    """Whether a line is "lorem ipsum": it has two pieces of that text, or starts with it. A sentence about it has one."""
    pieces = {match[0].lower() for match in FILLER.finditer(line)}
    return len(pieces) >= 2 or line.lstrip()[:11].lower() == "lorem ipsum"


def _filler_lines(sample: Sample) -> list[tuple[int, int]]:
    found, position = [], 0
    for line in sample.text.split("\n"):
        if is_filler(line):
            found.append((position, position + len(line)))
        position += len(line) + 1
    return found


def word_length(sample: Sample) -> float | None:
    """Letters and digits per word that holds a letter, where words are most of the text."""
    number = sample.counts[WORDS]
    return sample.counts[WORD_LETTERS] / number if number >= MIN_WORDS and number >= sample.words / 2 else None


def stop_words(sample: Sample) -> float | None:
    """Function words per word: of Chinese among Han characters, of English among words, each by its mass."""
    words = sample.counts[HAN] / HAN_PER_WORD + sample.counts[WORDS]
    return (sample.counts[STOP_CHARACTERS] / HAN_PER_WORD + sample.counts[STOP_WORDS]) / words if words >= MIN_WORDS else None


def line_share(kind: int) -> Callable[[Sample], float | None]:
    """The measure of the share of lines of a kind: ENDED_LINES, ..."""

    def measure(sample: Sample) -> float | None:
        number = sample.counts[LINES]
        return sample.counts[kind] / number if number >= MIN_LINES else None

    return measure


sentence_ends, ellipsis_lines, bullets, link_lines, short_lines = map(line_share, (ENDED_LINES, ELLIPSIS_LINES, BULLET_LINES, LINKED_LINES, SHORT_LINES))


def lines_per_word(sample: Sample) -> float | None:
    number, words = sample.counts[LINES], sample.words + sample.counts[CODE] / LETTERS_PER_WORD
    return number / max(1.0, words) if number >= MIN_LINES else None


def ellipses(sample: Sample) -> float | None:
    return sample.counts[ELLIPSES] / sample.words if sample.words >= MIN_WORDS else None


def hashes(sample: Sample) -> float | None:
    return sample.counts[HASHES] / sample.words if sample.words >= MIN_WORDS else None


def repeated_lines(sample: Sample) -> float | None:
    return _repeated(sample.repeated_lines)


def line_characters(sample: Sample) -> float | None:
    return _repeated_characters(sample.repeated_lines)


def show_line(sample: Sample) -> Place:
    return _most_repeated(sample.repeated_lines)


def repeated_paragraphs(sample: Sample) -> float | None:
    return _repeated(sample.repeated_paragraphs)


def paragraph_characters(sample: Sample) -> float | None:
    return _repeated_characters(sample.repeated_paragraphs)


def show_paragraph(sample: Sample) -> Place:
    return _most_repeated(sample.repeated_paragraphs)


def _repeated(found: Repeats) -> float | None:
    return found.repeated / found.number if found.number >= MIN_PARTS else None


def _repeated_characters(found: Repeats) -> float | None:
    return found.character_share if found.number >= MIN_PARTS else None


def _most_repeated(found: Repeats) -> Place:
    return Place(f"{found.times} times", found.start, found.end)


def n_gram(n: int) -> Callable[[Sample], float | None]:
    """The measure of n-grams of n words: the top n-gram up to 4, repeated ones from 5 on."""
    level = (TOP_WORDS + REPEATED_WORDS).index(n)

    def measure(sample: Sample) -> float | None:
        if n in TOP_WORDS and sample.words < MIN_WORDS:
            return None
        return sample.n_grams.shares[level]

    return measure


def most_of_n_gram(n: int) -> Callable[[Sample], float]:
    """What the measure of n-grams of n words does not exceed."""
    kind = int(n in REPEATED_WORDS)
    return lambda sample: sample.most_of_n_grams[kind]


def show_n_gram(n: int) -> Callable[[Sample], Place]:
    """Where an n-gram of n words repeats."""
    level = (TOP_WORDS + REPEATED_WORDS).index(n)

    def show(sample: Sample) -> Place:
        start, end = sample.n_grams.places[level]
        bounds = sample.units.bounds
        return Place("", int(bounds[start, 0]), int(bounds[end - 1, 1]))

    return show
