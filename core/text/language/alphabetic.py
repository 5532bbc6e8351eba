"""What lid.176 says of paragraphs that hold no East Asian writing: names left out and labels found by one compiled pass over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.language.model import arrays, named, predict
from mspt.core.text.language.names import BLANK, character_table, drop_names
from mspt.core.text.script import Codes

FIRST_EAST_ASIAN = 0x2E80
NOT_ASKED = -1  # as a length


class Told(NamedTuple):
    """A label, its probability, and how many characters it was told by, runs of blanks counting as one: 0 where nothing but names was there."""

    label: str
    probability: float
    length: int


def tell(codes: Codes, bounds: Sequence[tuple[int, int]], longest: int) -> list[Told | None]:
    """What is told of each stretch [start, end); None of those that hold something East Asian, or more than `longest` characters."""
    labels, probabilities, lengths = np.empty(len(bounds), np.int64), np.empty(len(bounds)), np.empty(len(bounds), np.int64)
    _tell(codes, np.array(bounds, np.int64).reshape(-1, 2), longest, character_table(), arrays(), labels, probabilities, lengths)
    found = zip(labels.tolist(), probabilities.tolist(), lengths.tolist(), strict=True)
    return [Told(*named(label, probability), length) if length != NOT_ASKED else None for label, probability, length in found]


@kernel
def _tell(
    codes: Codes,
    bounds: NDArray[np.int64],
    longest: int,
    table: NDArray[np.uint8],
    model: tuple[NDArray[Any], ...],
    labels: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    lengths: NDArray[np.int64],
) -> None:
    words = np.empty(longest, np.uint32)
    for k in range(len(bounds)):
        start, end = bounds[k]
        labels[k], probabilities[k], lengths[k] = -1, 0.0, NOT_ASKED
        if end - start > longest or _has_east_asian(codes, start, end):
            continue
        size, _ = drop_names(codes[start:end], table, words)
        lengths[k] = _length(words, size, table)
        if lengths[k]:
            labels[k], probabilities[k] = predict(words[:size], *model)


@kernel
def _has_east_asian(codes: Codes, start: int, end: int) -> bool:
    highest = np.uint32(0)
    for i in range(start, end):
        highest = max(highest, codes[i])
    return bool(highest >= FIRST_EAST_ASIAN)


@kernel
def _length(words: NDArray[np.uint32], size: int, table: NDArray[np.uint8]) -> int:
    """How many characters there are, runs of blanks counting as one, and none at both ends."""
    visible = gaps = 0
    is_blank = True
    for i in range(size):
        was_blank, is_blank = is_blank, table[words[i]] & BLANK != 0
        visible += not is_blank
        gaps += was_blank and not is_blank and visible > 1
    return visible + gaps
