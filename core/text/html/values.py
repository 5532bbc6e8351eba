"""What the blocks of a page are worth to its main text.

What a block says counts where it reads like sentences, less what is inside links; short scraps, lists of links and lines that templates leave
count against. Lengths are in units: a Han character counts 2, any other 1, so that a Chinese sentence weighs what its translation weighs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mspt.core.text.html.blocks import Block, Rows, Tree, count_units
from mspt.core.text.html.furniture import Texts
from mspt.core.text.html.leftovers import LineRule, Rules


@dataclass(frozen=True)
class Weights:
    """The constants of the choice, set by hand.

    `bench/web_pages.py --thirds` scores weights that were chosen on two thirds of the gold sites by the third left out: F1 .990 and .984, as with these.
    Within its GRID (about half to one and a half of each) F1 falls by at most .005; only a teaser_factor of 0.5 costs more (zh-news .015).
    """

    sentence_units: float = 40  # a block of this length with a sentence mark reads like prose
    long_units: float = 120  # so does one of this length without
    link_cost: float = 3.0  # a unit inside a link takes away this many
    scrap_cost: float = 8.0  # a block that is no prose
    link_share: float = 0.5  # a block or element with more of it inside links is a list of links
    link_data_share: float = 0.95  # a table of three columns may hold more
    link_sentence_share: float = 0.8  # a single paragraph may hold more: sentences refer
    max_penalty: float = 300  # what one element can take away from the element around it
    narrow_share: float = 0.85  # step into a child with this share of the sum
    furniture_share: float = 0.4  # an element with more of the page's prose than this is no furniture, whatever its name
    sure_share: float = 0.75  # nor is one whose name leaves no doubt, with more than this
    teaser_factor: float = 0.25  # an excerpt of another page, cut off in the middle
    before_headline: float = 0.5  # prose above the headline counts so much
    caption_share: float = 0.3  # captions without a mark of their own that make up more of the main text are the text
    leftover_share: float = 0.5  # so are lines that rules would leave out


DEFAULT = Weights()
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
SENTENCE_ENDS = frozenset('。，；！？…”」』.!?"')
FULL_STOPS = frozenset("。！？.!?")
SENTENCE_MARKS = re.compile("[。，、！？；：…]|[,.!?;:](?=\\s|[\"'”’)]|$)")
TOLD = re.compile("[。，！？；]|[.!?](?=\\s|[\"'”’)]|$)")  # marks of sentences that dates, names and labels do not have
CUT_END = re.compile(r"(?:\.\.\.|…)[\W]{0,4}(?:(?:详情|詳情|详细|全文|更多|阅读全文|more|read more)\W{0,3})?$")
MAX_CUT_END = 24  # characters
URLS = re.compile(r"https?://\S+")
ADDRESS = re.compile(r"(?:https?://|www\.)\S+$")


class Sums:
    """Sums over the blocks inside elements."""

    def __init__(self, tree: Tree, values: Sequence[float]) -> None:
        self._tree = tree
        self._until = [0.0, *accumulate(values)]

    def of(self, node: int) -> float:
        return self.between(self._tree.first[node], self._tree.last[node])

    def between(self, first: int, last: int) -> float:
        """Over the blocks from `first` to before `last`."""
        return self._until[last] - self._until[first] if first < last else 0.0


@dataclass
class Measures:
    """Of each block: units of text, of those in links, the value, and whether it reads like prose; of some, the rules for leftovers it falls under."""

    tree: Tree
    units: list[float]
    links: list[float]
    values: list[float]
    prose: list[bool]
    matches: dict[int, tuple[LineRule, ...]]
    weights: Weights

    def is_link(self, index: int) -> bool:
        """Whether a block is an entry of a list of links; a sentence may hold more links than an entry."""
        is_sentence = self.tree.blocks[index].text[-1] in FULL_STOPS
        return self.links[index] > (self.weights.link_sentence_share if is_sentence else self.weights.link_share) * self.units[index]


def measure(tree: Tree, rows: Rows, rules: Rules, weights: Weights) -> Measures:
    """Value the blocks of a page."""
    units = [float(count_units(block.text)) for block in tree.blocks]
    links = [
        0.0 if block.link_characters and ADDRESS.match(block.text) else block.link_characters * unit / len(block.text)
        for block, unit in zip(tree.blocks, units, strict=True)
    ]
    prose = [_is_prose(block, unit, link, weights) for block, unit, link in zip(tree.blocks, units, links, strict=True)]
    values, matches = [], {}
    for index, block in enumerate(tree.blocks):
        value = _value(block, units[index], links[index], prose[index], weights)
        if value > 1 and block.tag != "pre":  # prose: what counts less is judged when it is kept
            matches[index] = rules.matches(block.text)
            if matches[index]:
                value, prose[index] = -weights.scrap_cost, False
        values.append(value)
    measures = Measures(tree, units, links, values, prose, matches, weights)
    _value_tables(tree, rows, measures)
    return measures


def sum_texts(tree: Tree, measures: Measures) -> Texts:
    running = [unit - link for unit, link in zip(measures.units, measures.links, strict=True)]
    marks = [float(len(TOLD.findall(block.text))) if text > 0 else 0.0 for block, text in zip(tree.blocks, running, strict=True)]
    prose = Sums(tree, [max(0.0, value) for value in measures.values])
    said = Sums(tree, [unit if value > 0 else 0.0 for unit, value in zip(measures.units, measures.values, strict=True)])
    return Texts(Sums(tree, running).of, Sums(tree, marks).of, prose.of, said.between)


def is_cut(text: str) -> bool:
    """Whether a text breaks off, as excerpts of other pages do."""
    return CUT_END.search(text, max(0, len(text) - MAX_CUT_END)) is not None


def _is_prose(block: Block, units: float, link_units: float, weights: Weights) -> bool:
    if block.tag == "pre":
        return True
    if "://" in block.text and 2 * sum(map(len, URLS.findall(block.text))) > len(block.text):
        return False
    if link_units > weights.link_share * units:
        return units - link_units >= 2 * weights.sentence_units and block.tag == "p" and SENTENCE_MARKS.search(block.text) is not None
    if block.tag in HEADINGS:
        return units >= weights.long_units
    return units >= weights.long_units or (units >= weights.sentence_units and SENTENCE_MARKS.search(block.text) is not None)


def _value(block: Block, units: float, link_units: float, prose: bool, weights: Weights) -> float:
    """What a block speaks for the element that it is in."""
    if block.tag == "pre":
        return units
    if prose:
        return max(1.0, (units - weights.link_cost * link_units) * (weights.teaser_factor if is_cut(block.text) else 1))
    if link_units > weights.link_share * units:
        return -weights.scrap_cost - units / 2
    if block.tag in HEADINGS:
        return 0.0
    if block.text[-1] in SENTENCE_ENDS or (block.tag == "li" and not link_units):  # dialogue, verse, a short opening, items
        return 1.0
    return -weights.scrap_cost


def _value_tables(tree: Tree, rows: Rows, measures: Measures) -> None:
    """Cells of data are no scraps and their links no menu; a table of links is one."""
    units, links = Sums(tree, measures.units), Sums(tree, measures.links)
    limits = _link_limits(tree, rows, measures.weights)
    data = {table for table, share in limits.items() if links.of(table) <= share * units.of(table)}
    for index, row in rows.row.items():
        if rows.table[row] in data:
            measures.values[index], measures.links[index] = max(measures.values[index], 1.0), 0.0


def _link_limits(tree: Tree, rows: Rows, weights: Weights) -> dict[int, float]:
    """For each table of data, the share of links from which on it is a menu: of two columns one may be dates, three columns make no menu."""
    cells: dict[int, set[int]] = {}
    for index, row in rows.row.items():
        cells.setdefault(row, set()).add(rows.cell[index])
    wide = {rows.table[row] for row, inside in cells.items() if len(inside) >= 3 or any(tree.tags[cell] == "th" for cell in inside)}
    return {table: weights.link_data_share if table in wide else weights.link_share for table in rows.table.values()}
