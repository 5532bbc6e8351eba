"""Watching a run: steps that stand out from those before them.

A spike is a loss far above, or a gradient norm many times, the running median; a gradient that vanishes says that nothing is learnt any more.
Both are events for a person to judge: they change nothing. What is not finite is no spike: the run stops for it (trainer.py).
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import dataclass, field

WINDOW = 64  # steps that the medians look back on
ENOUGH = 16  # before so many steps nothing is judged: the first losses fall too fast
NORM_RATIO = 10.0  # gradient norm over its running median
VANISHED = 1e-6  # gradient norm
# Loss above the median by this many robust standard deviations (1.4826 median absolute deviations, Rousseeuw & Croux 1993) ...
DEVIATIONS = 8.0
NATS = 0.5  # ... and by this much, for losses that hardly scatter


@dataclass(frozen=True)
class Spike:
    """What stood out: `kind` is loss-spike, gradient-spike or gradient-vanished, `value` was seen, `median` was usual."""

    kind: str
    value: float
    median: float


@dataclass
class Watch:
    """Remembers the last steps; a spike does not enter the medians that judge the next steps more than any other step does."""

    losses: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    norms: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def see(self, loss: float, grad_norm: float) -> list[Spike]:
        """Judge a step against those before it, then remember it. Values that are not finite are passed over."""
        if not (math.isfinite(loss) and math.isfinite(grad_norm)):
            return []
        spikes = self.judge(loss, grad_norm) if len(self.losses) >= ENOUGH else []
        self.losses.append(loss)
        self.norms.append(grad_norm)
        return spikes

    def judge(self, loss: float, grad_norm: float) -> list[Spike]:
        """The ways in which this step stands out."""
        usual, norm = statistics.median(self.losses), statistics.median(self.norms)
        scatter = 1.4826 * statistics.median(abs(value - usual) for value in self.losses)
        spikes = []
        if loss - usual > max(NATS, DEVIATIONS * scatter):
            spikes.append(Spike("loss-spike", loss, usual))
        if grad_norm > NORM_RATIO * norm:
            spikes.append(Spike("gradient-spike", grad_norm, norm))
        if grad_norm < VANISHED:
            spikes.append(Spike("gradient-vanished", grad_norm, norm))
        return spikes
