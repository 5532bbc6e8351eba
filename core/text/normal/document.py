"""What a step of `normalize` looks at, and what several of them ask about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.fences import find_fences
from mspt.core.text.normal import rows as of_rows
from mspt.core.text.normal.rows import END, START, Rows, apply_rows
from mspt.core.text.script import Codes, code_points, text_of
from mspt.core.text.spans import Edit, Span, edit, move

VERBATIM_TAGS = frozenset({"pre", "code", "math"})
Edits = Rows | Sequence[Edit]  # what a step finds; edits that touch nothing they may not, and change something


class Document:
    """A text, its spans, and its form. What several steps ask about it is found when it is first asked for."""

    __slots__ = ("_after", "_fences", "_text", "codes", "elements", "form", "spans")

    def __init__(self, text: str, spans: Sequence[Span] = (), form: str = "prose") -> None:
        self._set(text, code_points(text), tuple(spans), form)

    def _set(self, text: str | None, codes: Codes, spans: tuple[Span, ...], form: str) -> None:
        self.codes, self.spans, self.form = codes, spans, form
        self.elements = [(start, end) for tag, start, end in spans if tag in VERBATIM_TAGS]  # that keep what they hold; they may lie in one another
        self._text = text
        self._fences: NDArray[np.int64] | None = None
        self._after: tuple[Edits, Document] | None = None

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = text_of(self.codes)
        return self._text

    @property
    def fences(self) -> NDArray[np.int64]:
        """Where fenced blocks lie, [blocks, 2]."""
        if self._fences is None:
            self._fences = find_fences(self.codes)
        return self._fences

    def edited(self, edits: Edits) -> Document:
        """With the edits applied."""
        if self._after is None or self._after[0] is not edits:
            self._after = edits, self._edited(edits)
        return self._after[1]

    def _edited(self, edits: Edits) -> Document:
        if not isinstance(edits, np.ndarray):
            return Document(*edit(self.text, self.spans, edits), self.form)
        edited = Document.__new__(Document)
        edited._set(None, apply_rows(self.codes, edits), move(self.spans, as_edits(edits)) if self.spans else (), self.form)
        return edited

    def outside_elements(self, rows: Rows) -> Rows:
        """Those edits that touch no pre, code or math element."""
        return outside(rows, self.elements)

    def outside_code(self, rows: Rows) -> Rows:
        """Those edits that touch no code: no pre, code or math element, no fenced block, nothing where all is code."""
        if self.form == "code":
            return rows[:0]
        return outside(rows, sorted([*self.elements, *map(tuple, self.fences.tolist())])) if len(rows) else rows


def as_edits(edits: Edits) -> Sequence[Edit]:
    """The edits, one object each."""
    return of_rows.as_edits(edits) if isinstance(edits, np.ndarray) else edits


def num_changed(edits: Edits) -> int:
    """Characters that the edits remove, and one for each edit that removes none."""
    if isinstance(edits, np.ndarray):
        return of_rows.num_changed(edits)
    return sum(max(1, one.end - one.start - len(one.replacement)) for one in edits)


def outside(rows: Rows, regions: list[tuple[int, int]]) -> Rows:
    """Edits that overlap none of the regions, which are sorted by start."""
    if not regions:
        return rows
    starts, ends = np.array(regions, dtype=np.int64).T
    before = np.searchsorted(starts, rows[:, END])  # regions that start before the edit's end
    reach = np.maximum.accumulate(ends)
    chosen: Rows = rows[(before == 0) | (reach[before - 1] <= rows[:, START])]
    return chosen
