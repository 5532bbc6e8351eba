"""The headline of a page: which block it is, and whether it opens the main text.

A page that states its headline as metadata (og:title, JSON-LD) has it in `title`, and its text begins below; where only <title> names it, with
the site's name around it, the headline is the first line of the text. So nothing that a page shows is lost, and nothing stands twice.
"""

from __future__ import annotations

import re

from mspt.core.text.html.blocks import Rows, Tree
from mspt.core.text.html.cuts import Choice
from mspt.core.text.html.values import HEADINGS

MAX_TITLE = 500  # characters of the title that are compared
MAX_HEADLINE = 300  # characters of a heading that may be it
MAX_DISTANCE = 30  # blocks between headline and text
MAX_DEPTH = 3  # blocks of the text that may be its headline already
MIN_LETTERS = 4  # of a part of the title that is not the whole of it
TITLE_BREAK = re.compile(r"[-_|｜—–»›«·]")  # before the site's name
PATH = re.compile(r"[>›»→]")  # in a line that says where in the site the page is


def find_headline(tree: Tree, title: str) -> int | None:
    """The block that repeats the title or a part of it: a heading, else a line that is no link and no path through the site.

    Titles begin with the page's name more often than with the site's, and the site's name is a link home: so the first part is preferred.
    """
    title = title[:MAX_TITLE]
    wanted = _letters(title)
    parts = [part for part in map(_letters, TITLE_BREAK.split(title)) if part]
    name = next((part for part in parts if len(part) >= MIN_LETTERS), None)
    found: list[tuple[bool, bool, int, int, int]] = []
    for index, block in enumerate(tree.blocks):
        if len(block.text) >= MAX_HEADLINE or (block.tag not in HEADINGS and (block.link_characters >= len(block.text) or PATH.search(block.text))):
            continue
        letters = _letters(block.text)
        if block.tag == "h1" and name and name in letters:  # with a word more than the title
            letters = name if letters not in wanted else letters
        elif not (letters in parts or _repeats(block.text, wanted) or (block.tag in HEADINGS and len(letters) >= MIN_LETTERS and letters in wanted)):
            continue
        place = wanted.find(letters)
        is_named = block.tag in HEADINGS and (len(letters) >= MIN_LETTERS or place == 0)
        found.append((block.link_characters >= len(block.text), not is_named, place, -len(letters), index))
    return min(found)[-1] if found else None


def place_headline(choice: Choice, tree: Tree, rows: Rows, title: str, headline: int | None, *, is_stated: bool) -> None:
    """Put the headline before the main text, or take it out where metadata state it."""
    kept = choice.kept
    if not kept:
        return
    wanted = _letters(title[:MAX_TITLE])
    if headline is None:  # the title says something else
        above = range(kept[0], max(-1, kept[0] - MAX_DISTANCE), -1)
        headline = next((index for index in above if tree.blocks[index].tag == "h1" and not tree.blocks[index].link_characters), None)
    first = [index for index in kept[:MAX_DEPTH] if index not in rows.row]
    inside = [index for index in first if index == headline or _repeats(tree.blocks[index].text, wanted)]
    if is_stated:
        choice.kept = [index for index in kept if index not in inside and not (index == kept[0] and tree.blocks[index].tag == "h1")]
    elif not inside and headline is not None and 0 < kept[0] - headline <= MAX_DISTANCE:
        choice.kept, choice.headline = [headline, *kept], headline
    else:
        choice.headline = next(iter(inside), None)


def _repeats(text: str, wanted: str) -> bool:
    """Whether `text` is the title, or the part of it without the site's name."""
    letters = _letters(text) if len(text) < 2 * len(wanted) + 20 else ""
    return len(letters) >= max(MIN_LETTERS, len(wanted) / 3) and letters in wanted


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()
