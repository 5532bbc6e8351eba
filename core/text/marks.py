"""Places in a text that changes: a mark is a span of one character, which `spans.edit` carries along like any other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mspt.core.text.spans import Span

MARK, BEHIND = "\0", ">"  # how the tags of marks begin; how those end that mean the place behind their character


def mark(name: str, place: int, text: str) -> Span:
    """The mark of a place in `text`, which is not empty: the character there or, at the end of the text, the one before it."""
    is_end = place >= len(text)
    start = len(text) - 1 if is_end else place
    return Span(f"{MARK}{name}{BEHIND if is_end else ''}", start, start + 1)


def is_mark(span: Span) -> bool:
    return span.tag.startswith(MARK)


def places(spans: Iterable[Span], names: Sequence[str], length: int) -> list[int]:
    """Where the marked places are now, in a text of `length` characters. Names are in the order of the places; where the character of a mark is gone, its
    place is that of the next."""
    marked = {span.tag[len(MARK) :].rstrip(BEHIND): span.end if span.tag.endswith(BEHIND) else span.start for span in spans if is_mark(span)}
    found, place = [], length
    for name in reversed(names):
        place = marked.get(name, min(place, length))
        found.append(place)
    return found[::-1]
