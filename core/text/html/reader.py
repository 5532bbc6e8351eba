"""One walk over the elements of a page, which collects its blocks. It iterates and never recurses: nesting costs no stack."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

from mspt.core.text.html.blocks import Block, Tree
from mspt.core.text.html.hidden import hidden_selectors, is_hidden
from mspt.core.text.html.math import formula
from mspt.core.text.spans import Span

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
VERBATIM = frozenset({"pre", "xmp", "listing", "plaintext"})
ITEMS = frozenset({"li", "dt", "dd"})
CAPTIONS = frozenset({"figcaption", "caption"})
WRAPPERS = {"li": "li", "dt": "li", "dd": "li", "blockquote": "blockquote"}  # elements that may hold several blocks -> their span's tag
BLOCK_TAGS = HEADINGS | VERBATIM | ITEMS | CAPTIONS | {
    "address", "article", "aside", "blockquote", "body", "center", "details", "dir", "div", "dl", "fieldset", "figure", "footer", "form", "frameset",
    "header", "hr", "html", "legend", "main", "marquee", "menu", "nav", "noframes", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul",
}  # fmt: skip
# Never text: programs, data, replaced content, controls, fallbacks, reading aids of ruby.
UNSEEN_TAGS = frozenset({
    "script", "style", "head", "template", "noscript", "noembed", "iframe", "object", "embed", "applet", "audio", "video", "canvas", "svg", "map", "title",
    "datalist", "select", "button", "input", "textarea", "rp", "rt", "dialog", "math", "img", "mjx-math", "meta", "link", "noframes",
})  # fmt: skip
FORMULA_TAGS = frozenset({"math", "script", "img"})
# A browser shows a line end in the source as a blank; between Han characters or full-width punctuation nobody meant one.
HAN_LINE_END = re.compile("(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])[ \t\r]*\n\\s*(?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])")
VISIBLE = re.compile("[^\\s\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\u3164]")
CODE_NAMES = frozenset({"syntaxhighlighter", "dp-highlighter"})  # code laid out as one <div> or <li> per line


@dataclass
class _Line:
    """The block being written."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    link_length: int = 0
    inline: list[Span] = field(default_factory=list)  # code and formulas, as positions in the block
    breaks: int = 0  # <br> before it
    after_image: bool = False

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

    def end_line(self) -> None:
        """Begin a new line of preformatted text, unless at the beginning of one."""
        if self.pieces and not self.pieces[-1].endswith("\n"):
            self.put("\n", False)


def read_page(root: etree._Element, *, skip_notes: bool = False) -> Tree:
    """The blocks that a page shows. skip_notes: without marks of references.

    An element that is hidden and yet holds most of the page's text is one that a script reveals: it counts as shown.
    """
    sheet = hidden_selectors(root)
    reader = Reader(sheet, skip_notes)
    tree = reader.read(root)
    if reader.hidden is not None and reader.hidden_length > sum(len(block.text) for block in tree.blocks):
        return Reader(sheet, skip_notes, shown=reader.hidden).read(root)
    return tree


