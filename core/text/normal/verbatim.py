"""What stands in a text and is no prose: code, addresses, paths. Steps that change signs leave it alone."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

from mspt.core.text.normal.document import Document

MAX_INLINE_CODE = 200  # characters between backticks, as in scan.py
INLINE_CODE = re.compile(r"`(?<!``)(`{0,2}+)(?!`)[^`\n]{1,200}`\1(?!`)")
INDENTED = re.compile(r"\n(?: {4}|\t)[^\n]*")

# Addresses are sought by what is rare in them; their first and last letters are then looked for around it. Marks at the end belong to the sentence.
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,11}\Z")
ADDRESS_REST = re.compile(r"[!#-;=?-Z_a-z~]*[A-Za-z0-9/=&#%_~+-]")  # RFC 3986, less brackets: no quotes, <>, \\^`{|}
LINK_TARGET = re.compile(r"[^\s()]{0,2000}(?:\([^\s()]{0,2000}\)[^\s()]{0,2000})?")
DRIVE = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]\Z")
PATH_REST = re.compile(r"[^\s\"'<>|*?，。；：！？、）」』]*")  # behind C:\


class Regions:
    """Stretches [start, end) of a text, merged and in order."""

    def __init__(self, found: list[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(found):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            elif start < end:
                self.starts.append(start)
                self.ends.append(end)

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """All of them, [start, end)."""
        return list(zip(self.starts, self.ends, strict=True))

    def touch(self, start: int, end: int) -> bool:
        """Whether a stretch overlaps [start, end)."""
        before = bisect_left(self.starts, end)  # stretches that start before its end
        return before > 0 and self.ends[before - 1] > start


@lru_cache(maxsize=4)  # several steps ask for the same document
def verbatim(document: Document, *, addresses: bool = False, indented: bool = False) -> Regions:
    """What of a document is code or a path of Windows; and addresses; and, where `indented`, lines indented by four blanks or a tab, which may be code."""
    text = document.text
    if document.form == "code":
        return Regions([(0, len(text))])
    found = list(_code(document))
    if indented and ("    " in text or "\t" in text):
        found += (match.span() for match in INDENTED.finditer(text))
        if text.startswith(("    ", "\t")):
            found.append((0, len(text.partition("\n")[0])))
    if addresses:
        found += _addresses(text)
    return Regions(found)


@lru_cache(maxsize=2)
def _code(document: Document) -> list[tuple[int, int]]:
    text = document.text
    found = [*document.elements, *((start, end) for start, end in document.fences.tolist())]
    if "`" in text:
        found += (match.span() for match in INLINE_CODE.finditer(text))
    found += _paths(text)
    return found


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    """Internet addresses and the targets of Markdown links."""
    for sign, rest in (("://", ADDRESS_REST), ("www.", ADDRESS_REST), ("mailto:", ADDRESS_REST), ("](", LINK_TARGET)):
        place = text.find(sign)
        while place >= 0:
            inside = place + len(sign)
            match = rest.match(text, inside)
            end = match.end() if match else inside
            yield _scheme_start(text, place) if sign == "://" else place, end
            place = text.find(sign, end)


def _scheme_start(text: str, place: int) -> int:
    scheme = SCHEME.search(text[max(0, place - 12) : place])
    return place - len(scheme[0]) if scheme else place


def _paths(text: str) -> Iterator[tuple[int, int]]:
    place = text.find(":\\")
    while place >= 0:
        end = place + 2
        if DRIVE.search(text[max(0, place - 2) : place]) and (rest := PATH_REST.match(text, end)):
            end = rest.end()
            yield place - 1, end
        place = text.find(":\\", end)
