"""AdamW with float32 master weights and moments, and the dynamic loss scale of float16.

The update runs in MindSpore's fused `ops.AdamWeightDecay`, which knows no bias correction:

    m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2;   w = w - lr' (m / (sqrt(v) + eps') + wd' w)

With c1 = 1 - b1^t and c2 = 1 - b2^t, lr' = lr sqrt(c2) / c1, eps' = eps sqrt(c2) and wd' = wd lr / lr' this is exactly AdamW
(Loshchilov & Hutter 2019, algorithm 2). The three numbers are computed on the host in float64 for every update.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from mspt.core.errors import MsptError

# float16 gradients (Micikevicius et al. 2018, section 3.2): start high, halve on overflow, double after a quiet while.
FIRST_LOSS_SCALE = 2.0**16  # torch.amp.GradScaler, MindFormers
LARGEST_LOSS_SCALE = 2.0**24  # beyond it float16 activations' gradients overflow at once
QUIET_STEPS = 1000  # MindFormers' scale_window; torch has 2000


@dataclass(frozen=True, kw_only=True)
class AdamW:
    """Settings. Decay applies to matrices only: norms (1-D) never, token embeddings not unless `decay_embeddings`.

    Embeddings are left out because decay also shrinks the rows of tokens that did not occur in the batch: rare tokens, most of a Chinese
    vocabulary, would fade (OLMo 2, section 3.1, found the same choice to stabilise training). A tied embedding counts as an embedding.
    """

    beta1: float = 0.9
    beta2: float = 0.95  # GPT-3, Llama: recovers faster from spikes than .999
    eps: float = 1e-8
    weight_decay: float = 0.1
    decay_embeddings: bool = False
    clip: float = 1.0  # of the global norm; 0: off

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise MsptError(f"{name} is {getattr(self, name)}", f"set {name} within 0 and 1")
        if self.eps <= 0 or self.weight_decay < 0 or self.clip < 0:
            raise MsptError(f"eps {self.eps}, weight_decay {self.weight_decay}, clip {self.clip}", "eps is above 0, the others are not negative")

    def decays(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether weight decay applies to the parameter."""
        return len(shape) > 1 and (self.decay_embeddings or "embed_tokens" not in name)

    def fused(self, rate: float, update: int) -> tuple[float, float, float]:
        """lr', eps' and wd' for update number `update` (from 1)."""
        root = math.sqrt(1.0 - self.beta2**update)
        corrected = rate * root / (1.0 - self.beta1**update)
        decay = self.weight_decay * rate / corrected if corrected > 0 else 0.0
        return corrected, self.eps * root, decay


@dataclass(frozen=True, kw_only=True)
class LossScale:
    """Dynamic loss scale: a power of two, so that scaling and unscaling are exact. `after` gives the state for the next step."""

    value: float = FIRST_LOSS_SCALE
    quiet: int = 0  # steps without overflow since the last change
    overflows: int = 0  # in the whole run
    fixed: bool = False  # float32 needs none: value 1

    @classmethod
    def off(cls) -> LossScale:
        """For float32."""
        return cls(value=1.0, fixed=True)

    def after(self, finite: bool) -> LossScale:
        """Halve on overflow (never below 1), double after QUIET_STEPS finite ones."""
        if self.fixed:
            return self
        if not finite:
            return replace(self, value=max(1.0, self.value / 2), quiet=0, overflows=self.overflows + 1)
        if self.quiet + 1 < QUIET_STEPS:
            return replace(self, quiet=self.quiet + 1)
        return replace(self, value=min(LARGEST_LOSS_SCALE, self.value * 2), quiet=0)

    @property
    def exhausted(self) -> bool:
        """Nothing left to halve: a gradient that is not finite now is no overflow of float16."""
        return self.value <= 1.0
