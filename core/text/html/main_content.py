"""Which blocks of a web page are its main text.

A page that is a thread gives its posts. Any other gives the element with the largest sum of values (one that held more than the article would add
menus, which weigh negative), narrowed to a child that holds nearly all of it; inside it, elements that are mostly links and elements named like
page furniture are left out, and of what remains the run of blocks with the largest sum is kept, with the short lines that belong to it. Then
captions and leftovers are cut. A few passes over the elements: linear time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mspt.core.text.html.blocks import Rows, Tree
from mspt.core.text.html.cuts import Choice, is_dated, leave_out_bare_headings, leave_out_captions, leave_out_leftovers
from mspt.core.text.html.furniture import find_furniture
from mspt.core.text.html.groups import find_posts, find_teasers
from mspt.core.text.html.head import Head
from mspt.core.text.html.headline import find_headline, place_headline
from mspt.core.text.html.leftovers import NO_RULES, Rules
from mspt.core.text.html.values import DEFAULT, HEADINGS, Measures, Sums, Weights, is_cut, measure, sum_texts

MAX_STRANGE = 8  # blocks of other elements between two lines of one element
PARTS = frozenset({"li", "dt", "dd", "tr", "td", "th", "tbody", "thead"})  # go with their list or table
SENTENCES = frozenset({"p", "li", "blockquote", "pre", "tr"})
LISTS = frozenset({"ul", "ol", "dl"})
SHARED_HOMES = frozenset({"p", "li", "blockquote", "pre", "ul", "ol", "dl", "dt", "dd"}) | HEADINGS  # lines in them belong to the element around


def choose_blocks(tree: Tree, head: Head, rows: Rows, rules: Rules, weights: Weights = DEFAULT) -> Choice:
    """The main text of a page."""
    if not tree.blocks:
        return Choice()
    measures = measure(tree, rows, rules, weights)
    texts = sum_texts(tree, measures)
    title = head.headline or head.title
    headline = find_headline(tree, title)
    furniture = find_furniture(tree, texts, headline or 0, weights.furniture_share, weights.sure_share)
    posts = [] if head.is_article and not head.is_thread else find_posts(tree, texts, headline or 0, head.is_thread)
    if posts:
        choice = Choice(_thread(tree, posts, headline or 0, furniture, measures))
    else:
        teasers = find_teasers(tree, texts, weights.furniture_share if head.is_article else 1.0)
        choice = Choice(_text(tree, headline or 0, furniture, teasers, measures, rules))
        if not choice.kept and sum(measures.links) < weights.link_share * sum(measures.units):  # no front page: one about rights
            choice.kept = _plain_words(tree, furniture | teasers, measures, NO_RULES)
        choice.is_news = head.is_article or is_dated(tree, headline, choice.kept)
        if choice.is_news:
            leave_out_captions(choice, tree, measures)
    place_headline(choice, tree, rows, title, headline, is_stated=bool(head.headline))
    leave_out_leftovers(choice, tree, rows, rules, measures)
    leave_out_bare_headings(choice, tree)
    return choice


def _thread(tree: Tree, posts: list[int], start: int, furniture: set[int], measures: Measures) -> list[int]:
    """All posts, and the text between the headline (block `start`) and the first of them, which may be the question."""
    before = [index for index in _remaining(tree, 0, furniture) if start <= index < tree.first[posts[0]]]
    lead = _grow(tree, _densest(before, measures.values), before, measures)
    lead = lead if any(measures.prose[index] for index in lead) else []
    return lead + [index for node in posts for index in range(tree.first[node], tree.last[node])]


def _text(tree: Tree, start: int, furniture: set[int], teasers: set[int], measures: Measures, rules: Rules) -> list[int]:
    """What reads like an article; else the same with furniture, which a name may have called so wrongly; else what words there are."""
    article = _article(tree, start, furniture | teasers, measures) or _article(tree, start, teasers, measures)
    return article or _plain_words(tree, furniture | teasers, measures, rules)


def _article(tree: Tree, start: int, left_out: set[int], measures: Measures) -> list[int]:
    """The densest run of the element with the most prose; what stands above the headline (block `start`) counts less."""
    values = list(measures.values)
    for index in range(start):
        values[index] *= measures.weights.before_headline if values[index] > 0 else 1.0
    _devalue(tree, left_out, values, measures.weights)
    chosen = _choose(tree, values, measures.weights)
    inside = _remaining(tree, chosen, left_out | _link_lists(tree, chosen, measures))
    kept = _grow(tree, _densest(inside, values), inside, measures)
    lines = [tree.blocks[index].text for index in kept if tree.blocks[index].tag not in HEADINGS]
    return [] if all(map(is_cut, lines)) else kept  # nothing but beginnings of other pages


def _plain_words(tree: Tree, left_out: set[int], measures: Measures, rules: Rules) -> list[int]:
    """Where nothing reads like prose (verse, lists, a few words): the element with the most text outside links."""
    values = [
        unit if link <= 0 and not is_cut(block.text) and not rules.matches(block.text) else -measures.weights.scrap_cost - unit
        for block, unit, link in zip(tree.blocks, measures.units, measures.links, strict=True)
    ]
    _devalue(tree, left_out, values, measures.weights)
    inside = _remaining(tree, _choose(tree, values, measures.weights), left_out)
    kept = [inside[place] for place in _densest(inside, values)]
    return kept if any(str.isalnum(letter) for index in kept for letter in tree.blocks[index].text) else []


def _devalue(tree: Tree, nodes: Iterable[int], values: list[float], weights: Weights) -> None:
    """What is inside the elements `nodes` speaks for nothing."""
    for node in nodes:
        for index in range(tree.first[node], tree.last[node]):
            values[index] = min(values[index], -weights.scrap_cost)


def _choose(tree: Tree, values: Sequence[float], weights: Weights) -> int:
    """The element with the largest sum, or the descendant that holds nearly all of it, when what stands around that is not only more text."""
    sums, faults = [0.0] * len(tree.tags), [0.0] * len(tree.tags)
    for block, value in zip(tree.blocks, values, strict=True):
        sums[block.node] += value
        faults[block.node] += min(0.0, value)
    for node in range(len(sums) - 1, 0, -1):  # children stand behind their parent
        sums[tree.parents[node]] += max(sums[node], -weights.max_penalty)
        faults[tree.parents[node]] += faults[node]
    chosen = _home(tree, max(range(len(sums)), key=lambda node: (sums[node], -node)))
    for node in range(chosen + 1, tree.end[chosen]):
        is_part = tree.parents[node] == chosen and tree.tags[node] not in SHARED_HOMES
        if is_part and 0 < weights.narrow_share * sums[chosen] <= sums[node] and faults[node] > faults[chosen]:
            chosen = node
    return chosen


def _link_lists(tree: Tree, chosen: int, measures: Measures) -> set[int]:
    """Elements inside `chosen` that are mostly links."""
    units, links, weights = Sums(tree, measures.units), Sums(tree, measures.links), measures.weights
    limits = dict.fromkeys(SENTENCES, weights.link_sentence_share)
    return {
        node
        for node in tree.inside(chosen)
        if node != chosen
        and tree.tags[node] not in PARTS
        and links.of(node) > limits.get(tree.tags[node], weights.link_share) * units.of(node)
        and not _is_announced(tree, node, measures)
        and not _heads_prose(tree, node, measures)
    }


def _is_announced(tree: Tree, node: int, measures: Measures) -> bool:
    """Whether a list of links belongs to a sentence before it, which ends in a colon."""
    before = tree.first[node] - 1
    if tree.tags[node] not in LISTS or before < 0 or not measures.prose[before]:
        return False
    return tree.blocks[before].text[-1] in ":：" and _home(tree, node) == _home(tree, tree.blocks[before].node)


def _heads_prose(tree: Tree, node: int, measures: Measures) -> bool:
    """Whether a heading that is a link stands over prose."""
    below = tree.last[node]
    if tree.tags[node] not in HEADINGS or below >= len(tree.blocks) or not measures.prose[below]:
        return False
    return _home(tree, node) == _home(tree, tree.blocks[below].node)


def _remaining(tree: Tree, chosen: int, left_out: set[int]) -> list[int]:
    """Blocks inside `chosen` and in none of the elements `left_out`."""
    kept: list[int] = []
    position = tree.first[chosen]
    for node in sorted(left_out):  # in order of their first block
        if tree.first[node] >= position and tree.last[node] <= tree.last[chosen]:
            kept += range(position, tree.first[node])
            position = tree.last[node]
    return kept + list(range(position, tree.last[chosen]))


def _densest(inside: list[int], values: Sequence[float]) -> range:
    """The run of blocks with the largest sum of values: without the scraps around it, and without prose that lies behind many scraps.

    As places in `inside`.
    """
    best, best_from, best_to = 0.0, 0, 0
    running, start = 0.0, 0
    for place, index in enumerate(inside):
        if running <= 0:
            running, start = 0.0, place
        running += values[index]
        if running > best:
            best, best_from, best_to = running, start, place + 1
    return range(best_from, best_to)


def _grow(tree: Tree, run: range, inside: list[int], measures: Measures) -> list[int]:
    """The run and the short lines beside it that stand in the same element as its first and last block."""
    if not run:
        return []
    links = [measures.is_link(index) for index in inside]
    homes = [_home(tree, tree.blocks[index].node) for index in inside]
    first = _reach(range(run[0] - 1, -1, -1), homes[run[0]], homes, links)
    last = _reach(range(run[-1] + 1, len(inside)), homes[run[-1]], homes, links)
    first, last = (run[0] if first is None else first), (run[-1] if last is None else last)
    return [inside[place] for place in range(first, last + 1) if not links[place] or run[0] <= place <= run[-1]]


def _reach(way: range, home: int, homes: list[int], links: list[bool]) -> int | None:
    """The last place on the way that belongs to `home`, before so many that do not."""
    found, strange = None, 0
    for place in way:
        if homes[place] == home and not links[place]:
            found, strange = place, 0
        elif (strange := strange + 1) > MAX_STRANGE:
            break
    return found


def _home(tree: Tree, node: int) -> int:
    """The element whose lines a block belongs to: the one around its paragraph, item or list."""
    while tree.parents[node] >= 0 and tree.tags[node] in SHARED_HOMES:
        node = tree.parents[node]
    return node
