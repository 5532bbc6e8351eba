"""A web page as a tree of block elements and a list of blocks, the stretches of text that stand on lines of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mspt.core.text.spans import Span

CELLS = frozenset({"td", "th"})
MAX_CELL_CHARACTERS = 400  # a cell with more is a column of a page laid out by tables
MAX_CELL_BLOCKS = 9  # so is one with more lines
HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7fb]+")
HAN_UNITS = 2  # a Han character says about what two letters say; lengths are compared in these units


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of text: white space collapsed, or exact under pre."""

    text: str
    node: int  # the block element that it hangs under, an index into Tree
    tag: str  # of its span: h1..h6, p, li, pre, blockquote, caption, math
    link_characters: int  # how much of the text is inside links
    breaks: int  # how many <br> stand before it
    inline: tuple[Span, ...]  # code and math inside, as positions in the text
    after_image: bool  # nothing but a picture stands between it and the block before


@dataclass
class Tree:
    """Block elements in document order; the lists run in parallel. A parent stands before its children."""

    parents: list[int] = field(default_factory=list)  # -1 for the root
    tags: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # class, id, role and itemprop
    first: list[int] = field(default_factory=list)  # the blocks inside are blocks[first:last]
    last: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)  # the elements inside are those before this index
    blocks: list[Block] = field(default_factory=list)

    def open(self, parent: int, tag: str, names: str) -> int:
        """A new element under `parent`; its index."""
        self.parents.append(parent)
        self.tags.append(tag)
        self.names.append(names)
        self.first.append(len(self.blocks))
        self.last.append(len(self.blocks))
        self.end.append(len(self.tags))
        return len(self.tags) - 1

    def close(self, node: int) -> None:
        """All blocks and elements added since `open` are inside the element."""
        self.last[node] = len(self.blocks)
        self.end[node] = len(self.tags)

    def inside(self, node: int) -> range:
        """The element and all elements in it."""
        return range(node, self.end[node])

    def nearest(self, tags: frozenset[str]) -> list[int]:
        """For each element the nearest one of `tags` at or above it, -1 where there is none."""
        found: list[int] = []
        for node, parent in enumerate(self.parents):
            found.append(node if self.tags[node] in tags else found[parent] if parent >= 0 else -1)
        return found


@dataclass(frozen=True)
class Rows:
    """The tables that hold data. row: block -> its <tr>; cell: block -> its <td> or <th>; table: <tr> -> its <table>."""

    row: dict[int, int] = field(default_factory=dict)
    cell: dict[int, int] = field(default_factory=dict)
    table: dict[int, int] = field(default_factory=dict)


def data_rows(tree: Tree) -> Rows:
    """Blocks in tables that hold data: no table, preformatted text or long text in a cell, several paragraphs only where the table has a heading,
    and at least two rows of two cells. All other tables are layout, and their cells stand for themselves."""
    if "table" not in tree.tags:
        return Rows()
    table_of, row_of, cell_of = (tree.nearest(frozenset(tags)) for tags in (("table",), ("tr",), ("td", "th")))
    layout = {table_of[parent] for parent, tag in zip(tree.parents, tree.tags, strict=True) if tag == "table" and parent >= 0}
    headed = {table_of[node] for node, tag in enumerate(tree.tags) if tag in ("th", "caption")}
    wide_rows: dict[int, int] = {}  # table -> rows with two cells or more
    cells: dict[int, int] = {}  # row -> cells
    for node, tag in enumerate(tree.tags):
        if tag in CELLS and tree.first[node] < tree.last[node] and row_of[node] >= 0:
            if _is_column(tree, node, table_of[node] in headed):
                layout.add(table_of[node])
            cells[row_of[node]] = cells.get(row_of[node], 0) + 1
            if cells[row_of[node]] == 2:
                wide_rows[table_of[node]] = wide_rows.get(table_of[node], 0) + 1
    data = {table for table, rows in wide_rows.items() if rows >= 2 and table not in layout and table >= 0}
    inside = [(index, block.node) for index, block in enumerate(tree.blocks) if table_of[block.node] in data and cell_of[block.node] >= 0]
    return Rows(
        row={index: row_of[node] for index, node in inside if row_of[node] >= 0},
        cell={index: cell_of[node] for index, node in inside if row_of[node] >= 0},
        table={row_of[node]: table_of[node] for _, node in inside if row_of[node] >= 0},
    )


def _is_column(tree: Tree, cell: int, headed: bool) -> bool:
    """Whether a cell holds more than a datum."""
    first, last = tree.first[cell], tree.last[cell]
    if last - first > MAX_CELL_BLOCKS:
        return True
    inside = tree.blocks[first:last]
    several = len(inside) > 1 and any(block.node != cell for block in inside)
    return (several and not headed) or any(block.tag == "pre" for block in inside) or sum(len(block.text) for block in inside) > MAX_CELL_CHARACTERS


def count_units(text: str) -> int:
    """Length of a text, a Han character counted twice."""
    return len(text) if text.isascii() else len(text) + (HAN_UNITS - 1) * sum(map(len, HAN.findall(text)))
