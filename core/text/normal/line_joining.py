"""Prose that was broken into lines of one width, as in mail, RFCs and old e-books, joined to paragraphs again.

A line is broken where the next word did not fit. So each break says in which widths it would be one: at least the line, less than the line and that word. In
wrapped prose most breaks agree on one width, hardly a line exceeds it, and most of these breaks fall inside a sentence; in verse, lists, and one sentence a
line they do not. Only breaks that the width explains are joined: last lines of paragraphs, headings, signatures and turns of dialogue are shorter.

Measured (share of the breaks that agree on the best width): .80 to .99 in 61 of 61 wrapped documents of ../shared en_public_domain but the King James
Genesis (.61, every verse a paragraph); at most .35 in its verse and in all of zh_poetry; of zh_novels and zh_wiki no document has five such breaks in
sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from mspt.core.text.form import HEAD_CHARACTERS
from mspt.core.text.normal.settling import settled
from mspt.core.text.normal.verbatim import verbatim
from mspt.core.text.spans import Edit

if TYPE_CHECKING:
    from mspt.core.text.normal.normalize import Document

MAX_AVERAGE = 110  # characters a line of the whole text: longer ones are paragraphs
MIN_WIDTH, MAX_WIDTH = 40, 110  # columns; a Han character takes two
MIN_AGREEING, SPARE = 0.5, 2  # share of all breaks between lines of prose, and so many more: chance makes 4 of 8 agree, but not 40 of 80
MIN_BREAKS = 5
MIN_UNFINISHED = 0.6  # of the breaks that agree: inside a sentence. .9 and more in wrapped prose
MAX_OVERLONG = 0.1  # of the characters, in lines that are longer
MIN_MARKED = 0.8  # of the lines that end short: with a blank or an indented line behind them. Else any sentence at the end of a line may end a paragraph
LONGEST_WORD = 30
SLACK = 2  # columns by which a line of Han may fall short: for an odd letter, or a mark that may not begin a line
MAX_INDENT = 8  # blanks by which a first line, or all but the first of an item, may be indented

HAN = "\u3005\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
MARKS = "\u2018-\u201d\u2026\u3001\u3002\u3008-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
WIDE = re.compile(f"[{HAN}{MARKS}\u2014\u2e80-\u3000\uff01-\uff60\uac00-\ud7a3]")
IS_HAN, IS_MARK = re.compile(f"[{HAN}]"), re.compile(f"[{MARKS}]")
NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\uac00-\ud7ff]")  # Thai to Khmer; Hangul, which breaks inside words too

FINISHED = re.compile(r"[.!?。！？…:：;；][\"'”’)）」』\]]*\Z")
ITEM = re.compile(r"(?:[-*+•●·◦▪■□◆※]|\[?\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]:](?=\s|\Z)|[（(]?[一二三四五六七八九十]{1,3}[)）、.．]|[①-⑳])")
# Headings, quotations, fields, dates, requests of roff.
OPENS = re.compile(
    r"[>|#=~_^`%&@<\\—:]|--|\$(?!\d)|\.\.(?=\s|\Z)|[.'][A-Z]{2}|[\w-]++(?:\.\w++)*+(?:: |::| ?= )|[\w-]++[:=]\w|\d+[-/.]\d|/"
    r"|第[一二三四五六七八九十百零〇\d]{1,6}[章回节節條条卷部篇]"
)
QUOTE_OPENS, QUOTE_CLOSES = re.compile(r"[\"“「『‘]"), re.compile(r"[\"”」』’.!?。！？…]\Z")
HALF_WORD = re.compile(r"(?<![\s-])(?:-|--|[—–/])\Z")  # or a dash without blanks, of which nobody knows
NOT_IN_PROSE = ("   ", "\t", "....", "----", "====", "____", "****", "- - -", "* * *")  # columns of a table, contents, drawn lines
DRAWN = re.compile("[\u2500-\u257f]")
SPACED, UNSPACED = re.compile(f"[{HAN}] [A-Za-z0-9]|[A-Za-z0-9] [{HAN}]"), re.compile(f"[{HAN}][A-Za-z0-9]|[A-Za-z0-9][{HAN}]")


class Line(NamedTuple):
    """text[start:end], without the blanks at both ends; its columns with those before it; whether it may be prose."""

    start: int
    end: int
    indent: int
    columns: int
    words: str
    is_prose: bool


class Wrapping(NamedTuple):
    """How a document is broken.

    indent: of most lines. is_marked: blank or indented lines mark its paragraphs. is_spaced: between Han and Latin is a blank.
    """

    width: int
    indent: int
    is_marked: bool
    is_spaced: bool


def join_lines(document: Document, found: int) -> Iterator[Edit]:
    """Line ends inside paragraphs to one blank, to nothing between Han characters. Nothing where structure is known (spans). `found` is not asked."""
    text = document.text
    line_ends = text.count("\n")
    if line_ends < MIN_BREAKS or (line_ends + 1) * MAX_AVERAGE < len(text) or document.form != "prose" or document.spans:
        return
    yield from settled(document, _edits)  # where two widths are mixed, a second run would find the other one


def _edits(document: Document) -> list[Edit]:
    wrapping = find_wrapping(document.text)
    if wrapping is None:
        return []
    edits = [_join(document.text, one, two, wrapping) for one, two in _joined(document.text, wrapping)]
    regions = verbatim(document, addresses=False)
    return [one for one in edits if not regions.touch(one.start, one.end)]


def find_wrapping(text: str) -> Wrapping | None:
    """How `text` was broken into lines, judged by its first 64 Ki characters; None where it was not."""
    lines = list(_lines(text[:HEAD_CHARACTERS]))
    breaks = [(one, two) for one, two in pairwise(lines) if _are_prose(one, two)]
    width, agreeing = _vote(breaks)
    if agreeing < max(MIN_BREAKS, MIN_AGREEING * len(breaks) + SPARE):
        return None
    explained = [(one, two) for one, two in breaks if one.columns <= width <= _limit(one, two)]
    unfinished = sum(1 for one, _ in explained if not FINISHED.search(one.words[-4:]))
    overlong = sum(len(line.words) for line in lines if line.columns > width and line.is_prose)
    if unfinished < MIN_UNFINISHED * agreeing or overlong > MAX_OVERLONG * sum(len(line.words) for line in lines):
        return None
    indent = Counter(two.indent for _, two in explained).most_common(1)[0][0]
    ends = [two for one, two in pairwise(lines) if one.words and 0 < one.columns < width and not (two.words and one.columns <= width <= _limit(one, two))]
    marked = sum(1 for two in ends if not two.words or two.indent > indent)
    sample = text[:HEAD_CHARACTERS]
    is_spaced = not sample.isascii() and len(SPACED.findall(sample)) > len(UNSPACED.findall(sample))
    return Wrapping(width, indent, marked >= MIN_MARKED * len(ends), is_spaced)


def _vote(breaks: list[tuple[Line, Line]]) -> tuple[int, int]:
    """The width that most breaks agree on, the largest of several, and how many they are."""
    changes = [0] * (MAX_WIDTH + 2)
    for one, two in breaks:
        first, last = max(MIN_WIDTH, one.columns), min(MAX_WIDTH, _limit(one, two))
        if first <= last:
            changes[first] += 1
            changes[last + 1] -= 1
    agreeing, width = max((number, width) for width, number in enumerate(accumulate(changes)))
    return width, agreeing


def _lines(text: str) -> Iterator[Line]:
    start = 0
    for line in text.split("\n"):
        words = line.strip()
        indent = len(line) - len(line.lstrip()) if words else 0
        written = line[: indent + len(words)]
        columns = len(written) + (0 if line.isascii() or len(words) > MAX_WIDTH or not IS_HAN.search(words) else len(WIDE.findall(written)))
        yield Line(start + indent, start + indent + len(words), indent, columns, words, bool(words) and line[0] != "\t" and _is_prose(words))
        start += len(line) + 1


def _limit(one: Line, two: Line) -> int:
    """The largest width in which the first word of the second line does not fit on the first; 0 where one of them is blank."""
    if not one.words or not two.words:
        return 0
    if IS_HAN.match(two.words) or IS_MARK.match(two.words):
        return one.columns + 1 + SLACK
    word = two.words[:LONGEST_WORD].partition(" ")[0]
    han = None if word.isascii() else IS_HAN.search(word)
    return one.columns + (han.start() if han else len(word)) - (1 if IS_HAN.match(one.words[-1]) else 0)


def _are_prose(one: Line, two: Line) -> bool:
    """Whether two lines may belong to one paragraph, by what they are; the second may be its last word."""
    if not one.is_prose or not two.is_prose or ITEM.match(two.words) or OPENS.match(two.words):
        return False
    return _is_sentence(one.words) and (_is_sentence(two.words) or not FINISHED.search(one.words[-4:]))


def _is_prose(words: str) -> bool:
    if words[-1] in "{}\\" or words.count("|") > 1:
        return False
    for sign in NOT_IN_PROSE:
        if sign in words:
            return False
    return words.isascii() or not DRAWN.search(words)


def _is_sentence(words: str) -> bool:
    return words.count(" ") >= 2 or (not words.isascii() and IS_HAN.search(words) is not None)


def _joined(text: str, wrapping: Wrapping) -> Iterator[tuple[Line, Line]]:
    """Neighbouring lines of one paragraph."""
    is_first, in_item = True, False  # of its paragraph, or of an item
    for one, two in pairwise(_lines(text)):
        in_item = ITEM.match(one.words) is not None if is_first else in_item
        is_first = _limit(one, two) < wrapping.width or not _are_prose(one, two) or not _go_on(one, two, wrapping, is_first, in_item)
        if not is_first:
            yield one, two


def _go_on(one: Line, two: Line, wrapping: Wrapping, is_first: bool, in_item: bool) -> bool:
    """Whether the second line goes on where the first, which the width explains, was broken."""
    deeper = two.indent - one.indent
    if not (0 <= deeper <= MAX_INDENT if is_first and in_item else -MAX_INDENT <= deeper <= 0 if is_first else deeper == 0):
        return False
    if two.indent > wrapping.indent and not in_item:  # quotations, verse, programs
        return False
    last, first = one.words[-1], two.words[0]
    if HALF_WORD.search(one.words[-4:]) or NO_BLANKS.match(last) or NO_BLANKS.match(first) or one.words.isupper() != two.words.isupper():
        return False
    if QUOTE_OPENS.match(first) and QUOTE_CLOSES.search(last):
        return False
    return wrapping.is_marked or first.islower() or not FINISHED.search(one.words[-4:])


def _join(text: str, one: Line, two: Line, wrapping: Wrapping) -> Edit:
    last, first = text[one.end - 1], text[two.start]
    wide = [bool(IS_HAN.match(character)) for character in (last, first)]
    is_closed = all(wide) or (IS_MARK.match(last) and not last.isascii()) or IS_MARK.match(first) or (any(wide) and not wrapping.is_spaced)
    return Edit(one.end, two.start, "" if is_closed else " ")
