"""The chosen blocks of a page as one text, with the spans of its elements."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mspt.core.text.html.blocks import Rows, Tree
from mspt.core.text.html.reader import WRAPPERS
from mspt.core.text.spans import Span, sort_spans

BETWEEN_CELLS = " | "  # plain-text editions draw tables so; white space alone would run the cells of a row together


def write(tree: Tree, kept: Sequence[int], rows: Rows, ends: dict[int, int]) -> tuple[str, tuple[Span, ...], list[int]]:
    """The text of the blocks with the indices `kept` (ascending), its spans, and where each block begins.

    ends: block -> how much of its text is written, for those that lose their tail.
    """
    parts: list[str] = []
    places: list[tuple[int, int]] = []  # of the kept blocks in the text
    leaves: list[Span] = []
    inline: list[Span] = []
    position = 0
    for previous, index in pairwise([-1, *kept]):
        block = tree.blocks[index]
        text = block.text[: ends.get(index)]
        gap = _gap(tree, previous, index, rows) if places else ""
        start, position = position + len(gap), position + len(gap) + len(text)
        parts += (gap, text)
        places.append((start, position))
        inline += (Span(tag, start + one, min(position, start + two)) for tag, one, two in block.inline if start + one < position)
        if index not in rows.row and block.tag not in WRAPPERS:
            line_of_same = gap == "\n" and leaves and leaves[-1].tag == block.tag
            leaves.append(Span(block.tag, leaves.pop().start if line_of_same else start, position))
    wrapping = _wrapping(tree, kept, places, frozenset(rows.row.values()))
    return "".join(parts), sort_spans([*leaves, *inline, *wrapping]), [start for start, _ in places]


def _gap(tree: Tree, previous: int, index: int, rows: Rows) -> str:
    """What stands between two kept blocks: a bar between cells, a line end between rows, items and lines, else a blank line."""
    one, two = tree.blocks[previous], tree.blocks[index]
    if previous in rows.row and index in rows.row:
        if rows.row[previous] == rows.row[index]:
            return " " if rows.cell[previous] == rows.cell[index] else BETWEEN_CELLS
        if rows.table[rows.row[previous]] == rows.table[rows.row[index]]:
            return "\n"
    if one.node == two.node and two.breaks == 1 and index == previous + 1:
        return "\n"
    return "\n" if one.tag == two.tag == "li" else "\n\n"


def _wrapping(tree: Tree, kept: Sequence[int], places: list[tuple[int, int]], rows: frozenset[int]) -> Iterator[Span]:
    """Spans of the elements that may hold several blocks: items, quotes, table rows."""
    for node, tag in enumerate(tree.tags):
        if tag in WRAPPERS or node in rows:
            low, high = bisect_left(kept, tree.first[node]), bisect_left(kept, tree.last[node])
            if low < high:
                yield Span(WRAPPERS.get(tag, "tr"), places[low][0], places[high - 1][1])
