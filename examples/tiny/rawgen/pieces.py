"""A text and what is known of it, and the raw folder that is being filled.

Everything is built in memory (some 4 MB) and written at the end, so that a fault half-way leaves no half folder.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from mspt.core.errors import MsptError

Fate = Literal["kept", "duplicate", "rejected"]


@dataclass(frozen=True)
class Piece:
    """A sound text. key: where it came from; language: zh-Hans, zh-Hant, en, mixed or code; kind: news, recipe, python, ..."""

    key: str
    language: str
    kind: str
    title: str
    text: str

    @property
    def num_bytes(self) -> int:
        return len(self.text.encode())

    @property
    def slug(self) -> str:
        """The key as one file name."""
        return self.key.replace("/", "-")


@dataclass(frozen=True)
class Expected:
    """What should become of one raw document.

    ref: path below the raw folder, `!/` into containers, `#n` the n-th line of a JSONL file, from 0.
    record: the `id` field of a JSONL record. document: the key of the text.
    fate: `duplicate` of `of`: which of the two stays is for dedup to say; exactly one document of such a group does.
    certain: False where it depends on how far the chain goes (repairs mojibake, knows advertising).
    similarity: exact Jaccard of 5-unit shingles with `of` (near copies). num_bytes: of the sound text in UTF-8; 0 if there is none.
    """

    ref: str
    fate: Fate
    why: str = ""
    document: str = ""
    language: str = ""
    of: str = ""
    record: str = ""
    certain: bool = True
    similarity: float | None = None
    num_bytes: int = 0


@dataclass
class Raw:
    """Files by path below the raw folder, and the fates of the documents in them."""

    seed: int
    files: dict[str, bytes] = field(default_factory=dict)
    expected: list[Expected] = field(default_factory=list)
    originals: dict[str, str] = field(default_factory=dict)  # key of a text -> ref of its first appearance

    def stream(self, purpose: str) -> random.Random:
        """Random numbers of their own for each purpose: adding a kind of mess changes nothing of the others."""
        return random.Random(f"{self.seed}/{purpose}")

    def add(self, path: str, data: bytes) -> None:
        assert path not in self.files, path
        self.files[path] = data

    def keep(self, ref: str, piece: Piece, record: str = "") -> None:
        self.originals.setdefault(piece.key, ref)
        self.expected.append(Expected(ref, "kept", document=piece.key, language=piece.language, record=record, num_bytes=piece.num_bytes))

    def copy(self, ref: str, piece: Piece, why: str, record: str = "", similarity: float | None = None) -> None:
        """A further appearance of a text that `keep` has seen."""
        original = self.originals[piece.key]
        self.expected.append(Expected(ref, "duplicate", why, piece.key, piece.language, original, record, similarity=similarity, num_bytes=piece.num_bytes))

    def refuse(self, ref: str, why: str, of: Piece | None = None, certain: bool = True) -> None:
        """What gives no document; `of`: the sound text that it spoils."""
        document, original = (of.key, self.originals[of.key]) if of else ("", "")
        self.expected.append(Expected(ref, "rejected", why, document=document, of=original, certain=certain))

    def write(self, folder: Path) -> None:
        """Write the files below `folder`; files that have the right bytes already keep their time stamp."""
        present = {str(p.relative_to(folder).as_posix()) for p in folder.rglob("*") if p.is_file()} if folder.exists() else set()
        if foreign := sorted(present - self.files.keys()):
            raise MsptError(
                f"{folder} holds {len(foreign)} files that this size and seed do not make, for example {foreign[0]}",
                "name another folder, or remove this one first",
            )
        for path, data in self.files.items():
            target = folder / path
            if path in present and target.read_bytes() == data:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def write_truth(self, path: Path) -> None:
        """One JSON object per raw document, sorted by ref."""
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (json.dumps(asdict(row), ensure_ascii=False) for row in sorted(self.expected, key=lambda row: row.ref))
        path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def take(pieces: Iterable[Piece], num_bytes: int) -> list[Piece]:
    """The first pieces that together reach `num_bytes` of UTF-8."""
    taken: list[Piece] = []
    for piece in pieces:
        if num_bytes <= 0:
            break
        taken.append(piece)
        num_bytes -= piece.num_bytes
    return taken
