"""Long repetitions of a short text ("aaaa...", "-=-=-=..."): what of them a suffix array need not see.

In text of period p the window at i is that at i - p. So of a repetition only its first p windows, and those that reach over its end, can differ from what
stands p characters earlier; the rest is said as (period, repeats):

    ..xyz abcabcabcabc | abcabcabc ... abcabc | abcabcabcuvw..        period 3, windows of 10
    ^ piece: up to p + length - 1 of it       ^ next piece: what windows over the end need
                         ^ windows that begin here are left out: `repeats` times p, as the last p windows of the piece before

All anchors of such a text have one hash and the text around them is one stretch, so without this a letter repeated millions of times would be one block, and
each of its windows a run of its own. Repetitions of 6 * length characters are always found, of a period up to 1.5 * length: with longer ones the text around
anchors of one hash does not join, and equal stretches are held once anyway. What is left out changes no result: it is only said in another way.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import kernel


def cut_repetitions(codes: npt.NDArray[np.uint32], length: int) -> npt.NDArray[np.int64]:
    """Pieces of a text that hold all its different windows of `length` characters: [pieces, 4] of (start, end, period, repeats).

    `repeats` > 0: behind the windows of the piece `period` * `repeats` more follow in the text, again and again the last `period` windows of the piece; the
    next piece begins behind them. A text without a long repetition is one piece.
    """
    pieces = np.empty((2 + len(codes) // length, 4), np.int64)
    size = _cut_repetitions(codes, length, pieces)
    return pieces[:size].copy()


@kernel
def _cut_repetitions(codes: npt.NDArray[np.uint32], length: int, pieces: npt.NDArray[np.int64]) -> int:
    looked_at = 3 * length  # characters: two periods at least
    borders = np.empty(looked_at, np.int64)
    size = start = place = 0
    while place + looked_at <= len(codes):
        period = _period(codes, place, looked_at, borders)
        if 2 * period > looked_at:
            place += 2 * length
            continue
        head, tail = place, place + looked_at
        while head > start and codes[head - 1] == codes[head - 1 + period]:
            head -= 1
        while tail < len(codes) and codes[tail] == codes[tail - period]:
            tail += 1
        repeats = (tail - length + 1 - head - period) // period
        if repeats < 2:
            place += 2 * length
            continue
        pieces[size, 0], pieces[size, 1], pieces[size, 2], pieces[size, 3] = start, head + period + length - 1, period, repeats
        size += 1
        start = place = head + period + repeats * period
    pieces[size, 0], pieces[size, 1], pieces[size, 2], pieces[size, 3] = start, len(codes), 0, 0
    return size + 1


@kernel
def _period(codes: npt.NDArray[np.uint32], first: int, size: int, borders: npt.NDArray[np.int64]) -> int:
    """The smallest period of codes[first:first + size]: its size less its longest border (Knuth, Morris and Pratt 1977). `borders`: scratch space."""
    borders[0] = border = 0
    for i in range(1, size):
        while border and codes[first + i] != codes[first + border]:
            border = borders[border - 1]
        if codes[first + i] == codes[first + border]:
            border += 1
        borders[i] = border
    return size - border
