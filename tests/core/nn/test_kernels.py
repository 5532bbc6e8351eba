"""The plain kernels beside their definitions in float64; the fused ones as far as a machine without an accelerator can take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

from mspt.core.nn.kernels import AscendKernels, Kernels, PlainKernels, choose_kernels

RNG = np.random.default_rng(1)
B, T, H, K, C = 2, 5, 6, 2, 8
X, GATE, UP = (RNG.standard_normal((B, T, 16)).astype(np.float32) for _ in range(3))
WEIGHT = RNG.standard_normal(16).astype(np.float32)
Q = RNG.standard_normal((B, H, T, C)).astype(np.float32)
KEY, VALUE = (RNG.standard_normal((B, K, T, C)).astype(np.float32) for _ in range(2))
COS, SIN = (RNG.standard_normal((B, T, C)).astype(np.float32) for _ in range(2))
ALLOWED = np.tril(np.ones((T, T), bool))[None].repeat(B, axis=0)
ALLOWED[1, 3:, :3] = False  # a second document in the second row


def rms_norm() -> Any:
    x = X.astype(np.float64)
    return WEIGHT * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def swiglu() -> Any:
    gate = GATE.astype(np.float64)
    return gate / (1 + np.exp(-gate)) * UP


def rotate() -> Any:
    turned = np.concatenate([-Q[..., C // 2 :], Q[..., : C // 2]], axis=-1)
    return Q * COS[:, None] + turned * SIN[:, None]


def attend() -> Any:
    """Head by head; query head h reads key head h // (H / K)."""
    out = np.zeros((B, H, T, C))
    for row in range(B):
        for head in range(H):
            scores = Q[row, head].astype(np.float64) @ KEY[row, head // (H // K)].T / np.sqrt(C)
            scores[~ALLOWED[row]] = -np.inf
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            out[row, head] = weights / weights.sum(-1, keepdims=True) @ VALUE[row, head // (H // K)]
    return out


class Call(nn.Cell):
    """One kernel as a graph."""

    def __init__(self, kernels: Kernels, name: str) -> None:
        super().__init__()
        self.kernels = kernels
        self.name = name

    def construct(self, first: Tensor, second: Tensor, third: Tensor, fourth: Tensor) -> Tensor:
        if self.name == "rms_norm":
            return self.kernels.rms_norm(first, second, 1e-5)
        if self.name == "swiglu":
            return self.kernels.swiglu(first, second)
        if self.name == "rotate":
            return self.kernels.rotate(first, second, third)
        return self.kernels.attend(first, second, third, self.kernels.mask(fourth))


CASES: dict[str, tuple[Callable[[], Any], tuple[Any, ...], str]] = {
    "rms_norm": (rms_norm, (X, WEIGHT, X, X), "RmsNorm"),
    "swiglu": (swiglu, (GATE, UP, X, X), "Swiglu"),
    "rotate": (rotate, (Q, COS, SIN, X), "RotaryPositionEmbedding"),
    "attend": (attend, (Q, KEY, VALUE, ALLOWED), "FlashAttentionScore"),
}


@pytest.mark.parametrize("name", CASES)
def test_plain_kernels_compute_their_definition(name: str) -> None:
    expected, inputs, _ = CASES[name]
    found = Call(PlainKernels(), name)(*map(Tensor, inputs)).asnumpy()
    np.testing.assert_allclose(found, expected(), atol=2e-6)


@pytest.mark.parametrize("name", CASES)
def test_fused_kernels_pass_every_check_up_to_the_device(name: str) -> None:
    _, inputs, operator = CASES[name]
    halves = [array.astype(np.float16) if array.dtype == np.float32 else array for array in inputs]
    with pytest.raises(RuntimeError, match=rf"Unsupported op \[{operator}\] on CPU"):
        Call(AscendKernels(), name)(*map(Tensor, halves))


def test_cpu_gets_the_plain_ones() -> None:
    assert isinstance(choose_kernels(), PlainKernels)
