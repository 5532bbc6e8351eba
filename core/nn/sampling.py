"""From logits to the next token.

The order is that of transformers: repetition penalty, temperature, top-k, top-p. Randomness is counter-based: the uniform number of a token is
a function of (seed, sequence, position) alone, so a continuation is the same whatever was generated before or beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import MsptError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Temperature 0 is greedy: the likeliest token, of equals the one with the lowest id.

    `top_k` 0 and `top_p` 1 leave all tokens. `repetition_penalty` divides positive and multiplies negative logits of tokens that stand in the
    prompt or the continuation (Keskar et al. 2019, section 4.1); 1 is none.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, fine, range_ in (
            ("temperature", self.temperature >= 0, "0 (greedy) or more"),
            ("top_k", self.top_k >= 0, "0 (off) or more"),
            ("top_p", 0 < self.top_p <= 1, "above 0, at most 1 (off)"),
            ("repetition_penalty", self.repetition_penalty > 0, "above 0; 1 is off"),
            ("seed", 0 <= self.seed < 2**64, "0 .. 2^64 - 1"),
        ):
            if not fine:
                raise MsptError(f"{name} {getattr(self, name)} cannot be", f"--{name.replace('_', '-')}: {range_}")


def next_token(logits: npt.NDArray[np.floating[Any]], seen: Sequence[int], sampling: Sampling, *, sequence: int, position: int) -> int:
    """The token to follow. `logits` [V]; `seen` the ids so far; `sequence` and `position` number the draw."""
    adjusted = penalised(logits.astype(np.float64), seen, sampling.repetition_penalty)
    if sampling.temperature == 0:
        return int(adjusted.argmax())
    ids, probabilities = candidates(adjusted, sampling)
    return int(ids[draw(probabilities, uniform(sampling.seed, sequence, position))])


def penalised(logits: Floats, seen: Sequence[int], penalty: float) -> Floats:
    """Logits after the repetition penalty."""
    if penalty == 1 or not len(seen):
        return logits
    result = logits.copy()
    repeated = np.unique(np.asarray(seen, np.int64))
    values = result[repeated]
    result[repeated] = np.where(values > 0, values / penalty, values * penalty)
    return result


def candidates(logits: Floats, sampling: Sampling) -> tuple[npt.NDArray[np.int64], Floats]:
    """The tokens that may be drawn, likeliest first (equals by id), and their probabilities, which sum to 1."""
    scaled = logits / sampling.temperature
    order = np.lexsort((np.arange(len(scaled)), -scaled))
    if sampling.top_k:
        order = order[: sampling.top_k]
    weights = np.exp(scaled[order] - scaled[order[0]])
    probabilities = weights / weights.sum()
    if sampling.top_p < 1:  # the smallest set that holds top_p of the mass (Holtzman et al. 2020, section 3.1)
        kept = int(np.searchsorted(np.cumsum(probabilities), sampling.top_p)) + 1
        order, probabilities = order[:kept], probabilities[:kept]
    return order, probabilities / probabilities.sum()


def draw(probabilities: Floats, number: float) -> int:
    """The index where the running sum of `probabilities` passes `number` in [0, 1)."""
    return min(int(np.searchsorted(np.cumsum(probabilities), number, side="right")), len(probabilities) - 1)


def uniform(seed: int, sequence: int, position: int) -> float:
    """A number in [0, 1) that is a function of its arguments (Philox: Salmon et al. 2011)."""
    return float(np.random.Generator(np.random.Philox(key=[seed, sequence], counter=[position, 0, 0, 0])).random())
