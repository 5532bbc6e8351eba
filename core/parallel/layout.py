"""One way of laying a model over devices, and whether it is possible at all.

A check that says no names the nearest value that would pass. Letters in comments are the field's: d data-, t tensor-, p pipeline-parallel size,
v interleaved chunks per stage, b micro-batch, m micro-batches per step, s sequence length, h hidden, L layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from mspt.core.errors import MsptError
from mspt.core.parallel.model_shape import ModelShape, nearest_divisor

Recompute = Literal["none", "selective", "full"]
Sharding = Literal["none", "optimizer", "weights"]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """`recompute`: selective recomputes what is cheap and large: the attention core where it is stored; with flash attention, which never stores
    it, the norms' outputs and the activation product. `sharding` over the data-parallel group: nothing, the optimizer's state (ZeRO-1), or
    weights and gradients too (ZeRO-3, FSDP).
    """

    data: int
    tensor: int = 1
    pipeline: int = 1
    virtual: int = 1
    micro_batch: int = 1
    recompute: Recompute = "none"
    recompute_share: float = 1.0  # of the layers of a stage
    sequence_parallel: bool = False
    sharding: Sharding = "none"

    @property
    def devices(self) -> int:
        return self.data * self.tensor * self.pipeline

    def __str__(self) -> str:
        share = f" {self.recompute_share:.0%}" if self.recompute != "none" and self.recompute_share < 1 else ""
        return (
            f"dp{self.data} tp{self.tensor}{'+sp' if self.sequence_parallel else ''} pp{self.pipeline}"
            f"{f' vpp{self.virtual}' if self.virtual > 1 else ''} mb{self.micro_batch} recompute {self.recompute}{share}, sharded {self.sharding}"
        )


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What one optimizer step trains on, and with which software facts."""

    seq_length: int
    global_batch: int  # sequences per optimizer step
    flash_attention: bool = True
    fused: bool = True  # element-wise chains compiled into one kernel
    reduce_bytes: int = 2  # of a gradient value on the wire: MindSpore reduces in the compute type, Megatron-LM bf16 in fp32
    overlap: bool = True  # gradient and tensor-parallel traffic hidden behind computation where dependencies allow

    def micro_batches(self, layout: Layout) -> int:
        """m: micro-batches per pipeline and optimizer step."""
        return self.global_batch // (layout.data * layout.micro_batch)


def tensor_sizes(shape: ModelShape) -> int:
    """Every divisor of this number is a possible tensor-parallel size."""
    return math.gcd(shape.heads, shape.kv_heads, shape.ffn)


def check_layout(shape: ModelShape, work: Workload, layout: Layout, devices: int) -> None:
    """Raise MsptError when `layout` cannot run on `devices`; the message says what does not divide and which value does."""
    _check_product(layout, devices)
    if shape.heads % layout.tensor or shape.kv_heads % layout.tensor or shape.ffn % layout.tensor:
        name, value = next((n, v) for n, v in _split_by_tensor(shape) if v % layout.tensor)
        fix = nearest_divisor(tensor_sizes(shape), layout.tensor)
        raise MsptError(f"{value} {name} do not divide by tp {layout.tensor}; {fix} does", f"Use --tp {fix}.")
    if layout.sequence_parallel and (layout.tensor == 1 or work.seq_length % layout.tensor):
        raise MsptError(
            f"sequence parallelism needs tp > 1 that divides seq_length {work.seq_length}; tp is {layout.tensor}",
            "Leave --sequence-parallel off, or choose another --tp.",
        )
    _check_pipeline(shape, work, layout)


def _split_by_tensor(shape: ModelShape) -> tuple[tuple[str, int], ...]:
    return (("heads", shape.heads), ("kv_heads", shape.kv_heads), ("ffn columns", shape.ffn))


def _check_product(layout: Layout, devices: int) -> None:
    if layout.devices == devices:
        return
    model = layout.tensor * layout.pipeline
    found = f"dp {layout.data} x tp {layout.tensor} x pp {layout.pipeline} = {layout.devices} devices, but there are {devices}"
    if devices % model == 0:
        raise MsptError(f"{found}; dp {devices // model} fits", f"Use --dp {devices // model}.")
    fix = nearest_divisor(devices, model)
    raise MsptError(f"{found}; tp x pp = {model} does not divide {devices}, {fix} does", f"Choose --tp and --pp whose product is {fix}.")


def _check_pipeline(shape: ModelShape, work: Workload, layout: Layout) -> None:
    if layout.virtual > 1 and layout.pipeline == 1:
        raise MsptError(f"vpp {layout.virtual} interleaves pipeline stages, but pp is 1", "Use --vpp 1, or --pp 2 and more.")
    chunks = layout.pipeline * layout.virtual
    if shape.layers % chunks:
        fix = nearest_divisor(shape.layers, chunks, multiple_of=layout.virtual if shape.layers % layout.virtual == 0 else 1)
        raise MsptError(
            f"{shape.layers} layers do not divide by pp {layout.pipeline} x vpp {layout.virtual} = {chunks}; {fix} does",
            f"Choose --pp and --vpp whose product is {fix}.",
        )
    replica = layout.data * layout.micro_batch
    if work.global_batch % replica:
        fix = max(replica, round(work.global_batch / replica) * replica)
        raise MsptError(
            f"global batch {work.global_batch} does not divide by dp {layout.data} x micro-batch {layout.micro_batch} = {replica}; {fix} does",
            f"Use --global-batch {fix}.",
        )
    if layout.virtual > 1 and work.micro_batches(layout) % layout.pipeline:
        fix = max(1, round(work.micro_batches(layout) / layout.pipeline)) * layout.pipeline * replica
        raise MsptError(
            f"interleaving wants micro-batches in multiples of pp {layout.pipeline}, there are {work.micro_batches(layout)}; {fix} sequences fit",
            f"Use --global-batch {fix} or --vpp 1.",
        )
