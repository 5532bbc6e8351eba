"""Elements of a page that are not its text, by their tags and names: navigation, advertising, notices, comments, pictures' captions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from mspt.core.text.html.blocks import Tree

NAME_PART = re.compile("[A-Z]?[a-z]+|[A-Z]+")
FURNITURE_TAGS = frozenset({"nav", "aside", "footer", "menu", "form", "dir", "marquee"})
FURNITURE_NAMES = frozenset({
    "ad", "ads", "advert", "advertisement", "adsense", "banner", "breadcrumb", "breadcrumbs", "byline", "comment", "comments", "contentinfo", "cookie",
    "cookies", "consent", "copyright", "crumb", "crumbs", "disqus", "footer", "gdpr", "hot", "login", "masthead", "menu", "modal", "nav", "navbar",
    "navigation", "newsletter", "noprint", "outbrain", "pager", "pagination", "popup", "popular", "promo", "promotion", "rank", "recommend", "recommended",
    "related", "relate", "reply", "replies", "respond", "search", "share", "sharing", "sidebar", "signup", "social", "sponsor", "sponsored", "subscribe",
    "subscription", "taboola", "tag", "tags", "toolbar", "topbar", "trending", "widget", "pinglun", "gentie",
})  # fmt: skip
# Names that no author gives to an article: an element may hold more of the page's prose and still be furniture.
SURE_TAGS = frozenset({"nav", "footer", "menu"})
SURE_NAMES = frozenset({
    "breadcrumb", "breadcrumbs", "consent", "contentinfo", "cookie", "cookies", "copyright", "footer", "gdpr", "login", "masthead", "navbar", "navigation",
    "newsletter", "outbrain", "sidebar", "taboola", "toolbar",
})  # fmt: skip
COMMENT_NAMES = frozenset({"comment", "comments", "disqus", "respond", "pinglun", "gentie"})
MIN_ARTICLE = 40  # units of sentences before comments
CAPTION_NAMES = frozenset({"caption", "captions", "figcaption", "credit", "credits", "thumbcaption"})
FIGURE_TEXT = frozenset({"table", "pre", "blockquote"})  # what a <figure> may hold that is no caption


@dataclass(frozen=True)
class Texts:
    """Sums over elements: text outside links in units, sentence marks, prose (values above 0); and units of the sentences in a run of blocks."""

    running: Callable[[int], float]
    marks: Callable[[int], float]
    prose: Callable[[int], float]
    said_between: Callable[[int, int], float]


@lru_cache(maxsize=20_000)
def name_parts(names: str) -> frozenset[str]:
    """The words in class, id and role of an element."""
    return frozenset(part.lower() for part in NAME_PART.findall(names))


def find_furniture(tree: Tree, texts: Texts, headline: int, max_share: float, max_sure_share: float) -> set[int]:
    """Topmost elements that are named like page furniture and do not hold too much of the page's prose.

    What readers say below an article is furniture however much it is. headline: the block where the article begins.
    """
    total = texts.prose(0)
    inside: list[bool] = []
    found = set()
    for node, parent in enumerate(tree.parents):
        above = parent >= 0 and inside[parent]
        named = not above and (tree.tags[node] in FURNITURE_TAGS or not FURNITURE_NAMES.isdisjoint(name_parts(tree.names[node])))
        share = max_sure_share if named and _is_sure(tree, node) else max_share
        inside.append(above or (named and (texts.prose(node) <= share * total or _is_commentary(tree, node, texts, headline))))
        if inside[-1] and not above:
            found.add(node)
    return found


def _is_commentary(tree: Tree, node: int, texts: Texts, headline: int) -> bool:
    is_named = not COMMENT_NAMES.isdisjoint(name_parts(tree.names[node]))
    return is_named and texts.said_between(headline, tree.first[node]) >= MIN_ARTICLE


def _is_sure(tree: Tree, node: int) -> bool:
    return tree.tags[node] in SURE_TAGS or not SURE_NAMES.isdisjoint(name_parts(tree.names[node]))


def is_caption(tree: Tree, index: int) -> bool:
    """Whether a block is the caption or credit of a picture."""
    block = tree.blocks[index]
    node, depth = block.node, 0
    while node >= 0 and depth < 4:
        if tree.tags[node] in FIGURE_TEXT:
            return False
        if tree.tags[node] in ("figure", "figcaption") or not CAPTION_NAMES.isdisjoint(name_parts(tree.names[node])):
            return True
        node, depth = tree.parents[node], depth + 1
    return False
