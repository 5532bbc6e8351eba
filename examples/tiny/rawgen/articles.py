"""The handwritten texts as a web crawl leaves them: every encoding, pages, a feed, an archive in an archive, and copies of all kinds."""

from __future__ import annotations

import codecs
import random
from dataclasses import dataclass, field

from rawgen import handwritten, pages
from rawgen.containers import gzipped, tarred, zipped
from rawgen.dumps import Dump
from rawgen.edits import near_copy
from rawgen.pieces import Piece, Raw

# The forms in which the documents of a language appear, in turn.
FORMS = {
    "zh-Hans": (
        "page utf-8", "text gb18030", "feed", "page gb18030", "text utf-16-le marked", "nested", "text utf-8 marked",
        "text utf-16-be marked", "page utf-8 called gb2312", "text utf-8", "text utf-16-le",
    ),
    "zh-Hant": ("text big5", "page big5", "text utf-8", "nested", "text utf-16-be marked"),
    "en": ("page utf-8", "text utf-8", "feed", "text utf-16-le", "nested", "text utf-8 marked", "page utf-8"),
    "mixed": ("page utf-8", "text gb18030", "feed", "nested"),
}  # fmt: skip
CALLED = {"gb18030": "gb2312"}  # what pages in this encoding usually declare
MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
WINDOWS = ("gb18030", "utf-16-le")  # text files in these end their lines with CR LF


@dataclass
class Articles:
    """The folder articles/ being filled."""

    raw: Raw
    pieces: list[Piece]
    rng: random.Random
    feed: Dump
    nested: dict[str, bytes] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)  # key -> form

    def add(self, piece: Piece, form: str) -> None:
        self.forms[piece.key] = form
        match form.split():
            case ["page", charset]:
                self._page(piece, charset, CALLED.get(charset, charset))
            case ["page", charset, "called", declared]:
                self._page(piece, charset, declared)
            case ["text", charset, *marked]:
                self._text(piece, charset, bool(marked))
            case ["feed"]:
                self.feed.keep(piece)
            case _:
                self._member(piece)

    def close(self) -> None:
        self.feed.close()
        self.raw.add("articles/crawl.tar", tarred({"batch.zip": zipped(self.nested)}))

    def exact_copy(self, piece: Piece) -> None:
        """A copy of a plain text: in the feed if it is not from there, else as a file."""
        if self.forms[piece.key] != "feed":
            self.feed.copy(piece, piece.text, "exact copy")
            return
        path = f"articles/texts/copy-of-{piece.slug}.txt"
        self.raw.add(path, piece.text.encode())
        self.raw.copy(path, piece, "exact copy")

    def near_copy(self, piece: Piece) -> None:
        text, similarity = near_copy(self.rng, piece.text)
        path = f"articles/texts/reprint-of-{piece.slug}.txt"
        self.raw.add(path, text.encode())
        self.raw.copy(path, piece, "near copy", similarity=similarity)

    def fetch_again(self, piece: Piece) -> None:
        """The same page, with another visit number in its scripts, addresses and comments: its text is the same."""
        first = self.raw.files[f"articles/pages/{piece.slug}.html"].decode()
        path = f"articles/fetched-again/{piece.slug}.html"
        self.raw.add(path, pages.VISIT.sub(pages.visit(self.rng), first).encode())
        self.raw.copy(path, piece, "fetched twice")

    def _page(self, piece: Piece, charset: str, declared: str) -> None:
        path = f"articles/pages/{piece.slug}.html"
        self.raw.add(path, self._html(piece, declared).encode(charset))
        self.raw.keep(path, piece)

    def _text(self, piece: Piece, charset: str, marked: bool) -> None:
        path = f"articles/texts/{piece.slug}.txt"
        text = piece.text + "\n"
        if charset in WINDOWS:
            text = text.replace("\n", "\r\n")
        self.raw.add(path, (MARKS[charset] if marked else b"") + text.encode(charset))
        self.raw.keep(path, piece)

    def _member(self, piece: Piece) -> None:
        """A gzip in a zip in a tar."""
        name = f"{piece.slug}.html.gz"
        self.nested[name] = gzipped(self._html(piece, "utf-8").encode())
        self.raw.keep(f"articles/crawl.tar!/batch.zip!/{name}", piece)

    def _html(self, piece: Piece, declared: str) -> str:
        others = [other for other in self.pieces if other.language == piece.language and other != piece]
        return pages.article(piece, self.rng.sample(others, 2), self.rng, declared)


def fill(raw: Raw, step: int, num_copies: int) -> list[Piece]:
    """Write articles/: every `step`-th handwritten document, `num_copies` exact and near copies each, half as many pages fetched twice.

    Copies have the form of their original, plain text or page, so that what surrounds a text does not decide whether two are alike.
    """
    pieces = [piece for language in FORMS for piece in handwritten.load(language, step)]
    articles = Articles(raw, pieces, raw.stream("articles"), Dump(raw, "articles/feed.jsonl", "feed"))
    for language, forms in FORMS.items():
        for number, piece in enumerate(p for p in pieces if p.language == language):
            articles.add(piece, forms[number % len(forms)])
    rng = raw.stream("copies")
    plain = [p for p in pieces if articles.forms[p.key].startswith(("text", "feed")) and p.language != "mixed"]
    chosen = rng.sample(plain, 2 * num_copies)
    for piece in chosen[:num_copies]:
        articles.exact_copy(piece)
    for piece in chosen[num_copies:]:
        articles.near_copy(piece)
    for piece in rng.sample([p for p in pieces if articles.forms[p.key] == "page utf-8"], num_copies // 2):
        articles.fetch_again(piece)
    articles.close()
    return pieces
