"""Spans and the one way to change text under them.

Whoever changes text says so as a list of edits; `edit` applies them and moves the spans, so that text and spans cannot part. Positions count
code points. Spans are kept sorted by (start, -end): an outer span stands before the spans inside it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """A stretch [start, end) of a text that came from one element: h1..h6, p, li, pre, code, math (a formula), blockquote, tr, caption."""

    tag: str
    start: int
    end: int


class Edit(NamedTuple):
    """Put `replacement` in the place of text[start:end]."""

    start: int
    end: int
    replacement: str


def edit(text: str, spans: Sequence[Span], edits: Sequence[Edit]) -> tuple[str, tuple[Span, ...]]:
    """`text` with `edits` applied, and its spans moved along.

    Edits must be sorted, must not overlap and must lie inside the text, else ValueError. A border of a span that lies inside an edit moves
    behind the replacement (so that neighbours never overlap); text inserted exactly at a border stays outside the span; spans left empty
    are dropped.
    """
    _check(edits, len(text))
    return _apply(text, edits), move(spans, edits)


def sort_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in their one order: by start, the longer first, then by tag."""
    return tuple(sorted(spans, key=lambda span: (span.start, -span.end, span.tag)))


def _check(edits: Sequence[Edit], length: int) -> None:
    if any(one.start > one.end for one in edits) or any(one.end > two.start for one, two in pairwise(edits)):
        raise ValueError("edits overlap or are not sorted")
    if edits and (edits[0].start < 0 or edits[-1].end > length):
        raise ValueError(f"edits reach beyond the text of {length} characters")


def _apply(text: str, edits: Sequence[Edit]) -> str:
    parts, position = [], 0
    for start, end, replacement in edits:
        parts.append(text[position:start])
        parts.append(replacement)
        position = end
    parts.append(text[position:])
    return "".join(parts)


def move(spans: Sequence[Span], edits: Sequence[Edit]) -> tuple[Span, ...]:
    """The spans of a text, moved along with edits that are sorted and do not overlap, as in `edit`."""
    if not spans or not edits:
        return tuple(spans)
    starts = [one.start for one in edits]
    ends = [one.end for one in edits]
    # growth[k]: by how much the text has grown after the first k edits
    growth = [0, *accumulate(len(one.replacement) - (one.end - one.start) for one in edits)]

    def opening(position: int) -> int:
        done = bisect_right(ends, position)  # edits that end at or before it are wholly behind it, insertions included
        if done < len(edits) and starts[done] < position:  # inside this edit: go behind its replacement
            return ends[done] + growth[done + 1]
        return position + growth[done]

    def closing(position: int) -> int:
        done = bisect_left(starts, position)  # edits that start before it; an insertion at the border does not count
        return max(position, ends[done - 1]) + growth[done] if done else position

    moved = (Span(tag, opening(start), closing(end)) for tag, start, end in spans)
    return sort_spans(span for span in moved if span.start < span.end)
