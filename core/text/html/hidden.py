"""Which elements of a page nobody sees: hidden by attributes, by their style, by colour, by a class whose meaning is settled, or by the page's own rules.

Linked style sheets are not read. Of those inside the page only the plainest rules are: one class or id, hidden, outside any @media.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

NAME = r"(?<![\w-])"  # no longer property ends in it
OVER = r"\s*(?:;|!|$)"
# Offsets below 900 are layout: `left: 50%; margin-left: -480px` centres a page.
HIDING = (
    rf"{NAME}display\s*:\s*none",
    rf"{NAME}visibility\s*:\s*(?:hidden|collapse)",
    rf"{NAME}font-size\s*:\s*[01](?:\.0*)?(?:px|pt|r?em|%)?{OVER}",
    rf"{NAME}font-size\s*:\s*0?\.\d+(?:px|pt)",
    rf"{NAME}font\s*:\s*0(?:px)?[\s/]",
    rf"{NAME}(?:text-indent|left|right|top|margin-left|margin-top)\s*:\s*-(?:9\d\d|\d{{4,}})",
    rf"{NAME}opacity\s*:\s*0?(?:\.0*)?{OVER}",
    r"clip\s*:\s*rect\(\s*[01](?:px)?[\s,]",
    r"clip-path\s*:\s*inset\(\s*(?:50|100)%",
    rf"{NAME}color\s*:\s*transparent",
    rf"{NAME}(?:max-)?height\s*:\s*0(?:px)?{OVER}",
)
HIDDEN_STYLE = re.compile("|".join(HIDING), re.IGNORECASE)
NO_HEIGHT = re.compile(HIDING[-1], re.IGNORECASE)
FONT_EM = re.compile(r"font-size\s*:\s*1(?:\.0*)?(?:r?em|%)?\s*(?:;|!|$)", re.IGNORECASE)  # 1em is the usual size, 1px is hidden
# Classes that style sheets everywhere give to text for screen readers, to line numbers, to anchors of headings and to decoys against copying.
HIDDEN_NAMES = frozenset({
    "sr-only", "screen-reader-text", "screen-reader-only", "visually-hidden", "visuallyhidden", "visually_hidden", "element-invisible", "assistive-text",
    "a11y-hidden", "u-hidden-visually", "offscreen", "off-screen", "jammer", "headerlink", "header-anchor", "heading-anchor", "anchor-link", "anchorlink",
    "hash-link", "mw-editsection", "mw-cite-backlink", "linenos", "lineno", "line-number", "line-numbers-rows", "hljs-ln-numbers",
    "MathJax", "MathJax_Preview", "MathJax_Display", "MathJax_CHTML", "MathJax_SVG", "mjx-chtml", "katex-html", "katex-mathml-fallback",
})  # fmt: skip
HIDING_DECLARATION = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|text-indent\s*:\s*-\d{3}|opacity\s*:\s*0\s*[;}]")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SIMPLE_SELECTOR = re.compile(r"\s*[a-zA-Z]{0,10}([.#][\w-]{1,60})\s*\Z")
HIDING_ATTRIBUTES = frozenset({"hidden", "aria-hidden", "style", "color"})
MAX_SHEET = 200_000  # characters of style rules that are read
MAX_RULE = 400  # characters of one rule, and of its selectors
MAX_CLIMB = 64  # ancestors asked for the background
COLOUR = re.compile(r"(?<![\w-])color\s*:\s*([^;!]{3,40})", re.IGNORECASE)
BACKGROUND = re.compile(r"(?<![\w-])background(?:-color)?\s*:\s*([^;!]{3,200})", re.IGNORECASE)
NAMED = {"white": "ffffff", "black": "000000", "red": "ff0000", "blue": "0000ff", "yellow": "ffff00", "green": "008000", "gray": "808080", "grey": "808080"}
UNKNOWN = "?"
PLAIN = "plain"  # no selector: those begin with a dot or #
HINT = re.compile(r"none|hidden|collapse|opacity|-\d{3}|font|clip|transparent|height|olor|background", re.IGNORECASE)  # no other style matters


class Style(NamedTuple):
    """What a style attribute says: whether it hides, and its colours as six hexadecimal digits ("" unsaid, "?" not to be told)."""

    hides: bool
    colour: str
    background: str


def is_hidden(element: etree._Element, sheet: frozenset[str]) -> bool:
    """Whether an element is not shown. `sheet`: what `hidden_selectors` found."""
    names = element.get("class") or ""
    if names and (_is_hiding_class(names) or (names == "gutter" and element.tag == "td")):  # line numbers beside code
        return True
    attributes = element.keys()
    if sheet and ("id" in attributes or names) and _is_selected(element, names, sheet):
        return not _holds_formula(element)
    if HIDING_ATTRIBUTES.isdisjoint(attributes) or element.tag in ("html", "body"):  # pages that a script reveals
        return False
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return element.get("hidden") != "until-found"
    style = element.get("style") or ""
    if style and read_style(style).hides:
        return not _holds_formula(element)
    return ("color" in attributes or "color" in style) and _has_colour_of_ground(element, PLAIN in sheet)


@lru_cache(maxsize=20_000)
def _is_hiding_class(names: str) -> bool:
    return not HIDDEN_NAMES.isdisjoint(names.split())


def _is_selected(element: etree._Element, names: str, sheet: frozenset[str]) -> bool:
    if element.tag in ("html", "body"):
        return False
    return f"#{element.get('id')}" in sheet or any(f".{name}" in sheet for name in names.split())


def hidden_selectors(root: etree._Element) -> frozenset[str]:
    """Classes (".x") and ids ("#x") that the page's own style rules hide; PLAIN is among them when no style sheet colours the ground."""
    sheets = " ".join(sheet.text or "" for sheet in root.iter("style"))[:MAX_SHEET]
    linked = any("stylesheet" in (link.get("rel") or "").lower() for link in root.iter("link"))
    plain = not linked and "background" not in sheets and "@import" not in sheets
    return frozenset(_hiding(COMMENT.sub("", sheets))) | ({PLAIN} if plain else frozenset())


