from __future__ import annotations

import numpy as np
import pytest

from mspt.core.errors import MsptError
from mspt.core.nn.batch import IGNORED, Batch
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.model import initial_weights, load_weights, model_weights

from .conftest import CONFIG, ENDS, LENGTH, ROWS, Bench, pack, stack

THREE = [[10, 11, 12, 13, 14, 15, 16], [20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10], [30, 10, 30, 11, 30, 12, 30, 13, 30, 14, 30, 15]]


def test_a_packed_row_has_the_losses_of_its_documents_alone(bench: Bench) -> None:
    bench.reset()
    packed = bench.losses(stack([pack(THREE)] * ROWS))[0]
    rows = bench.losses(stack([pack([tokens]) for tokens in THREE] + [pack(THREE)]))
    alone = [row[: len(tokens) + 1] for row, tokens in zip(rows, THREE, strict=False)]
    np.testing.assert_allclose(packed[: sum(map(len, alone))], np.concatenate(alone), atol=1e-5)
    assert packed[: len(alone[0])].std() > 0.01, "losses that are all alike would prove nothing"
    assert (packed[sum(map(len, alone)) :] == 0).all(), "padding has no loss"


def variants() -> dict[str, tuple[Batch, Batch, slice]]:
    """Pairs of rows whose counted documents are equal, and where these lie."""
    first, second = len(THREE[0]) + 1, len(THREE[1]) + 1
    row = pack(THREE)
    used = sum(len(tokens) + 1 for tokens in THREE)
    filled = row.input_ids.copy()
    filled[:, used:] = 77  # another padding token
    silent = row.labels.copy()
    silent[:, first : first + second] = IGNORED
    other = row.input_ids.copy()
    other[:, first : first + second] = (other[:, first : first + second] * 5 + 1) % CONFIG.vocab_size
    return {
        "padding": (row, Batch(filled, row.labels, row.actual_seq_len), slice(0, used)),
        "neighbour": (Batch(row.input_ids, silent, row.actual_seq_len), Batch(other, silent, row.actual_seq_len), slice(0, LENGTH)),
    }


@pytest.mark.parametrize("name", ["padding", "neighbour"])
def test_what_has_no_label_changes_no_loss_and_no_gradient_in_any_bit(bench: Bench, name: str) -> None:
    one, other, counted = variants()[name]
    assert (one.input_ids != other.input_ids).any()
    rest = [pack([[40, 41, 42]])] * (ROWS - 1)
    results = []
    for row in (one, other):
        bench.reset()
        losses = bench.losses(stack([row, *rest]))[0, counted]
        bench.step(stack([row, *rest]), rate=1e-3, update=1)
        results.append((losses, bench.gradients()))
    (losses, gradients), (others, other_gradients) = results
    assert np.array_equal(losses, others)
    for key in gradients:
        assert np.array_equal(gradients[key], other_gradients[key]), key


def test_the_end_of_a_document_is_predicted_and_hides_it_from_the_next(bench: Bench) -> None:
    bench.reset()
    changed = [[*THREE[0][:-1], 25], *THREE[1:]]
    before, after = (bench.losses(stack([pack(row)] * ROWS))[0] for row in (THREE, changed))
    end = len(THREE[0])
    assert before[end] != after[end], "eos is predicted from the changed token"
    assert np.array_equal(before[end + 1 :], after[end + 1 :])


def test_initial_weights_are_seeded_by_name_and_scaled_as_said() -> None:
    weights = initial_weights(CONFIG, seed=3)
    again = initial_weights(CONFIG, seed=3)
    assert list(weights) == list(CONFIG.parameter_shapes())
    assert all(np.array_equal(weights[name], again[name]) for name in weights)
    assert not np.array_equal(weights["lm_head.weight"], initial_weights(CONFIG, seed=4)["lm_head.weight"])
    assert (weights["model.norm.weight"] == 1).all()
    assert weights["model.layers.0.mlp.up_proj.weight"].std() == pytest.approx(0.02, rel=0.03)
    assert weights["model.layers.1.mlp.down_proj.weight"].std() == pytest.approx(0.02 / 2, rel=0.03)  # sqrt(2 * 2 layers) = 2
    deeper = ModelConfig(**{**CONFIG.__dict__, "num_hidden_layers": 3})
    assert np.array_equal(initial_weights(deeper, seed=3)["model.layers.0.mlp.up_proj.weight"], weights["model.layers.0.mlp.up_proj.weight"])


def test_weights_go_in_and_out_whole_or_not_at_all(bench: Bench) -> None:
    weights = initial_weights(CONFIG, seed=9)
    load_weights(bench.model, weights)
    for name, value in model_weights(bench.model).items():
        assert np.array_equal(value, weights[name])
    with pytest.raises(MsptError, match=r"lack model\.norm\.weight"):
        load_weights(bench.model, {name: value for name, value in weights.items() if name != "model.norm.weight"})
    with pytest.raises(MsptError, match="unknown extra"):
        load_weights(bench.model, {**weights, "extra": weights["model.norm.weight"]})
    with pytest.raises(MsptError, match=r"model\.norm\.weight is \[4\]"):
        load_weights(bench.model, {**weights, "model.norm.weight": np.ones(4, np.float32)})


def test_rows_of_the_fixture_are_laid_as_the_contract_says() -> None:
    row = pack([[5, 6], [7]])
    assert row.input_ids[0, :6].tolist() == [2, 5, 6, 2, 7, 3]
    assert row.labels[0, :6].tolist() == [5, 6, 2, 7, 2, IGNORED]
    assert row.actual_seq_len[0].tolist() == [3, 5] + [LENGTH] * (ENDS - 2)
