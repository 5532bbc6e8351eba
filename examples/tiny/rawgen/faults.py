"""What has to be refused, each in a file of its own below broken/: garbled, cut, binary, empty, advertising, key words."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Sequence

from rawgen import pages
from rawgen.containers import cut_gzip, json_lines
from rawgen.edits import MOJIBAKE, keyword_spam
from rawgen.pieces import Piece, Raw

CUT_LINES = 4  # records of the truncated gzip ...
WHOLE_LINES = 2  # ... of which so many can be read


def garbled(raw: Raw, pieces: Sequence[Piece], count: int) -> None:
    """`count` mojibake files of each kind, of Chinese articles that also appear in sound form: repaired or not, they must not stay."""
    rng = raw.stream("mojibake")
    chinese = [p for p in pieces if p.language == "zh-Hans" and p.key in raw.originals]
    chosen = iter(rng.sample(chinese, count * len(MOJIBAKE)))
    for kind, spoil in MOJIBAKE.items():
        for piece in (next(chosen) for _ in range(count)):
            path = f"broken/mojibake-{kind}-{piece.slug}.txt"
            raw.add(path, spoil(piece.text).encode())
            raw.refuse(path, f"mojibake: {kind}", of=piece, certain=kind != "latin-1")  # which can be repaired


def truncated(raw: Raw, threads: Sequence[Piece]) -> None:
    """A compressed dump that breaks off: WHOLE_LINES records can be read, what follows is one refusal."""
    path = "broken/cut.jsonl.gz"
    records = [{"id": f"cut-{number}", "title": piece.title, "text": piece.text} for number, piece in enumerate(threads)]
    raw.add(path, cut_gzip(json_lines(records).splitlines(), WHOLE_LINES))
    for number, piece in enumerate(threads[:WHOLE_LINES]):
        raw.keep(f"{path}#{number}", piece, record=f"cut-{number}")
    raw.refuse(path, "truncated")
    raw.refuse(f"{path}#{WHOLE_LINES}", "broken line", certain=False)  # half a line, part of the rest or a bad line of its own


def not_text(raw: Raw) -> None:
    """Binary files named .txt, files without content."""
    rng = raw.stream("binary")
    binaries = {"picture.txt": _png(rng), "program.txt": b"\x7fELF\x02\x01\x01" + bytes(9) + rng.randbytes(4000), "noise.txt": rng.randbytes(3000)}
    for name, data in {**binaries, "zeros.txt": bytes(4096)}.items():
        raw.add(f"broken/{name}", data)
        raw.refuse(f"broken/{name}", "binary")
    for name, data in {"empty.txt": b"", "blank.txt": b" \r\n\t\n\n  \n", "tiny.txt": b"ok\n"}.items():
        raw.add(f"broken/{name}", data)
        raw.refuse(f"broken/{name}", "too short" if data.strip() else "empty", certain=not data.strip())


def _png(rng: random.Random) -> bytes:
    """A valid 32 x 32 picture of grey noise (PNG specification: signature, IHDR, IDAT, IEND)."""
    rows = b"".join(b"\0" + rng.randbytes(32) for _ in range(32))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data)) for tag, data in chunks)


def without_content(raw: Raw, pieces: Sequence[Piece], count: int) -> None:
    """`count` advertising pages per language, an error page, a list of links, and `count` texts of key words per language."""
    rng = raw.stream("adverts")
    html = {}
    for language, charset, declared in (("zh", "gb18030", "gb2312"), ("en", "utf-8", "utf-8")):
        for number in range(count):
            html[f"advert-{language}-{number}"] = pages.fill(f"advert-{language}", charset=declared, visit=pages.visit(rng)).encode(charset)
    html["not-found"] = pages.fill("not-found", visit=pages.visit(rng)).encode()
    links = pages.links([p for p in pieces if p.language == "zh-Hans"])
    html["sitemap"] = pages.fill("front-page", charset="utf-8", visit=pages.visit(rng), related=links).encode()
    for name, data in html.items():
        raw.add(f"broken/{name}.html", data)
        raw.refuse(f"broken/{name}.html", "no content", certain=False)
    for language in ("zh", "en"):
        for number in range(count):
            path = f"broken/keywords-{language}-{number}.txt"
            raw.add(path, keyword_spam(rng, pages.words(f"spam-{language}")).encode())
            raw.refuse(path, "key words", certain=False)
