"""Web pages to text that keeps its structure, by lxml.

A page is read once, element by element, into blocks: the stretches of text that a browser would put on lines of their own, each with what is
known of it (tag, characters inside links, where it hangs in the tree). `main_content` says which blocks are the article; `assemble` writes the
chosen ones down and notes the spans. Everything iterates, nothing recurses: nesting costs no stack.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from lxml import etree

from mspt.core.text.blocks import Block, Tree
from mspt.core.text.main_content import main_blocks
from mspt.core.text.spans import Span, sort_spans

Mode = Literal["article", "page"]

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
VERBATIM = frozenset({"pre", "xmp", "listing", "plaintext"})
ITEMS = frozenset({"li", "dt", "dd"})
WRAPPERS = {"li": "li", "dt": "li", "dd": "li", "blockquote": "blockquote"}  # elements that may hold several blocks -> their span's tag
BLOCK_TAGS = HEADINGS | VERBATIM | ITEMS | {
    "address", "article", "aside", "blockquote", "body", "caption", "center", "details", "dialog", "dir", "div", "dl", "fieldset", "figcaption", "figure",
    "footer", "form", "header", "hr", "html", "legend", "main", "menu", "nav", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "ul",
}  # fmt: skip
# Never text: programs, data, replaced content, controls, fallbacks, reading aids of ruby.
UNSEEN_TAGS = frozenset({
    "script", "style", "head", "template", "noscript", "noframes", "noembed", "iframe", "object", "embed", "applet", "audio", "video", "canvas", "svg", "map",
    "title", "datalist", "select", "button", "input", "textarea", "rp", "rt", "frameset", "marquee", "dialog",
})  # fmt: skip
HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?<![\w-])font-size\s*:\s*0(?:\.0*)?(?:px|pt|r?em|%)?\s*(?:;|!|$)"
    r"|(?:text-indent|left|top|margin-left)\s*:\s*-\d{3,}|(?<![\w-])opacity\s*:\s*0(?:\.0*)?\s*(?:;|!|$)", re.IGNORECASE
)  # fmt: skip
# A browser shows a line end in the source as a blank; between Han characters or full-width punctuation nobody meant one.
HAN_LINE_END = re.compile("(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])[ \t\r]*\n\\s*(?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])")
MAX_DEPTH_PROBLEM = "elements nested too deeply: the rest of the page is not read"  # libxml2 stops at 2,048, with huge_tree


@dataclass(frozen=True)
class Page:
    """What a page says. Lines of `text` are items, rows and lines; paragraphs are separated by a blank line.

    spans: tags h1..h6, p, li, pre, code, blockquote, tr, in code points of `text`, sorted by (start, -end). Cells of a row are separated by
    tabs. title: the page's name as stated ("" when none); url: the canonical address if it states one; lang: the language it declares, as
    written; problem: why the page was not read to its end ("" when it was).
    """

    text: str
    spans: tuple[Span, ...] = ()
    title: str = ""
    url: str = ""
    lang: str = ""
    problem: str = ""


def extract(markup: str | bytes, *, mode: Mode = "article", encoding: str | None = None) -> Page:
    """The text of an HTML page.

    markup: decoded text, or bytes with `encoding` (None: what the page's own meta says, then libxml2's guess).
    mode: "article" keeps the main text only; "page" keeps all visible text. Neither ever holds scripts, styles, comments, templates or
    hidden elements. Never raises on broken markup: an unreadable or empty page gives a Page with text "".
    """
    root, problem = _parse(markup, encoding)
    if root is None:
        return Page("", problem=problem)
    head = _Head(root)
    tree = _Reader().read(root)
    kept = main_blocks(tree, head.title) if mode == "article" else range(len(tree.blocks))
    text, spans = assemble(tree, kept)
    return Page(text, spans, head.title, head.url, head.lang, problem)


def _parse(markup: str | bytes, encoding: str | None) -> tuple[etree._Element | None, str]:
    """The root element, or None for a page without one; and why the page was not read to its end."""
    if isinstance(markup, bytes) and encoding is not None:
        markup = markup.decode(encoding, "replace")
    charset = "utf-8" if isinstance(markup, str) else None
    raw = markup.replace("\0", "").encode("utf-8", "replace") if isinstance(markup, str) else markup  # libxml2 takes NUL for the end
    parser = etree.HTMLParser(encoding=charset, remove_comments=True, remove_pis=True, huge_tree=True, recover=True, no_network=True)
    try:
        root = etree.fromstring(raw, parser)
    except etree.XMLSyntaxError as error:  # nothing in it at all
        return None, "" if not raw.strip() else str(error)
    too_deep = any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)
    return root, MAX_DEPTH_PROBLEM if too_deep else ""


class _Head:
    """What a page says about itself."""

    def __init__(self, root: etree._Element) -> None:
        meta: dict[str, str] = {}
        for element in root.iter("meta"):
            key = (element.get("property") or element.get("name") or "").lower()
            meta.setdefault(key, " ".join((element.get("content") or "").split()))
        title = next(root.iter("title"), None)
        self.title = meta.get("og:title") or (" ".join("".join(map(str, title.itertext())).split()) if title is not None else "")
        canonical = (link.get("href") for link in root.iter("link") if (link.get("rel") or "").lower() == "canonical")
        self.url = (next(canonical, None) or meta.get("og:url") or "").strip()
        xml_lang = "{http://www.w3.org/XML/1998/namespace}lang"
        self.lang = (root.get("lang") or root.get("xml:lang") or root.get(xml_lang) or meta.get("og:locale", "")).strip()


@dataclass
class _Line:
    """The block being written."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    link_length: int = 0
    codes: list[tuple[int, int]] = field(default_factory=list)  # inline code, as positions in the block
    breaks: int = 0  # <br> before it

    def add(self, text: str, in_link: bool) -> None:
        """Append running text, its white space collapsed across pieces."""
        words = " ".join((HAN_LINE_END.sub("", text) if "\n" in text else text).split())
        at_blank = self.length == 0 or self.pieces[-1].endswith(" ")
        if text[0].isspace() and not at_blank:
            words = " " + words
        if words.strip() and text[-1].isspace():
            words += " "
        self.put(words, in_link)

    def put(self, text: str, in_link: bool) -> None:
        if text:
            self.pieces.append(text)
            self.length += len(text)
            self.link_length += len(text) if in_link else 0


