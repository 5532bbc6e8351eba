"""plan-parallel through the runner: the artifact, its reuse, and the refusals that a person meets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mspt.core.errors import MsptError

TINY = {"hidden": 64, "layers": 4, "heads": 4, "ffn": 160, "vocabulary": 512, "devices": 4, "seq_length": 128, "global_batch": 16, "tokens": "1M"}


def test_plan_is_written_ranked_and_reused(workspace: Any) -> None:
    artifact = workspace.run("plan-parallel", TINY)
    plan = json.loads(artifact.path("plan.json").read_text())
    assert plan["model"]["parameters"] == 4 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64) + 2 * 512 * 64 + 64
    assert plan["workload"]["tokens"] == 1_000_000
    best = plan["plans"][0]
    assert best["step_seconds"]["total"] == min(p["step_seconds"]["total"] for p in plan["plans"])
    # 1 M tokens in steps of 2,048: 489 steps
    assert best["run_seconds"]["theory"] == pytest.approx(489 * best["step_seconds"]["total"])
    assert best["run_seconds"]["field_rule"] == pytest.approx(1.3 * best["run_seconds"]["theory"])
    assert sum(v for k, v in best["memory_bytes"].items() if k not in ("total", "stage")) == pytest.approx(best["memory_bytes"]["total"])
    assert artifact.stats["plans"][0]["layout"].startswith("dp")
    assert workspace.run("plan-parallel", TINY).ref == artifact.ref


def test_one_explicit_layout(workspace: Any) -> None:
    settings = {**TINY, "dp": 1, "tp": 2, "pp": 2, "vpp": 2, "micro_batch": 2, "recompute": "full", "sharding": "none"}
    plans = json.loads(workspace.run("plan-parallel", settings).path("plan.json").read_text())["plans"]
    assert len(plans) == 1
    layout = plans[0]["layout"]
    assert (layout["data"], layout["tensor"], layout["pipeline"], layout["virtual"], layout["recompute"]) == (1, 2, 2, 2, "full")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": "llama2-7b", "heads": 40}, "4096 hidden does not divide by 40 heads; 32 does"),
        ({"shape": "llama2-7b", "devices": 1, "memory_limit": "24GiB"}, "27.0 GB (25.1 GiB) in 2-byte weights and gradients alone"),
        ({"shape": "lama2-7b"}, "unknown shape 'lama2-7b'"),
        ({"hidden": 64, "layers": 2}, "the model's shape lacks heads, ffn, vocabulary"),
        ({**TINY, "device": "910b9"}, "unknown device '910b9'"),
        ({**TINY, "tokens": "many"}, "expected a number such as 20M or 2B"),
    ],
)
def test_mistakes_are_refused_with_the_reason(workspace: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MsptError) as refused:
        workspace.run("plan-parallel", settings)
    assert message in refused.value.message
    assert refused.value.hint
