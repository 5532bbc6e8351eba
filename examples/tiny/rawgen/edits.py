"""What happens to a text on its way through the web: small edits, wrong decoding, padding with key words."""

from __future__ import annotations

import random
import re

# Units of the Jaccard similarity that dedup verifies: a Han character, or a run of other word characters.
UNIT = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
SHINGLE = 5
# A near copy keeps at least this similarity: clear of the usual threshold of 0.8, whose neighbourhood is a matter of luck for MinHash.
MIN_SIMILARITY = 0.86
MAX_SIMILARITY = 0.95


def shingles(text: str) -> set[tuple[str, ...]]:
    """All runs of five units."""
    units = [unit.lower() for unit in UNIT.findall(text)]
    return {tuple(units[i : i + SHINGLE]) for i in range(len(units) - SHINGLE + 1)}


def jaccard(a: set[tuple[str, ...]], b: set[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0


def near_copy(rng: random.Random, text: str) -> tuple[str, float]:
    """The text with small edits, as many as bring the similarity under MAX_SIMILARITY, and that similarity."""
    original, copy, similarity = shingles(text), text, 1.0
    while similarity > MAX_SIMILARITY:
        edited = _edit(rng, copy)
        measured = jaccard(original, shingles(edited))
        if measured >= MIN_SIMILARITY:
            copy, similarity = edited, measured
    return copy, similarity


def _edit(rng: random.Random, text: str) -> str:
    """One unit left out, doubled, or swapped with the next."""
    spans = [match.span() for match in UNIT.finditer(text)]
    at = rng.randrange(len(spans) - 1)
    (start, end), (next_start, next_end) = spans[at], spans[at + 1]
    match rng.choice(("drop", "double", "swap")):
        case "drop":
            return text[:start] + text[end:].removeprefix(" ")
        case "double":
            blank = " " if text[start].isascii() else ""
            return text[:end] + blank + text[start:end] + text[end:]
        case _:
            return text[:start] + text[next_start:next_end] + text[end:next_start] + text[start:end] + text[next_end:]


def read_as_latin_1(text: str) -> str:
    """UTF-8 taken for Latin-1: reversible."""
    return text.encode().decode("latin-1")


def read_as_gbk(text: str) -> str:
    """UTF-8 taken for GBK: a third of the characters is lost where a byte is left over."""
    return text.encode().decode("gb18030", "replace")


def read_and_lost(text: str) -> str:
    """GBK taken for UTF-8, saved, and taken for GBK again: the replacement characters come out as \\u951f\\u65a4\\u62f7; nothing can be saved."""
    return text.encode("gb18030").decode("utf-8", "replace").encode().decode("gb18030", "replace")


MOJIBAKE = {"latin-1": read_as_latin_1, "gbk": read_as_gbk, "lost": read_and_lost}


def keyword_spam(rng: random.Random, words: list[str]) -> str:
    """A page that wants to be found: a dozen phrases over and over."""
    chosen = rng.sample(words, 12)
    lines = [" ".join(rng.choices(chosen, k=rng.randint(8, 16))) for _ in range(24)]
    return "\n".join(lines)
