"""Signals of a text that need no model: the entropy of its characters, and its share of function words (core/text/rules)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.rules.measures import Sample, stop_words
from mspt.core.text.script import code_points


def entropy(text: str) -> float | None:
    """Shannon entropy of the characters in bits, H = log2 N - sum of c log2 c / N over the counts c of the N characters; None of an empty text.

    Chinese prose of a thousand characters has 7 to 9, English 4 to 4.5; repeats have less, tables of random characters more.
    """
    codes = code_points(text)
    if not len(codes):
        return None
    times = np.zeros(len(codes) + 1, np.int64)
    _count_counts(codes, _scratch(), times)
    parts = [times[count] * count * math.log2(count) for count in np.flatnonzero(times).tolist()]
    return max(0.0, math.log2(len(codes)) - math.fsum(parts) / len(codes))


def stop_word_share(text: str, form: str | None) -> float | None:
    """Function words per word (rules/measures.py); None of fewer than 50 words."""
    return stop_words(Sample(text, form=form or "prose"))


@cache
def _scratch() -> NDArray[np.int32]:
    """[0x110000] zeros, which the kernel leaves as zeros."""
    return np.zeros(0x110000, np.int32)


@kernel
def _count_counts(codes: NDArray[np.uint32], counts: NDArray[np.int32], times: NDArray[np.int64]) -> None:
    """times[c]: how many different characters occur c times."""
    for code in codes:
        counts[code] += 1
    for code in codes:
        if counts[code] > 0:
            times[counts[code]] += 1
            counts[code] = 0
