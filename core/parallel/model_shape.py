"""The shape of a decoder: parameter counts and FLOPs, for GPT-style and Llama-style layers.

    GPT:    LayerNorm, biases, GELU with two matrices, learned positions, dropout, tied head
    Llama:  RMSNorm, no biases, SwiGLU with three matrices, rotary positions, no dropout, grouped-query attention

Counts agree with Narayanan et al. 2021 (arXiv 2104.04473, section 5.1 and appendix) for the GPT shape: P = 12 L h^2 (1 + 13/(12h) + (V + s)/(12 L h)) and
F = 96 B s L h^2 (1 + s/(6h) + V/(16 L h)) per iteration with full recompute.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

from mspt.core.errors import MsptError


def nearest_divisor(number: int, wanted: int, multiple_of: int = 1) -> int:
    """The divisor of `number` nearest to `wanted` that `multiple_of` divides, the smaller one on a tie."""
    divisors = [d for d in range(1, number + 1) if number % d == 0 and d % multiple_of == 0]
    return min(divisors, key=lambda d: (abs(d - wanted), d))


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocabulary: int
    gated: bool = True  # SwiGLU: gate, up, down; else two matrices
    bias: bool = False
    tied: bool = False  # head and embedding share one matrix
    layer_norm: bool = False  # two vectors per norm instead of RMSNorm's one
    dropout: bool = False
    positions: int = 0  # learned position embeddings; 0: rotary
    head_dim: int = 0  # 0: hidden / heads

    def __post_init__(self) -> None:
        for name in ("hidden", "layers", "heads", "kv_heads", "ffn", "vocabulary"):
            if getattr(self, name) < 1:
                raise MsptError(f"{name} is {getattr(self, name)}, must be at least 1", f"Give {name} as the model card does.")
        if not self.head_dim and self.hidden % self.heads:
            fix = nearest_divisor(self.hidden, self.heads)
            raise MsptError(
                f"{self.hidden} hidden does not divide by {self.heads} heads; {fix} does",
                f"Set heads to {fix}, or head_dim where heads x head_dim is not hidden.",
            )
        if self.heads % self.kv_heads:
            fix = nearest_divisor(self.heads, self.kv_heads)
            raise MsptError(f"{self.heads} heads do not divide by {self.kv_heads} kv_heads; {fix} does", f"Set kv_heads to {fix}.")

    def resized(self, **sizes: Any) -> ModelShape:
        """A copy with some fields changed, checked again."""
        return replace(self, **sizes)

    @property
    def query_size(self) -> int:
        return self.heads * (self.head_dim or self.hidden // self.heads)

    @property
    def kv_size(self) -> int:
        return self.kv_heads * (self.head_dim or self.hidden // self.heads)

    @property
    def layer_matrices(self) -> int:
        """Parameters of one layer's matrices: what a token is multiplied with."""
        attention = self.hidden * (2 * self.query_size + 2 * self.kv_size)
        return attention + (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def layer_parameters(self) -> int:
        biases = self.query_size + 2 * self.kv_size + 2 * self.hidden + self.ffn * (2 if self.gated else 1)
        return self.layer_matrices + 2 * self._norm + (biases if self.bias else 0)

    @property
    def embedding_parameters(self) -> int:
        """Input side: token table and learned positions."""
        return (self.vocabulary + self.positions) * self.hidden

    @property
    def head_parameters(self) -> int:
        """Output side without tying: final norm and head matrix (with tying the matrix is the embedding's)."""
        return self._norm + (0 if self.tied else self.vocabulary * self.hidden)

    @property
    def parameters(self) -> int:
        return self.layers * self.layer_parameters + self.embedding_parameters + self.head_parameters

    @property
    def _norm(self) -> int:
        return self.hidden * (2 if self.layer_norm else 1)

    def attention_flops(self, seq_length: int) -> int:
        """Forward FLOPs per token of one layer's two score products, all positions attended (a causal kernel does half)."""
        return 4 * seq_length * self.query_size

    def forward_flops(self, seq_length: int) -> int:
        """Forward FLOPs per token: a multiply and an add for each matrix parameter, the scores, the head."""
        layer = 2 * self.layer_matrices + self.attention_flops(seq_length)
        return self.layers * layer + 2 * self.hidden * self.vocabulary

    def model_flops(self, seq_length: int) -> int:
        """FLOPs per token that training needs: forward and twice that backward. The 6 of "6ND" counts FLOPs, not bytes."""
        return 3 * self.forward_flops(seq_length)

    def hardware_flops(self, seq_length: int) -> int:
        """`model_flops` and one more forward of the layers: full recompute."""
        return self.model_flops(seq_length) + self.forward_flops(seq_length) - 2 * self.hidden * self.vocabulary


def gpt_shape(*, hidden: int, layers: int, heads: int, vocabulary: int, positions: int, ffn: int = 0) -> ModelShape:
    return ModelShape(
        hidden=hidden, layers=layers, heads=heads, kv_heads=heads, ffn=ffn or 4 * hidden, vocabulary=vocabulary, gated=False, bias=True,
        tied=True, layer_norm=True, dropout=True, positions=positions,
    )  # fmt: skip


def _llama(layers: int, hidden: int, heads: int, kv_heads: int, ffn: int, vocabulary: int, tied: bool = False) -> ModelShape:
    return ModelShape(layers=layers, hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn, vocabulary=vocabulary, tied=tied)


# layers, hidden, heads, kv_heads, ffn, vocabulary. Sources: each model's config.json (Llama 1: arXiv 2302.13971 table 2; Llama 2: 2307.09288;
# Llama 3: 2407.21783 table 3; Qwen 2.5: 2412.15115 table 1), GPT-3: arXiv 2005.14165 table 2.1 with GPT-2's vocabulary padded to 51,200 (2104.04473).
# Qwen's biases on q, k, v (under 0.01 % of its parameters) are left out.
SHAPES = {
    "llama2-7b": _llama(32, 4096, 32, 32, 11008, 32000),
    "llama2-13b": _llama(40, 5120, 40, 40, 13824, 32000),
    "llama2-70b": _llama(80, 8192, 64, 8, 28672, 32000),
    "llama3-8b": _llama(32, 4096, 32, 8, 14336, 128256),
    "llama3-70b": _llama(80, 8192, 64, 8, 28672, 128256),
    "llama3-405b": _llama(126, 16384, 128, 8, 53248, 128256),
    "qwen2.5-0.5b": _llama(24, 896, 14, 2, 4864, 151936, tied=True),
    "qwen2.5-1.5b": _llama(28, 1536, 12, 2, 8960, 151936, tied=True),
    "qwen2.5-7b": _llama(28, 3584, 28, 4, 18944, 152064),
    "qwen2.5-32b": _llama(64, 5120, 40, 8, 27648, 152064),
    "qwen2.5-72b": _llama(80, 8192, 64, 8, 29568, 152064),
    "gpt3-175b": gpt_shape(layers=96, hidden=12288, heads=96, vocabulary=51200, positions=2048),
}


def named_shape(name: str) -> ModelShape:
    """The shape of a well-known model; MsptError with the nearest name when it is not in the table."""
    found = SHAPES.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), SHAPES, n=1)
        guess = f"Did you mean {near[0]}? " if near else ""
        raise MsptError(f"unknown shape {name!r}", f"{guess}Known: {', '.join(SHAPES)}; or give hidden, layers, heads, ffn, vocabulary.")
    return found
