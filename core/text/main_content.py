"""Which blocks of a web page are its main text.

Every block has a value: what it says, counted where it reads like sentences, less what is inside links; short scraps and lists of links count
against. The main text is the element with the largest sum of values (an element that held more than the article would add menus, which weigh
negative), narrowed to a child that holds nearly all of it; inside it, elements that are mostly links and elements named like page furniture
are left out, and scraps before the first and behind the last sentence. A few passes over the elements: linear time.
"""

from __future__ import annotations

import re
from itertools import accumulate

from mspt.core.text.blocks import Block, Tree

# Set by hand on ../shared html_article_gold (F1 .939), html_zh_news (.890) and html_book_4lang; measured alternatives stand beside them.
HAN_UNITS = 2  # a Han character says about what two letters say; block lengths are in these units
SENTENCE_UNITS = 40  # a block of this length with a sentence mark reads like prose
LONG_UNITS = 120  # so does one of this length without
LINK_COST = 3.0  # a unit inside a link takes away this many
SCRAP_COST = 8.0  # a block that is no prose
LINK_LIST_SHARE = 0.5  # a block with more of it inside links is an entry of a list
MAX_PENALTY = 300  # what one element can take away from the element around it: 100 lets menus in (zh .865), 1000 loses chapters (book R -.03)
LINK_SENTENCE_SHARE = 0.8  # so does a single paragraph, but sentences hold references
NARROW_SHARE = 0.85  # step into a child with this share of the sum
FURNITURE_SHARE = 0.4  # an element with more of the page's prose than this is no furniture, whatever its name
TEASER_FACTOR = 0.25  # an excerpt of another page, cut off in the middle (1: zh .874)
TITLE_DISTANCE = 30  # blocks between headline and article
TITLE_INSIDE = 3  # blocks of the article that may be its headline already
MIN_TITLE_LETTERS = 4
SENTENCE_ENDS = frozenset('。，；！？…”」』.!?"')
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
PARTS = frozenset({"li", "dt", "dd", "tr", "td", "th"})  # go with their list or table
LEAVES = frozenset({"p", "li", "blockquote", "pre", "tr"})  # never the whole article, however long

HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7fb]")
SENTENCE_MARKS = re.compile("[。，、！？；：…]|[,.!?;:](?=\\s|[\"'”’)]|$)")
TEASER_END = re.compile(r"(?:\.\.\.|…)\W{0,3}$")
NAME_PART = re.compile("[A-Z]?[a-z]+|[A-Z]+")
FURNITURE_TAGS = frozenset({"nav", "aside", "footer", "menu", "form", "dir"})
FURNITURE_NAMES = frozenset({
    "ad", "ads", "advert", "advertisement", "adsense", "banner", "breadcrumb", "breadcrumbs", "byline", "comment", "comments", "contentinfo", "cookie",
    "cookies", "consent", "copyright", "crumb", "crumbs", "disqus", "footer", "gdpr", "hot", "login", "masthead", "menu", "modal", "nav", "navbar",
    "navigation", "newsletter", "outbrain", "pager", "pagination", "popup", "popular", "promo", "promotion", "rank", "recommend", "recommended", "related",
    "relate", "reply", "replies", "respond", "search", "share", "sharing", "sidebar", "signup", "social", "sponsor", "sponsored", "subscribe", "subscription",
    "taboola", "tag", "tags", "toolbar", "topbar", "trending", "widget",
})  # fmt: skip


def main_blocks(tree: Tree, title: str) -> list[int]:
    """Indices of the blocks that make up the main text, ascending; `title` as the page states it finds the headline before them."""
    if not tree.blocks:
        return []
    units = [_units(block) for block in tree.blocks]
    links = [block.link_characters * unit / len(block.text) for block, unit in zip(tree.blocks, units, strict=True)]
    values = [_value(block, unit, link) for block, unit, link in zip(tree.blocks, units, links, strict=True)]
    unit_sums, link_sums = _Sums(tree, units), _Sums(tree, links)
    for index, row in tree.data_rows().items():  # cells of data are no scraps, but a row of links is a menu
        values[index] = max(values[index], 1.0) if link_sums.of(row) <= LINK_LIST_SHARE * unit_sums.of(row) else values[index]
    dropped = _furniture(tree, _Sums(tree, [max(0.0, value) for value in values]))
    for node in dropped:
        for index in range(tree.first[node], tree.last[node]):
            values[index] = min(values[index], -SCRAP_COST)
    chosen = _choose(tree, values)
    dropped |= {
        node
        for node in _inside(tree, chosen)
        if node != chosen and tree.tags[node] not in PARTS and link_sums.of(node) > _link_limit(tree.tags[node]) * unit_sums.of(node)
    }
    kept = _trim(_remaining(tree, chosen, dropped), values)
    return _headline(tree, kept, title) + kept


