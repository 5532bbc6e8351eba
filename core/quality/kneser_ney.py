"""Interpolated Kneser-Ney smoothing with three discounts (Chen and Goodman 1999, An empirical study of smoothing techniques, section 4.1.6):

    p(w | h) = max(c(h w) - D(c(h w)), 0) / sum over v of c(h v)  +  gamma(h) p(w | h')
    gamma(h) = (D1 N1(h .) + D2 N2(h .) + D3 N3+(h .)) / sum over v of c(h v)

h' is h without its first symbol; c is the number of occurrences for the highest order and of different symbols before it for the lower ones (ngrams.py). Below
the single symbols stands the uniform distribution over all of them but BOUNDARY, which is only ever context. For each order, with n_i n-grams of count i:
Y = n1 / (n1 + 2 n2), D_i = i - (i + 1) Y n_(i+1) / n_i.

Sums, products and quotients of float64 only, in a fixed order: the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.quality.alphabet import BOUNDARY
from mspt.core.quality.ngrams import I32, I64, U16, U32, U64, Corpus, Table, count_ngrams, find, window_keys

F64 = NDArray[np.float64]
_THREE = np.int64(3)
FALLBACK_DISCOUNT = 0.5  # of a text too small to have n-grams of count 1 and of count 2


class Estimates(NamedTuple):
    """Of the n-grams of one order: their keys (none of order 1, whose estimates are by symbol), p(last | the others), and gamma of each as the context of
    the next order (1 where nothing follows it)."""

    keys: U64
    probabilities: F64
    backoffs: F64


def estimate(symbols: U16, num_symbols: int, order: int) -> Iterator[Estimates]:
    """Estimates of the orders 1 to `order`, one after another, so that no more than two are in memory.

    symbols: documents one behind the other, each begun by BOUNDARY; num_symbols: of the alphabet, BOUNDARY included; order: 2 at least.
    """
    corpus = Corpus.of(symbols)
    tables = count_ngrams(corpus, order)
    below = Table(np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0, np.uint32))
    second = symbols[tables[0].positions.astype(np.int64) + 1]
    probabilities = _unigrams(np.bincount(second, minlength=num_symbols))
    for k in range(2, order + 1):
        table = tables.pop(0)
        contexts, suffixes = _places(corpus, table, below, k, 0), _places(corpus, table, below, k, 1)
        backoffs, higher = np.ones(len(probabilities)), np.empty(len(table))
        _interpolate(table.counts, contexts, suffixes, probabilities, discounts(table.counts), backoffs, higher)
        yield Estimates(below.keys, probabilities, backoffs)
        below, probabilities = table, higher
    yield Estimates(below.keys, probabilities, np.ones(len(probabilities)))


def discounts(counts: NDArray[np.integer[Any]]) -> F64:
    """[4]: what is taken off a count of 0, 1, 2, and 3 or more. Where n1 to n4 do not all give 0 < D_i <= i (with 0 nothing would be left
    for what was not seen), it is Y for all (Kneser and Ney 1995)."""
    n1, n2, n3, n4 = (int((counts == i).sum()) for i in (1, 2, 3, 4))
    if not n1 or not n2:
        return np.array([0.0, *[FALLBACK_DISCOUNT] * 3])
    y = n1 / (n1 + 2 * n2)
    if n3:
        found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        if all(0 < d <= i for i, d in enumerate(found, start=1)):
            return np.array([0.0, *found])
    return np.array([0.0, y, y, y])


def _unigrams(counts: I64) -> F64:
    """By symbol; 0 for BOUNDARY."""
    probabilities = np.zeros(len(counts))
    taken = discounts(counts)[np.minimum(counts, 3)]
    total, free = int(counts.sum()), float(np.cumsum(taken)[-1])
    uniform = 1.0 / (len(counts) - 1)
    probabilities[:] = (counts - taken) / total + free / total * uniform if total else uniform
    probabilities[BOUNDARY] = 0.0
    return probabilities


def _places(corpus: Corpus, table: Table, below: Table, k: int, skip: int) -> I32:
    """Where the windows of k - 1 symbols, `skip` behind the n-grams of `table` (of order k), stand in `below` (of order k - 1), or by symbol."""
    positions = table.positions + np.uint32(skip)
    if k == 2:
        symbols: I32 = corpus.symbols[positions].astype(np.int32)
        return symbols
    return find(below, window_keys(corpus.prefixes, positions, k - 1))


@kernel
def _interpolate(counts: U32, contexts: I32, suffixes: I32, lower: F64, taken: F64, backoffs: F64, probabilities: F64) -> None:
    """Fill `probabilities` of the n-grams, and `backoffs` of the contexts that have any. taken: the discounts, by count up to 3."""
    totals, free = np.zeros(len(backoffs), np.int64), np.zeros((len(backoffs), 4), np.int32)
    for i in range(len(counts)):
        count = np.int64(counts[i])
        totals[contexts[i]] += count
        free[contexts[i], min(count, _THREE)] += 1
    for h in range(len(backoffs)):
        if totals[h] > 0:
            backoffs[h] = (taken[1] * free[h, 1] + taken[2] * free[h, 2] + taken[3] * free[h, 3]) / totals[h]
    for i in range(len(counts)):
        h, count = contexts[i], np.int64(counts[i])
        probabilities[i] = (count - taken[min(count, _THREE)]) / totals[h] + backoffs[h] * lower[suffixes[i]]
