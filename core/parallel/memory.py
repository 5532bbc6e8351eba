"""Bytes on one device: states, activations, logits, stage by stage; the fullest stage decides.

Activations follow Korthikanti et al. 2022 (arXiv 2205.05198, sections 4.1-4.2, table 2), taken apart tensor by tensor so
that other layers than GPT's count right. One GPT layer with dropout and 2-byte values, in bytes:

    norm inputs 4sbh, attention and MLP inputs 4sbh, dropout masks 2sbh     10sbh, whole on each tensor rank,
                                                                            split by t with sequence parallelism
    q, k, v 6sbh, attention output 2sbh, inside of the MLP 16sbh            24sbh/t
    attention core: softmax output, dropout mask and output                 5as^2b/t, never stored by flash attention

so sbh(10 + 24/t + 5as/(ht)); with sequence parallelism sbh/t(34 + 5as/h); selective 34sbh/t; full 2sbh. A Llama layer (no
dropout, three matrices) keeps 8sbh whole and 2(2q + 2kv + 3f)sb/t. Megatron-LM's report says 18 + 4f/h for both, exact for
GPT only (34 = 18 + 16).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from mspt.core.parallel.layout import Layout, Recompute, Workload
from mspt.core.parallel.model_shape import ModelShape

# Mixed precision: 2 bytes of weight, 4 of fp32 gradient, 12 of fp32 master weight and two Adam moments (Megatron-LM: 18 in all).
WEIGHT_BYTES, GRADIENT_BYTES, OPTIMIZER_BYTES = 2, 4, 12
VALUE_BYTES = 2
# Row maximum and sum of the softmax, 8 fp32 each per head and position: FlashAttentionScore's outputs on Ascend (GPUs keep 4 bytes).
FLASH_STATISTICS_BYTES = 64
# 2-byte logits, their fp32 copy in the loss, the fp32 gradient.
LOGIT_BYTES = VALUE_BYTES + 4 + 4


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on a device of `stage`, item by item."""

    stage: int
    weights: float
    gradients: float
    optimizer: float
    layer_activations: float
    embedding_activations: float
    logits: float
    working_set: float  # a recomputed layer's activations, gathered weights of sharded layers

    def items(self) -> dict[str, float]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "stage"}

    @property
    def total(self) -> float:
        return sum(self.items().values())


def state_bytes(layout: Layout) -> tuple[float, float, float]:
    """Bytes per parameter of weight, gradient, optimizer: 18 in all, 6 + 12/d with a sharded optimizer, 18/d with sharded weights."""
    optimizer = OPTIMIZER_BYTES / (1 if layout.sharding == "none" else layout.data)
    held = layout.data if layout.sharding == "weights" else 1
    return WEIGHT_BYTES / held, GRADIENT_BYTES / held, optimizer


def layer_activation_bytes(shape: ModelShape, work: Workload, layout: Layout, recompute: Recompute) -> float:
    """Bytes that one layer stores of one micro-batch until its backward, per device."""
    tokens = work.seq_length * layout.micro_batch
    split = layout.tensor
    whole_split = split if layout.sequence_parallel else 1
    if recompute == "full":
        return tokens * VALUE_BYTES * shape.hidden / whole_split
    cheap = recompute == "selective" and work.flash_attention
    masks = 2 * shape.hidden if shape.dropout else 0
    # the two norms' inputs; their outputs are the inputs of attention and MLP
    whole = (2 if cheap else 4) * VALUE_BYTES * shape.hidden + masks
    inside = shape.ffn * ((3 if shape.gated else 2) - (1 if cheap else 0))
    parts = VALUE_BYTES * (2 * shape.query_size + 2 * shape.kv_size + inside)
    return tokens * (whole / whole_split + (parts + _core_bytes(shape, work, recompute)) / split)


def _core_bytes(shape: ModelShape, work: Workload, recompute: Recompute) -> int:
    """Bytes per token of the attention core: softmax output, with dropout also its mask and output; statistics only with flash attention."""
    if work.flash_attention:
        return FLASH_STATISTICS_BYTES * shape.heads
    if recompute == "selective":
        return 0
    return (2 * VALUE_BYTES + 1 if shape.dropout else VALUE_BYTES) * shape.heads * work.seq_length


def in_flight(layout: Layout, micro_batches: int, stage: int) -> float:
    """Micro-batches whose activations `stage` holds at its fullest, in whole-stage units.

    One-forward-one-backward: p - stage. Interleaved (Narayanan 2021, section 2.2): 2(p - stage - 1) + (v - 1)p + 1 chunks of a v-th each,
    on the first stage p(1 + (p - 1)/(pv)), the factor of Korthikanti 2022.
    """
    p, v = layout.pipeline, layout.virtual
    if v == 1:
        return min(micro_batches, p - stage)
    return min(micro_batches * v, 2 * (p - stage - 1) + (v - 1) * p + 1) / v


def stage_parameters(shape: ModelShape, layout: Layout, stage: int) -> float:
    """Parameters that one device of `stage` works with, before any sharding over data-parallel ranks."""
    count = shape.layers // layout.pipeline * shape.layer_parameters
    first, last = stage == 0, stage == layout.pipeline - 1
    count += shape.embedding_parameters if first else 0
    count += shape.head_parameters if last else 0
    if last and shape.tied and not first:
        count += shape.vocabulary * shape.hidden  # its own copy of the shared table
    return count / layout.tensor


def stage_memory(shape: ModelShape, work: Workload, layout: Layout, stage: int) -> MemoryEstimate:
    parameters = stage_parameters(shape, layout, stage)
    weights, gradients, optimizer = (bytes_each * parameters for bytes_each in state_bytes(layout))
    tokens = work.seq_length * layout.micro_batch
    held = in_flight(layout, work.micro_batches(layout), stage)
    stored = layer_activation_bytes(shape, work, layout, layout.recompute)
    plain = layer_activation_bytes(shape, work, layout, "none")
    per_layer = layout.recompute_share * stored + (1 - layout.recompute_share) * plain
    last = stage == layout.pipeline - 1
    split = layout.tensor if layout.sequence_parallel else 1
    # The layer under recompute is whole again. Sharded weights: the layer at work and the next one, gathered, and a layer's gradient.
    working = plain - stored
    if layout.sharding == "weights":
        working += (2 * WEIGHT_BYTES + GRADIENT_BYTES) * shape.layer_parameters / layout.tensor
    return MemoryEstimate(
        stage=stage,
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        layer_activations=held * (shape.layers // layout.pipeline) * per_layer,
        embedding_activations=tokens * held * (8 + (shape.hidden / split if shape.dropout else 0)) if stage == 0 else 0.0,
        # final norm's input and output, logits (Korthikanti section 4.3)
        logits=tokens * (2 * VALUE_BYTES * shape.hidden / split + LOGIT_BYTES * shape.vocabulary / layout.tensor) if last else 0.0,
        working_set=working,
    )


def peak_memory(shape: ModelShape, work: Workload, layout: Layout) -> MemoryEstimate:
    """The fullest stage: the first (micro-batches in flight) or the last (logits); those between hold less than the first."""
    stages = {0, min(1, layout.pipeline - 1), layout.pipeline - 1}
    return max((stage_memory(shape, work, layout, stage) for stage in sorted(stages)), key=lambda m: m.total)
