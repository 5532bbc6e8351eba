from __future__ import annotations

import itertools

import pytest

from mspt.core.errors import MsptError
from mspt.core.nn.schedule import Schedule

from .conftest import Reference


@pytest.mark.parametrize("name", ["cosine 0.0", "cosine 0.1", "linear 0.0", "constant 0.0", "wsd 0.0", "wsd 0.1"])
def test_every_step_equals_transformers(name: str, reference: Reference) -> None:
    kind, floor = name.split()
    schedule = Schedule(kind=kind, peak=3e-4, steps=100, warmup=10, floor=float(floor), decay_steps=30 if kind == "wsd" else 0)  # type: ignore[arg-type]
    for step, factor in enumerate(reference.schedules[name]):
        assert schedule.rate(step) == pytest.approx(3e-4 * factor, abs=1e-12), step
        assert schedule.factor(step) == pytest.approx(factor, abs=1e-12), step


@pytest.mark.parametrize("kind", ["cosine", "linear", "constant", "wsd"])
def test_beyond_the_end_the_last_value_stays(kind: str) -> None:
    schedule = Schedule(kind=kind, peak=1.0, steps=50, warmup=5, floor=0.1, decay_steps=10 if kind == "wsd" else 0)  # type: ignore[arg-type]
    last = 1.0 if kind == "constant" else 0.1
    assert [schedule.rate(step) for step in (50, 51, 500)] == pytest.approx([last] * 3, abs=1e-15)
    rates = [schedule.rate(step) for step in range(1, 51)]
    assert min(rates) > 0
    assert max(abs(a - b) for a, b in itertools.pairwise(rates)) <= 0.21, "no jump but the warm-up's fifth"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"peak": 1e-3, "steps": 10, "warmup": 11}, "warmup"),
        ({"peak": 0.0, "steps": 10}, "peak"),
        ({"peak": 1e-3, "steps": 10, "kind": "step"}, "cosine, linear, constant, wsd"),
        ({"peak": 1e-3, "steps": 10, "warmup": 5, "kind": "wsd", "decay_steps": 6}, "decay_steps"),
    ],
)
def test_settings_that_do_not_fit_name_their_cure(settings: dict[str, object], named: str) -> None:
    with pytest.raises(MsptError) as error:
        Schedule(**settings)  # type: ignore[arg-type]
    assert named in error.value.hint
