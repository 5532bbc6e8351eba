"""Counts, FLOPs and bytes against the papers' closed formulas and published model sizes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from mspt.core.errors import MsptError
from mspt.core.parallel.layout import Layout, Recompute, Workload
from mspt.core.parallel.memory import in_flight, layer_activation_bytes, peak_memory, stage_memory, state_bytes
from mspt.core.parallel.model_shape import ModelShape, gpt_shape, named_shape

# safetensors headers of the published checkpoints (model cards round to 6.74 B, 8.03 B, 70.6 B, 494 M)
PUBLISHED = {"llama2-7b": 6_738_415_616, "llama3-8b": 8_030_261_248, "llama3-70b": 70_553_706_496}


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_parameters_of_published_checkpoints(name: str, parameters: int) -> None:
    assert named_shape(name).parameters == parameters


def test_gpt_counts_follow_narayanan() -> None:
    layers, h, vocabulary, s = 96, 12288, 51200, 2048
    shape = gpt_shape(hidden=h, layers=layers, heads=96, vocabulary=vocabulary, positions=s)
    formula = 12 * layers * h**2 * (1 + 13 / (12 * h) + (vocabulary + s) / (12 * layers * h))
    assert shape.parameters - 2 * h == pytest.approx(formula, rel=1e-12)  # the paper leaves the final norm out
    per_token = 96 * layers * h**2 * (1 + s / (6 * h) + vocabulary / (16 * layers * h))
    assert shape.hardware_flops(s) == pytest.approx(per_token, rel=1e-12)
    assert shape.model_flops(s) == pytest.approx(72 * layers * h**2 * (1 + s / (6 * h) + vocabulary / (12 * layers * h)), rel=1e-12)


def test_heads_that_do_not_divide_are_refused_with_the_nearest_that_do() -> None:
    with pytest.raises(MsptError, match="4096 hidden does not divide by 40 heads; 32 does"):
        named_shape("llama2-7b").resized(heads=40)
    with pytest.raises(MsptError, match="32 heads do not divide by 5 kv_heads; 4 does"):
        named_shape("llama2-7b").resized(kv_heads=5)
    assert named_shape("llama2-7b").resized(heads=40, kv_heads=40, head_dim=128).query_size == 5120


@pytest.mark.parametrize(
    ("sequence_parallel", "recompute", "expected"),
    [
        (False, "none", lambda a, s, h, t: 10 + 24 / t + 5 * a * s / (h * t)),
        (True, "none", lambda a, s, h, t: (34 + 5 * a * s / h) / t),
        (False, "selective", lambda a, s, h, t: 10 + 24 / t),
        (True, "selective", lambda a, s, h, t: 34 / t),
        (False, "full", lambda a, s, h, t: 2),
    ],
)
@pytest.mark.parametrize("t", [1, 8])
def test_layer_activations_follow_korthikanti_table_2(t: int, sequence_parallel: bool, recompute: Recompute, expected) -> None:  # type: ignore[no-untyped-def]
    a, s, h, b = 64, 2048, 6144, 4
    shape = gpt_shape(hidden=h, layers=48, heads=a, vocabulary=51200, positions=s)
    work = Workload(seq_length=s, global_batch=4, flash_attention=False)
    layout = Layout(data=1, tensor=t, micro_batch=b, sequence_parallel=sequence_parallel)
    assert layer_activation_bytes(shape, work, layout, recompute) == pytest.approx(s * b * h * expected(a, s, h, t), rel=1e-12)


def test_llama_layer_by_hand() -> None:
    # 2 norm inputs, 2 norm outputs, q, k (a quarter), v, attention output; gate, up, product; 64 bytes a head of softmax statistics
    shape = ModelShape(hidden=4096, layers=32, heads=32, kv_heads=8, ffn=14336, vocabulary=128256)
    work, layout = Workload(seq_length=1, global_batch=1), Layout(data=1)
    assert layer_activation_bytes(shape, work, layout, "none") == 4 * 8192 + 8192 * (1 + 0.25 + 0.25 + 1) + 3 * 28672 + 32 * 64
    # selective: norm outputs and the product are made again
    assert layer_activation_bytes(shape, work, layout, "none") - layer_activation_bytes(shape, work, layout, "selective") == 2 * 8192 + 28672


def test_analytic_rows_of_korthikanti_figure_1(shared: Path) -> None:
    with (shared / "plan" / "gpu_published.csv").open() as handle:
        rows = [row for row in csv.DictReader(handle) if row["source"] == "korthikanti2022_fig1"]
    assert len(rows) == 12
    for row in rows:
        h, layers, a, s, t, p, b = (int(row[name]) for name in ("h", "L", "a", "s", "TP", "PP", "MBS"))
        shape = gpt_shape(hidden=h, layers=layers, heads=a, vocabulary=int(row["V"]), positions=s)
        selective = row["recompute"] == "sp+selective"
        layout = Layout(
            data=1, tensor=t, pipeline=p, virtual=int(row["VPP_layers_per_stage"] or 1), micro_batch=b,
            recompute="selective" if selective else "none", sequence_parallel=selective,
        )  # fmt: skip
        if row["metric"] == "params_opt_mem":
            found = layers * shape.layer_matrices / (t * p) * sum(state_bytes(layout))
        else:
            work = Workload(seq_length=s, global_batch=int(row["GBS"]), flash_attention=False)
            found = stage_memory(shape, work, layout, 0).layer_activations
        assert found / 2**30 == pytest.approx(float(row["value"]), rel=1e-3), row


def test_micro_batches_in_flight() -> None:
    plain, interleaved = Layout(data=1, pipeline=4), Layout(data=1, pipeline=4, virtual=2)
    assert [in_flight(plain, 8, stage) for stage in range(4)] == [4, 3, 2, 1]
    assert in_flight(plain, 2, 0) == 2  # no more than there are
    assert in_flight(interleaved, 8, 0) == 4 * (1 + 3 / (4 * 2))


def test_states_and_the_fullest_stage() -> None:
    assert sum(state_bytes(Layout(data=8))) == 18
    assert sum(state_bytes(Layout(data=8, sharding="optimizer"))) == 6 + 12 / 8
    assert sum(state_bytes(Layout(data=8, sharding="weights"))) == 18 / 8
    shape, work = named_shape("llama2-7b"), Workload(seq_length=4096, global_batch=8)
    alone = peak_memory(shape, work, Layout(data=1))
    assert alone.weights + alone.gradients + alone.optimizer == 18 * shape.parameters
    # full recompute stores almost nothing on the first stage, so that a big vocabulary makes the last stage the fullest
    wide = shape.resized(vocabulary=512_000)
    assert peak_memory(wide, work, Layout(data=1, pipeline=4, recompute="full")).stage == 3
