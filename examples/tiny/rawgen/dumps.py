"""JSONL dumps: records with id, url, title and text, and lines that went wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rawgen.containers import gzipped, json_lines, zstd
from rawgen.pieces import Piece, Raw

STORED: dict[str, Callable[[bytes], bytes]] = {"jsonl": bytes, "gz": gzipped, "zst": zstd}


@dataclass(frozen=True)
class BrokenLine:
    """certain: whether every chain must refuse it."""

    line: bytes
    why: str
    certain: bool = True


BROKEN_LINES = (
    BrokenLine('{"id": "x-cut", "title": "断", "text": "这一行没有写完就断了，后面'.encode(), "broken line"),
    BrokenLine(b"2024-03-05 04:11:07 ERROR exporter: connection reset, retrying", "broken line"),
    BrokenLine(b'["x-list", "a list where an object is expected"]', "broken line"),
    BrokenLine(b'{"id": "x-no-text", "title": "only a title"}', "no text"),
    BrokenLine(b'{"id": "x-null", "text": null}', "no text"),
    BrokenLine(b'{"id": "x-empty", "text": ""}', "empty"),
    BrokenLine(b'{"id": "x-bytes", "text": "\xff\xfe\xb0\xa1 bytes that are no UTF-8 \xc3\x28"}', "broken line", certain=False),
)


@dataclass
class Dump:
    """A dump being filled. path says by its ending how it is stored; prefix stands before the number in a record's id."""

    raw: Raw
    path: str
    prefix: str
    lines: list[dict[str, str] | bytes] = field(default_factory=list)

    def keep(self, piece: Piece) -> None:
        name = self._record(piece, piece.text)
        self.raw.keep(self._last_ref(), piece, record=name)

    def copy(self, piece: Piece, text: str, why: str, similarity: float | None = None) -> None:
        name = self._record(piece, text)
        self.raw.copy(self._last_ref(), piece, why, record=name, similarity=similarity)

    def broken(self, broken: BrokenLine) -> None:
        self.lines.append(broken.line)
        self.raw.refuse(self._last_ref(), broken.why, certain=broken.certain)

    def close(self) -> None:
        self.raw.add(self.path, STORED[self.path.rsplit(".", 1)[1]](json_lines(self.lines)))

    def _record(self, piece: Piece, text: str) -> str:
        name = f"{self.prefix}-{len(self.lines):04d}"
        self.lines.append({"id": name, "url": f"https://{self.prefix}.example/{name}", "title": piece.title, "text": text})
        return name

    def _last_ref(self) -> str:
        return f"{self.path}#{len(self.lines) - 1}"
