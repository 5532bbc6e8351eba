"""Layouts that divide and fit, their times, and the published runs."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from mspt.core.errors import MsptError
from mspt.core.parallel.devices import DEVICES, GIB, device
from mspt.core.parallel.expectation import DAY, WEEK, Practice, expect
from mspt.core.parallel.layout import Layout, Workload, check_layout
from mspt.core.parallel.memory import peak_memory
from mspt.core.parallel.model_shape import named_shape
from mspt.core.parallel.search import Cluster, Fixed, best_plans, evaluate, layouts
from mspt.core.parallel.step_time import step_time

LLAMA_7B, WORK = named_shape("llama2-7b"), Workload(seq_length=4096, global_batch=64)
NODE = Cluster(device("910b3"), 8, device("910b3").usable_bytes)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout(data=2, tensor=2), "dp 2 x tp 2 x pp 1 = 4 devices, but there are 8; dp 4 fits"),
        (Layout(data=2, tensor=3), "tp x pp = 3 does not divide 8, 2 does"),
        (Layout(data=8, micro_batch=3), "global batch 64 does not divide by dp 8 x micro-batch 3 = 24; 72 does"),
        (Layout(data=8, virtual=2), "vpp 2 interleaves pipeline stages, but pp is 1"),
        (Layout(data=2, pipeline=4, virtual=3), "32 layers do not divide by pp 4 x vpp 3 = 12; 8 does"),
        (Layout(data=8, sequence_parallel=True), "sequence parallelism needs tp > 1"),
        (Layout(data=1, pipeline=8, virtual=2, micro_batch=16), "multiples of pp 8, there are 4; 128 sequences fit"),
    ],
)
def test_what_does_not_divide_names_what_does(layout: Layout, message: str) -> None:
    with pytest.raises(MsptError) as refused:
        check_layout(LLAMA_7B, WORK, layout, 8)
    assert message in refused.value.message


def test_tensor_size_that_splits_no_head_is_refused() -> None:
    with pytest.raises(MsptError, match="14 heads do not divide by tp 4; 2 does"):
        check_layout(named_shape("qwen2.5-0.5b"), WORK, Layout(data=2, tensor=4), 8)


def test_every_plan_divides_and_fits_and_none_is_faster() -> None:
    result = best_plans(LLAMA_7B, WORK, NODE)
    assert result.too_big > 0
    assert all(plan.memory.total <= NODE.memory_limit and plan.layout.devices == 8 for plan in result.plans)
    fitting = [plan for layout in layouts(LLAMA_7B, WORK, NODE) if (plan := evaluate(LLAMA_7B, WORK, layout, NODE)).headroom >= 0]
    assert result.plans[0].time.total == min(plan.time.total for plan in fitting)
    assert list(result.plans) == sorted(result.plans, key=lambda plan: plan.time.total)
    assert len(fitting) + result.too_big == result.considered


def test_seven_billion_in_full_on_24_gib_is_refused_with_the_numbers() -> None:
    with pytest.raises(MsptError, match=r"27\.0 GB .*2-byte weights and gradients alone") as refused:
        best_plans(LLAMA_7B, WORK, Cluster(NODE.device, 1, 24 * GIB))
    assert "optimizer 75.3" in refused.value.message  # 12 bytes x 6.738e9 / 2^30
    assert refused.value.hint == "Use --devices 8."
    assert best_plans(LLAMA_7B, WORK, Cluster(NODE.device, 8, 24 * GIB)).plans


def test_fixed_parts_are_kept_and_an_explicit_layout_that_does_not_fit_is_refused() -> None:
    plans = best_plans(LLAMA_7B, WORK, NODE, Fixed(tensor=4, recompute="full")).plans
    assert {(plan.layout.tensor, plan.layout.recompute) for plan in plans} == {(4, "full")}
    assert best_plans(LLAMA_7B, Workload(seq_length=4096, global_batch=24), NODE, Fixed(tensor=4, micro_batch=3)).plans[0].layout.micro_batch == 3
    with pytest.raises(MsptError, match=r"with these settings \(dp8 tp1 pp1 mb1 recompute full, sharded none\)"):
        best_plans(LLAMA_7B, WORK, NODE, Fixed(data=8, sharding="none"))


def test_time_of_a_matrix_bound_step_by_hand() -> None:
    time = step_time(LLAMA_7B, WORK, Layout(data=8, sharding="optimizer"), NODE.device)
    tokens, matrices = 8 * 4096, 32 * (4 * 4096**2 + 3 * 4096 * 11008)
    assert time.matmul == pytest.approx(6 * tokens * matrices / (294.9e12 * NODE.device.efficiency.matmul))
    assert time.tensor_traffic == time.pipeline_traffic == time.bubble == 0
    full = step_time(LLAMA_7B, WORK, Layout(data=8, recompute="full"), NODE.device)
    assert full.matmul / time.matmul == pytest.approx(8 / 6)


def test_interleaving_divides_the_bubble_and_the_bubble_is_that_of_narayanan() -> None:
    plain, halved = (step_time(LLAMA_7B, WORK, Layout(data=2, pipeline=4, virtual=v), NODE.device) for v in (1, 2))
    # (p - 1)/m of the work of a mean stage: the head's is a quarter of the last stage's
    working = plain.matmul + plain.attention + plain.elementwise + plain.pipeline_traffic + plain.head / 4
    assert plain.bubble == pytest.approx(3 / 32 * working)
    assert halved.bubble == pytest.approx(plain.bubble / 2, rel=0.02)


def test_small_groups_are_slow_on_a_mesh() -> None:
    # measured all-reduce on 910B, GB/s of payload: bus bandwidth is 2(n-1)/n of it
    for cards, measured in ((2, 18), (4, 30), (8, 72)):
        payload = DEVICES["910b3"].link.bus_bandwidth(cards, 8) / 1e9 / (2 * (cards - 1) / cards)
        assert payload == pytest.approx(measured, rel=0.15)
    assert DEVICES["910b3"].link.bus_bandwidth(16, 1) < DEVICES["910b3"].link.bus_bandwidth(16, 8)


def test_expectation_adds_up_by_hand() -> None:
    practice = Practice(slow_share=0.1, slow_mfu=0.3, device_hours_per_failure=24 * 100, restart_minutes=15, checkpoint_minutes=60, evaluation_hours_per_week=2)
    found = expect(10 * DAY, devices=100, mfu=0.45, practice=practice)
    assert found.field_rule == pytest.approx(13 * DAY)
    assert found.slow_steps == pytest.approx(0.5 * DAY)  # a tenth of 10 days at 1.5 times the time: half a day more
    assert found.failures == pytest.approx(10.5)  # one a day
    assert found.itemised == pytest.approx(10.5 * DAY + 10.5 * 45 * 60 + 10.5 * DAY / WEEK * 7200)


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "bench" / "plan_parallel.py"
    spec = importlib.util.spec_from_file_location("bench_plan_parallel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_published_runs_within_their_bands(bench: ModuleType, shared: Path) -> None:
    """Speed errors with the shipped constants, and with constants refitted on all other sources."""
    gpu, ascend = bench.gpu_runs(shared / "plan" / "gpu_published.csv"), bench.ascend_runs(shared / "plan" / "ascend_published.csv")
    left_out = bench.left_out_errors(gpu + ascend)
    for runs, rows, band, unseen_band in ((gpu, 18, 0.08, 0.13), (ascend, 26, 0.12, 0.14)):
        assert len(runs) == rows
        assert bench.mean_absolute(bench.errors(runs, bench.shipped_constants())) < band
        assert bench.mean_absolute([error for source in bench.by_source(runs) for error in left_out[source]]) < unseen_band


def test_measured_peaks_of_torchtitan_within_a_tenth(bench: ModuleType, shared: Path) -> None:
    runs = [(run, measured) for run, measured in bench.memory_runs(shared / "plan" / "gpu_published.csv") if run.source == "torchtitan_bench"]
    assert [measured for _, measured in runs] == [82.4, 77.0, 67.0, 62.0]
    for run, measured in runs:
        assert peak_memory(run.shape, run.work, run.layouts[0]).total / GIB == pytest.approx(measured, rel=0.10)


def test_a_faster_device_of_the_same_kind_is_not_slower() -> None:
    slow = step_time(LLAMA_7B, WORK, Layout(data=8), NODE.device).total
    assert step_time(LLAMA_7B, WORK, Layout(data=8), replace(NODE.device, peak_flops=2 * NODE.device.peak_flops)).total < slow
