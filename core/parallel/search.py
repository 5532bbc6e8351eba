"""Plans: every layout of N devices that divides and fits, fastest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mspt.core.errors import MsptError
from mspt.core.parallel.devices import GIB, Device
from mspt.core.parallel.layout import Layout, Recompute, Sharding, Workload, check_layout, tensor_sizes
from mspt.core.parallel.memory import MemoryEstimate, peak_memory
from mspt.core.parallel.model_shape import ModelShape
from mspt.core.parallel.step_time import StepTime, step_time

MICRO_BATCHES = (1, 2, 4, 8, 16)
MAX_VIRTUAL = 8
# Selective recompute is all or nothing; full recompute may cover half of the layers.
RECOMPUTES: tuple[tuple[Recompute, float], ...] = (("none", 1.0), ("selective", 1.0), ("full", 0.5), ("full", 1.0))
SHARDINGS: tuple[Sharding, ...] = ("none", "optimizer", "weights")
MAX_SUGGESTED_DEVICES = 4096


@dataclass(frozen=True)
class Cluster:
    """N equal devices; `memory_limit`: bytes that the program may use of each."""

    device: Device
    devices: int
    memory_limit: int


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """What a person has decided of the layout; None: open. Names as in `Layout`."""

    data: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    virtual: int | None = None
    micro_batch: int | None = None
    recompute: Recompute | None = None
    recompute_share: float | None = None
    sequence_parallel: bool | None = None
    sharding: Sharding | None = None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def admits(self, layout: Layout) -> bool:
        return all(getattr(layout, name) == value for name, value in self.given().items())

    def complete(self, devices: int) -> Layout:
        """The plainest layout with these values: data parallel over what tensor and pipeline leave, nothing recomputed or sharded."""
        model = (self.tensor or 1) * (self.pipeline or 1)
        return replace(Layout(data=max(1, devices // model)), **self.given())


@dataclass(frozen=True)
class Plan:
    layout: Layout
    memory: MemoryEstimate
    time: StepTime
    headroom: float  # bytes left of the limit on the fullest device; negative: does not fit
    tokens_per_second: float  # per device
    mfu: float  # model FLOP/s over the device's peak


def evaluate(shape: ModelShape, work: Workload, layout: Layout, cluster: Cluster) -> Plan:
    """Memory and time of one layout; MsptError when it does not divide."""
    check_layout(shape, work, layout, cluster.devices)
    memory, time = peak_memory(shape, work, layout), step_time(shape, work, layout, cluster.device)
    rate = work.global_batch * work.seq_length / time.total / layout.devices
    mfu = rate * shape.model_flops(work.seq_length) / cluster.device.peak_flops
    return Plan(layout, memory, time, cluster.memory_limit - memory.total, rate, mfu)


def layouts(shape: ModelShape, work: Workload, cluster: Cluster) -> Iterator[Layout]:
    """Every layout of the cluster that divides, in a fixed order; tensor parallelism stays inside a node."""
    for tensor in _divisors(tensor_sizes(shape), min(cluster.devices, cluster.device.devices_per_node)):
        for pipeline in _divisors(shape.layers, cluster.devices // tensor):
            data, rest = divmod(cluster.devices, tensor * pipeline)
            if rest == 0 and work.global_batch % data == 0:
                yield from _variants(shape, work, Layout(data=data, tensor=tensor, pipeline=pipeline))


def _variants(shape: ModelShape, work: Workload, base: Layout) -> Iterator[Layout]:
    per_replica = work.global_batch // base.data
    chunks = [v for v in _divisors(shape.layers // base.pipeline, MAX_VIRTUAL) if v == 1 or base.pipeline > 1]
    splits = (False, True) if base.tensor > 1 and work.seq_length % base.tensor == 0 else (False,)
    for micro_batch in (b for b in MICRO_BATCHES if per_replica % b == 0):
        for virtual in (v for v in chunks if v == 1 or per_replica // micro_batch % base.pipeline == 0):
            for sequence_parallel in splits:
                for recompute, share in RECOMPUTES:
                    for sharding in SHARDINGS if base.data > 1 else SHARDINGS[:1]:
                        yield replace(
                            base, micro_batch=micro_batch, virtual=virtual, sequence_parallel=sequence_parallel, recompute=recompute,
                            recompute_share=share, sharding=sharding,
                        )  # fmt: skip


def _divisors(number: int, at_most: int) -> list[int]:
    return [d for d in range(1, min(number, at_most) + 1) if number % d == 0]


@dataclass(frozen=True)
class SearchResult:
    """`plans`: the fastest layout that fits of each (data, tensor, pipeline), fastest first."""

    plans: tuple[Plan, ...]
    considered: int
    too_big: int


def best_plans(shape: ModelShape, work: Workload, cluster: Cluster, fixed: Fixed | None = None) -> SearchResult:
    """Rank every layout of the cluster that `fixed` admits; equal times are ordered by headroom, then by the order of enumeration.

    MsptError says what does not divide and which value does, or, when nothing fits, the numbers and a device count that works.
    """
    fixed = fixed or Fixed()
    candidates = [layout for layout in layouts(shape, work, cluster) if fixed.admits(layout)]
    # Values outside the enumeration (--micro-batch 3, a tp wider than a node) are taken as they are; what does not divide is refused by `evaluate`.
    plans = [evaluate(shape, work, layout, cluster) for layout in candidates or [fixed.complete(cluster.devices)]]
    best: dict[tuple[int, int, int], Plan] = {}
    for plan in plans:
        key = (plan.layout.data, plan.layout.tensor, plan.layout.pipeline)
        if plan.headroom >= 0 and (key not in best or _rank(plan) < _rank(best[key])):
            best[key] = plan
    if not best:
        raise _too_big(shape, work, cluster, max(plans, key=lambda p: p.headroom), fixed)
    return SearchResult(tuple(sorted(best.values(), key=_rank)), len(plans), sum(plan.headroom < 0 for plan in plans))


def _rank(plan: Plan) -> tuple[float, float]:
    return plan.time.total, -plan.headroom


def _too_big(shape: ModelShape, work: Workload, cluster: Cluster, smallest: Plan, fixed: Fixed) -> MsptError:
    items = ", ".join(f"{name.replace('_', ' ')} {value / GIB:.1f}" for name, value in smallest.memory.items().items() if value >= GIB / 20)
    bare = 2 * 2 * shape.parameters  # 2-byte weights and 2-byte gradients
    which = f"the smallest layout{' with these settings' if fixed.given() else ''}"
    more = _fitting_devices(shape, work, cluster, fixed)
    return MsptError(
        f"{shape.parameters / 1e9:.2f} B parameters do not fit {cluster.devices} x {cluster.device.name} with {cluster.memory_limit / GIB:.1f} GiB each:"
        f" {which} ({smallest.layout}) needs {smallest.memory.total / GIB:.1f} GiB on a device ({items}); full-parameter training keeps"
        f" {bare / 1e9:.1f} GB ({bare / GIB:.1f} GiB) in 2-byte weights and gradients alone, before the optimizer",
        f"Use {'--devices ' + str(more) if more > cluster.devices else 'devices with more memory, a smaller model or a free layout'}.",
    )


def _fitting_devices(shape: ModelShape, work: Workload, cluster: Cluster, fixed: Fixed) -> int:
    """The smallest doubling of the device count on which some layout fits; 0 when none up to MAX_SUGGESTED_DEVICES does."""
    count = cluster.devices
    while count <= MAX_SUGGESTED_DEVICES:
        wider = replace(cluster, devices=count)
        admitted = (layout for layout in layouts(shape, work, wider) if fixed.admits(layout))
        if any(peak_memory(shape, work, layout).total <= cluster.memory_limit for layout in admitted):
            return count
        count *= 2
    return 0


def rule_of_thumb(parameters: int) -> str:
    """What the field says for a model of this size; plans may differ where divisibility, memory or links decide otherwise."""
    for limit, advice in ((1e9, "data parallel"), (13e9, "data parallel + sharded optimizer"), (1e11, "+ tensor parallel inside the node")):
        if parameters < limit:
            return advice
    return "+ pipeline and recompute"
