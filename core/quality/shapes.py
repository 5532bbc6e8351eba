"""How usual the shape of a text is beside good texts: what a classifier cannot say of junk that it has never seen.

Each token has one of 64 shapes (token_kernel.py): a Han character, a word by its length and whether it can be spoken, a number by its length, marks, the layout
of each line; no token counts by itself. Three in a row cost -ln p(third | first two) as good texts have them (interpolated absolute discounting: Ney, Essen and
Kneser 1994), and a text costs the mean of its tokens. A Han character behind another costs next to nothing, English prose more: a text is compared with good
ones of as many Han characters among its letters. If it costs u standard deviations more than their mean (`unusual`), its quality loses WEIGHT u^2 / 2 of
its logit (`lowered`): that is how the logarithm of a normal density falls. Where most words are unknown, though they can be spoken, the text is in a language
or of a domain that the classifier does not know: its logit, where it is low, is drawn to 0, and the shape has the word.

The table of costs is of good texts that the scorer learned from, mean and deviation are of those that were held out. Where good texts of a script are missing,
nothing is said about texts in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.kernel import kernel
from mspt.core.quality.features import Tokens
from mspt.core.quality.token_kernel import DIGITS, HAN, I64, LINES, SHAPES, SPOKEN, U8, U32

F64 = npt.NDArray[np.float64]

DISCOUNT, UNIFORM = 0.5, 0.5  # taken off each count; added to that of each single shape
STEPS = 16  # a cost is kept in steps of 1/16 nat
BEGIN = LINES + 10  # before a text: the end of a long line with a full stop
MIN_TEXTS = 20  # good texts of a script, under which its mean and deviation say nothing
LEAST_DEVIATION = 0.05
MOST_UNUSUAL = 20.0
# Chosen on the documents that bench/quality.py trains on, split again (a share of .4, three tenths held out). Without it, and with .125, .25, .5, 1: number
# tables left out AUC .895, .986, .994, .997, .998; menus left out .960, .971, .977, .982, .986; what surrounds the articles of html_zh_news .837, .869, .891,
# .930, .966; but Spearman's correlation with the labels .846, .843, .834, .815, .780: lists and fragments are worth something and are unusual too.
WEIGHT = 0.25
# Each word outside the vocabulary, as it is spoken, makes the classifier less sure of junk: languages that it does not know look like junk to it. Of the same
# documents, with the power 0, 1, 2, 4: texts in 296 languages in Latin letters against English junk AUC .734, .953, .976, .977, shuffled characters .995, .994,
# .994, .993 and Spearman .834, .832, .828, .818.
STRANGENESS = 2
_EDGE = 1e-4  # as in calibration.py
MANY_HAN = 0.5  # share among the letters from which a text counts as one in Han characters


@dataclass(frozen=True)
class Usual:
    """Of good texts in one script: share of Han characters among their letters (mean), cost (mean and standard deviation)."""

    han: float
    cost: float
    deviation: float


@dataclass(frozen=True)
class Measured:
    """Of each text. costs: in nats per token; han: share of Han characters among its letters, NaN where it has none; tokens: how many; strange: share of words
    among them that are outside the vocabulary and can be spoken."""

    costs: F64
    han: F64
    tokens: I64
    strange: F64

    @classmethod
    def joined(cls, parts: Sequence[Measured]) -> Measured:
        names = ("costs", "han", "tokens", "strange")
        if not parts:
            return cls(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def of(self, chosen: npt.NDArray[np.bool_]) -> Measured:
        return Measured(self.costs[chosen], self.han[chosen], self.tokens[chosen], self.strange[chosen])


def count_shapes(batches: Iterable[Tokens]) -> U32:
    """How often three shapes follow one another: [64, 64, 64]."""
    counts = np.zeros((SHAPES, SHAPES, SHAPES), np.uint32)
    for tokens in batches:
        _count(tokens.shapes, tokens.ends, counts)
    return counts


def cost_table(counts: U32) -> U8:
    """[64, 64, 64]: what the third shape costs behind the first two, in STEPS of a nat. Exact arithmetic, and math.log."""
    pairs, single = counts.sum(axis=0, dtype=np.int64), counts.sum(axis=(0, 1), dtype=np.int64)
    p1 = (single + UNIFORM) / (float(single.sum()) + UNIFORM * SHAPES)
    p2 = _interpolated(pairs, np.broadcast_to(p1, pairs.shape))
    p3 = _interpolated(counts.astype(np.int64), np.broadcast_to(p2, counts.shape))
    steps = [min(255, round(-math.log(p) * STEPS)) for p in p3.ravel().tolist()]
    return np.array(steps, np.uint8).reshape(counts.shape)


def _interpolated(counts: I64, lower: F64) -> F64:
    totals = counts.sum(axis=-1, keepdims=True)
    kinds = (counts > 0).sum(axis=-1, keepdims=True)
    seen = np.maximum(totals, 1)
    found = np.maximum(counts - DISCOUNT, 0.0) / seen + DISCOUNT * kinds / seen * lower
    return np.where(totals > 0, found, lower)


def measure(tokens: Tokens, table: U8) -> Measured:
    num = len(tokens.ends) - 1
    sums = np.zeros((num, 3), np.int64)
    _measure(tokens.shapes, tokens.ends, table, sums)
    lengths, letters = np.diff(tokens.ends), sums[:, 1] + sums[:, 2]
    han = np.where(letters > 0, sums[:, 1] / np.maximum(letters, 1), np.nan)
    return Measured(sums[:, 0] / (np.maximum(lengths, 1) * STEPS), han, lengths, tokens.strange / np.maximum(lengths, 1))


def usual(good: Measured) -> tuple[Usual, ...]:
    """Of good texts: for each script that enough of them are in. Rounded, so that machines whose sums differ in the last bits agree."""
    found = []
    for chosen in (good.han < MANY_HAN, good.han >= MANY_HAN):
        costs, han = good.costs[chosen].tolist(), good.han[chosen].tolist()
        if len(costs) >= MIN_TEXTS:
            mean = math.fsum(costs) / len(costs)
            deviation = math.sqrt(math.fsum((cost - mean) ** 2 for cost in costs) / (len(costs) - 1))
            found.append(Usual(round(math.fsum(han) / len(han), 4), round(mean, 4), round(max(deviation, LEAST_DEVIATION), 4)))
    return tuple(found)


def unusual(measured: Measured, known: tuple[Usual, ...]) -> F64:
    """How many standard deviations each text costs more than good texts do, 0 to MOST_UNUSUAL."""
    return np.array([_unusual(cost, han, known) for cost, han in zip(measured.costs.tolist(), measured.han.tolist(), strict=True)], np.float64)


def _unusual(cost: float, han: float, known: tuple[Usual, ...]) -> float:
    if math.isnan(han):
        beside = max(known, key=lambda own: own.cost, default=None)
    elif len(known) == 2:
        low, high = known
        share = min(max((han - low.han) / (high.han - low.han), 0.0), 1.0)
        beside = Usual(han, low.cost + share * (high.cost - low.cost), low.deviation + share * (high.deviation - low.deviation))
    else:
        beside = next((own for own in known if (own.han >= MANY_HAN) == (han >= MANY_HAN)), None)
    return 0.0 if beside is None else min(max((cost - beside.cost) / beside.deviation, 0.0), MOST_UNUSUAL)


def lowered(values: npt.NDArray[np.floating[Any]], unusual_by: F64, strange: F64) -> F64:
    """Values in [0, 1] less what is unusual, low ones less sure where words are strange. In plain floats: the same bits on every machine."""
    return np.array([_lowered(*row) for row in zip(values.tolist(), unusual_by.tolist(), strange.tolist(), strict=True)], np.float64)


def _lowered(value: float, by: float, strange: float) -> float:
    if not by and not strange:
        return value
    value = min(max(value, _EDGE), 1 - _EDGE)
    z = math.log(value / (1 - value))
    z = (z if z >= 0 else z * (1 - strange) ** STRANGENESS) - WEIGHT * by * by / 2
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


# --- compiled ----------------------------------------------------------------------------------------------------------


@kernel
def _count(shapes: U8, ends: I64, counts: U32) -> None:
    for text in range(len(ends) - 1):
        first, second = np.int64(BEGIN), np.int64(BEGIN)
        for i in range(ends[text], ends[text + 1]):
            third = np.int64(shapes[i])
            counts[first, second, third] += np.uint32(1)
            first, second = second, third


@kernel
def _measure(shapes: U8, ends: I64, table: U8, sums: I64) -> None:
    """sums [texts, 3]: cost, Han characters, words."""
    for text in range(len(ends) - 1):
        first, second = np.int64(BEGIN), np.int64(BEGIN)
        for i in range(ends[text], ends[text + 1]):
            third = np.int64(shapes[i])
            sums[text, 0] += np.int64(table[first, second, third])
            sums[text, 1] += third == HAN
            sums[text, 2] += SPOKEN <= third < DIGITS
            first, second = second, third
