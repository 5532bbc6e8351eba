"""What a step of `normalize` looks at, and which of its edits touch no code."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.form import fenced_blocks
from mspt.core.text.spans import Edit, Span

VERBATIM_TAGS = frozenset({"pre", "code", "math"})


class Document(NamedTuple):
    """What a step looks at."""

    text: str
    spans: tuple[Span, ...]
    form: str

    def outside_elements(self, edits: Iterator[Edit]) -> Iterator[Edit]:
        """Those edits that change something and touch no pre or code element."""
        return _outside(self._real(edits), self._elements)

    def outside_code(self, edits: Iterator[Edit]) -> Iterator[Edit]:
        """Those edits that change something and touch no code: no pre or code element, no fenced block, nothing where all is code."""
        if self.form == "code":
            return iter(())
        return _outside(self._real(edits), self._code)

    def is_code(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the stretches [start, end) touch code, as in `outside_code`."""
        if self.form == "code":
            return np.ones(starts.size, dtype=np.bool_)
        code = np.array(self._code(), dtype=np.int64).reshape(-1, 2)
        if not code.size:
            return np.zeros(starts.size, dtype=np.bool_)
        before = np.searchsorted(code[:, 0], ends)  # regions that start before the end
        reach = np.maximum.accumulate(code[:, 1])
        found: NDArray[np.bool_] = (before > 0) & (reach[before - 1] > starts)
        return found

    def _code(self) -> list[tuple[int, int]]:
        return sorted(self._elements() + self._fenced())

    def _real(self, edits: Iterator[Edit]) -> Iterator[Edit]:
        return (one for one in edits if self.text[one.start : one.end] != one.replacement)

    def _fenced(self) -> list[tuple[int, int]]:
        return fences(self.text)

    def _elements(self) -> list[tuple[int, int]]:
        return [(start, end) for tag, start, end in self.spans if tag in VERBATIM_TAGS]


@lru_cache(maxsize=2)  # several steps ask
def fences(text: str) -> list[tuple[int, int]]:
    """Where fenced blocks lie."""
    return fenced_blocks(text) if "```" in text or "~~~" in text else []


def _outside(edits: Iterator[Edit], regions: Callable[[], list[tuple[int, int]]]) -> Iterator[Edit]:
    """Edits that overlap none of the regions, which are sorted by start and may lie in one another; regions are asked for when needed."""
    first = next(edits, None)
    if first is None:
        return
    found = regions()
    starts = [start for start, _ in found]
    reach = list(accumulate((end for _, end in found), max))  # how far the first k + 1 regions reach
    for one in chain((first,), edits):
        before = bisect_left(starts, one.end)  # regions that start before the edit's end
        if not before or reach[before - 1] <= one.start:
            yield one