def _hiding(sheet: str) -> Iterator[str]:
    """Simple selectors of the rules that hide, those inside @media and the like apart: whether these hold is unknown."""
    depth = position = 0
    for found in HIDING_DECLARATION.finditer(sheet):
        depth += sheet.count("{", position, found.start()) - sheet.count("}", position, found.start())
        position = found.start()
        opening, closing = sheet.rfind("{", max(0, position - MAX_RULE), position), sheet.find("}", position, position + MAX_RULE)
        if depth == 1 and 0 <= opening < closing and read_style(sheet[opening + 1 : closing]).hides:
            before = max(sheet.rfind(mark, max(0, opening - MAX_RULE), opening) for mark in "};")
            selectors = sheet[max(before + 1, opening - MAX_RULE) : opening].split(",")
            yield from (simple[1] for selector in selectors if (simple := SIMPLE_SELECTOR.match(selector)))


def read_style(style: str) -> Style:
    """A style attribute, or the body of a rule."""
    return _read_style(style) if len(style) <= MAX_RULE and HINT.search(style) else Style(False, "", "")


@lru_cache(maxsize=4096)
def _read_style(style: str) -> Style:
    found = [match[0] for match in HIDDEN_STYLE.finditer(style)]
    # Without `overflow: hidden` a box of no height shows what it holds.
    hides = any(not FONT_EM.match(one) and ("overflow" in style or not NO_HEIGHT.match(one)) for one in found)
    colour = COLOUR.search(style)
    background = BACKGROUND.search(style)
    return Style(hides, _hexadecimal(colour[1]) if colour else "", _hexadecimal(background[1]) if background else "")


def _hexadecimal(colour: str) -> str:
    text = colour.strip().lower()
    if text in NAMED:
        return NAMED[text]
    if digits := re.fullmatch(r"#?([0-9a-f]{6}|[0-9a-f]{3})", text):
        return digits[1] if len(digits[1]) == 6 else "".join(2 * digit for digit in digits[1])
    if parts := re.fullmatch(r"rgba?\((\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+1(?:\.0*)?)?\)", text):
        return "".join(f"{min(255, int(part)):02x}" for part in parts.groups())
    return UNKNOWN


def _has_colour_of_ground(element: etree._Element, plain: bool) -> bool:
    """Whether text has the colour of the ground that it stands on, as far as attributes tell.

    plain: no style sheet can have coloured the ground; else a class or id on the way may have.
    """
    style = read_style(element.get("style") or "")
    colour = style.colour or _hexadecimal(element.get("color") or "")
    if colour == UNKNOWN:
        return False
    one: etree._Element | None = element
    for _ in range(MAX_CLIMB):
        if one is None:
            return colour == NAMED["white"]  # the ground of a page that says nothing
        ground = read_style(one.get("style") or "").background or (_hexadecimal(one.get("bgcolor") or "") if one.get("bgcolor") else "")
        if ground:
            return ground == colour
        if one.get("background") or (not plain and (one.get("class") or one.get("id"))):
            return False
        one = one.getparent()
    return False


def _holds_formula(element: etree._Element) -> bool:
    """MathML beside a picture of the formula is hidden from sight only."""
    return len(element) == 1 and element[0].tag == "math"