class _Sums:
    """Sums over the blocks inside elements."""

    def __init__(self, tree: Tree, values: list[float]) -> None:
        self._tree = tree
        self._until = [0.0, *accumulate(values)]

    def of(self, node: int) -> float:
        return self._until[self._tree.last[node]] - self._until[self._tree.first[node]]


def _units(block: Block) -> float:
    return len(block.text) + (HAN_UNITS - 1) * len(HAN.findall(block.text))


def _value(block: Block, units: float, link_units: float) -> float:
    """What a block speaks for the element that it is in (> 0: prose)."""
    if link_units > LINK_LIST_SHARE * units:
        return -SCRAP_COST - units / 2
    if block.tag == "pre":
        return units
    if (units >= SENTENCE_UNITS and SENTENCE_MARKS.search(block.text)) or units >= LONG_UNITS:
        return (units - LINK_COST * link_units) * (TEASER_FACTOR if TEASER_END.search(block.text) else 1)
    if block.text[-1] in SENTENCE_ENDS or (block.tag == "li" and not link_units):  # dialogue, verse, a short opening, items
        return 1.0
    return 0.0 if block.tag in HEADINGS else -SCRAP_COST


def _furniture(tree: Tree, prose: _Sums) -> set[int]:
    """Topmost elements that are named like page furniture and do not hold too much of the page's prose."""
    limit = FURNITURE_SHARE * prose.of(0)
    inside: list[bool] = []
    found = set()
    for node, parent in enumerate(tree.parents):
        above = parent >= 0 and inside[parent]
        named = not above and (tree.tags[node] in FURNITURE_TAGS or not FURNITURE_NAMES.isdisjoint(map(str.lower, NAME_PART.findall(tree.names[node]))))
        inside.append(above or (named and prose.of(node) <= limit))
        if inside[-1] and not above:
            found.add(node)
    return found


def _choose(tree: Tree, values: list[float]) -> int:
    """The element with the largest sum, or the descendant that holds nearly all of it."""
    sums = [0.0] * len(tree.tags)
    for block, value in zip(tree.blocks, values, strict=True):
        sums[block.node] += value
    for node in range(len(sums) - 1, 0, -1):  # children stand behind their parent
        sums[tree.parents[node]] += max(sums[node], -MAX_PENALTY)
    chosen = max(range(len(sums)), key=lambda node: (sums[node], -node))
    for node in range(chosen + 1, len(sums)):
        if tree.first[node] >= tree.last[chosen]:
            break
        if tree.parents[node] == chosen and sums[node] >= NARROW_SHARE * sums[chosen] and tree.tags[node] not in LEAVES:
            chosen = node
    return chosen


def _link_limit(tag: str) -> float:
    return LINK_SENTENCE_SHARE if tag in LEAVES else LINK_LIST_SHARE


def _inside(tree: Tree, node: int) -> range:
    """The element and all elements inside it."""
    end = node + 1
    while end < len(tree.parents) and tree.parents[end] >= node:
        end += 1
    return range(node, end)


def _remaining(tree: Tree, chosen: int, dropped: set[int]) -> list[int]:
    """Blocks inside `chosen` and in none of the `dropped` elements."""
    kept: list[int] = []
    position = tree.first[chosen]
    for node in sorted(dropped):  # in order of their first block
        if tree.first[node] >= position and tree.last[node] <= tree.last[chosen]:
            kept += range(position, tree.first[node])
            position = tree.last[node]
    return kept + list(range(position, tree.last[chosen]))


def _trim(kept: list[int], values: list[float]) -> list[int]:
    """Less the scraps before the first and behind the last block of prose."""
    prose = [place for place, index in enumerate(kept) if values[index] > 0]
    return kept[prose[0] : prose[-1] + 1] if prose else []


def _headline(tree: Tree, kept: list[int], title: str) -> list[int]:
    """The heading before the main text that repeats the page's title, if there is one near."""
    if not kept:
        return []
    wanted = _letters(title)
    if any(_repeats(tree.blocks[index].text, wanted) for index in kept[:TITLE_INSIDE]):
        return []
    for index in range(kept[0] - 1, max(-1, kept[0] - 1 - TITLE_DISTANCE), -1):
        if _repeats(tree.blocks[index].text, wanted):
            return [index]
    return []


def _repeats(text: str, wanted: str) -> bool:
    """Whether `text` is the title, or the part of it without the site's name."""
    letters = _letters(text) if len(text) < 2 * len(wanted) + 20 else ""
    return len(letters) >= max(MIN_TITLE_LETTERS, len(wanted) / 3) and letters in wanted


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()
