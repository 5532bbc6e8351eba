"""A web page as a tree of block elements and a list of blocks, the stretches of text that stand on lines of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

CELLS = frozenset({"td", "th"})
MAX_CELL_CHARACTERS = 400  # a cell with more is a column of a page laid out by tables


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of text: white space collapsed, or exact under pre."""

    text: str
    node: int  # the block element that it hangs under, an index into Tree
    tag: str  # of its span: h1..h6, p, li, pre, blockquote
    link_characters: int  # how much of the text is inside links
    breaks: int  # how many <br> stand before it
    codes: list[tuple[int, int]]  # inline code, as positions in text


@dataclass
class Tree:
    """Block elements in document order; the lists run in parallel. A parent stands before its children."""

    parents: list[int] = field(default_factory=list)  # -1 for the root
    tags: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # class, id and role
    first: list[int] = field(default_factory=list)  # the blocks inside are blocks[first:last]
    last: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def open(self, parent: int, tag: str, names: str) -> int:
        """A new element under `parent`; its index."""
        self.parents.append(parent)
        self.tags.append(tag)
        self.names.append(names)
        self.first.append(len(self.blocks))
        self.last.append(len(self.blocks))
        return len(self.tags) - 1

    def close(self, node: int) -> None:
        """All blocks added since `open` are inside the element."""
        self.last[node] = len(self.blocks)

    def data_rows(self) -> dict[int, int]:
        """Block -> its table row, for tables that hold data: no table inside, one block or lines of one in each cell, and at least two rows
        of two cells. All other tables are layout, and their cells stand for themselves."""
        table_of = self._nearest("table")
        row_of = self._nearest("tr")
        layout = {table_of[parent] for parent, tag in zip(self.parents, self.tags, strict=True) if tag == "table" and parent >= 0}
        wide_rows: dict[int, int] = {}  # table -> rows with two cells or more
        cells: dict[int, int] = {}  # row -> cells
        for node, tag in enumerate(self.tags):
            if tag in CELLS and self.first[node] < self.last[node]:
                inside = self.blocks[self.first[node] : self.last[node]] if self.last[node] - self.first[node] < 10 else []
                lines = inside and (len(inside) == 1 or all(block.node == node for block in inside))
                if not lines or sum(len(block.text) for block in inside) > MAX_CELL_CHARACTERS:
                    layout.add(table_of[node])
                cells[row_of[node]] = cells.get(row_of[node], 0) + 1
                if cells[row_of[node]] == 2:
                    wide_rows[table_of[node]] = wide_rows.get(table_of[node], 0) + 1
        data = {table for table, rows in wide_rows.items() if rows >= 2 and table not in layout and table >= 0}
        placed = ((index, block.node) for index, block in enumerate(self.blocks))
        return {index: row_of[node] for index, node in placed if table_of[node] in data and row_of[node] >= 0}

    def _nearest(self, tag: str) -> list[int]:
        """For each element the nearest `tag` element at or above it, -1 where there is none."""
        nearest: list[int] = []
        for node, parent in enumerate(self.parents):
            nearest.append(node if self.tags[node] == tag else nearest[parent] if parent >= 0 else -1)
        return nearest
