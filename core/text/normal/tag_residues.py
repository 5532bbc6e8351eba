"""Tags in text that is no markup: <strong>第一回</strong>, 词曰：<br/>, [b]bold[/b].

They go where the whole document shows the habit: tags of HTML or BBCode that embrace words or break sentences, and none that is named (the <br> tag) or is
something else (<name>, List<T>, [1]). Where a text speaks of HTML it keeps all.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import NamedTuple

from mspt.core.text.normal.document import Document
from mspt.core.text.normal.escapes import FORMS
from mspt.core.text.normal.verbatim import Regions, verbatim
from mspt.core.text.normal.web_escapes import is_marked_down, is_plain
from mspt.core.text.spans import Edit

MIN_TAGS = 2  # a pair, or two line breaks: each chapter of zh_novels has one pair of <strong>
MAX_OTHER = 0.1  # tags that are named, do not pair or are no tags of HTML, for each that is a residue

ANGLES = re.compile(r"<(?:(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9]*)(?:[\s/][^<>\n]{0,500})?>|[A-Za-z/!])")
INLINE = frozenset(
    {"a", "abbr", "acronym", "b", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "label", "mark", "nobr", "nowiki", "noinclude", "onlyinclude", "q"}
    | {"s", "small", "span", "strike", "strong", "tt", "u", "var"}
)
EMPTY = frozenset({"img", "wbr"})
BREAKS = frozenset({"blockquote", "br", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "section", "ul"})
NAMES = re.compile(r"</?([A-Za-z]{1,10}[1-6]?)[\s/>]")
NAMED_BEFORE = re.compile(r"[^\S\n]|[\"'“‘「『`(（\[,，、:：/]")
NAMED_AFTER = re.compile(r"[^\S\n]|[\"'”’」』`)）\].,，。;；:：、/]")

BBCODE = re.compile(
    r"\[(?P<close>/?)(?P<name>b|i|u|s|url|img|quote|color|size|font|center|left|right|align|email|code|backcolor|indent|attach|flash|media|hide)"
    r"(?:=[^\[\]\n]{0,500})?\]",
    re.IGNORECASE,
)
DROPPED = frozenset({"img", "attach", "flash", "media"})  # with the address between them


class Tag(NamedTuple):
    """A tag, text[start:end]."""

    name: str
    is_closing: bool
    start: int
    end: int


def html_tags(document: Document) -> list[Edit]:
    """Tags of HTML removed; those that break lines leave a line end. Idempotent."""
    text = document.text
    if document.form not in FORMS or not _has_tags(text) or is_marked_down(document):
        return []
    tags, others = _html(text, verbatim(document, indented=True))
    residues = [tag for tag in tags if not _is_alone(text, tag)]
    balance = Counter[str]()
    for tag in tags:
        if tag.name in INLINE:
            balance[tag.name] += -1 if tag.is_closing else 1
    others += sum(1 for tag in residues if _is_named(text, tag)) + sum(map(abs, balance.values()))
    if len(residues) < MIN_TAGS or others > MAX_OTHER * len(residues) or not is_plain(document):
        return []
    return [Edit(tag.start, tag.end, "\n" if tag.name in BREAKS and not _is_at_border(text, tag) else "") for tag in tags]


def _has_tags(text: str) -> bool:
    known = (None for match in NAMES.finditer(text) if _is_tag(match[1].lower()))
    return ">" in text and sum(1 for _ in islice(known, MIN_TAGS)) == MIN_TAGS


def _is_tag(name: str) -> bool:
    return name in INLINE or name in EMPTY or name in BREAKS


def bbcode(document: Document) -> list[Edit]:
    """Pairs of BBCode removed: [b]bold[/b], [url=http://a.b]text[/url]; of pictures what is between them too. Idempotent."""
    text = document.text
    if document.form not in FORMS or "[/" not in text or not BBCODE.search(text) or is_marked_down(document):
        return []
    pairs, others = _pairs(text, verbatim(document, indented=True))
    if 2 * len(pairs) < MIN_TAGS or others > MAX_OTHER * 2 * len(pairs) or not is_plain(document):
        return []
    removed = (((first.start, last.end),) if first.name in DROPPED else ((first.start, first.end), (last.start, last.end)) for first, last in pairs)
    edits: list[Edit] = []
    for start, end in sorted(part for parts in removed for part in parts):
        if not edits or start >= edits[-1].end:
            edits.append(Edit(start, end, ""))
    return edits


def _html(text: str, regions: Regions) -> tuple[list[Tag], int]:
    """The tags of HTML, and how many others there are; a tag inside another one is none of both."""
    tags, others, opened = [], 0, -1
    for match in ANGLES.finditer(text):
        if regions.touch(*match.span()):
            continue
        if match["name"] is None:
            opened = match.start()
            continue
        name, is_inside = match["name"].lower(), opened >= 0 and ">" not in (between := text[opened : match.start()]) and "\n" not in between
        opened = -1
        if not is_inside and _is_tag(name):
            tags.append(Tag(name, match["close"] == "/", *match.span()))
        elif name not in ("sub", "sup"):  # 10<sup>5</sup> without them is another number
            others += 1
    return tags, others


def _around(text: str, tag: Tag) -> tuple[str, str]:
    return text[tag.start - 1 : tag.start] if tag.start else "", text[tag.end : tag.end + 1]


def _is_alone(text: str, tag: Tag) -> bool:
    """Whether a tag is a line of its own, as in residues and in programs alike."""
    before, after = _around(text, tag)
    return before in ("", "\n") and after in ("", "\n")


def _is_at_border(text: str, tag: Tag) -> bool:
    before, after = _around(text, tag)
    return before in ("", "\n") or after in ("", "\n")


def _is_named(text: str, tag: Tag) -> bool:
    before, after = _around(text, tag)
    return bool(NAMED_BEFORE.match(before) and NAMED_AFTER.match(after))


def _pairs(text: str, regions: Regions) -> tuple[list[tuple[Tag, Tag]], int]:
    """Pairs of BBCode outside [code], in the order of their ends, and how many tags have no partner."""
    opened: dict[str, list[Tag]] = {}
    pairs, others = [], 0
    code = -1  # where an open [code] begins
    for match in BBCODE.finditer(text):
        tag = Tag(match["name"].lower(), match["close"] == "/", *match.span())
        if regions.touch(tag.start, tag.end) or (code >= 0 and tag.name != "code"):
            continue
        if tag.name == "code":
            code = -1 if tag.is_closing else tag.start
        elif not tag.is_closing:
            opened.setdefault(tag.name, []).append(tag)
        elif opened.get(tag.name):
            pairs.append((opened[tag.name].pop(), tag))
        else:
            others += 1
    return pairs, others + sum(map(len, opened.values()))
