from __future__ import annotations

import math

from mspt.core.nn.watch import ENOUGH, Watch


def calm(steps: int = 40) -> Watch:
    watch = Watch()
    for step in range(steps):
        assert watch.see(3.0 + 0.05 * (step % 3), 1.0 + 0.1 * (step % 2)) == []
    return watch


def test_a_jump_of_the_loss_and_of_the_gradient_are_spikes() -> None:
    assert [(spike.kind, spike.value) for spike in calm().see(4.5, 30.0)] == [("loss-spike", 4.5), ("gradient-spike", 30.0)]


def test_usual_scatter_falling_losses_and_small_jumps_are_none() -> None:
    assert calm().see(3.4, 2.0) == []
    assert calm().see(1.0, 0.5) == []


def test_a_vanished_gradient_is_told() -> None:
    assert [spike.kind for spike in calm().see(3.0, 1e-7)] == ["gradient-vanished"]


def test_the_first_steps_and_what_is_not_finite_are_not_judged() -> None:
    watch = Watch()
    for step in range(ENOUGH):
        assert watch.see(10.0 - step * 0.5, 100.0 if step == 3 else 1.0) == []
    assert calm().see(math.nan, math.inf) == []
