"""Web pages to text that keeps its structure, by lxml.

A page is read once, element by element, into blocks: the stretches of text that a browser would put on lines of their own, each with what is
known of it (tag, characters inside links, where it hangs in the tree). `main_content` says which blocks are the article; `writer` writes the
chosen ones down and notes the spans. Everything iterates, nothing recurses: nesting costs no stack.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from lxml import etree

from mspt.core.text.html.blocks import Rows, Tree, data_rows
from mspt.core.text.html.cuts import Choice
from mspt.core.text.html.head import Head, find_date
from mspt.core.text.html.leftovers import Removed, Rules, load_rules
from mspt.core.text.html.main_content import choose_blocks
from mspt.core.text.html.reader import read_page
from mspt.core.text.html.writer import write
from mspt.core.text.octet_entities import octet_entities
from mspt.core.text.spans import Span, edit

Mode = Literal["article", "page"]

STATED_SHARE = 0.5  # a page that shows less of the article than this part of what its JSON-LD states is drawn by a script
MAX_ATTRIBUTES, LONG_TAG = 4096, 16 * 1024  # pages have up to some hundred, or one of a megabyte; bytes of a tag that is looked at
LONG_TAGS = re.compile(rb"(<[A-Za-z][A-Za-z0-9-]{0,60})[^<>]{%d,}" % LONG_TAG)  # those with < or > in a value wait for the limit of time
VALUE, ATTRIBUTE = re.compile(rb"\"[^\"]*\"|'[^']*'"), re.compile(rb"[\s\"][^\s\"=]+")
MAX_ATTRIBUTES_PROBLEM = "an element with more than 4,096 attributes: they are not read"
MAX_DEPTH_PROBLEM = "elements nested too deeply: the rest of the page is not read"  # libxml2 stops at 2,048, with huge_tree


@dataclass(frozen=True)
class Page:
    """What a page says. Lines of `text` are items, rows and lines; paragraphs are separated by a blank line.

    spans: tags h1..h6, p, li, pre, code, blockquote, tr, caption, math, in code points of `text`, sorted by (start, -end). Cells of a row are
    separated by " | ", formulas are TeX between $ or $$. title: the page's name as stated ("" when none); url: the canonical address if it states
    one; lang: the language it declares, as written; date: when it was published, as ISO 8601 with no more than is stated; problem: why the page
    was not read to its end ("" when it was); removed: lines and ends of lines that rules cut out of the main text.
    """

    text: str
    spans: tuple[Span, ...] = ()
    title: str = ""
    url: str = ""
    lang: str = ""
    problem: str = ""
    date: str = ""
    removed: tuple[Removed, ...] = ()


def extract(markup: str | bytes, *, mode: Mode = "article", encoding: str | None = None, rules: Rules | None = None) -> Page:
    """The text of an HTML page.

    markup: decoded text, or bytes with `encoding` (None: what the page's own meta says, then libxml2's guess).
    mode: "article" keeps the main text only, less the leftovers that `rules` (None: the shipped ones) name; "page" keeps all visible text.
    Neither ever holds scripts, styles, comments, templates or hidden elements. A headline that metadata state stands in `title` and not in an
    article's text. Never raises on broken markup: an unreadable or empty page gives a Page with text "".
    """
    if isinstance(markup, str) and (octets := octet_entities(markup)):
        markup, _ = edit(markup, (), octets)
    root, problem = parse_page(markup, encoding)
    if root is None:
        return Page("", problem=problem)
    head = Head(root)
    tree = read_page(_unframed(root), skip_notes=mode == "article")
    rows = data_rows(tree)
    choice = choose_blocks(tree, head, rows, rules or load_rules()) if mode == "article" else Choice(list(range(len(tree.blocks))))
    text, spans, starts = write(tree, choice.kept, rows, choice.ends)
    removed = _removed(tree, choice, starts, len(text))
    if mode == "article" and len(text) < STATED_SHARE * len(head.body):
        text, spans = _stated(head.body)
        removed = ()
    title = head.title or ("" if choice.headline is None else tree.blocks[choice.headline].text)
    date = find_date(head, root, tree, next((index for index in choice.kept if index != choice.headline), 0))
    return Page(text, spans, title, head.url, head.lang, problem, date, removed)


def _stated(body: str) -> tuple[str, tuple[Span, ...]]:
    """The text that a page states as data and draws by a script."""
    root = parse_page("".join(f"<p>{line}</p>" for line in body.splitlines()), None)[0]
    if root is None:
        return "", ()
    tree = read_page(root)
    text, spans, _ = write(tree, range(len(tree.blocks)), Rows(), {})
    return text, spans


def _unframed(root: etree._Element) -> etree._Element:
    """What a page of frames says to browsers without them, which libxml2 leaves as markup; any other page as it is."""
    frames = next(root.iter("frameset"), None)
    inner = next(root.iter("noframes"), None) if frames is not None else None
    shown = parse_page(inner.text, None)[0] if inner is not None and inner.text else None
    return root if shown is None else shown


def _removed(tree: Tree, choice: Choice, starts: list[int], length: int) -> tuple[Removed, ...]:
    """What rules cut out, in the order of the page, each with its place in the text."""
    places = dict(zip(choice.kept, starts, strict=True))

    def place(index: int) -> int:
        behind = bisect_right(choice.kept, index)
        return starts[behind] if behind < len(starts) else length

    lines = [(index, Removed(rule, tree.blocks[index].text, place(index))) for index, rule in choice.removed.items()]
    tails = [(index, Removed(rule, tree.blocks[index].text[choice.ends[index] :], places[index] + choice.ends[index])) for index, rule in choice.tails.items()]
    return tuple(removed for _, removed in sorted(lines + tails))


def parse_page(markup: str | bytes, encoding: str | None) -> tuple[etree._Element | None, str]:
    """The root element, or None for a page without one; and why the page was not read to its end."""
    if isinstance(markup, bytes) and encoding is not None:
        markup = markup.decode(encoding, "replace")
    charset = "utf-8" if isinstance(markup, str) else None
    raw = markup.replace("\0", "").encode("utf-8", "replace") if isinstance(markup, str) else markup  # libxml2 takes NUL for the end
    raw, problem = _without_many_attributes(raw)
    parser = etree.HTMLParser(encoding=charset, remove_comments=True, remove_pis=True, huge_tree=True, recover=True, no_network=True)
    try:
        root = etree.fromstring(raw, parser)
    except etree.XMLSyntaxError as error:  # nothing in it at all
        return None, "" if not raw.strip() else str(error)
    too_deep = any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)
    return root, MAX_DEPTH_PROBLEM if too_deep else problem


def _without_many_attributes(raw: bytes) -> tuple[bytes, str]:
    """The markup, the tags of absurdly many attributes without them (libxml2 compares each with all before it), and what is to be said of it."""
    problem = ""
    if len(raw) >= LONG_TAG:
        for tag in reversed(list(LONG_TAGS.finditer(raw))):
            if sum(1 for _ in ATTRIBUTE.finditer(VALUE.sub(b'""', tag[0]))) > MAX_ATTRIBUTES:
                raw, problem = raw[: tag.end(1)] + raw[tag.end() :], MAX_ATTRIBUTES_PROBLEM
    return raw, problem
