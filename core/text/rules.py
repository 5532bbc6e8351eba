"""Rules that say whether a document is worth keeping, with the value that decided and its threshold.

What each rule measures, where its threshold comes from, and which forms it judges, stands in one table: RULES. Published thresholds are for
English words; here every rule counts characters, so that Chinese, which has no blanks between words, is judged alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mspt.core.text.script import Census, census, code_points

PROSE = frozenset({"prose", "verse"})
READABLE = frozenset({"prose", "verse", "markup", "table"})
ALL = READABLE | {"code"}

SHINGLE = 16  # characters of a repeated n-gram, a power of two: about three English or ten Chinese words
SHINGLED_CHARACTERS = 50_000  # longer documents are judged by their first so many
HASH_BASE = np.array([0x9E3779B97F4A7C15], dtype=np.uint64)  # odd, 2**64 over the golden ratio: spreads small differences over all bits
MIN_PARTS = 4  # fewer lines or paragraphs say nothing about repetition
LOREM_IPSUM = ("orem ipsum", "OREM IPSUM", "olor sit amet", "OLOR SIT AMET")
MIN_TOKEN = 50  # shorter ones are words, paths and names in any text
TOKEN = re.compile(r"[^\s\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]{" + str(MIN_TOKEN) + ",}")
NOT_WRITTEN_SIGNS = ("----", "====", "****", "____", "....", "~~~~", "####", "++++", "](", "://")
NOT_WRITTEN = re.compile(r"([-=*_.~#+])\1{3,}|\]\([^()\s]{0,2000}\)|[a-z]{3,6}://[!-~]+")
LINK = re.compile(r"[a-z][a-z0-9+.-]{1,10}://|www\.|\]\(", re.IGNORECASE)
PATH_PART = 30  # characters between two slashes of a path; base64 has 64


@dataclass(frozen=True)
class Verdict:
    """What `judge` found. keep=True: rule is "" and value, threshold are 0. start, end: the part that shows it, in code points."""

    keep: bool
    rule: str = ""
    value: float = 0.0
    threshold: float = 0.0
    detail: str = ""
    start: int = 0
    end: int = 0


KEEP = Verdict(True)


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """The limits; a document is rejected when a value lies beyond its limit. Their sources stand in RULES, under the same names."""

    min_characters: int = 20
    max_replacement: float = 0.01
    max_private_use: float = 0.05
    max_symbols: float = 0.3
    max_digits: float = 0.4
    min_letters: float = 0.35
    max_repeated_lines: float = 0.5
    max_repeated_paragraphs: float = 0.5
    max_repeated_shingles: float = 0.7
    max_token: int = 1000
    max_lorem_ipsum: int = 0


DEFAULT = Thresholds()


@dataclass(frozen=True)
class Finding:
    """What a rule measured, and the part of the text that shows it."""

    value: float
    detail: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Rule:
    """One row of the table: the name, the field of Thresholds (min_*: reject below; max_*: above), the forms that it judges."""

    name: str
    threshold: str
    forms: frozenset[str]
    measure: Callable[[Sample], Finding]
    source: str


class Sample:
    """A document, and what several rules count in it; `private_use`: what normalisation has removed of it."""

    def __init__(self, text: str, private_use: int = 0) -> None:
        self.text = text
        self.private_use = private_use

    @cached_property
    def written(self) -> str:
        """The text less drawn rules and table borders (each run of one mark counts once) and links, which repeat by nature."""
        return NOT_WRITTEN.sub(r"\1", self.text) if any(sign in self.text for sign in NOT_WRITTEN_SIGNS) else self.text

    @cached_property
    def counts(self) -> Census:
        return census(self.written)

    def share(self, number: int) -> float:
        """`number` of the visible characters."""
        return number / max(1, self.counts.visible)


def judge(text: str, *, form: str = "prose", private_use: int = 0, thresholds: Thresholds = DEFAULT) -> Verdict:
    """The first rule, in the order of RULES, that `text` breaks; KEEP when it breaks none.

    Judge normalised text, and pass the number of private-use characters that normalisation removed, which says that a font is missing.
    """
    sample = Sample(text, private_use)
    for rule in RULES:
        if form in rule.forms:
            threshold = float(getattr(thresholds, rule.threshold))
            found = rule.measure(sample)
            if found.value < threshold if rule.threshold.startswith("min_") else found.value > threshold:
                return Verdict(False, rule.name, found.value, threshold, found.detail, found.start, found.end)
    return KEEP


def measure(text: str, *, form: str = "prose", private_use: int = 0) -> dict[str, float]:
    """The value of every rule that judges `form`, by rule name: what thresholds are set by."""
    sample = Sample(text, private_use)
    return {rule.name: rule.measure(sample).value for rule in RULES if form in rule.forms}


def _length(sample: Sample) -> Finding:
    return Finding(sample.counts.visible)


def _replacement(sample: Sample) -> Finding:
    return Finding(sample.share(sample.counts.replacement), start=(place := sample.text.find("\ufffd")), end=place + 1)


def _private_use(sample: Sample) -> Finding:
    number = sample.counts.private_use + sample.private_use
    return Finding(number / max(1, sample.counts.visible + sample.private_use))


def _symbols(sample: Sample) -> Finding:
    return Finding(sample.share(sample.counts.symbols))


def _digits(sample: Sample) -> Finding:
    return Finding(sample.share(sample.counts.digits))


def _letters(sample: Sample) -> Finding:
    return Finding(sample.share(sample.counts.letters))


def _long_token(sample: Sample) -> Finding:
    if max(map(len, sample.text.split()), default=0) < MIN_TOKEN:
        return Finding(0)
    longest = max((match for match in TOKEN.finditer(sample.text) if _is_written(match[0])), key=_width, default=None)
    return Finding(_width(longest), longest[0][:40], *longest.span()) if longest else Finding(0)


def _is_written(token: str) -> bool:
    """Whether a long token is neither a link nor a path nor a drawn line."""
    is_path = token.count("/") + token.count("\\") > len(token) / PATH_PART
    return not is_path and not LINK.search(token) and any(map(str.isalnum, token))


def _width(match: re.Match[str]) -> int:
    return match.end() - match.start()


def _repeated_lines(sample: Sample) -> Finding:
    return _repeated(sample.text, "\n")


def _repeated_paragraphs(sample: Sample) -> Finding:
    return _repeated(sample.text, "\n\n")


def _repeated(text: str, separator: str) -> Finding:
    """The share of the characters that stand in parts seen before; shows the part that repeats most."""
    parts = [part for part in map(str.strip, text.split(separator)) if any(map(str.isalnum, part))]  # not rules and borders
    if len(parts) < MIN_PARTS:
        return Finding(0)
    times = Counter(parts)
    again = {part: (number - 1) * len(part) for part, number in times.items()}
    worst = max(again, key=lambda part: (again[part], part))
    start = text.find(worst)
    return Finding(sum(again.values()) / sum(map(len, parts)), f"{times[worst]} times", start, start + len(worst))


def _repeated_shingles(sample: Sample) -> Finding:
    """The share of the text's n-grams that were seen before; shows the first of the one seen most."""
    codes = code_points("".join(sample.written[:SHINGLED_CHARACTERS].split())).astype(np.uint64)
    if len(codes) < 2 * SHINGLE:
        return Finding(0)
    hashes, power, width = codes, HASH_BASE, 1
    while width < SHINGLE:  # polynomials modulo 2**64 of 2, 4, 8, 16 characters, each from two of the half
        hashes = hashes[:-width] * power + hashes[width:]
        power, width = power * power, 2 * width
    times = np.unique(hashes, return_counts=True)[1]
    return Finding(1 - len(times) / len(hashes), f"{int(times.max())} times")


