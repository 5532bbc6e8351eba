from __future__ import annotations

import mindspore as ms
import numpy as np
import pytest

from mspt.core.errors import MsptError
from mspt.core.nn.batch import IGNORED, Batch
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.model import LlamaForCausalLM, initial_weights, load_weights, model_weights
from mspt.core.nn.optimizer import AdamW
from mspt.core.nn.step import TrainStep

from .conftest import OPTIMIZER, SCHEDULE, Bench, Reference, pack, stack

TINY = ModelConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64)
ROW = pack([[10, 11, 12, 13, 10, 11, 12, 13], [20, 21, 22, 20, 21, 22]], length=16)
SHORT = pack([[30, 31]], length=16)


def make(dtype: ms.Type, accumulation: int = 1) -> tuple[LlamaForCausalLM, TrainStep]:
    model = LlamaForCausalLM(TINY, dtype)
    load_weights(model, initial_weights(TINY, seed=2))
    return model, TrainStep(model, OPTIMIZER, accumulation=accumulation)


def state(model: LlamaForCausalLM, step: TrainStep) -> dict[str, np.ndarray]:
    return {**model_weights(model), **step.moments()}


def equal_bits(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


def test_micro_batches_add_up_to_the_mean_over_all_valid_tokens() -> None:
    # 3 labels in one micro-batch, 16 in the other: a mean of means would weigh the three as much as the sixteen.
    batch = stack([SHORT, ROW])
    whole_model, whole = make(ms.float32)
    parts_model, parts = make(ms.float32, accumulation=2)
    for update in (1, 2):  # the second step also shows that the sums went back to zero
        expected = whole(batch, rate=1e-2, update=update)
        outcome = parts(batch, rate=1e-2, update=update)
        assert outcome.loss == pytest.approx(expected.loss, rel=1e-6)
        assert outcome.grad_norm == pytest.approx(expected.grad_norm, rel=1e-5)
    for name, value in whole.moments().items():
        assert np.linalg.norm(parts.moments()[name] - value) <= 1e-5 * np.linalg.norm(value), name
    for name, value in model_weights(whole_model).items():
        np.testing.assert_allclose(model_weights(parts_model)[name], value, atol=2e-5)


@pytest.fixture(scope="module")
def half() -> tuple[LlamaForCausalLM, TrainStep]:
    """TINY in float16."""
    return make(ms.float16)


def test_float16_learns_and_an_overflow_changes_no_bit(half: tuple[LlamaForCausalLM, TrainStep]) -> None:
    model, step = half
    batch = stack([ROW, ROW])
    losses = [step(batch, rate=1e-2, update=update, loss_scale=2.0**12).loss for update in range(1, 31)]
    assert losses[0] - losses[-1] > 1.0
    before = state(model, step)
    outcome = step(batch, rate=1e-2, update=31, loss_scale=2.0**40)  # beyond float16's 65504
    assert not outcome.finite
    assert equal_bits(before, state(model, step))
    assert step(batch, rate=1e-2, update=31, loss_scale=2.0**12).finite
    assert not equal_bits(before, state(model, step))


def test_updates_too_small_for_float16_add_up_in_the_float32_weights(half: tuple[LlamaForCausalLM, TrainStep]) -> None:
    # Weights of about 0.02 and steps of at most 2e-6, 1e-4 of them: float16 near 0.02 has a spacing of 1.5e-5 and would lose each one.
    model, step = half
    load_weights(model, initial_weights(TINY, seed=2))
    step.load_moments({name: np.zeros_like(value) for name, value in step.moments().items()})
    name = "model.layers.0.mlp.up_proj.weight"
    start = model_weights(model)[name]
    for update in range(1, 1001):
        step(stack([ROW, ROW]), rate=2e-6, update=update, loss_scale=2.0**12)
    moved = np.abs(model_weights(model)[name] - start)
    assert np.median(moved) > 2e-4, "a thousand steps of about 2e-6"
    assert np.median(moved) < 2.1e-3


def test_a_loss_scale_changes_nothing_but_rounding(bench: Bench, reference: Reference) -> None:
    outcomes = []
    for scale in (1.0, 2.0**16):
        bench.reset()
        outcomes.append(bench.step(reference.batches[0], rate=SCHEDULE.rate(1), update=1, loss_scale=scale))
    assert outcomes[0] == outcomes[1], "a power of two scales exactly"


def test_clipping_bounds_the_gradient_and_the_norm_is_that_before(bench: Bench, reference: Reference) -> None:
    bench.reset()
    outcome = bench.step(reference.batches[0], rate=1e-3, update=1)
    norm = np.sqrt(sum(float((value.astype(np.float64) ** 2).sum()) for value in bench.gradients().values()))
    assert outcome.grad_norm > 1.0
    assert norm == pytest.approx(1.0, rel=1e-5)


def test_a_step_repeated_from_the_same_state_has_the_same_bits(bench: Bench, reference: Reference) -> None:
    bench.reset()
    for update in (1, 2):
        bench.step(reference.batches[update], rate=1e-3, update=update)
    weights, moments = model_weights(bench.model), bench.step.moments()
    first = bench.step(reference.batches[3], rate=1e-3, update=3)
    after = state(bench.model, bench.step)
    load_weights(bench.model, weights)
    bench.step.load_moments(moments)
    assert bench.step(reference.batches[3], rate=1e-3, update=3) == first
    assert equal_bits(after, state(bench.model, bench.step))


def test_weight_decay_shrinks_matrices_alone(bench: Bench) -> None:
    # Rows without any gradient: the token 300 occurs nowhere, so its embedding stays and its output row only decays.
    bench.reset()
    before = model_weights(bench.model)
    batch = stack([pack([[10, 11]])] * 4)
    bench.step(batch, rate=1e-2, update=1)
    after = model_weights(bench.model)
    assert np.array_equal(after["model.embed_tokens.weight"][300], before["model.embed_tokens.weight"][300])
    assert OPTIMIZER.decays("lm_head.weight", (320, 96))
    assert not OPTIMIZER.decays("model.embed_tokens.weight", (320, 96))
    assert AdamW(decay_embeddings=True).decays("model.embed_tokens.weight", (320, 96))
    assert not AdamW(decay_embeddings=True).decays("model.norm.weight", (96,))


def test_a_batch_without_labels_is_refused(bench: Bench) -> None:
    row = pack([[10, 11]])
    blank = Batch(row.input_ids, np.full_like(row.labels, IGNORED), row.actual_seq_len)
    with pytest.raises(MsptError, match="no label that counts"):
        bench.step(stack([blank] * 4), rate=1e-3, update=1)


def test_moments_of_another_model_are_refused(bench: Bench) -> None:
    with pytest.raises(MsptError, match="does not fit the model"):
        bench.step.load_moments({"exp_avg.x": np.zeros(2, np.float32)})
