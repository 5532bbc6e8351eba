"""A text as a person wants to see it: its start and end, or the surroundings of what matters in it, marked; never more of it than asked for.

Everything is redacted before it is cut, so that a cut never leaves half of a telephone number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mspt.cli.views.render import redacted, safe

if TYPE_CHECKING:
    from rich.text import Text

    from mspt.core.expression import Find

LINE_COST = 30  # half a line of a terminal: a text of many short lines does not fill screens
MARK_STYLE = "bold reverse"
Span = tuple[int, int]


def excerpt(content: str, marks: Sequence[Span] = (), budget: int = 600, *, styled: bool = True) -> Text:
    """About `budget` characters of `content` (0: all): around the first mark, else its head and tail. Marks are styled, or >>>between arrows<<<."""
    from rich.text import Text

    content = content.rstrip("\n")
    marks = sorted((max(0, a), min(len(content), b)) for a, b in marks if a < b and a < len(content))
    shown = Text()
    at = 0
    for start, end in windows(content, marks, budget):
        if start > at:
            shown.append(f" [... {start - at:,} characters ...] ", style="dim italic")
        for part, marked in _pieces(content, start, end, marks):
            if marked and not styled:
                part = f">>>{part}<<<"
            shown.append(safe(part), style=MARK_STYLE if marked and styled else "")
        at = end
    if at < len(content):
        shown.append(f" [... {len(content) - at:,} characters ...]", style="dim italic")
    return shown


def windows(content: str, marks: Sequence[Span], budget: int) -> list[Span]:
    """Which parts of a text are shown, in order: about `budget` characters together, fewer where there are many lines."""
    size = len(content)
    if budget <= 0 or _reach(content, 0, 1, budget * 1.2) == size:  # an ellipsis that hides less than it takes is silly
        return [(0, size)]
    if not marks:
        return _join([(0, _reach(content, 0, 1, budget * 2 / 3)), (_reach(content, size, -1, budget / 3), size)])
    start, end = marks[0]
    if _reach(content, start, 1, budget / 2) >= end:
        inner, parts = budget / 2, [(start, end)]
    else:  # a long mark: its two ends
        inner, parts = 3 * budget / 4, [(start, _reach(content, start, 1, 3 * budget / 8)), (_reach(content, end, -1, 3 * budget / 8), end)]
    around = (budget - inner) / 2
    parts[0] = (_reach(content, start, -1, around), parts[0][1])
    parts[-1] = (parts[-1][0], _reach(content, end, 1, around))
    return _join(parts)


def _reach(content: str, start: int, step: int, budget: float) -> int:
    """How far from `start` a budget leads; a line end costs LINE_COST characters."""
    place, limit = start, len(content) if step > 0 else 0
    while place != limit and budget > 0:
        budget -= LINE_COST if content[place if step > 0 else place - 1] == "\n" else 1
        place += step
    return place


def _join(parts: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in parts:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _pieces(content: str, start: int, end: int, marks: Sequence[Span]) -> list[tuple[str, bool]]:
    """The redacted text of [start, end), cut where marks begin and end: (piece, whether it is marked)."""
    from mspt.core.text.privacy.privacy import MAX_CHARACTERS

    first, last = max(0, start - MAX_CHARACTERS), min(len(content), end + MAX_CHARACTERS)  # nothing personal is cut in two
    window = content[first:last]
    whole = redacted(window)
    cuts = {start: False}
    for a, b in marks:
        if a < end and b > start:
            cuts[max(a, start)] = True
            cuts.setdefault(min(b, end), False)
    places = sorted(cuts)
    mapped = [redacted_position(window, place - first) for place in places]
    mapped.append(redacted_position(window, end - first))
    return [(whole[mapped[i] : mapped[i + 1]], cuts[place]) for i, place in enumerate(places) if mapped[i] < mapped[i + 1]]


def redacted_position(content: str, position: int) -> int:
    """Where `content[position]` stands once `content` is redacted; inside something redacted: where its placeholder begins."""
    from mspt.core.text.privacy.privacy import find

    moved = 0
    for one in find(content):
        if position < one.end:
            return min(position, one.start) + moved
        moved += len(f"[{one.kind}]") - (one.end - one.start)
    return position + moved


def find_spans(content: str, finds: Sequence[Find]) -> list[Span]:
    """Where each thing that an expression looked for first stands in `content`, in characters. RE2 searches: linear time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spans = []
    raw = content.encode("utf-8", "replace")
    for find in finds:
        literal = find.pattern if find.regex else _quote(find.pattern)
        pattern = f"(?P<found>{'(?i)' if find.ignore_case else ''}{literal})"
        found = pc.extract_regex_span(pa.array([raw.decode()]), pattern)[0].as_py()
        if found is not None:
            start, length = found["found"]
            before = len(raw[:start].decode("utf-8", "ignore"))
            spans.append((before, before + len(raw[start : start + length].decode("utf-8", "ignore"))))
    return spans


def _quote(literal: str) -> str:
    """A literal as an RE2 pattern."""
    return "".join(c if c.isalnum() or ord(c) >= 128 else f"\\x{{{ord(c):x}}}" for c in literal)
