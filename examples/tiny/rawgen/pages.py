"""Web pages around a text. What must never appear in cleaned text (scripts, styles, comments) holds the word NON_TEXT."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

from rawgen.pieces import Piece

TEMPLATES = Path(__file__).parent / "templates"
NON_TEXT = "nontextual"
ITEM = re.compile(r"(?:[-*]|\d+[.)])\s+(.*)")
ARTICLE_TEMPLATES = {"zh-Hans": "article-zh", "zh-Hant": "article-zh-Hant", "mixed": "article-zh", "en": "article-en", "code": "article-en"}


VISIT = re.compile(r"\bv[0-9a-f]{12}\b")


def visit(rng: random.Random) -> str:
    """A number that differs between two visits of a page; it stands in scripts, addresses and comments only."""
    return f"v{rng.getrandbits(48):012x}"


def words(name: str) -> list[str]:
    """The lines of a word list among the templates."""
    return (TEMPLATES / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1]


def fill(name: str, **values: str) -> str:
    return Template((TEMPLATES / f"{name}.html").read_text(encoding="utf-8")).substitute(values)


def article(piece: Piece, related: Sequence[Piece], rng: random.Random, charset: str = "utf-8") -> str:
    """A page with the text in the middle of navigation, advertising and scripts; `rng` makes what differs between two visits."""
    body = piece.text.split("\n", 1)[1] if "\n" in piece.text else ""
    return fill(
        ARTICLE_TEMPLATES[piece.language], charset=charset, title=html.escape(piece.title), body=blocks(body),
        related=links(related), slug=piece.slug, visit=visit(rng),
    )  # fmt: skip


def thread(piece: Piece, related: Sequence[Piece], rng: random.Random, charset: str = "utf-8") -> str:
    """A forum page, one post per paragraph."""
    users = words("users-zh")
    posts = "\n".join(
        fill("post-zh", floor=str(number), user=rng.choice(users), text=html.escape(text)).rstrip() for number, text in enumerate(piece.text.split("\n\n"), 1)
    )
    return fill(
        "thread-zh", charset=charset, title=html.escape(piece.title), posts=posts, related=links(related),
        slug=piece.slug, visit=visit(rng),
    )  # fmt: skip


def blocks(text: str) -> str:
    """Paragraphs, lists, tables and indented code as HTML."""
    return "\n".join(_block(block) for block in re.split(r"\n{2,}", text.strip("\n")))


def _block(block: str) -> str:
    lines = block.split("\n")
    if all(line.startswith("    ") for line in lines):
        return f"<pre><code>{html.escape(chr(10).join(line[4:] for line in lines))}</code></pre>"
    if all(line.startswith("|") for line in lines):
        return _table(lines)
    if all(ITEM.match(line) for line in lines):
        items = "".join(f"<li>{html.escape(ITEM.sub(lambda m: m[1], line))}</li>\n" for line in lines)
        tag = "ol" if lines[0][0].isdigit() else "ul"
        return f"<{tag}>\n{items}</{tag}>"
    return f"<p>{'<br>'.join(html.escape(line) for line in lines)}</p>"


def _table(lines: Sequence[str]) -> str:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    filled = [row for row in rows if not all(re.fullmatch(r"-+", cell) for cell in row)]
    cells = [[f"<td>{html.escape(cell)}</td>" for cell in row] for row in filled]
    return "<table>\n" + "".join(f"<tr>{''.join(row)}</tr>\n" for row in cells) + "</table>"


def links(pieces: Sequence[Piece]) -> str:
    """List items that lead to other pages."""
    return "\n".join(f'<li><a href="/{piece.slug}.html">{html.escape(piece.title)}</a></li>' for piece in pieces)
