"""What is cut out of the main text once it is found: captions of press photographs, and the lines that templates leave."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile

from mspt.core.text.html.blocks import Rows, Tree
from mspt.core.text.html.furniture import is_caption
from mspt.core.text.html.head import MAX_DATE_LINE, read_date
from mspt.core.text.html.leftovers import ANY, EDGES, LINKS, REST, LineRule, Rules
from mspt.core.text.html.values import HEADINGS, SENTENCE_ENDS, Measures

CAPTION_UNITS = 100  # a line behind a picture that is longer, or ends like a sentence, is no caption
SECTIONS = ("", LINKS, REST)
MAX_DATE_DISTANCE = 6  # blocks above the text where its date is looked for, when there is no headline


@dataclass
class Choice:
    """kept: the blocks of the main text, ascending; removed: block -> the rule by which it was left out; ends, tails: block -> where its tail that
    is left out begins, and by which rule; headline: the block among `kept` that is the page's; is_news: the page is dated."""

    kept: list[int] = field(default_factory=list)
    removed: dict[int, str] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    tails: dict[int, str] = field(default_factory=dict)
    headline: int | None = None
    is_news: bool = False

    def leave_out(self, found: dict[int, str]) -> None:
        self.removed |= found
        self.kept = [index for index in self.kept if index not in found]


def is_dated(tree: Tree, headline: int | None, kept: list[int]) -> bool:
    """Whether a line between the headline and the text states a day, as news and blogs do."""
    if not kept:
        return False
    start = kept[0] - MAX_DATE_DISTANCE if headline is None else headline + 1
    lines = (tree.blocks[index].text for index in range(max(0, start), min(len(tree.blocks), kept[0] + 2)))
    return any(len(line) <= MAX_DATE_LINE and read_date(line) for line in lines)


def leave_out_captions(choice: Choice, tree: Tree, measures: Measures) -> None:
    """Leave out the captions of news photographs, unless they are what the page says."""
    marked = {index for index in choice.kept if is_caption(tree, index)}
    unmarked = {index for index in choice.kept if index not in marked and _is_unmarked_caption(tree, index, measures)}
    for found, limit in ((marked, 1.0), (unmarked, measures.weights.caption_share)):
        rest = sum(measures.units[index] for index in choice.kept if index not in found)
        if sum(measures.units[index] for index in found) <= limit * rest:
            choice.leave_out(dict.fromkeys(sorted(found), "caption"))


def _is_unmarked_caption(tree: Tree, index: int, measures: Measures) -> bool:
    """Whether a block is a short line by itself right behind a picture."""
    block = tree.blocks[index]
    alone = tree.last[block.node] - tree.first[block.node] == 1 and tree.tags[block.node] != "th"
    return block.after_image and alone and block.tag == "p" and measures.units[index] <= CAPTION_UNITS and block.text[-1] not in SENTENCE_ENDS


def leave_out_leftovers(choice: Choice, tree: Tree, rows: Rows, rules: Rules, measures: Measures) -> None:
    """Apply the rules to what was kept, but never inside data and code, nor to the headline."""
    lines = [index for index in choice.kept if index not in rows.row and tree.blocks[index].tag != "pre" and index != choice.headline]
    found = _leftovers(choice, lines, tree, rules, measures)
    # Where nothing that reads like text would stay, it is a page about rights, or one of very few words.
    if len(found) < len(choice.kept) and _says_enough(choice, found, tree, measures):
        choice.leave_out(found)
    for index in lines:
        if index not in choice.removed and (cut := rules.tail(tree.blocks[index].text)):
            choice.ends[index], choice.tails[index] = cut[1], cut[0].name


def leave_out_bare_headings(choice: Choice, tree: Tree) -> None:
    """Leave out headings whose section was all links or leftovers: what follows in the page is not kept, and a heading of their rank or nothing is."""
    bare: dict[int, str] = {}
    following = None
    for index in reversed(choice.kept):
        tag = tree.blocks[index].tag
        is_last = following is None or (tree.blocks[following].tag in HEADINGS and tree.blocks[following].tag <= tag)
        behind = index + 1 < (len(tree.blocks) if following is None else following)
        if tag in HEADINGS and index != choice.headline and is_last and behind:
            bare[index] = "bare-heading"
        else:
            following = index
    choice.leave_out(bare)


def _says_enough(choice: Choice, found: dict[int, str], tree: Tree, measures: Measures) -> bool:
    rest = [index for index in choice.kept if index not in found and index != choice.headline]
    if any(measures.prose[index] or tree.blocks[index].text[-1] in SENTENCE_ENDS for index in rest):
        return True
    return sum(measures.units[index] for index in found) <= measures.weights.leftover_share * sum(measures.units[index] for index in choice.kept)


def _leftovers(choice: Choice, lines: Iterable[int], tree: Tree, rules: Rules, measures: Measures) -> dict[int, str]:
    """Block -> rule."""
    matching = {index: matches for index in lines if (matches := _matches(tree, index, measures, rules))}
    passed = {index for index in choice.kept if index in matching or index == choice.headline or tree.blocks[index].tag in HEADINGS}
    start, end = set(takewhile(passed.__contains__, choice.kept)), set(takewhile(passed.__contains__, reversed(choice.kept)))
    told = next((index for index in choice.kept if measures.prose[index]), len(tree.blocks))  # where there is prose before what readers say
    found: dict[int, str] = {}
    for index, matches in matching.items():
        here = [rule for rule in matches if rule.where == ANY or index in start or (rule.where == EDGES and index in end)]
        if here:
            rule = max(here, key=lambda rule: SECTIONS.index(rule.section))  # the first of those that take the most along
            found[index] = rule.name
            if rule.section == LINKS:
                found |= dict.fromkeys(_entries(choice.kept, index, tree, measures), rule.name)
            elif rule.section == REST and choice.is_news and told < index:
                return found | dict.fromkeys(choice.kept[bisect_right(choice.kept, index) :], rule.name)
    return found


def _matches(tree: Tree, index: int, measures: Measures, rules: Rules) -> tuple[LineRule, ...]:
    found = measures.matches.get(index)
    return rules.matches(tree.blocks[index].text) if found is None else found


def _entries(kept: list[int], label: int, tree: Tree, measures: Measures) -> Iterator[int]:
    """The links right behind the label of a box of other stories, and the items of a list that holds links."""
    return takewhile(lambda index: _is_entry(tree, index, measures), islice(kept, bisect_right(kept, label), None))


def _is_entry(tree: Tree, index: int, measures: Measures) -> bool:
    block = tree.blocks[index]
    return (block.tag == "li" and measures.links[index] > 0) or (measures.is_link(index) and block.tag not in HEADINGS)