def _lorem_ipsum(sample: Sample) -> Finding:
    places = [(sample.text.find(words), len(words)) for words in LOREM_IPSUM if words in sample.text]
    return Finding(1, start=min(places)[0], end=sum(min(places))) if places else Finding(0)


RULES = (
    # C4 wants 3 sentences, Gopher 50 words, of web pages; poems, answers and reviews are shorter. Visible characters.
    Rule("too-short", "min_characters", ALL, _length, "C4 (Raffel et al. 2020, 2.2), Gopher (Rae et al. 2021, table A1), lowered"),
    Rule("replacement", "max_replacement", ALL, _replacement, "U+FFFD share: decoding that lost more than 1 % was wrong"),
    Rule("private-use", "max_private_use", ALL, _private_use, "private-use share: an icon font, or a lost one; zh_novels has at most .018"),
    Rule("lorem-ipsum", "max_lorem_ipsum", READABLE, _lorem_ipsum, "C4, 2.2"),
    # The hardest sound sets of ../shared (en and zh_techdocs, ASCII art of en_public_domain) have in 99 % of the documents letters >= .55,
    # symbols <= .21, digits <= .27.
    Rule("digits", "max_digits", PROSE, _digits, "digit share; measured"),
    Rule("symbols", "max_symbols", PROSE, _symbols, "Unicode S* share; Gopher: at most .1 of # and ellipses per word"),
    Rule("few-letters", "min_letters", PROSE, _letters, "letter share; Gopher: 80 % of the words hold a letter"),
    # base64, minified programs; links aside. Gopher bounds the mean word length by 10, which one long token in a page escapes.
    Rule("long-token", "max_token", READABLE, _long_token, "characters of the longest stretch without a blank; measured"),
    # Gopher's limits, by characters, are .20 for lines and paragraphs and .15 to .10 for 5- to 10-grams. In technical documents names and
    # commands recur: these would cost 5 % and 30 % of zh_techdocs.
    Rule("repeated-lines", "max_repeated_lines", PROSE, _repeated_lines, "Gopher, table A1, loosened"),
    Rule("repeated-paragraphs", "max_repeated_paragraphs", PROSE, _repeated_paragraphs, "Gopher, table A1, loosened"),
    Rule("repeated-n-grams", "max_repeated_shingles", PROSE, _repeated_shingles, "Gopher, table A1, loosened"),
)