class _Reader:
    """One walk over the elements of a page, which collects its blocks."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.line = _Line()
        self.nodes: list[int] = []  # open block elements, as indices into tree.nodes
        self.tags: list[str] = []  # and their tags
        self.links = 0  # open <a>
        self.verbatim = 0  # open <pre>
        self.codes: list[int] = []  # where the open inline <code> began

    def read(self, root: etree._Element) -> Tree:
        walker = etree.iterwalk(root, events=("start", "end"))
        hidden: etree._Element | None = None
        for event, element in walker:
            if event == "start":
                if element.tag in UNSEEN_TAGS or (element.attrib and _is_hidden(element)):
                    hidden = element
                    walker.skip_subtree()
                    continue
                self._open(element, element.tag)
                if element.text:
                    self._text(element.text)
            else:
                if element is not hidden:
                    self._close(element, element.tag)
                if element.tail:
                    self._text(element.tail)
        self._flush()
        return self.tree

    def _open(self, element: etree._Element, tag: str) -> None:
        if tag in BLOCK_TAGS:
            self._flush()
            parent = self.nodes[-1] if self.nodes else -1
            self.nodes.append(self.tree.open(parent, tag, f"{element.get('class') or ''} {element.get('id') or ''} {element.get('role') or ''}"))
            self.tags.append(tag)
            self.verbatim += tag in VERBATIM
        elif tag == "br":
            if self.verbatim:
                self.line.put("\n", False)
            else:
                breaks = self.line.breaks if not self.line.length else 0
                self._flush()
                self.line.breaks = breaks + 1
        elif tag == "a":
            self.links += element.get("href") is not None
        elif tag == "code" and not self.verbatim:
            self.codes.append(self.line.length)

    def _close(self, element: etree._Element, tag: str) -> None:
        if tag in BLOCK_TAGS:
            self._flush()
            self.tree.close(self.nodes.pop())
            self.tags.pop()
            self.verbatim -= tag in VERBATIM
        elif tag == "a":
            self.links -= element.get("href") is not None
        elif tag == "code" and not self.verbatim:
            start = self.codes.pop()
            if start < self.line.length:
                self.line.codes.append((start, self.line.length))

    def _text(self, text: str) -> None:
        if self.verbatim:
            self.line.put(text.replace("\r\n", "\n").replace("\xa0", " "), self.links > 0)
        elif self.line.length or not text.isspace():
            self.line.add(text, self.links > 0)

    def _flush(self) -> None:
        """End the block being written, if it holds anything."""
        line, self.line = self.line, _Line()
        self.codes = [0] * len(self.codes)
        raw = "".join(line.pieces)
        text = raw.strip("\n") if self.verbatim else raw.strip()
        if text.strip() and self.nodes:
            lead = raw.index(text)
            codes = [(max(0, start - lead), min(len(text), end - lead)) for start, end in line.codes]
            codes = [one for one in codes if one[0] < one[1]]
            self.tree.blocks.append(Block(text, self.nodes[-1], _leaf_tag(self.tags), line.link_length, line.breaks, codes))


def _is_hidden(element: etree._Element) -> bool:
    """Whether an element states that it is not shown (style sheets are not read)."""
    if element.tag in ("html", "body"):  # pages that a script reveals
        return False
    style = element.get("style")
    if style and HIDDEN_STYLE.search(style):
        return True
    return element.get("hidden") is not None or element.get("aria-hidden") == "true"


def _leaf_tag(tags: list[str]) -> str:
    """The span tag of text that hangs directly under the open elements `tags`."""
    last = tags[-1]
    if last in HEADINGS or last in WRAPPERS:
        return WRAPPERS.get(last, last)
    if last in VERBATIM:
        return "pre"
    heading = next((tag for tag in reversed(tags[-4:]) if tag in HEADINGS), None)
    return heading or "p"


def assemble(tree: Tree, kept: Sequence[int]) -> tuple[str, tuple[Span, ...]]:
    """Write the blocks with the indices `kept` (ascending) down, and note where each element lies."""
    rows = tree.data_rows()
    parts: list[str] = []
    places: list[tuple[int, int]] = []  # of the kept blocks in the text
    leaves: list[Span] = []
    codes: list[Span] = []
    position = 0
    for previous, index in pairwise([-1, *kept]):
        block = tree.blocks[index]
        gap = _gap(tree, previous, index, rows) if places else ""
        start, position = position + len(gap), position + len(gap) + len(block.text)
        parts += (gap, block.text)
        places.append((start, position))
        codes += (Span("code", start + one, start + two) for one, two in block.codes)
        if index not in rows and block.tag not in WRAPPERS:
            line_of_same = gap == "\n" and leaves and leaves[-1].tag == block.tag
            leaves.append(Span(block.tag, leaves.pop().start if line_of_same else start, position))
    return "".join(parts), sort_spans([*leaves, *codes, *_wrapping(tree, kept, places, set(rows.values()))])


def _gap(tree: Tree, previous: int, index: int, rows: dict[int, int]) -> str:
    """What stands between two kept blocks: a tab between cells, a line end between rows, items and lines, else a blank line."""
    one, two = tree.blocks[previous], tree.blocks[index]
    if previous in rows and index in rows:
        if rows[previous] == rows[index]:
            return " " if one.node == two.node else "\t"
        if tree.parents[rows[previous]] == tree.parents[rows[index]]:
            return "\n"
    if one.node == two.node and two.breaks == 1 and index == previous + 1:
        return "\n"
    return "\n" if one.tag == two.tag == "li" else "\n\n"


def _wrapping(tree: Tree, kept: Sequence[int], places: list[tuple[int, int]], rows: set[int]) -> Iterator[Span]:
    """Spans of the elements that may hold several blocks: items, quotes, table rows."""
    for node, tag in enumerate(tree.tags):
        if tag in WRAPPERS or node in rows:
            low, high = bisect_left(kept, tree.first[node]), bisect_left(kept, tree.last[node])
            if low < high:
                yield Span(WRAPPERS.get(tag, "tr"), places[low][0], places[high - 1][1])
