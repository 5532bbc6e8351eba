"""Elements of a page that repeat: the posts of a thread, which are its text, and the teasers of other pages, which are not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from mspt.core.text.html.blocks import Block, Tree, count_units
from mspt.core.text.html.furniture import COMMENT_NAMES, MIN_ARTICLE, Texts, name_parts

DIGITS = re.compile(r"\d+")
POST_TAGS = frozenset({"div", "td", "article", "section", "p", "blockquote", "dd", "li"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# What stands between two posts and not between two paragraphs: when, by whom, and the how-manieth.
POST_MARK = re.compile(
    r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}|\d{1,2}[-/]\d{1,2}\s+\d{1,2}:\d\d|\d\s?(?:秒|分钟|分鐘|小时|小時|天|日|周|个月|個月|月|年)\s?前|刚刚|昨天|前天|(?:今|昨)天"
    r"|(?:^|\D)\d{1,5}\s?(?:楼|樓|[#＃]|层|層)|[#＃]\d{1,5}\b|楼主|樓主|沙发|沙發|板凳|发表于|發表於|回复于|回答于|编辑于|編輯於|发布于|posted|replied|joined:"
    r"|(?:answered|asked|edited|wrote|said)\b|\b\d+\s?(?:seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?)\s+ago"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? \d{1,2},? (?:'?\d\d|(?:19|20)\d\d)", re.IGNORECASE
)  # fmt: skip
BROTHER_TAGS = frozenset({"table", "div", "dl", "li", "tr"})
MAX_WAY = 100  # characters of the way inside unnamed brothers
MAX_GAP = 40  # blocks between two posts that are looked at
MAX_MARK = 200  # characters of a line with a mark
MIN_POSTS = 3
MIN_DECLARED_POSTS = 2  # where the page says that it is a thread
MIN_SHARE = 0.5  # of the page's sentence marks that stand in posts
MIN_MARKED = 0.6  # of the gaps between posts that hold a mark
TIGHT = 0.9  # of the most marks: among elements that hold about as many, the smallest are the posts themselves
MIN_TEASERS = 4
MIN_TEASER_SHARE = 0.75  # of brothers
TEASER_TAGS = frozenset({"div", "li", "article", "section", "dl", "table", "a"})
TEASER_UNITS = 260  # running text of one teaser
LONG_TITLE_UNITS = 18  # of a title that is no heading; names are shorter
MAX_TEASER_BLOCKS = 12
MAX_DATE = 24  # characters of a date beside a title
MIN_TITLE_UNITS = 6  # of the link that a teaser has on a line of its own


def find_posts(tree: Tree, texts: Texts, headline: int, declared: bool) -> list[int]:
    """The elements that hold the posts of a thread, in order; [] when the page is none.

    headline: the block where the page's own text begins; declared: the page says that it is a thread.
    """
    candidates = []
    for nodes in _alike(tree):
        if len(nodes) >= (MIN_DECLARED_POSTS if declared else MIN_POSTS) and _are_posts(tree, nodes, texts, headline, declared):
            candidates.append((sum(map(texts.marks, nodes)), nodes))
    most = max((marks for marks, _ in candidates), default=0.0)
    near = [nodes for marks, nodes in candidates if marks >= TIGHT * most]
    return min(near, key=lambda nodes: sum(map(texts.running, nodes)), default=[])


def _alike(tree: Tree) -> Iterator[list[int]]:
    """Elements of the same tag and name, numbers aside, none inside another; where names are wanting, those in the same place of unnamed brothers."""
    groups: dict[tuple[int, str, str], list[int]] = {}
    ways: dict[int, tuple[int, str]] = {}  # element -> the parent of the unnamed brothers around it, and the way from the brother to it
    children = [0] * len(tree.tags)
    for node, (tag, parent) in enumerate(zip(tree.tags, tree.parents, strict=True)):
        name = tree.names[node].strip()
        if parent in ways and len(ways[parent][1]) < MAX_WAY:
            brothers, way = ways[parent]
            ways[node] = (brothers, f"{way}/{tag}{children[parent]}")
        elif not name and tag in BROTHER_TAGS:
            ways[node] = (parent, tag)
        children[max(parent, 0)] += 1
        if tree.first[node] < tree.last[node] and (name or node in ways) and tag in POST_TAGS:
            group = groups.setdefault((-1, tag, DIGITS.sub("", name)) if name else (*ways[node], ""), [])
            if not group or node >= tree.end[group[-1]]:
                group.append(node)
    yield from groups.values()


def _are_posts(tree: Tree, nodes: list[int], texts: Texts, headline: int, declared: bool) -> bool:
    if sum(map(texts.marks, nodes)) < max(1, MIN_SHARE * texts.marks(0)):
        return False
    gaps = [range(tree.last[one], tree.first[two])[:MAX_GAP] for one, two in pairwise(nodes)]
    marked = sum(any(_is_mark(tree, index) for index in (*gap, *_opening(tree, node))) for gap, node in zip(gaps, nodes[1:], strict=True))
    if marked < MIN_MARKED * len(gaps):
        return False
    titled = sum(any(_is_title_link(tree, index) for index in (*gap, *_opening(tree, node))) for gap, node in zip(gaps, nodes[1:], strict=True))
    if titled > MIN_MARKED * len(gaps):  # a list of pages
        return False
    return declared or not _is_commentary(tree, nodes[0]) or texts.said_between(headline, tree.first[nodes[0]]) < MIN_ARTICLE


def _opening(tree: Tree, node: int) -> range:
    """The first blocks of a post, where its date may stand."""
    return range(tree.first[node], min(tree.last[node], tree.first[node] + 2))


def _is_mark(tree: Tree, index: int) -> bool:
    text = tree.blocks[index].text
    return len(text) <= MAX_MARK and POST_MARK.search(text) is not None


def _is_title_link(tree: Tree, index: int) -> bool:
    """Whether a line is the linked title of another page, and not a name, a date or the title of a reply."""
    block = tree.blocks[index]
    if block.text.lower().startswith(("re:", "re：", "回复", "回覆")) or not _names_page(block):
        return False
    return block.tag in HEADINGS or count_units(block.text) * block.link_characters >= LONG_TITLE_UNITS * len(block.text)


def _is_commentary(tree: Tree, node: int) -> bool:
    """Whether an element, one around it or one inside is named like what readers say."""
    around = [node]
    while tree.parents[around[-1]] >= 0:
        around.append(tree.parents[around[-1]])
    return any(not COMMENT_NAMES.isdisjoint(name_parts(tree.names[one])) for one in (*around, *tree.inside(node)))


def find_teasers(tree: Tree, texts: Texts, max_share: float) -> set[int]:
    """Elements that name other pages: at least four brothers of one name, each a linked title on its own line and a little text.

    max_share: of the page's prose; brothers that hold more are what the page is about.
    """
    found: set[int] = set()
    brothers: dict[tuple[int, str, str], list[int]] = {}
    for node, tag in enumerate(tree.tags):
        if tag in TEASER_TAGS and tree.last[node] - tree.first[node] >= 2:
            brothers.setdefault((tree.parents[node], tag, DIGITS.sub("", tree.names[node])), []).append(node)
    for nodes in brothers.values():
        teasers = [node for node in nodes if _is_teaser(tree, node, texts)] if len(nodes) >= MIN_TEASERS else []
        if len(teasers) >= max(MIN_TEASERS, MIN_TEASER_SHARE * len(nodes)) and sum(map(texts.prose, teasers)) <= max_share * texts.prose(0):
            found.update(teasers)
    return found


def _is_teaser(tree: Tree, node: int, texts: Texts) -> bool:
    if texts.running(node) > TEASER_UNITS or tree.last[node] - tree.first[node] > MAX_TEASER_BLOCKS:
        return False
    return any(_names_page(block) for block in tree.blocks[tree.first[node] : tree.last[node]])


def _names_page(block: Block) -> bool:
    """Whether a line is a linked title, with nothing else but a date."""
    rest = len(block.text) - block.link_characters
    is_link = rest <= 0.1 * len(block.text) or (rest <= MAX_DATE and POST_MARK.search(block.text) is not None)
    return is_link and 2 * block.link_characters >= MIN_TITLE_UNITS
