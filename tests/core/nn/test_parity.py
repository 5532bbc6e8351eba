"""The issue's acceptance: the same numbers as an independent torch loop."""

from __future__ import annotations

import numpy as np
import pytest
from mindspore import Tensor

from mspt.core.nn.model import LlamaForCausalLM, initial_weights, load_weights, model_weights

from .conftest import CASES, ENDS, LENGTH, SCHEDULE, Bench, Reference


def test_one_step_has_the_loss_the_norm_and_each_gradient_of_torch(bench: Bench, reference: Reference) -> None:
    bench.reset()
    outcome = bench.step(reference.batches[0], rate=SCHEDULE.rate(1), update=1)
    assert outcome.loss == pytest.approx(reference.losses[0], abs=1e-6)
    assert outcome.grad_norm == pytest.approx(reference.norms[0], rel=1e-5)
    assert reference.norms[0] > 1.0, "or clipping was not part of this test"
    gradients = bench.gradients()
    assert gradients.keys() == reference.gradients.keys()
    for name, expected in reference.gradients.items():
        assert np.linalg.norm(gradients[name] - expected) <= 1e-5 * np.linalg.norm(expected), name


def test_a_hundred_steps_give_the_losses_of_torch(bench: Bench, reference: Reference) -> None:
    bench.reset()
    losses = [bench.step(batch, rate=SCHEDULE.rate(step), update=step).loss for step, batch in enumerate(reference.batches, 1)]
    assert losses[0] - losses[-1] >= 2.0, "the loss has to fall, or the test says little"
    np.testing.assert_allclose(losses, reference.losses, rtol=1e-4)
    for name, value in model_weights(bench.model).items():
        assert np.linalg.norm(value - reference.final[name]) <= 1e-3 * np.linalg.norm(reference.final[name]), name


@pytest.mark.parametrize("name", CASES)
def test_logits_are_those_of_transformers_for_the_checkpoint(name: str, reference: Reference) -> None:
    config = CASES[name]
    model = LlamaForCausalLM(config)
    load_weights(model, initial_weights(config, seed=5))
    ids = (np.arange(LENGTH, dtype=np.int32) * 7 % config.vocab_size)[None]
    logits = model(Tensor(ids), Tensor(np.full((1, ENDS), LENGTH, np.int32))).asnumpy()[0]
    np.testing.assert_allclose(logits, reference.logits[name], atol=1e-5)
