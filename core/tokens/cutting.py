"""Where a document longer than a row is cut: at the end of a paragraph or sentence if one is near the end of the row.

    row            [............................................]
                                          <---- window ---->
    document       ... of it.⏎ The next ... in Rome. He went on to ...
                             ^ paragraph: first choice
                                                    ^ sentence: where no paragraph ends in the window; else at the end of the row

A piece shorter than the row leaves a gap of at most the window, which short documents fill. Which tokens end something is read off the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

SENTENCE, PARAGRAPH = 1, 2
# Share of a row: a wider one finds more ends and leaves wider gaps, which cost cuts elsewhere.
WINDOW = 1 / 32
_SENTENCE_ENDS = tuple(mark.encode() for mark in "。！？…!?；;.")
_CLOSING = "”’」』）\"')]".encode()

Levels = npt.NDArray[np.uint8]
Tokens = npt.NDArray[Any]


def break_levels(surfaces: Sequence[bytes]) -> Levels:
    """[vocabulary] what the end of each token may end: nothing, a sentence or a paragraph."""
    return np.array([_level(surface) for surface in surfaces], np.uint8)


def _level(surface: bytes) -> int:
    if b"\n" in surface and not surface.rpartition(b"\n")[2].strip():
        return PARAGRAPH
    text = surface.decode("utf-8", "ignore").strip().rstrip(_CLOSING.decode()).encode()
    return SENTENCE if text.endswith(_SENTENCE_ENDS) else 0


def cut_length(tokens: Tokens, levels: Levels, row_tokens: int) -> int:
    """Tokens of the next piece: `tokens` [row_tokens] are what is left of a document, up to the end of a row, and more follows."""
    window = int(row_tokens * WINDOW)
    found = levels[tokens[row_tokens - window :]] if window else np.empty(0, np.uint8)
    for level in (PARAGRAPH, SENTENCE):
        ends = np.flatnonzero(found == level)
        if len(ends):
            return row_tokens - window + int(ends[-1]) + 1
    return row_tokens
