"""Learning-rate schedules: the rate of every update as a pure function of its number.

    rate
    peak |        ______________________            warmup: straight from 0
         |      /        constant       \\           cosine, linear: from the peak down to floor * peak at `steps`
         |    /   wsd: flat, then a fall  \\         wsd: flat until the last `decay_steps`, then a cosine fall
    floor|  /                               \\_____  beyond `steps`: the last value
         +-------------------------------------- update 1, 2, ... steps

The update number k counts from 1 and takes the value that transformers' functions give for `current_step = k` (its Trainer logs the same
pairs), so the first update already moves the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from mspt.core.errors import MsptError

Kind = Literal["cosine", "linear", "constant", "wsd"]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Warm-up, then `kind`. `floor` is a ratio of the peak (0.1: GPT-3 and Chinchilla decay to a tenth).

    With floor 0 equal to transformers' `get_{cosine,linear,constant}_schedule_with_warmup`; with any floor equal to its
    `get_cosine_with_min_lr_schedule_with_warmup` and, for wsd, to `get_wsd_schedule`, whose warm-up starts at the floor.
    """

    kind: Kind = "cosine"
    peak: float
    steps: int
    warmup: int = 0
    floor: float = 0.1
    decay_steps: int = 0  # wsd only: length of the final fall

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise MsptError(f"there is no schedule {self.kind!r}", f"set schedule to one of {', '.join(get_args(Kind))}")
        if not (self.peak > 0 and self.steps > 0 and 0 <= self.floor <= 1):
            raise MsptError(f"peak rate {self.peak}, steps {self.steps}, floor {self.floor}", "peak and steps are above 0, floor lies within 0 and 1")
        if not 0 <= self.warmup <= self.steps:
            raise MsptError(f"warm-up of {self.warmup} updates in a run of {self.steps}", "set warmup to at most steps")
        if self.kind == "wsd" and not 0 < self.decay_steps <= self.steps - self.warmup:
            raise MsptError(
                f"the fall of {self.decay_steps} updates does not fit between warm-up {self.warmup} and steps {self.steps}",
                "set decay_steps within 1 and steps - warmup",
            )

    def rate(self, update: int) -> float:
        """Learning rate of update number `update` (from 1). Never negative, defined beyond the end."""
        return self.peak * self.factor(update)

    def factor(self, update: int) -> float:
        """Share of the peak rate."""
        if update < self.warmup:
            rising = update / self.warmup
            return self.raised(rising) if self.kind == "wsd" else rising
        if self.kind == "constant":
            return 1.0
        start = self.steps - self.decay_steps if self.kind == "wsd" else self.warmup
        done = min(1.0, max(0.0, (update - start) / max(1, self.steps - start)))
        return self.raised(1.0 - done if self.kind == "linear" else 0.5 * (1.0 + math.cos(math.pi * done)))

    def raised(self, factor: float) -> float:
        """0..1 stretched to floor..1."""
        return factor * (1.0 - self.floor) + self.floor
