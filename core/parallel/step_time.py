"""Seconds of one optimizer step, item by item, from the work of one micro-batch on the slowest pipeline stage.

    step = m x (matmul + attention + element-wise + tensor-parallel traffic + head + stage-to-stage traffic)     the slowest stage, working
         + (p - 1)/v x the mean stage                                                                            bubble (Narayanan 2021, section 2.2)
         + exposed data-parallel traffic + optimizer

Matrix products run at a fitted share of the peak; attention scores at a share of that; everything else moves bytes at memory or link bandwidth, so
that narrow models, big vocabularies, split layers and small HCCS groups lose time without constants of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from mspt.core.parallel.devices import Device
from mspt.core.parallel.layout import Layout, Workload
from mspt.core.parallel.memory import GRADIENT_BYTES, LOGIT_BYTES, OPTIMIZER_BYTES, VALUE_BYTES, WEIGHT_BYTES, stage_parameters
from mspt.core.parallel.model_shape import ModelShape

# Flash attention's softmax costs the same for each score whatever the head's width, its products grow with it: narrow heads reach less.
FULL_RATE_HEAD_DIM = 128
# The causal half is skipped by flash kernels; their backward recomputes the scores: 5 products for the forward's 2 (Dao 2023, arXiv 2307.08691).
FLASH_CAUSAL, FLASH_BACKWARD = 0.5, 2.5
# Bytes per value moved between HBM and the cores by element-wise kernels, forward + backward, 2-byte values, one fused kernel for each chain:
NORM_FORWARD, NORM_BACKWARD = 2 * 4, 2 * 6  # two norms: read, write; read input and gradient, write gradient
RESIDUAL_FORWARD, RESIDUAL_BACKWARD = 2 * 6, 2 * 4  # two sums: read both, write
ROTARY = 4  # read, write; same backward, of q and k
GATED_FORWARD, GATED_BACKWARD = 6, 10  # per ffn value: read gate, up, write product; read three, write two
GELU_FORWARD, GELU_BACKWARD = 4, 6
SCORES_FORWARD, SCORES_BACKWARD = 11, 15  # per score without flash attention: scale, mask, softmax, dropout, and back
UNFUSED = 2.0  # eager kernels: every operation of a chain reads and writes
# Adam reads and writes master weight, two moments, reads the gradient, writes the weight.
ADAM_BYTES = 2 * OPTIMIZER_BYTES + GRADIENT_BYTES + WEIGHT_BYTES


@dataclass(frozen=True)
class StepTime:
    """Seconds of one optimizer step."""

    matmul: float
    attention: float
    elementwise: float
    head: float
    tensor_traffic: float
    pipeline_traffic: float
    bubble: float
    data_traffic: float
    optimizer: float

    def items(self) -> dict[str, float]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def total(self) -> float:
        return sum(self.items().values())


def step_time(shape: ModelShape, work: Workload, layout: Layout, device: Device) -> StepTime:
    """Seconds of one optimizer step of `work` in `layout` on `device`."""
    m, p = work.micro_batches(layout), layout.pipeline
    layers = shape.layers // p
    layer, head = _layer_times(shape, work, layout, device), _head_seconds(shape, work, layout, device)
    between = _stage_to_stage_seconds(shape, work, layout, device)
    # Gradients are reduced behind the last micro-batch; sharded weights are gathered for each.
    window = layers * layer.total * (m if layout.sharding == "weights" else 1)
    mean_stage = layers * layer.total + head / p + between
    return StepTime(
        matmul=m * layers * layer.matmul,
        attention=m * layers * layer.attention,
        elementwise=m * layers * layer.elementwise,
        head=m * head,
        tensor_traffic=m * layers * layer.tensor_traffic,
        pipeline_traffic=m * between,
        bubble=(p - 1) / layout.virtual * mean_stage,
        data_traffic=_data_seconds(shape, work, layout, device, window),
        optimizer=_optimizer_seconds(shape, layout, device),
    )


@dataclass(frozen=True)
class _LayerTimes:
    """Seconds of one layer and micro-batch: forward, backward and what is recomputed."""

    matmul: float
    attention: float
    elementwise: float
    tensor_traffic: float

    @property
    def total(self) -> float:
        return self.matmul + self.attention + self.elementwise + self.tensor_traffic


def _layer_times(shape: ModelShape, work: Workload, layout: Layout, device: Device) -> _LayerTimes:
    tokens = work.seq_length * layout.micro_batch
    again = layout.recompute_share if layout.recompute == "full" else 0.0  # further forwards
    split_tokens = tokens / layout.tensor
    return _LayerTimes(
        matmul=split_tokens * 2 * shape.layer_matrices * (3 + again) / _matmul_rate(device),
        attention=split_tokens * _attention_seconds(shape, work, layout, device),
        elementwise=tokens * _elementwise_bytes(shape, work, layout) / _memory_rate(device),
        tensor_traffic=_tensor_seconds(shape, work, layout, device, 4 + 2 * again),
    )


def _matmul_rate(device: Device) -> float:
    return device.peak_flops * device.efficiency.matmul


def _memory_rate(device: Device) -> float:
    return device.memory_bandwidth * device.efficiency.memory


def _attention_seconds(shape: ModelShape, work: Workload, layout: Layout, device: Device) -> float:
    """Seconds per token of one layer's score products (the traffic of unfused scores included), all heads."""
    forward = shape.attention_flops(work.seq_length)
    full = layout.recompute_share if layout.recompute == "full" else 0.0
    if work.flash_attention:
        rate = _matmul_rate(device) * device.efficiency.flash * min(1.0, shape.query_size / shape.heads / FULL_RATE_HEAD_DIM)
        return forward * FLASH_CAUSAL * (1 + FLASH_BACKWARD + full) / rate
    again = 0.0 if layout.recompute == "none" else layout.recompute_share
    moved = shape.heads * work.seq_length * (SCORES_FORWARD * (1 + again) + SCORES_BACKWARD)
    return forward * (3 + again) / _matmul_rate(device) + moved / _memory_rate(device)


