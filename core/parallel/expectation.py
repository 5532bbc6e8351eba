"""From the seconds of a step to the days of a run: theory, the field's rule, and what practice adds item by item."""

from __future__ import annotations

from dataclasses import dataclass

DAY, WEEK = 86_400.0, 7 * 86_400.0
# Field rule: a month-long run takes 1.3 times the theory (23.7 days became 31).
FIELD_RULE = 1.3


@dataclass(frozen=True, kw_only=True)
class Practice:
    """What interrupts a run. Defaults from practitioners' reports but where a source is named."""

    slow_share: float = 0.05  # of the steps, run at `slow_mfu`: a slow card, network or file system until somebody notices
    slow_mfu: float = 0.30
    # Llama 3 (arXiv 2407.21783, section 3.3.4): 466 interruptions in 54 days on 16,384 GPUs: one in 45,600 device-hours.
    device_hours_per_failure: float = 45_600.0
    restart_minutes: float = 15.0  # 10-20: detect, reschedule, load, compile
    checkpoint_minutes: float = 60.0  # between checkpoints; a failure repeats half of it
    evaluation_hours_per_week: float = 2.5  # 2-3


@dataclass(frozen=True)
class Expectation:
    """Seconds of a whole run."""

    theory: float
    slow_steps: float
    restarts: float
    repeated_work: float
    evaluation: float
    failures: float  # expected number

    @property
    def field_rule(self) -> float:
        return self.theory * FIELD_RULE

    @property
    def itemised(self) -> float:
        return self.theory + self.slow_steps + self.restarts + self.repeated_work + self.evaluation


def expect(theory: float, devices: int, mfu: float, practice: Practice) -> Expectation:
    """Expected seconds of a run of `theory` seconds of undisturbed steps at `mfu` on `devices`."""
    slow = theory * practice.slow_share * max(0.0, mfu / practice.slow_mfu - 1)
    running = theory + slow
    failures = running / 3600 * devices / practice.device_hours_per_failure
    return Expectation(
        theory=theory,
        slow_steps=slow,
        restarts=failures * practice.restart_minutes * 60,
        repeated_work=failures * practice.checkpoint_minutes * 60 / 2,
        evaluation=running / WEEK * practice.evaluation_hours_per_week * 3600,
        failures=failures,
    )