class Reader:
    """Reads a page into a Tree. sheet: what the page's own style rules hide; shown: an element that is not hidden, whatever it says."""

    def __init__(self, sheet: frozenset[str] = frozenset(), skip_notes: bool = False, shown: etree._Element | None = None) -> None:
        self.tree = Tree()
        self.sheet = sheet
        self.skip_notes = skip_notes
        self.shown = shown
        self.hidden: etree._Element | None = None  # the hidden element with the most text
        self.hidden_length = 0
        self.line = _Line()
        self.nodes: list[int] = []  # open block elements, as indices into tree.nodes
        self.tags: list[str] = []  # and their tags
        self.links = 0  # open <a>
        self.verbatim: etree._Element | None = None  # the open <pre>
        self.by_element = False  # in it, elements and not line ends of the source make lines
        self.codes: list[int] = []  # where the open inline <code> began
        self.after_image = False  # a picture was the last thing read

    def read(self, root: etree._Element) -> Tree:
        walker = etree.iterwalk(root, events=("start", "end"))
        skipped: etree._Element | None = None
        for event, element in walker:
            tag = element.tag
            if event == "start":
                if tag in UNSEEN_TAGS or (element.attrib and self._is_hidden(element, tag)):
                    if tag in FORMULA_TAGS:
                        self._formula(element)
                        self.after_image |= tag == "img"
                    skipped = element
                    walker.skip_subtree()
                    continue
                self._open(element, tag)
                if (text := element.text) and (self.line.pieces or self.verbatim is not None or not text.isspace()):
                    self._text(text)
            else:
                if element is not skipped:
                    self._close(element, tag)
                if (text := element.tail) and (self.line.pieces or self.verbatim is not None or not text.isspace()):
                    self._text(text)
        self._end_block()
        return self.tree

    def _is_hidden(self, element: etree._Element, tag: str) -> bool:
        if self.skip_notes and tag == "sup" and "reference" in (element.get("class") or "").split():
            return True
        if element is self.shown or not is_hidden(element, self.sheet):
            return False
        if tag in BLOCK_TAGS and len(element) and (length := text_length(element)) > self.hidden_length:
            self.hidden, self.hidden_length = element, length
        return True

    def _open(self, element: etree._Element, tag: str) -> None:
        if tag in BLOCK_TAGS:
            if self.verbatim is not None:
                self.line.end_line()
                return
            self._end_block()
            get = element.get
            parent = self.nodes[-1] if self.nodes else -1
            names = f"{get('class') or ''} {get('id') or ''} {get('role') or ''} {get('itemprop') or ''}" if element.attrib else ""
            self.nodes.append(self.tree.open(parent, tag, names))
            self.tags.append(tag)
            self.by_element = "highlighter" in names and not CODE_NAMES.isdisjoint(names.split())
            if self.by_element or tag in VERBATIM:
                self.verbatim = element
        elif tag == "br":
            if self.verbatim is not None:
                self.line.put("\n", False)
            else:
                breaks = self.line.breaks if not self.line.length else 0
                self._end_block()
                self.line.breaks = breaks + 1
        elif tag == "a":
            self.links += element.get("href") is not None
        elif tag == "code" and self.verbatim is None:
            self.codes.append(self.line.length)

    def _close(self, element: etree._Element, tag: str) -> None:
        if tag in BLOCK_TAGS:
            if self.verbatim is not None and self.verbatim is not element:
                self.line.end_line()
                return
            self._end_block()
            self.verbatim = None
            self.tree.close(self.nodes.pop())
            self.tags.pop()
        elif tag == "a":
            self.links -= element.get("href") is not None
        elif tag == "code" and self.verbatim is None:
            start = self.codes.pop()
            if start < self.line.length:
                self.line.inline.append(Span("code", start, self.line.length))

    def _text(self, text: str) -> None:
        if self.verbatim is not None:
            if not (self.by_element and "\n" in text and text.isspace()):
                self.line.put(text.replace("\r\n", "\n").replace("\xa0", " "), self.links > 0)
        else:
            self.line.add(text, self.links > 0)
            self._note_image()

    def _formula(self, element: etree._Element) -> None:
        if tex := formula(element):
            start = self.line.length
            self.line.put(tex, False)
            self.line.inline.append(Span("math", start, self.line.length))
            self._note_image()

    def _note_image(self) -> None:
        """Text was read: whether it begins a block behind a picture, whose caption it may be."""
        if self.after_image:
            self.line.after_image = len(self.line.pieces) == 1
            self.after_image = False

    def _end_block(self) -> None:
        """End the block being written, if it holds anything."""
        if self.line.pieces:
            self._write_block()
        else:
            self.line.breaks = 0

    def _write_block(self) -> None:
        line = self.line
        self.line = _Line()
        self.codes = [0] * len(self.codes)
        raw = "".join(line.pieces)
        text = raw.strip("\n") if self.verbatim is not None else raw.strip()
        if self.nodes and VISIBLE.search(text):
            lead = raw.index(text)
            moved = ((tag, max(0, start - lead), min(len(text), end - lead)) for tag, start, end in line.inline)
            inline = tuple(Span(tag, start, end) for tag, start, end in moved if start < end)
            tag = "pre" if self.verbatim is not None else _leaf_tag(self.tags)
            self.tree.blocks.append(Block(text, self.nodes[-1], tag, line.link_length, line.breaks, inline, line.after_image))


def text_length(element: etree._Element) -> int:
    """Characters of text inside an element, programs and the like apart."""
    length = 0
    walker = etree.iterwalk(element, events=("start",))
    for _, inner in walker:
        if inner.tag in UNSEEN_TAGS:
            walker.skip_subtree()
        elif inner.text:
            length += len(inner.text.strip())
        if inner.tail and inner is not element:
            length += len(inner.tail.strip())
    return length


def _leaf_tag(tags: list[str]) -> str:
    """The span tag of text that hangs directly under the open elements `tags`."""
    last = tags[-1]
    if last in HEADINGS or last in WRAPPERS:
        return WRAPPERS.get(last, last)
    if last in CAPTIONS:
        return "caption"
    near = tags[-4:]
    return next((tag for tag in reversed(near) if tag in HEADINGS), "caption" if not CAPTIONS.isdisjoint(near) else "p")