def _elementwise_bytes(shape: ModelShape, work: Workload, layout: Layout) -> float:
    """Bytes per token that one layer's norms, residual sums, rotations and activation move on each device."""
    again = 0.0 if layout.recompute == "none" else layout.recompute_share
    forward_mlp, backward_mlp = (GATED_FORWARD, GATED_BACKWARD) if shape.gated else (GELU_FORWARD, GELU_BACKWARD)
    rotary = 0 if shape.positions else ROTARY * (shape.query_size + shape.kv_size)
    split_forward, split_backward = rotary + forward_mlp * shape.ffn, rotary + backward_mlp * shape.ffn
    whole_forward, whole_backward = ((NORM_FORWARD + RESIDUAL_FORWARD) * shape.hidden, (NORM_BACKWARD + RESIDUAL_BACKWARD) * shape.hidden)
    if layout.recompute == "selective" and not work.flash_attention:
        again = 0.0  # only the core, counted with attention
    whole = whole_forward * (1 + again) + whole_backward
    split = split_forward * (1 + again) + split_backward
    moved = whole / (layout.tensor if layout.sequence_parallel else 1) + split / layout.tensor
    return moved * (1.0 if work.fused else UNFUSED)


def _tensor_seconds(shape: ModelShape, work: Workload, layout: Layout, device: Device, all_reduces: float) -> float:
    """Ring all-reduces (with sequence parallelism as many reduce-scatters + all-gathers, equal bytes) of the layer's output."""
    t = layout.tensor
    if t == 1:
        return 0.0
    moved = all_reduces * 2 * (t - 1) / t * VALUE_BYTES * shape.hidden * work.seq_length * layout.micro_batch
    seconds = moved / device.link.bus_bandwidth(t, device.devices_per_node)
    return seconds * (device.efficiency.exposed_tensor if work.overlap else 1.0)


def _head_seconds(shape: ModelShape, work: Workload, layout: Layout, device: Device) -> float:
    """Final product and loss of one micro-batch on the last stage: every stage waits for it."""
    tokens = work.seq_length * layout.micro_batch / layout.tensor
    product = 3 * 2 * shape.hidden * shape.vocabulary / _matmul_rate(device)
    loss = 2 * LOGIT_BYTES * shape.vocabulary / _memory_rate(device)  # written and read once each
    return tokens * (product + loss)


def _stage_to_stage_seconds(shape: ModelShape, work: Workload, layout: Layout, device: Device) -> float:
    """Activations forward and gradients back between neighbours, once for each chunk; each tensor rank sends its part."""
    if layout.pipeline == 1:
        return 0.0
    sent = 2 * layout.virtual * VALUE_BYTES * shape.hidden * work.seq_length * layout.micro_batch / layout.tensor
    return sent / device.link.neighbour_bandwidth(crosses_nodes=layout.devices > device.devices_per_node)


def _data_seconds(shape: ModelShape, work: Workload, layout: Layout, device: Device, window: float) -> float:
    """Visible seconds of gradient reduction (and weight gathering where they are sharded): a ring moves (d - 1)/d of the bytes each way.

    `window`: seconds of computation that it can hide behind.
    """
    d = layout.data
    if d == 1:
        return 0.0
    parameters = max(stage_parameters(shape, layout, stage) for stage in {0, layout.pipeline - 1})
    each = {"none": 2 * work.reduce_bytes, "optimizer": work.reduce_bytes + WEIGHT_BYTES}
    per_parameter = each.get(layout.sharding, 0) or work.micro_batches(layout) * (work.reduce_bytes + 2 * WEIGHT_BYTES)
    per_node = max(1, device.devices_per_node // layout.tensor)
    seconds = (d - 1) / d * per_parameter * parameters / device.link.bus_bandwidth(d, per_node)
    return max(seconds * device.efficiency.exposed_gradients, seconds - window) if work.overlap else seconds


def _optimizer_seconds(shape: ModelShape, layout: Layout, device: Device) -> float:
    parameters = max(stage_parameters(shape, layout, stage) for stage in {0, layout.pipeline - 1})
    shards = 1 if layout.sharding == "none" else layout.data
    return ADAM_BYTES * parameters / shards / _memory_rate(device)
