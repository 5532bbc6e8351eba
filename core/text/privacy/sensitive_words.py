"""A user's list of words that documents must not hold, or that should be counted.

The file is UTF-8, one entry a line:

    word                 the document is dropped
    word<TAB>flag        the document is kept and the hit is counted; the levels are drop and flag
    word && other        both must occur in the document, anywhere; any number of words may be joined
    # a comment          blank lines are passed over too; \\# at the start of a line is a word that begins with #

Words are found inside running text, as Chinese needs it; but a word that begins or ends with an ASCII letter or digit has its border there, so
that "sex" is not found in "Essex". All are looked for at once, by Aho-Corasick: 5,000 words in 1 MB of Chinese take 17 ms, and half a microsecond
more for each hit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import ahocorasick_rs

from mspt.core.errors import MsptError

Level = Literal["drop", "flag"]

JOIN = "&&"
MAX_CHARACTERS = 200  # of one word: a longer one is a file that is no word list
WINDOW_CHARACTERS = 1 << 16  # text is searched in pieces, so that words within words within words cannot fill the memory with hits
MAX_POSITIONS = 20  # kept of each word of an entry: enough to show what was found
# Full-width letters and digits to ASCII, as `normalize` does; one character for one, so that positions hold.
FULL_WIDTH = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
HALF_WIDTH = {ord(full): ord(full) - 0xFEE0 for full in map(chr, range(0xFF10, 0xFF5B)) if FULL_WIDTH.match(full)}
SURROGATE = re.compile("[\ud800-\udfff]")  # half a pair, which the library refuses


@dataclass(frozen=True)
class Entry:
    """A line of the file: all `words` must occur."""

    line: int
    words: tuple[str, ...]
    level: Level

    @property
    def text(self) -> str:
        """The entry as it is reported."""
        return JOIN.join(self.words)


class Hit(NamedTuple):
    """An entry that a text holds: how often its words occur together, and where the first of each stand, sorted."""

    entry: Entry
    occurrences: int
    positions: tuple[tuple[int, int], ...]


class SensitiveWords:
    """A word list, ready to search. Case and width are folded in the words and in the text unless told otherwise."""

    def __init__(self, entries: Sequence[Entry], *, fold_case: bool = True, fold_width: bool = True) -> None:
        self.entries = tuple(entries)
        self.fold_case, self.fold_width = fold_case, fold_width
        folded = [tuple(sorted({self._fold(word) for word in entry.words})) for entry in self.entries]
        self._words = sorted({word for words in folded for word in words})
        self._longest = max(map(len, self._words), default=0)
        number = {word: place for place, word in enumerate(self._words)}
        self._needs = [tuple(number[word] for word in words) for words in folded]  # of each entry, as indices into _words
        self._asked_by: list[list[int]] = [[] for _ in self._words]  # of each word, the entries that need it
        for place, words in enumerate(self._needs):
            for word in words:
                self._asked_by[word].append(place)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self.entries, self.fold_case, self.fold_width)  # without the automaton, which crosses no process border

    def find(self, text: str) -> tuple[Hit, ...]:
        """The entries that `text` holds, in the order of the file."""
        counts: Counter[int] = Counter()
        places: dict[int, list[tuple[int, int]]] = {}
        for word, start, end in self._occurrences(self._fold(text)):
            counts[word] += 1
            if counts[word] <= MAX_POSITIONS:
                places.setdefault(word, []).append((start, end))
        touched = sorted({place for word in counts for place in self._asked_by[word]})
        return tuple(self._hit(place, counts, places) for place in touched if all(word in counts for word in self._needs[place]))

    def _hit(self, place: int, counts: Counter[int], places: dict[int, list[tuple[int, int]]]) -> Hit:
        words = self._needs[place]
        return Hit(self.entries[place], sum(counts[word] for word in words), tuple(sorted(one for word in words for one in places[word])))

    def _occurrences(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Word, start and end of everything that is found; words overlap."""
        for first in range(0, len(text) if self._words else 0, WINDOW_CHARACTERS):
            window = text[first : first + WINDOW_CHARACTERS + self._longest - 1]
            for word, start, end in self._automaton.find_matches_as_indexes(window, overlapping=True):
                if start < WINDOW_CHARACTERS and _stands_alone(text, first + start, first + end):
                    yield word, first + start, first + end

    @cached_property
    def _automaton(self) -> ahocorasick_rs.AhoCorasick:
        return ahocorasick_rs.AhoCorasick(self._words)

    def _fold(self, text: str) -> str:
        """`text` as it is compared, of the same length."""
        if self.fold_width and FULL_WIDTH.search(text):
            text = text.translate(HALF_WIDTH)
        if self.fold_case:
            lower = text.lower()  # of İ two characters: then one by one
            text = lower if len(lower) == len(text) else "".join(low if len(low := char.lower()) == 1 else char for char in text)
        return SURROGATE.sub("\ufffd", text)


def load(path: Path, *, fold_case: bool = True, fold_width: bool = True) -> SensitiveWords:
    """The word list in the file `path`. MsptError, with the line, for what is no entry."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MsptError(f"the list of sensitive words cannot be read: {path}: {error.strerror}", "give a UTF-8 file with one entry a line") from error
    return SensitiveWords(parse(content, str(path)), fold_case=fold_case, fold_width=fold_width)


def parse(content: bytes, name: str) -> tuple[Entry, ...]:
    """The entries of a file called `name`. MsptError, with the line, for what is no entry, and where there is none at all."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    entries = [entry for number, line in enumerate(lines, 1) if (entry := _entry(line, number, name))]
    if not entries:
        raise MsptError(f"{name} holds no entries", "one entry a line: word, or word && other, and after a tab the level flag or drop")
    return tuple(entries)


def _entry(raw: bytes, number: int, name: str) -> Entry | None:
    where = f"{name}, line {number}"
    try:
        line = raw.decode("utf-8").strip("\r ")
    except UnicodeDecodeError as error:
        raise MsptError(f"{where}: not UTF-8", "save the list as UTF-8") from error
    if not line.strip() or line.startswith("#"):
        return None
    body, _, level = line.removeprefix("\\").partition("\t") if line.startswith("\\#") else line.partition("\t")
    level = level.strip()
    if level not in ("", "drop", "flag"):
        raise MsptError(f"{where}: level {level!r}", "after the tab comes flag or drop, and nothing else")
    words = tuple(word.strip() for word in body.split(JOIN))
    if not all(words):
        raise MsptError(f"{where}: an empty word in {line!r}", f"write word {JOIN} other")
    if max(map(len, words)) > MAX_CHARACTERS:
        raise MsptError(f"{where}: a word of {max(map(len, words))} characters", f"at most {MAX_CHARACTERS}, one entry a line")
    return Entry(number, words, "flag" if level == "flag" else "drop")


def _rebuilt(entries: Sequence[Entry], fold_case: bool, fold_width: bool) -> SensitiveWords:
    return SensitiveWords(entries, fold_case=fold_case, fold_width=fold_width)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is no part of a longer ASCII word."""
    if start and _is_ascii_word(text[start]) and _is_ascii_word(text[start - 1]):
        return False
    return not (_is_ascii_word(text[end - 1]) and _is_ascii_word(text[end : end + 1]))


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and character.isalnum()
