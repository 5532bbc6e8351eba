"""Text that came from PDF files or from OCR: blanks between Han characters, words cut at line ends, ligatures, heads and feet of pages.

`detect_profile` tells by what only such text has; the steps are for text of which it, or the user, says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from mspt.core.text.form import HEAD_CHARACTERS
from mspt.core.text.normal.compounds import makes_compound
from mspt.core.text.normal.document import Document, Edits
from mspt.core.text.normal.page_signs import HAN, MAX_SCATTERED, MIN_CUT_WORDS, MIN_LIGATURES, MIN_PAIRS, PageSigns, page_signs
from mspt.core.text.normal.running_lines import may_have_running_lines, running_lines
from mspt.core.text.normal.settling import settled
from mspt.core.text.normal.verbatim import verbatim
from mspt.core.text.script import code_points
from mspt.core.text.spans import Edit

Profile = Literal["", "pdf-text", "ocr"]

MARKS = "\u2018\u2019\u201c\u201d\u2026\u3001\u3002\u3008-\u3011\u3014-\u301b\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
SPACED = re.compile(f"(?<![{HAN}{MARKS}])[{HAN}{MARKS}]++(?:[ \\xa0]++[{HAN}{MARKS}]++)++")  # begins where a run does: else quadratic in a run without blanks
GAP = re.compile("[ \\xa0]+")
MIN_SINGLE = 0.6  # of the pieces between blanks that are one character: where letters are spaced, .95; between words .45 (mean length 1.7), between names 0
LONG_PIECE = 8  # a clause: no cell of a table and no name
NUMBERING = re.compile(r"第 ?(?:[一二三四五六七八九十百零〇] ?){1,5}[章节節篇部编編条條讲講]\Z")
MIN_SPACED = 0.3  # of the neighbouring Han characters
SAMPLE = 4 * HEAD_CHARACTERS
MIN_BLANKS = 0.15  # of the characters, without which nothing is spaced

LIGATURES = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
LIGATURE = re.compile("[\ufb00-\ufb06]")
LIGATURE_IN_WORD = re.compile("[\ufb00-\ufb06](?:(?<=[a-z].)|(?=[a-z]))")

HYPHENS = "-\xad\u2010"
LINE_END = re.compile(rf"[{HYPHENS}][ \t]*\r?\n([ \t]*)(?=[^\W\d_]{{2}})")
LETTERS = re.compile(r"[^\W\d_]+")
LAST_LETTERS = re.compile(r"(?:\A|(?<=[^\w-]))[^\W\d_]{2,}\Z")
COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]+")
TOKEN, BLANKS = re.compile(r"\S+"), re.compile(r"[ \t]*")
MAX_PART = 40  # letters
MIN_CUT_SHARE = 0.02  # words cut at line ends for each line: typesetting that cuts words does it in .05 to .1 of the lines
FILLED_LINE, ONE_CHARACTER = re.compile(r"\n[^\S\n]*+\S"), re.compile(r"\n[^\S\n]*+(\S)[^\S\n]*+(?=\n)")
MIN_ONE_CHARACTER = 0.3  # of the lines


class CutWord(NamedTuple):
    """A word that a line end cuts: the hyphen is at `place`, its second part at `start`, behind `indent`; what to join it with ("" or "-")."""

    place: int
    start: int
    indent: str
    hyphen: str


def detect_profile(text: str) -> Profile:
    """What a text came from; "" for all that did not come from pages, or shows no more of it."""
    sample, codes = text[:SAMPLE], code_points(text)
    signs = page_signs(codes[:SAMPLE])
    if signs and (_cuts_words(sample, signs) or _has_ligatures(sample, signs)):
        return "pdf-text"
    of_all = signs if len(codes) <= SAMPLE else page_signs(codes)
    if of_all and may_have_running_lines(of_all) and running_lines(text):
        return "pdf-text"
    return "ocr" if signs and (_is_spaced(sample, signs) or _is_scattered(sample, signs)) else ""


def _has_ligatures(sample: str, signs: PageSigns) -> bool:
    return signs.ligatures >= MIN_LIGATURES <= sum(1 for _ in LIGATURE_IN_WORD.finditer(sample))


def one_character_lines(text: str) -> float:
    """The share of the lines that are not blank that hold one letter or Han character: vertical writing and specks that OCR took for it."""
    padded = f"\n{text}\n"
    return sum(map(str.isalpha, ONE_CHARACTER.findall(padded))) / max(1, len(FILLED_LINE.findall(padded)))


def han_blanks(document: Document) -> Edits:
    """Blanks between Han characters and their marks removed, where characters are spaced or a clause is beside; between words and names of a row they stay."""
    text = document.text
    if not text.isascii() and (" " in text or "\xa0" in text):
        return settled(document, _closed_gaps)
    return []


def _closed_gaps(document: Document) -> list[Edit]:
    text = document.text
    regions = verbatim(document, addresses=True)
    signs = page_signs(document.codes[:SAMPLE])
    is_spaced = signs is not None and _is_spaced(text[:SAMPLE], signs)
    gaps = (gap for run in SPACED.finditer(text) for gap in _gaps_to_close(run, is_spaced))
    return [Edit(start, end, "") for start, end in gaps if not regions.touch(start, end) and not NUMBERING.search(text, max(0, start - 14), start)]


def _gaps_to_close(run: re.Match[str], is_spaced: bool) -> list[tuple[int, int]]:
    """The gaps of a run of Han that are to be closed. Of narrow and wide ones, the wide ones stand between words: 第 一 章  绪 论."""
    pieces = [len(piece) for piece in GAP.split(run[0])]
    if not is_spaced and max(pieces) < LONG_PIECE and not _are_single(pieces):
        return []
    gaps = [gap.span() for gap in GAP.finditer(run.string, *run.span())]
    narrow = min(end - start for start, end in gaps)
    words = [pieces[0]]
    for (start, end), size in zip(gaps, pieces[1:], strict=True):
        if end - start > narrow:
            words.append(size)
        else:
            words[-1] += size
    if max(words) >= LONG_PIECE or (len(words) > 1 and _are_single(words)):
        return gaps
    return [(start, end) for start, end in gaps if end - start == narrow]


def _are_single(pieces: list[int]) -> bool:
    return sum(size == 1 for size in pieces) >= MIN_SINGLE * len(pieces)


def _is_spaced(sample: str, signs: PageSigns) -> bool:
    """Whether blanks stand between most Han characters."""
    if signs.blanks < MIN_BLANKS * len(sample) or signs.spaced < max(MIN_PAIRS, MIN_SPACED * (signs.spaced + signs.adjacent)):
        return False
    pieces = [len(piece) for run in SPACED.finditer(sample) for piece in GAP.split(run[0])]
    return _are_single(pieces)


def _is_scattered(sample: str, signs: PageSigns) -> bool:
    """Whether many lines hold one character."""
    return signs.line_ends * MAX_SCATTERED > len(sample) > 10 * MAX_SCATTERED and one_character_lines(sample) >= MIN_ONE_CHARACTER


def join_cut_words(document: Document) -> list[Edit]:
    """The second part of a word that a line end cuts moved up to its first."""
    return list(_joined_words(document)) if document.form != "code" else []


def _joined_words(document: Document) -> Iterator[Edit]:
    text = document.text
    regions = verbatim(document)
    for word in cut_words(text):
        token = TOKEN.match(text, word.start)
        end = token.end() if token else word.start
        rest = BLANKS.match(text, end)
        behind = rest.end() if rest else end
        if regions.touch(word.place, behind):
            continue
        if behind == len(text) or text[behind] in "\r\n" or text[end - 1] in HYPHENS:
            yield Edit(word.place, word.start, word.hyphen)
        else:
            yield Edit(word.place, behind, word.hyphen + text[word.start : end] + "\n" + word.indent)


def cut_words(text: str) -> Iterator[CutWord]:
    """The words that line ends cut.

    The hyphen stays where the word has one elsewhere (well-known), or the whole occurs nowhere else and both parts are words (tax-payer) or one of them is
    one with which compounds are made; else it goes. Words are those of the text and the function words. A soft hyphen is no part of a word.
    """
    found = [(match, _left(text, match), LETTERS.match(text, match.end())) for match in LINE_END.finditer(text)]
    breaks = [(match, left[0], right[0]) for match, left, right in found if left and right]
    if not breaks:
        return
    words = Counter(map(str.lower, LETTERS.findall(text)))
    words.subtract(part.lower() for _, left, right in breaks for part in (left, right))
    compounds = {word.lower() for word in COMPOUND.findall(text)}
    for match, left, right in breaks:
        one, two = left.lower(), right.lower()
        is_name = right[0].isupper() and not left.isupper()  # Anglo-American
        is_compound = f"{one}-{two}" in compounds or (words[one + two] <= 0 and makes_compound(one, two, words))
        yield CutWord(match.start(), match.end(), match[1], "-" if match[0][0] != "\xad" and (is_name or is_compound) else "")


def _left(text: str, match: re.Match[str]) -> re.Match[str] | None:
    """The letters before a hyphen at a line end, if they are all of the word so far."""
    return LAST_LETTERS.search(text, max(0, match.start() - MAX_PART), match.start())


def _cuts_words(sample: str, signs: PageSigns) -> bool:
    """Whether line ends cut words as typesetting does."""
    if signs.cut_words < max(MIN_CUT_WORDS, MIN_CUT_SHARE * signs.line_ends):
        return False
    cut = sum(1 for word in cut_words(sample) if not word.hyphen)
    return cut >= max(MIN_CUT_WORDS, MIN_CUT_SHARE * signs.line_ends)


def drop_ligatures(document: Document) -> list[Edit]:
    """Ligatures to their letters."""
    if document.form == "code" or document.text.isascii():
        return []
    return [Edit(*match.span(), LIGATURES[match[0]]) for match in LIGATURE.finditer(document.text)]
