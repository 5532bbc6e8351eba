"""The language of a document and of its paragraphs.

`identify` names the document's language, that of most of its letters; `language_runs` says where which language stands, for documents of several.
What a single text is in, `mspt.core.text.language.lid` says. Here paragraphs are put together to stretches long enough to be told, and
stretches that cannot be told (headings, names, what has no letter) go with those around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from mspt.core.text.form import fenced_blocks, without
from mspt.core.text.language.blocks import BLOCK_LETTERS, Block, find_blocks
from mspt.core.text.language.lid import LETTERS_PER_HAN, MIXED, UNSURE_CONFIDENCE, Language, identify_one, identify_stretches, sample
from mspt.core.text.script import Census, census, foreign_to_japan

__all__ = ["Language", "Run", "identify", "language_runs", "mixed_share"]

CERTAIN_LETTERS = 30  # with fewer, what is found is not trusted against the paragraphs around
# Shares of kana and of Hangul among the East Asian letters between which text of one language is rare: Japanese has .52 kana, Korean 1.0 Hangul.
FEW_KANA, FEW_HANGUL = (0.02, 0.35), (0.02, 0.9)


class Run(NamedTuple):
    """Neighbouring paragraphs [start, end) of one language; `letters` is their mass, a Han character counting LETTERS_PER_HAN."""

    start: int
    end: int
    language: Language
    letters: int


def identify(text: str, form: str = "prose") -> Language:
    """The language of `text`: where it is of several, the one of most letters. Long texts are judged by a sample from head, middle and tail.

    `form` is what `mspt.core.text.form.detect_form` said: code is zxx, whatever its comments are written in. Text without a letter is zxx
    too; und where the model is below its least confidence. The confidence of a mixed document is at most its language's share.
    """
    if form == "code":
        return Language("zxx", 1.0)
    counts = census(text)
    if "\n" in text and (_is_alphabetic(counts) or _is_mixed(counts)):
        by_paragraphs = _heaviest(language_runs(sample(without(text, fenced_blocks(text)))))
        if by_paragraphs is not None:
            return by_paragraphs
    return identify_one(text, counts)


def language_runs(text: str, form: str = "prose") -> tuple[Run, ...]:
    """The languages of `text` from start to end, in runs that cover it and have their borders at line ends.

    Paragraphs too short to tell, or of which the model is not sure, take the language of those near them in the same letters. Fenced code is zxx.
    """
    if form == "code":
        return (Run(0, len(text), Language("zxx", 1.0), 0),) if text else ()
    blocks = find_blocks(text)
    found = _settled(text, blocks, _judged(text, blocks))
    runs = [Run(block.start, block.end, language, block.letters) for block, language in zip(blocks, found, strict=True)]
    merged = []
    for tag, group in groupby(runs, key=lambda run: run.language.tag):
        same = list(group)
        merged.append(Run(same[0].start, same[-1].end, Language(tag, _mean_confidence(same)), sum(run.letters for run in same)))
    return tuple(merged)


def mixed_share(runs: Iterable[Run]) -> float:
    """The share of the letters that are not in the language of most of them: 0 for a text of one language. Scripts of Chinese are one language."""
    masses = _masses(runs)
    return 1 - max(masses.values()) / sum(masses.values()) if masses else 0.0


def _is_alphabetic(counts: Census) -> bool:
    """Whether there is next to nothing that counting could tell, and enough for more than one block. What is part Han, counting tells better: a
    Chinese manual is half commands."""
    alphabetic, east_asian = counts.latin + counts.other_letters, counts.han + counts.kana + counts.hangul
    return alphabetic >= 2 * BLOCK_LETTERS and LETTERS_PER_HAN * east_asian < MIXED * alphabetic


def _is_mixed(counts: Census) -> bool:
    """Whether East Asian letters are in proportions that no single language has."""
    letters = max(1, counts.han + counts.kana + counts.hangul)
    return FEW_KANA[0] <= counts.kana / letters <= FEW_KANA[1] or FEW_HANGUL[0] <= counts.hangul / letters <= FEW_HANGUL[1]


def _heaviest(runs: Sequence[Run]) -> Language | None:
    """The language of most letters, in the script of most of them; None where none is, or where most of its paragraphs could not be told."""
    masses = _masses(runs)
    if not masses:
        return None
    base = max(masses, key=lambda name: (masses[name], name))
    own = [run for run in runs if run.language.base == base]
    scripts = {tag: sum(run.letters for run in own if run.language.tag == tag) for tag in sorted({run.language.tag for run in own})}
    if (mean := _mean_confidence(own)) < UNSURE_CONFIDENCE:
        return None
    return Language(max(scripts, key=lambda tag: scripts[tag]), mean * masses[base] / sum(masses.values()))


def _masses(runs: Iterable[Run]) -> dict[str, int]:
    """Letters by language."""
    masses: dict[str, int] = {}
    for run in runs:
        if run.letters and run.language.base not in ("zxx", "und"):
            masses[run.language.base] = masses.get(run.language.base, 0) + run.letters
    return masses


def _mean_confidence(runs: Sequence[Run]) -> float:
    letters = sum(run.letters for run in runs)
    return sum(run.language.confidence * run.letters for run in runs) / letters if letters else runs[0].language.confidence


def _judged(text: str, blocks: Sequence[Block]) -> list[Language]:
    """What is found for each block by itself."""
    found = iter(identify_stretches(text, [(block.start, block.end) for block in blocks if block.letters]))
    return [next(found) if block.letters else Language("zxx", 1.0) for block in blocks]


def _settled(text: str, blocks: Sequence[Block], found: Sequence[Language]) -> list[Language]:
    """What was found for each block, with those that could not be told given the language of the nearest told one in the same letters."""
    masses = {kind: sum(block.letters for block in blocks if block.kind == kind) for kind in ("han", "kana")}
    settled = list(found)
    for place, block in enumerate(blocks):  # Japanese lines without kana: headings, names
        if block.kind == "han" and masses["kana"] > masses["han"] and not foreign_to_japan(text[block.start : block.end]):
            settled[place] = Language("ja", found[place].confidence)
    certain = [_is_certain(block, language) for block, language in zip(blocks, settled, strict=True)]
    for order in (range(len(blocks)), range(len(blocks) - 1, -1, -1)):  # from the one before; where there is none, from the one behind
        near: dict[str, Language] = {}
        for place in order:
            kind = blocks[place].kind
            if not certain[place] and kind in near:
                settled[place], certain[place] = Language(near[kind].tag, settled[place].confidence), True
            elif certain[place]:
                near[kind] = settled[place]
    return settled


def _is_certain(block: Block, language: Language) -> bool:
    if block.kind == "other":
        return block.letters >= CERTAIN_LETTERS and language.confidence >= UNSURE_CONFIDENCE
    return language.tag not in ("zh", "yue")  # in Han characters that do not tell the script
