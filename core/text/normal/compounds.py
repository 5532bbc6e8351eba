"""Words of two parts that keep their hyphen where a line end cuts them: well-known, system-specific.

Measured on 765 compounds of ../shared en_techdocs and 778 of its e-books, each cut in a page of 3,000 characters: .78 and .51 keep their hyphen (.59 and .16
by the page's own words alone), and of 13,070 plain words cut at a syllable .998 become whole (.999).
"""

from __future__ import annotations

from collections.abc import Mapping

from mspt.core.text.rules.stop_words import FUNCTION_WORDS

# Words that begin compounds with a hyphen and hardly ever a word that typesetting would cut behind them; suffixes show that it did: well-ness, self-ish.
STARTS = """
    well self ill half high low long short old hard soft deep wide full part first second third one two three four five six seven eight nine twenty thirty
    forty fifty sixty seventy eighty ninety much so far near ever good better best bad worst left right upper lower open close quick slow free fast large
    small light dark heavy early late middle time world state case step side hand eye blue red green black white grey cross double single cost data user
    computer object machine word sentence real great non ex vice
"""
ENDS = "based related specific driven aware oriented dependent level style scale friendly known made tuned tuning sized shaped defined"
SUFFIXES = """
    ness less like ing ings est ers ish fully ward wards ment ments able ible ence ance tion tions ship ships hood ening ened ener eners ally teen teenth ties
    tieth
"""
COMPOUND_STARTS, COMPOUND_ENDS, NO_WORDS = frozenset(STARTS.split()), frozenset(ENDS.split()), frozenset(SUFFIXES.split())
MIN_LETTERS = 3  # of the part beside such a word


def makes_compound(one: str, two: str, words: Mapping[str, int]) -> bool:
    """Whether a word of these parts, in small letters, which occurs nowhere whole, has a hyphen; words: how often the text has each."""
    if one in COMPOUND_STARTS and len(two) >= MIN_LETTERS and two not in NO_WORDS:
        return True
    if two in COMPOUND_ENDS and len(one) >= MIN_LETTERS:
        return True
    return all(words[part] > 0 or part in FUNCTION_WORDS for part in (one, two))
