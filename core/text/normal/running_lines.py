"""Heads, feet and numbers of pages in text that was taken from pages: found because they repeat where pages begin and end.

Pages end with a form feed, or, where a program left those out, after about the same number of lines. A head or foot is the same line on many pages, but for
its numbers, one of which counts the pages. And pages, unlike chapters and the versions of a change log, end inside sentences.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from mspt.core.text.normal.document import Document, Edits
from mspt.core.text.normal.page_signs import MIN_LINES, MIN_PAGES, MIN_REPEATED, PageSigns
from mspt.core.text.normal.settling import settled
from mspt.core.text.rules.line_rules import Cut
from mspt.core.text.spans import Edit

MAX_HEAD = 100  # characters of a line that may be a head or foot
EDGE_LINES = 3  # at the top of a page that may be its head, and as many at its bottom
MIN_DENSITY = 0.25  # of the pages between its first and its last: left and right pages have heads of their own, openings of chapters none
MIN_COUNTING = 0.6  # of the steps from page to page, by which a number in the line grows as it should
MIN_NUMBERED = 0.5  # of the pages that bear their number
MIN_REGULAR = 0.75  # of the distances between two heads that are the usual one
MAX_LINES, SPREAD = 120, 0.15  # of a page, and by which share it may vary
MIN_GOING_ON = 0.1  # of the pages that end inside a sentence: .19 in a specification full of examples (shared-mime-info), .6 in prose, 0 at chapters
FORM_FEED = "\f"
LINE = re.compile(r"[^\n\f]*[^\s][^\n\f]*")
NUMBER = re.compile(r"\d{1,9}")
ROMAN = re.compile(r"[ivxlcdm]{1,8}|[IVXLCDM]{1,8}")
ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
PAGE_NUMBER = re.compile(r"\n[^\w\n]{0,9}(?:[Pp]age |第 ?)?\d{1,4}(?: ?[页頁])?(?:(?: of | ?/ ?)\d{1,4})?[^\w\n]{0,9}(?=\n)")
PAGE_WORD = re.compile(r"Page \d{1,4}\W{0,3}\n")
SENTENCE_INSIDE = re.compile(r"[A-Za-z0-9,;'’\u3400-\u9fff，、；-]\Z")
SENTENCE_GOES_ON = re.compile(r"[\"'“‘「(（]?[a-z\u3400-\u9fff]")


class Place(NamedTuple):
    """A line, text[start:end]: on which page, or the how manieth line, and what it says but for its numbers."""

    start: int
    end: int
    number: int
    key: str
    numbers: tuple[int, ...]


class Page(NamedTuple):
    """The lines at the top of a page; those at its bottom, upwards; and where all its lines lie."""

    top: list[Place]
    bottom: list[Place]
    lines: list[tuple[int, int]]


def running_lines(text: str) -> list[Cut]:
    """The heads, feet and page numbers of `text`, in order; their rule is running-line or page-number."""
    places = _by_pages(text) if text.count(FORM_FEED) >= MIN_PAGES - 1 else _by_distance(text)
    return [Cut(place.start, place.end, "running-line" if any(map(str.isalpha, place.key)) else "page-number") for place in places]


def may_have_running_lines(signs: PageSigns) -> bool:
    """Whether a text has enough of what `running_lines` goes by."""
    is_paged = signs.form_feeds >= MIN_PAGES - 1
    return is_paged or (signs.line_ends >= MIN_REPEATED * MIN_LINES and max(signs.number_lines, signs.page_words) >= MIN_REPEATED)


def drop_running_lines(document: Document) -> Edits:
    """Heads, feet and page numbers removed, with the blank lines and form feeds around them where a sentence goes on."""
    return settled(document, _edits)


def left_out(text: str, edits: Sequence[Edit]) -> list[tuple[str, str, int]]:
    """Of the lines that `edits` (of drop_running_lines) remove from `text`: rule, words, and where in the new text they would stand."""
    found, growth, behind = [], 0, iter(edits)
    one = next(behind)
    for cut in running_lines(text):
        while cut.start >= one.end:
            growth += len(one.replacement) - (one.end - one.start)
            one = next(behind)
        found.append((cut.rule, text[cut.start : cut.end], one.end + growth + len(one.replacement) - (one.end - one.start)))
    return found


def _edits(document: Document) -> list[Edit]:
    text = document.text
    cuts = running_lines(text)
    if cuts:  # a page without any ends with its form feed
        cuts = sorted([*cuts, *(Cut(*match.span(), "form-feed") for match in re.finditer(FORM_FEED, text))])
    edits: list[Edit] = []
    for start, end in _gaps(text, cuts):
        if not edits or start >= edits[-1].end:
            between = "\n" if _goes_on(text, start, end) else "\n\n"
            edits.append(Edit(start, end, between if start > 0 and end < len(text) else ""))
    return edits


def _gaps(text: str, cuts: Iterable[Cut]) -> Iterator[tuple[int, int]]:
    """What lies between the lines around the cuts: from the end of the one before to the start of the one behind, with its indentation."""
    start, end = -1, -1
    for cut in cuts:
        if start >= 0 and not text[end : cut.start].strip():
            end = cut.end
            continue
        if start >= 0:
            yield _widened(text, start, end)
        start, end = cut.start, cut.end
    if start >= 0:
        yield _widened(text, start, end)


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    while start and text[start - 1].isspace():
        start -= 1
    line = LINE.search(text, end)
    return start, line.start() if line else len(text)


def _goes_on(text: str, end: int, start: int) -> bool:
    """Whether a sentence goes on from the line that ends at `end` to the one that starts at `start`."""
    line = LINE.match(text, start)
    return bool(line and SENTENCE_INSIDE.search(text[max(0, end - 2) : end]) and SENTENCE_GOES_ON.match(line[0].lstrip()))


def _by_pages(text: str) -> list[Place]:
    """The running lines of a text with form feeds."""
    pages = []  # of each: the lines at its top, those at its bottom from there upwards, the spans of all
    start = 0
    for number, written in enumerate(text.split(FORM_FEED)):
        lines = [match.span() for match in LINE.finditer(text, start, start + len(written))]
        top = [_place(text, *line, number) for line in lines[:EDGE_LINES]]
        pages.append(Page(top, [_place(text, *line, number) for line in lines[: -EDGE_LINES - 1 : -1]], lines))
        start += len(written) + 1
    tops, bottoms = _running_keys(page.top for page in pages), _running_keys(page.bottom for page in pages)
    offset = _page_offset(pages)
    found: dict[int, Place] = {}
    bodies: list[tuple[int, int]] = []
    for page in pages:
        head, foot = _leading(page.top, tops, offset), _leading(page.bottom, bottoms, offset)
        found.update((place.start, place) for place in (*page.top[:head], *page.bottom[:foot]))
        if head + foot < len(page.lines):
            bodies.append((page.lines[head][0], page.lines[len(page.lines) - 1 - foot][1]))
    return [found[start] for start in sorted(found)] if offset is not None or _end_inside_sentences(text, bodies) else []


def _running_keys(edges: Iterable[list[Place]]) -> set[str]:
    by_key: dict[str, list[Place]] = {}
    for place in (place for edge in edges for place in edge):
        by_key.setdefault(place.key, []).append(place)
    return {key for key, places in by_key.items() if key and len(places) >= MIN_PAGES and _is_dense(places) and _is_counting(places, 1)}


def _page_offset(pages: list[Page]) -> int | None:
    """By how much the numbers printed on most pages differ from the count of the pages, if they do so throughout."""
    offsets = Counter[int]()
    for number, page in enumerate(pages):
        offsets.update({printed - number for place in (*page.top, *page.bottom) for printed in _outer(place)})
    offset, times = max(offsets.items(), key=lambda one: (one[1], one[0]), default=(0, 0))
    return offset if times >= max(MIN_PAGES, MIN_NUMBERED * len(pages)) else None


def _outer(place: Place) -> tuple[int, ...]:
    """The numbers that a line begins and ends with."""
    first, last = place.key[:1] == "#", place.key[-1:] == "#"
    return (place.numbers[:1] if first else ()) + (place.numbers[-1:] if last else ())


def _leading(places: list[Place], keys: set[str], offset: int | None) -> int:
    """How many of the lines, from the edge of the page inwards, are running; one of them at most because of its page number alone."""
    is_numbered = offset is None
    for number, place in enumerate(places):
        if place.key not in keys:
            if is_numbered or place.number + (offset or 0) not in _outer(place):
                return number
            is_numbered = True
    return len(places)


def _is_dense(places: list[Place]) -> bool:
    return len(places) >= MIN_DENSITY * (places[-1].number - places[0].number + 1)


def _is_counting(places: list[Place], unit: float) -> bool:
    """Whether there are no numbers in the lines, or one that grows by 1 with each `unit` of pages or lines."""
    steps = [(one, two, round((two.number - one.number) / unit)) for one, two in pairwise(places)]
    columns = min(len(place.numbers) for place in places)
    return not columns or any(
        sum(two.numbers[column] - one.numbers[column] == step for one, two, step in steps) >= MIN_COUNTING * len(steps) for column in range(columns)
    )


def _end_inside_sentences(text: str, bodies: list[tuple[int, int]]) -> bool:
    """Whether enough of the pages, given by their bodies, go on in the next one."""
    going_on = sum(_goes_on(text, one[1], two[0]) for one, two in pairwise(bodies))
    return going_on >= MIN_GOING_ON * (len(bodies) - 1) > 0


def _by_distance(text: str) -> list[Place]:
    """The running lines of a text without form feeds."""
    if text.count("\n") < MIN_REPEATED * MIN_LINES:
        return []
    if sum(1 for _ in PAGE_NUMBER.finditer(text)) < MIN_REPEATED and sum(1 for _ in PAGE_WORD.finditer(text)) < MIN_REPEATED:
        return []
    lines = [match.span() for match in LINE.finditer(text)]
    by_key: dict[str, list[Place]] = {}
    for number, (start, end) in enumerate(lines):
        place = _place(text, start, end, number)
        by_key.setdefault(place.key, []).append(place)
    regular = [places for key, places in by_key.items() if key and _is_regular(places)]
    numbers = sorted(place.number for places in regular if places[0].numbers for place in places)
    running = sorted(place for places in regular if _are_beside(places, numbers) for place in places)
    edges = {place.number for place in running}
    bodies = [number for number in range(len(lines)) if number not in edges and (number + 1 in edges or number - 1 in edges)]
    ends = [(one, two) for one, two in pairwise(bodies) if two - one > 1 and all(number in edges for number in range(one + 1, two))]
    going_on = sum(_goes_on(text, lines[one][1], lines[two][0]) for one, two in ends)
    return running if ends and going_on >= MIN_GOING_ON * len(ends) else []


def _are_beside(places: list[Place], numbers: list[int]) -> bool:
    """Whether lines stand where the lines with page numbers stand."""
    near = 0
    for place in places:
        behind = bisect_left(numbers, place.number - EDGE_LINES)
        near += behind < len(numbers) and numbers[behind] <= place.number + EDGE_LINES
    return near >= MIN_REGULAR * len(places)


def _is_regular(places: list[Place]) -> bool:
    """Whether lines follow one another at the distance of pages."""
    if len(places) < MIN_REPEATED:
        return False
    distances = [two.number - one.number for one, two in pairwise(places)]
    usual = median(distances)
    regular = sum(abs(distance - usual) <= max(2, SPREAD * usual) for distance in distances)
    return MIN_LINES <= usual <= MAX_LINES and regular >= MIN_REGULAR * len(distances) and _is_counting(places, usual)


def _place(text: str, start: int, end: int, number: int) -> Place:
    if end - start > MAX_HEAD:
        return Place(start, end, number, "", ())
    words = " ".join(text[start:end].split())
    if ROMAN.fullmatch(words):
        return Place(start, end, number, "#", (_roman(words.upper()),))
    return Place(start, end, number, NUMBER.sub("#", words), tuple(map(int, NUMBER.findall(words))))


def _roman(digits: str) -> int:
    values = [ROMAN_VALUES[digit] for digit in digits]
    return sum(-value if value < behind else value for value, behind in zip(values, [*values[1:], 0], strict=True))
