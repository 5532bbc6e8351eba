"""A small network, packed rows, and what torch and transformers make of them.

torch and MindSpore do not share a process: `reference` writes weights and batches, runs torch_reference.py once, and reads its answers back.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from mindspore import Tensor
from safetensors.numpy import load_file, save_file

from mspt.core.nn.batch import IGNORED, Batch
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.loss import TokenLoss
from mspt.core.nn.model import LlamaForCausalLM, initial_weights, load_weights
from mspt.core.nn.optimizer import AdamW
from mspt.core.nn.runtime import prepare
from mspt.core.nn.schedule import Schedule
from mspt.core.nn.step import TrainStep

HERE = Path(__file__).parent
EOS, PAD = 2, 3
ROWS, LENGTH, ENDS = 4, 48, 8
STEPS = 100
# Three query heads share a key head; untied, so that the output projection has gradients of its own.
CONFIG = ModelConfig(
    vocab_size=320, hidden_size=96, intermediate_size=160, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
    max_position_embeddings=64, tie_word_embeddings=False,
)  # fmt: skip
OPTIMIZER = AdamW(weight_decay=0.1, clip=1.0)
SCHEDULE = Schedule(kind="cosine", peak=3e-4, steps=STEPS, warmup=10, floor=0.1)

Documents = list[list[int]]


def pack(documents: Documents, length: int = LENGTH) -> Batch:
    """One row of whole documents, as DESIGN.md section 5 lays them: inputs eos t1 .. tn, labels t1 .. tn eos, the rest padding."""
    ids, labels, ends = [], [], []
    for tokens in documents:
        ids += [EOS, *tokens]
        labels += [*tokens, EOS]
        ends.append(len(ids))
    rest = length - len(ids)
    ids, labels = ids + [PAD] * rest, labels + [IGNORED] * rest
    ends += [length] * (ENDS - len(ends))
    return Batch(*(np.array([values], np.int32) for values in (ids, labels, ends)))


def stack(rows: list[Batch]) -> Batch:
    """Rows of one batch, written out here so that `join` is not its own test."""
    return Batch(*(np.vstack([getattr(row, name) for row in rows]) for name in ("input_ids", "labels", "actual_seq_len")))


def draw_documents(rng: np.random.Generator) -> Documents:
    """Documents that fill most of a row, over 12 tokens that follow each other by chance: there is something to learn."""
    documents, room = [], LENGTH - int(rng.integers(0, 6))
    while room > 6:
        size = int(min(room - 1, rng.integers(4, 20)))
        documents.append((10 + np.cumsum(rng.integers(1, 4, size)) % 12).tolist())
        room -= size + 1
    return documents


@dataclass(frozen=True)
class Reference:
    """torch's answers: first gradients after clipping, norm and losses of each step, weights at the end; schedules; logits by case."""

    batches: list[Batch]
    weights: dict[str, npt.NDArray[np.float32]]
    gradients: dict[str, npt.NDArray[np.float32]]
    final: dict[str, npt.NDArray[np.float32]]
    losses: list[float]
    norms: list[float]
    schedules: dict[str, list[float]]
    logits: dict[str, npt.NDArray[np.float32]]


# Whose logits are compared: grouped queries, head widths that are not hidden / heads, tied embeddings, another base.
CASES = {
    "grouped": CONFIG,
    "tied": ModelConfig(
        vocab_size=200, hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, head_dim=24, rope_theta=5e5,
        rms_norm_eps=1e-6, tie_word_embeddings=True, max_position_embeddings=64,
    ),
}  # fmt: skip


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Runs torch once for the whole session."""
    folder = tmp_path_factory.mktemp("torch")
    rng = np.random.default_rng(7)
    documents = [[draw_documents(rng) for _ in range(ROWS)] for _ in range(STEPS)]
    weights = initial_weights(CONFIG, seed=11)
    save_file(dict(weights), folder / "weights.safetensors", metadata={"format": "pt"})
    for name, config in CASES.items():
        (folder / name).mkdir()
        save_file(dict(initial_weights(config, seed=5)), folder / name / "model.safetensors", metadata={"format": "pt"})
        (folder / name / "config.json").write_text(json.dumps(config.to_hf()))
    task = {
        "config": CONFIG.to_hf(), "eos": EOS, "documents": documents, "cases": list(CASES), "length": LENGTH,
        "rates": [SCHEDULE.rate(step) for step in range(1, STEPS + 1)], "betas": [OPTIMIZER.beta1, OPTIMIZER.beta2], "eps": OPTIMIZER.eps,
        "weight_decay": OPTIMIZER.weight_decay, "clip": OPTIMIZER.clip,
    }  # fmt: skip
    (folder / "task.json").write_text(json.dumps(task))
    done = subprocess.run([sys.executable, str(HERE / "torch_reference.py"), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads((folder / "answers.json").read_text())
    return Reference(
        batches=[stack([pack(row) for row in step]) for step in documents],
        weights=weights,
        gradients=load_file(folder / "gradients.safetensors"),
        final=load_file(folder / "final.safetensors"),
        logits=load_file(folder / "logits.safetensors"),
        **answers,
    )


@dataclass(frozen=True)
class Bench:
    """A compiled step that tests share: compiling one takes seconds."""

    model: LlamaForCausalLM
    step: TrainStep
    token_loss: TokenLoss

    def reset(self, seed: int = 11) -> None:
        """Initial weights, empty moments."""
        load_weights(self.model, initial_weights(self.model.config, seed))
        self.step.load_moments({name: np.zeros_like(value) for name, value in self.step.moments().items()})

    def losses(self, batch: Batch) -> npt.NDArray[np.float32]:
        """Of each position, [B, T]."""
        return self.token_loss(*(Tensor(array) for array in (batch.input_ids, batch.labels, batch.actual_seq_len))).asnumpy().copy()

    def gradients(self) -> dict[str, npt.NDArray[np.float32]]:
        """Of the first step after a reset, clipped: exp_avg is (1 - beta1) times the gradient."""
        rest = np.float32(1.0 - self.step.optimizer.beta1)
        return {name.removeprefix("exp_avg."): value / rest for name, value in self.step.moments().items() if name.startswith("exp_avg.")}


@pytest.fixture(scope="session", autouse=True)
def graph_mode() -> None:
    """As every stage sets it."""
    prepare()


@pytest.fixture(scope="session")
def bench() -> Bench:
    """CONFIG in float32, one micro-batch of ROWS rows."""
    model = LlamaForCausalLM(CONFIG)
    return Bench(model, TrainStep(model, OPTIMIZER), TokenLoss(model))
