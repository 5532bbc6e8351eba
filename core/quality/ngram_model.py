"""A trained n-gram model: its file, and the probability of a text.

`ngrams.bin` holds NumPy arrays one behind the other (each in .npy format, nothing pickled): the alphabet's characters and words, p and gamma of the single
symbols, the sizes of the orders 2 and on, their entries (key, p and gamma in 16 bytes, sorted by key) and where the buckets of the keys' leading bits begin.
It is mapped, not read: the workers of a machine share its memory.

Perplexity of rare words is high however well they stand in order: an advertisement of today beside novels costs what their own words cost when they are
shuffled. `relative` takes that out: probability in context over probability one by one, the syntactic log-odds ratio (SLOR) of Pauls and Klein 2012
(Large-scale syntactic language modeling with treelets) and Kann, Rothe and Filippova 2018 (eq. 1), as a perplexity; over the words, marks and characters that
the reference knows, since of others it cannot say how they stand.

A text is read from left to right. Each symbol's probability is looked up in the longest context that the symbol before it had; a context in which it never
followed costs its gamma and loses its first symbol. Probabilities are multiplied, with powers of two taken out, and one logarithm is taken at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.dedup.arrays import map_arrays, save_arrays
from mspt.core.errors import InputError
from mspt.core.kernel import fmix64, kernel
from mspt.core.quality.alphabet import UNKNOWN, WHOLE, Alphabet, choose_alphabet
from mspt.core.quality.kneser_ney import Estimates, estimate
from mspt.core.quality.ngrams import BITS, I64, U8, U16, U32, U64, bucket_bits, buckets, fill_prefixes, power

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
ASSIGNED = 149_186  # characters of Unicode 15.0: those outside the alphabet share the probability of UNKNOWN equally
MAX_LOG = 80.0  # of a perplexity, so that it fits in 32 bits
_SCALE_BITS = 500
_SCALE = 2.0**_SCALE_BITS
_SMALL = 2.0**-_SCALE_BITS


class Score(NamedTuple):
    """How likely a text is: natural logarithm of its probability, and the units (alphabet.py) that it is of; the same for each line that holds something.
    log_gain: of the probability in context of the symbols that the reference knows as a whole, over that of the same one by one; known: how many."""

    log_probability: float
    units: int
    lines: tuple[tuple[float, int], ...]
    log_gain: float
    known: int

    @property
    def perplexity(self) -> float | None:
        """exp of the mean of -ln p over the units; None of a text without any."""
        return perplexity(self.log_probability, self.units)

    @property
    def relative(self) -> float | None:
        """Perplexity over that of the same symbols one by one: far below 1 where words follow one another as in the reference, above 1 in any other order; None
        where the reference knows none of them."""
        return perplexity(self.log_gain, self.known)


def perplexity(log_probability: float, units: int) -> float | None:
    return math.exp(max(-MAX_LOG, min(MAX_LOG, -log_probability / units))) if units else None


@dataclass(frozen=True)
class Model:
    """unigrams: [symbols, 2] p and gamma; sizes: [order - 1]; entries: [n-grams, 2]; starts: of buckets, [2^bits + 1] for each order from 2 on."""

    alphabet: Alphabet
    unigrams: F32
    sizes: I64
    entries: U64
    starts: U32

    @property
    def order(self) -> int:
        return len(self.sizes) + 1

    def score(self, text: str) -> Score:
        symbols = self.alphabet.read(text)
        mantissas, exponents, gain, known = self._score(symbols.values, symbols.parts, symbols.line_ends, 1.0 / (ASSIGNED - len(self.alphabet.characters)))
        logs = [_log(*found) for found in zip(mantissas.tolist(), exponents.tolist(), strict=True)]
        units = symbols.line_units.tolist()
        return Score(math.fsum(logs), sum(units), tuple(zip(logs, units, strict=True)), _log(*gain), known)

    def _score(self, values: U16, parts: U8, line_ends: I64, unseen: float) -> tuple[F64, I64, tuple[float, int], int]:
        """By line, mantissa and exponent of the probability of the symbols behind the first; of what `Score.log_gain` is the logarithm of; and `Score.known`.
        unseen: share of UNKNOWN that one character has."""
        mantissas, exponents = np.ones(len(line_ends)), np.zeros(len(line_ends), np.int64)
        floats = self.entries.view(np.float32).reshape(len(self.entries), 4)
        bits = np.array([bucket_bits(int(size)) for size in self.sizes], np.int64)
        gain, exponent, known = _score(
            values, parts, line_ends, self.unigrams, self.entries, floats, self.starts, self.sizes, bits, unseen, mantissas, exponents
        )
        return mantissas, exponents, (gain, exponent), known

    def probability(self, context: Sequence[int], symbol: int) -> float:
        """p(symbol | context) of symbols, without the share of UNKNOWN: by the kernel that scores texts, in a text that is all context."""
        found = []
        for values in ([*context, symbol], context):
            mantissa, exponent, *_ = self._score(np.array(values, np.uint16), np.zeros(len(values), np.uint8), np.array([len(values)]), 1.0)
            found.append(_log(mantissa[0], exponent[0]))
        return math.exp(found[0] - found[1])

    def save(self, path: Path) -> None:
        save_arrays(path, [self.alphabet.characters, self.alphabet.words, self.unigrams, self.sizes, self.entries, self.starts])

    @classmethod
    def load(cls, path: Path) -> Model:
        """Raises InputError where the file is no model."""
        try:
            characters, words, unigrams, sizes, entries, starts = map_arrays(path)
            alphabet = Alphabet(np.array(characters, np.uint32), np.array(words, np.uint64))
            model = cls(alphabet, np.asarray(unigrams), np.array(sizes), np.asarray(entries), np.asarray(starts))
            whole = (
                len(unigrams) == len(model.alphabet) and int(sizes.sum()) == len(entries) and sum((1 << bucket_bits(int(n))) + 1 for n in sizes) == len(starts)
            )
        except (OSError, ValueError, IndexError, EOFError) as error:
            raise InputError(f"{path} is no n-gram model that this version can read: {error}", "train it again: mspt train-perplexity") from None
        if not whole:
            raise InputError(f"{path} is no n-gram model: its arrays do not belong together", "train it again: mspt train-perplexity")
        return model


def train(texts: Iterable[str], order: int, min_count: int) -> Model:
    """A model of these texts (a list, or what can be read twice). Memory: 110 bytes a character of zh_novels (order 5)."""
    alphabet = choose_alphabet(texts, min_count)
    read = [alphabet.read(text).values for text in texts]
    symbols = np.concatenate([np.zeros(0, np.uint16), *read])
    estimates = estimate(symbols, len(alphabet), order)
    first = next(estimates)
    unigrams = np.stack([first.probabilities, first.backoffs], axis=1).astype(np.float32)
    del first
    entries = [_pack(found) for found in estimates]
    starts = [buckets(own[:, 0], bucket_bits(len(own))) for own in entries]
    sizes = np.array([len(own) for own in entries], np.int64)
    return Model(alphabet, unigrams, sizes, np.concatenate(entries), np.concatenate(starts))


def _log(mantissa: float, exponent: int) -> float:
    return math.log(mantissa) + exponent * math.log(2)


def _pack(found: Estimates) -> U64:
    """[n-grams, 2]: key, and p and gamma as float32 in 8 bytes."""
    entries = np.empty((len(found.keys), 2), np.uint64)
    values = entries.view(np.float32).reshape(-1, 4)
    entries[:, 0], values[:, 2], values[:, 3] = found.keys, found.probabilities, found.backoffs
    return entries


# --- compiled ----------------------------------------------------------------------------------------------------------


@kernel
def _score(
    symbols: U16,
    parts: U8,
    line_ends: I64,
    unigrams: F32,
    entries: U64,
    values: F32,
    starts: U32,
    sizes: I64,
    bits: I64,
    unseen: float,
    mantissas: F64,
    exponents: I64,
) -> tuple[float, int, int]:
    """Probability of symbols[1:] of each line as mantissa * 2^exponent. values: `entries` as float32, [n-grams, 4], the last two p and gamma.

    Returns that of the known symbols over the product of their own, so written, and how many they are.
    """
    order = len(sizes) + 1
    prefixes = np.empty(len(symbols) + 1, np.uint64)
    fill_prefixes(symbols, prefixes)
    # By order: BASE^k, where its entries and its buckets begin, and how far a key is shifted to name a bucket.
    factors, bases = np.empty(order + 1, np.uint64), np.zeros(order + 1, np.int64)
    places, shifts = np.zeros(order + 1, np.int64), np.zeros(order + 1, np.uint64)
    for k in range(2, order + 1):
        factors[k] = power(k)
        shifts[k] = np.uint64(BITS - bits[k - 2])
        if k > 2:
            bases[k] = bases[k - 1] + sizes[k - 3]
            places[k] = places[k - 1] + (1 << bits[k - 3]) + 1
    # `length` symbols before the one looked at are a known context, and its entry is `entry` (-1: not looked up, or a single symbol).
    line, length, entry = 0, 1, -1
    value, exponent = 1.0, 0
    gain, gain_exponent, known = 1.0, 0, 0
    for end in range(2, len(symbols) + 1):
        symbol = symbols[end - 1]
        found, step = -1, 1.0
        while length > 0:
            k = length + 1
            key = fmix64(prefixes[end] - prefixes[end - k] * factors[k])
            found = _find(key, entries, starts, bases[k], places[k], shifts[k])
            if found >= 0:
                break
            if length == 1:
                step *= unigrams[symbols[end - 2], 1]
            else:
                if entry < 0:
                    key = fmix64(prefixes[end - 1] - prefixes[end - k] * factors[length])
                    entry = _find(key, entries, starts, bases[length], places[length], shifts[length])
                step *= values[entry, 3]
            length, entry = length - 1, -1
        step *= values[found, 2] if found >= 0 else unigrams[symbol, 0]
        value *= step
        if parts[end - 1] == WHOLE and symbol != UNKNOWN:
            known += 1
            gain *= step / unigrams[symbol, 0]
            if gain < _SMALL:
                gain, gain_exponent = gain * _SCALE, gain_exponent - _SCALE_BITS
            elif gain > _SCALE:
                gain, gain_exponent = gain * _SMALL, gain_exponent + _SCALE_BITS
        length += 1
        entry = found
        if length == order:
            length, entry = order - 1, -1
        if symbol == UNKNOWN:
            value *= unseen
        if value < _SMALL:
            value *= _SCALE
            exponent -= _SCALE_BITS
        if end == line_ends[line]:
            mantissas[line], exponents[line] = value, exponent
            line += 1
            value, exponent = 1.0, 0
    return gain, gain_exponent, known


@kernel
def _find(key: np.uint64, entries: U64, starts: U32, base: int, place: int, shift: np.uint64) -> int:
    """Where the entry of a key stands, -1 for none."""
    bucket = place + np.int64(key >> shift)
    for i in range(base + np.int64(starts[bucket]), base + np.int64(starts[bucket + 1])):
        if entries[i, 0] == key:
            return i
    return -1
