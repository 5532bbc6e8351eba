"""The bulk of the text: forum threads, reference text, source files, each in the containers where one meets them."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from rawgen import handwritten, pages
from rawgen.containers import zipped
from rawgen.dumps import BROKEN_LINES, Dump
from rawgen.edits import near_copy
from rawgen.pieces import Piece, Raw

EXTENSIONS = {"python": "py", "c": "c", "sql": "sql", "shell": "sh", "javascript": "js"}


def share(pieces: Sequence[Piece], *shares: float) -> list[list[Piece]]:
    """Consecutive parts of the given shares; the last part is the rest."""
    parts, start = [], 0
    for fraction in shares:
        end = start + round(fraction * len(pieces))
        parts.append(list(pieces[start:end]))
        start = end
    return [*parts, list(pieces[start:])]


def forum(raw: Raw, threads: Sequence[Piece], num_copies: int) -> None:
    """Write forum/: pages (every other one in GB18030), text files in GB18030 and UTF-16, three dumps, the first with broken lines."""
    on_pages, in_files, *dumped = share(threads, 0.3, 0.15, 0.2, 0.2)
    _thread_pages(raw, on_pages)
    for number, piece in enumerate(in_files):
        path = f"forum/texts/{piece.slug}.txt"
        text = piece.text.replace("\n", "\r\n") + "\r\n"
        raw.add(path, codecs.BOM_UTF16_LE + text.encode("utf-16-le") if number % 5 == 0 else text.encode("gb18030"))
        raw.keep(path, piece)
    _thread_dumps(raw, dumped, num_copies)


def _thread_pages(raw: Raw, threads: Sequence[Piece]) -> None:
    rng = raw.stream("forum pages")
    for number, piece in enumerate(threads):
        charset, declared = (("utf-8", "utf-8"), ("gb18030", "gbk"))[number % 2]
        path = f"forum/pages/{piece.slug}.html"
        raw.add(path, pages.thread(piece, rng.sample(threads, 3), rng, declared).encode(charset))
        raw.keep(path, piece)


def _thread_dumps(raw: Raw, parts: Sequence[Sequence[Piece]], num_copies: int) -> None:
    """Broken lines stand in the first dump, copies of the other dumps' threads in the last."""
    rng = raw.stream("forum dumps")
    dumps = [Dump(raw, f"forum/dump-{ending}", "forum") for ending in ("1.jsonl", "2.jsonl.gz", "3.jsonl.zst")]
    for dump, part in zip(dumps, parts, strict=True):
        for number, piece in enumerate(part):
            dump.keep(piece)
            if dump is dumps[0]:
                for broken in BROKEN_LINES[number :: len(part)]:
                    dump.broken(broken)
    chosen = rng.sample([*parts[0], *parts[1]], 2 * num_copies)
    for piece in chosen[:num_copies]:
        dumps[2].copy(piece, piece.text, "exact copy")
    for piece in chosen[num_copies:]:
        text, similarity = near_copy(rng, piece.text)
        dumps[2].copy(piece, text, "near copy", similarity)
    for dump in dumps:
        dump.close()


def reference(raw: Raw, docstrings: Sequence[Piece], topics: Sequence[Piece]) -> None:
    """Write reference/: docstrings in a compressed dump and in files, the language reference in files."""
    dumped, in_files = share(docstrings, 0.6)
    dump = Dump(raw, "reference/pydoc.jsonl.gz", "pydoc")
    for piece in dumped:
        dump.keep(piece)
    dump.close()
    for folder, pieces in (("pydoc", in_files), ("topics", topics)):
        for piece in pieces:
            path = f"reference/{folder}/{piece.slug}.txt"
            raw.add(path, (piece.text + "\n").encode())
            raw.keep(path, piece)


def code(raw: Raw, sources: Sequence[Piece], step: int) -> None:
    """Write code/: a source tree, a zip of sources, the handwritten programs, and a vendored copy of one file of the tree."""
    zipped_sources, tree = share(sources, 0.3)
    members = {piece.key: (piece.text + "\n").encode() for piece in zipped_sources}
    raw.add("code/sources.zip", zipped(members))
    for piece in zipped_sources:
        raw.keep(f"code/sources.zip!/{piece.key}", piece)
    for piece in tree:
        raw.add(f"code/{piece.key}", (piece.text + "\n").encode())
        raw.keep(f"code/{piece.key}", piece)
    for piece in handwritten.load("code", step):
        path = f"code/examples/{piece.slug}.{EXTENSIONS[piece.kind]}"
        raw.add(path, (piece.text + "\n").encode())
        raw.keep(path, piece)
    vendored = raw.stream("vendored").choice(tree)
    raw.add(f"code/vendor/{vendored.slug}", (vendored.text + "\n").encode())
    raw.copy(f"code/vendor/{vendored.slug}", vendored, "exact copy")
