"""What differs between two texts: lines are matched first, then clauses inside the lines that differ, then words (of Han and Kana, characters) inside those,
then the characters of a word that became another.

So texts of 64 KiB are compared in a moment, and a moved paragraph is one deletion and one insertion instead of a scatter of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from mspt.cli.views.render import safe

if TYPE_CHECKING:
    from rich.text import Text

Kind = Literal["equal", "replace", "delete", "insert"]
CLAUSE = re.compile(r"[^。！？；，、.!?;,\s]*(?:[。！？；，、.!?;,]+\s*|\s+)|[^。！？；，、.!?;,\s]+")
WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|\s+|.", re.DOTALL)
MAX_PAIRS = 4_000_000  # of parts that are compared with each other at once; more are shown as replaced (about a second)
MIN_EQUAL = 4  # characters, and for each so many that differ on both sides one
MIN_ALIKE = 0.6  # of the characters of two words, for which the letters are shown that differ
CONTEXT = 30  # characters of equal text shown on each side of a difference
MAX_SHOWN = 600  # of one stretch that only one text has; --json gives all
GONE, NEW = "red strike", "green"


@dataclass(frozen=True)
class Piece:
    """A stretch a[a_start:a_end] that became b[b_start:b_end]."""

    kind: Kind
    a_start: int
    a_end: int
    b_start: int
    b_end: int


def compare(a: str, b: str) -> list[Piece]:
    """How `a` becomes `b`: pieces that cover both texts, in order; neighbours are of different kinds."""
    pieces: list[Piece] = []
    for one in _without_islands(a, _compare(a, b, 0, 0, (_lines, _clauses, _words))):
        last = pieces[-1] if pieces else None
        if last is not None and (last.kind == "equal") == (one.kind == "equal"):
            kind: Kind = "equal" if one.kind == "equal" else _kind(one.a_end - last.a_start, one.b_end - last.b_start)
            pieces[-1] = Piece(kind, last.a_start, one.a_end, last.b_start, one.b_end)
        else:
            pieces.append(one)
    return pieces


def _kind(removed: int, added: int) -> Kind:
    return "replace" if removed and added else "delete" if removed else "insert"


def _without_islands(a: str, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces; a letter or two, or blanks, that are equal by chance between two longer differences count as differing."""
    for number, one in enumerate(pieces):
        around = [_size(pieces[place]) for place in (number - 1, number + 1) if 0 <= place < len(pieces)]
        length = len(a[one.a_start : one.a_end].strip())
        is_island = one.kind == "equal" and len(around) == 2 and (length < min(MIN_EQUAL, *around) or length * MIN_EQUAL < min(around))
        yield replace(one, kind="replace") if is_island else one


def _size(piece: Piece) -> int:
    return 0 if piece.kind == "equal" else max(piece.a_end - piece.a_start, piece.b_end - piece.b_start)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _clauses(text: str) -> list[str]:
    return CLAUSE.findall(text)


def _words(text: str) -> list[str]:
    return WORD.findall(text)


def _compare(a: str, b: str, a_start: int, b_start: int, cuts: Sequence[Callable[[str], list[str]]]) -> list[Piece]:
    """By the first way to cut texts; what was replaced again, by the next."""
    ours, theirs = cuts[0](a), cuts[0](b)
    if len(ours) * len(theirs) > MAX_PAIRS:
        return [Piece("replace", a_start, a_start + len(a), b_start, b_start + len(b))]
    a_places, b_places = _places(ours, a_start), _places(theirs, b_start)
    found: list[Piece] = []
    for kind, i, j, k, m in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        piece = Piece(kind, a_places[i], a_places[j], b_places[k], b_places[m])
        deeper = cuts[1:] or ((list,) if cuts[0] is _words and (j - i, m - k) == (1, 1) and _are_alike(ours[i], theirs[k]) else ())
        if kind == "replace" and deeper:
            found += _compare("".join(ours[i:j]), "".join(theirs[k:m]), piece.a_start, piece.b_start, deeper)
        else:
            found.append(piece)
    return found


def _are_alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= MIN_ALIKE


def _places(parts: Sequence[str], start: int) -> list[int]:
    places = [start]
    for part in parts:
        places.append(places[-1] + len(part))
    return places


def render(a: str, b: str, pieces: Sequence[Piece], *, styled: bool) -> Text:
    """The differences with a little of what is equal around them: what only `a` has struck out in red, what only `b` has in green; without styles as
    [-only a-] and {+only b+}.
    """
    from rich.text import Text

    shown = Text()
    for number, piece in enumerate(pieces):
        before, after = a[piece.a_start : piece.a_end], b[piece.b_start : piece.b_end]
        if piece.kind == "equal":
            shown.append(_shortened(before, is_first=number == 0, is_last=number == len(pieces) - 1))
            continue
        for content, style, marks in ((before, GONE, "[--]"), (after, NEW, "{++}")):
            if content:
                seen = _ends(content, MAX_SHOWN // 2, MAX_SHOWN // 2, "characters")
                shown.append(seen if styled else f"{marks[:2]}{seen}{marks[2:]}", style=style if styled else "")
    return shown


def _shortened(content: str, *, is_first: bool, is_last: bool) -> str:
    return _ends(content, 0 if is_first else CONTEXT, 0 if is_last else CONTEXT, "equal characters")


def _ends(content: str, head: int, tail: int, what: str) -> str:
    left_out = len(content) - head - tail
    if left_out <= 0:
        return safe(content)
    return f"{safe(content[:head])} [... {left_out:,} {what} ...] {safe(content[len(content) - tail :])}".strip()
