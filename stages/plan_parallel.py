"""Memory and time of training a model on a cluster: one layout, or the best of all that fit.

In: the shape of a model (a name such as llama2-7b, or its sizes), a device type and how many, sequence length, global batch, tokens.
Out: plan.json with the ranked layouts (data, tensor, pipeline parallel, interleaving, micro-batch, recompute, sharding), bytes and seconds item by
item, and the days of the run: theory, theory x 1.3, and what slow steps, restarts and evaluation add. A layout that does not fit is never proposed.
Source of the formulas: Narayanan et al. 2021, Korthikanti et al. 2022; of the rest: core/parallel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mspt.core.config import parse_bytes, parse_count, setting
from mspt.core.errors import MsptError
from mspt.core.stage import Job, Stage

if TYPE_CHECKING:
    from mspt.core.parallel.expectation import Expectation
    from mspt.core.parallel.layout import Workload
    from mspt.core.parallel.model_shape import ModelShape
    from mspt.core.parallel.search import Cluster, Fixed, Plan

GIB = 2**30
TOKENS_PER_PARAMETER = 20  # Hoffmann et al. 2022 (arXiv 2203.15556): compute-optimal


@dataclass(frozen=True, kw_only=True)
class PlanParallelConfig:
    shape: Annotated[str | None, setting("a model by name, such as llama2-7b; sizes below override its own")] = None
    architecture: Annotated[Literal["llama", "gpt"], setting("kind of layer, when the model is given by sizes")] = "llama"
    hidden: Annotated[int | None, setting("hidden size", ge=1)] = None
    layers: Annotated[int | None, setting("decoder layers", ge=1)] = None
    heads: Annotated[int | None, setting("attention heads", ge=1)] = None
    kv_heads: Annotated[int | None, setting("key and value heads; default: heads", ge=1)] = None
    head_dim: Annotated[int | None, setting("size of a head; default: hidden / heads", ge=1)] = None
    ffn: Annotated[int | None, setting("inner size of the feed-forward block", ge=1)] = None
    vocabulary: Annotated[int | None, setting("pieces in the vocabulary", ge=1)] = None
    tied: Annotated[bool | None, setting("head and embedding share one matrix")] = None
    device: Annotated[str, setting("device type: 910b2, 910b3, 910b4, 910c, a100-80g, h100-80g, ...")] = "910b3"
    devices: Annotated[int, setting("number of devices", ge=1)] = 8
    devices_per_node: Annotated[int | None, setting("devices in one node; default: the device type's", ge=1)] = None
    memory_limit: Annotated[
        int | None, setting("bytes that training may use of each device; default: 58/64 of it", gt=0, convert=parse_bytes, metavar="SIZE")
    ] = None
    seq_length: Annotated[int, setting("tokens in a row", ge=1)] = 4096
    global_batch: Annotated[int, setting("rows in one optimizer step", ge=1)] = 1024
    tokens: Annotated[int | None, setting("tokens of the whole run (300B, 2T); default: 20 for each parameter", ge=1, convert=parse_count, metavar="COUNT")] = (
        None
    )
    flash_attention: Annotated[bool, setting("attention that never stores its scores")] = True
    dp: Annotated[int | None, setting("data-parallel size; this and what follows fix a part of the layout", ge=1)] = None
    tp: Annotated[int | None, setting("tensor-parallel size", ge=1)] = None
    pp: Annotated[int | None, setting("pipeline stages", ge=1)] = None
    vpp: Annotated[int | None, setting("interleaved chunks in each stage", ge=1)] = None
    micro_batch: Annotated[int | None, setting("rows in a micro-batch", ge=1)] = None
    recompute: Annotated[Literal["none", "selective", "full"] | None, setting("activation recompute")] = None
    recompute_share: Annotated[float | None, setting("share of the layers that recompute", gt=0, le=1)] = None
    sequence_parallel: Annotated[bool | None, setting("split norms and residuals over the tensor-parallel group")] = None
    sharding: Annotated[Literal["none", "optimizer", "weights"] | None, setting("what the data-parallel group shares out")] = None
    top: Annotated[int, setting("plans to keep", ge=1)] = 5
    slow_share: Annotated[float, setting("share of the steps that run at slow_mfu", ge=0, le=1)] = 0.05
    slow_mfu: Annotated[float, setting("model FLOP/s over peak in slow steps", gt=0, le=1)] = 0.30
    device_hours_per_failure: Annotated[float, setting("device-hours between two failures", gt=0)] = 45_600.0
    restart_minutes: Annotated[float, setting("minutes until a failed run computes again", ge=0)] = 15.0
    checkpoint_minutes: Annotated[float, setting("minutes between checkpoints", ge=0)] = 60.0
    evaluation_hours_per_week: Annotated[float, setting("hours of evaluation each week", ge=0)] = 2.5


def run(job: Job[PlanParallelConfig]) -> None:
    from mspt.core.parallel.search import best_plans, rule_of_thumb

    config = job.config
    shape, work, cluster = _shape(config), _workload(config), _cluster(config)
    result = best_plans(shape, work, cluster, _fixed(config))
    tokens = config.tokens or TOKENS_PER_PARAMETER * shape.parameters
    expected = [(plan, _expectation(config, plan, tokens)) for plan in result.plans[: config.top]]
    job.write_json(
        "plan.json",
        {
            "model": {**vars(shape), "parameters": shape.parameters},
            "workload": {**vars(work), "tokens": tokens},
            "cluster": {"device": cluster.device.name, "devices": cluster.devices, "memory_limit": cluster.memory_limit},
            "plans": [_plain(plan, expectation) for plan, expectation in expected],
        },
    )
    job.stats["model"] = f"{shape.parameters / 1e9:.2f} B parameters, {tokens / 1e9:,.0f} B tokens"
    job.stats["layouts"] = {"considered": result.considered, "too big": result.too_big}
    job.stats["rule of thumb"] = rule_of_thumb(shape.parameters)
    job.stats["plans"] = [_row(plan, expectation) for plan, expectation in expected]
    best, expectation = expected[0]
    job.stats["best: GiB"] = {name: round(value / GIB, 2) for name, value in best.memory.items().items()}
    job.stats["best: seconds of a step"] = {name: round(value, 4) for name, value in best.time.items().items()}
    job.stats["best: days"] = _days(expectation)
    job.note(f"best of {result.considered:,} layouts ({result.too_big:,} do not fit): {best.layout}")
    days = job.stats["best: days"]
    job.note(
        f"{best.time.total:.2f} s a step, {best.tokens_per_second:,.0f} tokens/s/device, MFU {best.mfu:.1%}; "
        f"days for {tokens / 1e9:,.3g} B tokens: theory {days['theory']}, x 1.3 {days['theory x 1.3']}, itemised {days['itemised']}"
    )


def _shape(config: PlanParallelConfig) -> ModelShape:
    from mspt.core.parallel.model_shape import ModelShape, gpt_shape, named_shape

    names = ("hidden", "layers", "heads", "kv_heads", "head_dim", "ffn", "vocabulary", "tied")
    given = {name: getattr(config, name) for name in names if getattr(config, name) is not None}
    if config.shape is not None:
        return named_shape(config.shape).resized(**given)
    missing = [name for name in ("hidden", "layers", "heads", "ffn", "vocabulary") if name not in given]
    if missing:
        raise MsptError(f"the model's shape lacks {', '.join(missing)}", "Give --shape NAME, or all sizes of the model.")
    if config.architecture == "llama":
        return ModelShape(**{"kv_heads": given["heads"], **given})
    sizes = {name: given[name] for name in ("hidden", "layers", "heads", "ffn", "vocabulary")}
    return gpt_shape(**sizes, positions=config.seq_length).resized(**given)


def _workload(config: PlanParallelConfig) -> Workload:
    from mspt.core.parallel.layout import Workload

    return Workload(seq_length=config.seq_length, global_batch=config.global_batch, flash_attention=config.flash_attention)


def _cluster(config: PlanParallelConfig) -> Cluster:
    from dataclasses import replace

    from mspt.core.parallel.devices import device
    from mspt.core.parallel.search import Cluster

    found = device(config.device)
    found = replace(found, devices_per_node=config.devices_per_node or found.devices_per_node)
    return Cluster(found, config.devices, config.memory_limit or found.usable_bytes)


def _fixed(config: PlanParallelConfig) -> Fixed:
    from mspt.core.parallel.search import Fixed

    same = ("micro_batch", "recompute", "recompute_share", "sequence_parallel", "sharding")
    named = {name: getattr(config, name) for name in same}
    return Fixed(data=config.dp, tensor=config.tp, pipeline=config.pp, virtual=config.vpp, **named)


def _expectation(config: PlanParallelConfig, plan: Plan, tokens: int) -> Expectation:
    from dataclasses import fields

    from mspt.core.parallel.expectation import Practice, expect

    steps = -(-tokens // (config.global_batch * config.seq_length))
    practice = Practice(**{field.name: getattr(config, field.name) for field in fields(Practice)})
    return expect(steps * plan.time.total, config.devices, plan.mfu, practice)


def _days(expectation: Expectation) -> dict[str, float]:
    from mspt.core.parallel.expectation import DAY

    items = {
        "theory": expectation.theory,
        "theory x 1.3": expectation.field_rule,
        "itemised": expectation.itemised,
        "slow steps": expectation.slow_steps,
        "restarts": expectation.restarts,
        "repeated work": expectation.repeated_work,
        "evaluation": expectation.evaluation,
    }
    return {name: round(seconds / DAY, 2) for name, seconds in items.items()}


def _row(plan: Plan, expectation: Expectation) -> dict[str, Any]:
    days = _days(expectation)
    return {
        "layout": str(plan.layout),
        "step s": round(plan.time.total, 2),
        "tokens/s/device": round(plan.tokens_per_second),
        "MFU": round(plan.mfu, 3),
        "GiB": round(plan.memory.total / GIB, 1),
        "headroom GiB": round(plan.headroom / GIB, 1),
        **{name: days[name] for name in ("theory", "theory x 1.3", "itemised")},
    }


def _plain(plan: Plan, expectation: Expectation) -> dict[str, Any]:
    return {
        "layout": vars(plan.layout),
        "memory_bytes": {**plan.memory.items(), "total": plan.memory.total, "stage": plan.memory.stage},
        "headroom_bytes": plan.headroom,
        "step_seconds": {**plan.time.items(), "total": plan.time.total},
        "tokens_per_second_per_device": plan.tokens_per_second,
        "mfu": plan.mfu,
        "run_seconds": {**vars(expectation), "field_rule": expectation.field_rule, "itemised": expectation.itemised},
    }


STAGE = Stage(order=80, config=PlanParallelConfig, run=run, writes="plan", reads={}, next="train")
