from __future__ import annotations

import math

import numpy as np
import pytest

from mspt.core.errors import MsptError
from mspt.core.nn.optimizer import LARGEST_LOSS_SCALE, QUIET_STEPS, AdamW, LossScale


def test_the_fused_numbers_make_adamw_of_the_plain_rule() -> None:
    """Algorithm 2 of Loshchilov & Hutter beside the fused rule, in float64 over 50 updates."""
    settings, rng = AdamW(beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1), np.random.default_rng(0)
    fused, plain, m, v = *(np.ones(8) for _ in range(2)), np.zeros(8), np.zeros(8)
    for t in range(1, 51):
        g, rate = rng.standard_normal(8) * 10.0 ** -(t % 7), 1e-3 * t
        m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
        plain = plain - rate * (m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.95**t)) + 1e-8) + 0.1 * plain)
        corrected, eps, decay = settings.fused(rate, t)
        fused = fused - corrected * (m / (np.sqrt(v) + eps) + decay * fused)
    np.testing.assert_allclose(fused, plain, rtol=1e-12)


def test_a_rate_of_zero_moves_nothing() -> None:
    assert AdamW().fused(0.0, 3)[::2] == (0.0, 0.0)


def test_the_loss_scale_halves_on_overflow_and_doubles_after_a_quiet_while() -> None:
    scale = LossScale(value=8.0)
    scale = scale.after(finite=False)
    assert (scale.value, scale.overflows) == (4.0, 1)
    for _ in range(QUIET_STEPS - 1):
        scale = scale.after(finite=True)
    assert scale.value == 4.0
    scale = scale.after(finite=True)
    assert (scale.value, scale.quiet) == (8.0, 0)
    assert math.log2(LossScale(value=LARGEST_LOSS_SCALE, quiet=QUIET_STEPS - 1).after(finite=True).value) == 24
    assert LossScale(value=1.0).exhausted
    assert LossScale(value=1.0).after(finite=False).value == 1.0
    assert LossScale.off().after(finite=False) == LossScale.off()


@pytest.mark.parametrize("bad", [{"beta1": 1.0}, {"beta2": -0.1}, {"eps": 0.0}, {"weight_decay": -1.0}, {"clip": -1.0}])
def test_settings_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(MsptError, match=next(iter(bad))):
        AdamW(**bad)
