"""The few operations that have a fused form on Ascend and a plain one on CPU: the choice between them is made here and nowhere else.

    kernels = choose_kernels()          # by the device target of the MindSpore context
    kernels.rms_norm(x, weight, eps); kernels.swiglu(gate, up); kernels.rotate(x, cos, sin); kernels.attend(q, k, v, mask)

Shape suffixes, here and in model.py:
    B batch  T position (queries)  S position (keys)  D hidden  H query head  K key/value head  G query heads per key head (H = K G)
    C head width  F feed-forward  V vocabulary  N documents per row
"""

from __future__ import annotations

import math
from typing import Protocol

import mindspore as ms
from mindspore import Tensor, nn, ops

# Added to the score of a pair that may not see each other. Finite, so that no NaN can arise; in float32 any real score plus this is
# exactly this, and exp() of it exactly 0: what is masked cannot reach a result or a gradient, not even its last bit.
MASKED = -1e30


class Kernels(Protocol):
    """What a device offers to the decoder. Masks are opaque: made by `mask`, read by `attend`."""

    def rms_norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor: ...
    def swiglu(self, gate: Tensor, up: Tensor) -> Tensor: ...
    def rotate(self, x_BNTC: Tensor, cos_BTC: Tensor, sin_BTC: Tensor) -> Tensor: ...
    def mask(self, allowed_BTS: Tensor) -> Tensor: ...
    def attend(self, q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, mask: Tensor) -> Tensor: ...
    def outer_sum(self, left_MV: Tensor, right_MD: Tensor) -> Tensor: ...


class PlainAttention(nn.Cell):  # type: ignore[misc]  # mindspore is untyped
    """softmax(q k^T + mask) v and its gradient written out: six products and four passes over the weights.

    The row sum in the softmax's gradient is taken over the output (C numbers) instead of the weights (S numbers): sum_s p dp = sum_c o do
    (Dao et al. 2022, section 3, "D"). q comes in scaled.
    """

    def __init__(self) -> None:
        super().__init__()
        self.product = ops.BatchMatMul()
        self.product_left = ops.BatchMatMul(transpose_a=True)
        self.product_right = ops.BatchMatMul(transpose_b=True)

    def construct(self, q_BKRC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, mask_B1RS: Tensor) -> tuple[Tensor, Tensor]:
        """Mixed values [B, K, R, C] and the weights p [B, K, R, S] in float32. R = G T: the queries of one key head, group by group."""
        scores_BKRS = self.product_right(q_BKRC, k_BKSC).astype(ms.float32) + mask_B1RS
        p_BKRS = ops.softmax(scores_BKRS, -1)
        return self.product(p_BKRS.astype(v_BKSC.dtype), v_BKSC), p_BKRS

    def bprop(
        self, q_BKRC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, mask_B1RS: Tensor, out: tuple[Tensor, Tensor], dout: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        dtype, mixed_BKRC, p_BKRS, d_BKRC = v_BKSC.dtype, out[0], out[1], dout[0]
        dv_BKSC = self.product_left(p_BKRS.astype(dtype), d_BKRC)
        dp_BKRS = self.product_right(d_BKRC, v_BKSC).astype(ms.float32)
        row_BKR1 = (mixed_BKRC.astype(ms.float32) * d_BKRC.astype(ms.float32)).sum(-1, keepdims=True)
        ds_BKRS = (p_BKRS * (dp_BKRS - row_BKR1)).astype(dtype)
        return self.product(ds_BKRS, k_BKSC), self.product_left(ds_BKRS, q_BKRC), dv_BKSC, ops.zeros_like(mask_B1RS)


class PlainRMSNorm(nn.Cell):  # type: ignore[misc]
    """weight * x / sqrt(mean(x^2) + eps) over the last axis (Zhang & Sennrich 2019, equation 4, with Llama's eps), in float32.

    With r = 1 / sqrt(mean(x^2) + eps) and t = weight * dy the gradient is dx = r (t - x r mean(t x r)): 3 % of a step less than the derived one.
    """

    def construct(self, x_MD: Tensor, weight_D: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        """The normed rows; x r and r, which the gradient needs."""
        scale_M1 = ops.rsqrt((x_MD * x_MD).sum(-1, keepdims=True) * (1.0 / x_MD.shape[-1]) + eps)  # ops.mean is several times slower on CPU
        unit_MD = x_MD * scale_M1
        return unit_MD * weight_D, unit_MD, scale_M1

    def bprop(
        self, x_MD: Tensor, weight_D: Tensor, eps: float, out: tuple[Tensor, Tensor, Tensor], dout: tuple[Tensor, Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, float]:
        unit_MD, scale_M1, d_MD = out[1], out[2], dout[0]
        t_MD = d_MD * weight_D
        mean_M1 = (t_MD * unit_MD).sum(-1, keepdims=True) * (1.0 / x_MD.shape[-1])
        return (t_MD - unit_MD * mean_M1) * scale_M1, (unit_MD * d_MD).sum(0), eps  # eps is no input: its gradient is dropped


class PlainKernels(nn.Cell):  # type: ignore[misc]  # a Cell, so that graph mode can call its methods
    """Written out in elementary operations: the only form that CPU has. Statistics and softmax are always float32."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = PlainAttention()
        self.norm = PlainRMSNorm()
        self.product = ops.MatMul()

    def rms_norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        """See PlainRMSNorm."""
        normed, _, _ = self.norm(x.astype(ms.float32).reshape(-1, x.shape[-1]), weight, eps)
        return normed.astype(x.dtype).reshape(x.shape)

    def swiglu(self, gate: Tensor, up: Tensor) -> Tensor:
        """silu(gate) * up."""
        return gate * ops.sigmoid(gate) * up

    def rotate(self, x_BNTC: Tensor, cos_BTC: Tensor, sin_BTC: Tensor) -> Tensor:
        """Rotary positions in Hugging Face's layout: number i is turned with number i + C/2 (`rotate_half`)."""
        first, second = ops.chunk(x_BNTC, 2, -1)
        turned = ops.concat((-second, first), -1)
        cos, sin = cos_BTC.astype(x_BNTC.dtype).expand_dims(1), sin_BTC.astype(x_BNTC.dtype).expand_dims(1)
        return x_BNTC * cos + turned * sin

    def mask(self, allowed_BTS: Tensor) -> Tensor:
        """Float32 [B, 1, T, S] to add to the scores: 0 where the pair may see each other."""
        return ops.select(allowed_BTS, Tensor(0.0, ms.float32), Tensor(MASKED, ms.float32)).expand_dims(1)

    def attend(self, q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, mask: Tensor) -> Tensor:
        """softmax(q k^T / sqrt(C) + mask) v -> [B, H, T, C]. Query heads h = k G + g share key head k, and no key is copied for them."""
        batch, heads, length, width = q_BHTC.shape
        groups, shared = k_BKSC.shape[1], heads // k_BKSC.shape[1]
        q_BKRC = (q_BHTC * (1.0 / math.sqrt(width))).reshape(batch, groups, shared * length, width)
        mixed_BKRC, _ = self.attention(q_BKRC, k_BKSC, v_BKSC, ops.tile(mask, (1, 1, shared, 1)))
        return mixed_BKRC.reshape(batch, heads, length, width)

    def outer_sum(self, left_MV: Tensor, right_MD: Tensor) -> Tensor:
        """left^T right [V, D] for V much larger than D. Written as (right^T left)^T, since the product with a wide transposed left side takes
        64-75 ms here (M 1024, V 8192, D 256), this one 37 ms + 10 ms."""
        return self.product(right_MD.swapaxes(0, 1), left_MV).swapaxes(0, 1)


class AscendKernels(nn.Cell):  # type: ignore[misc]
    """MindSpore's fused operators, which exist for Ascend only."""

    def rms_norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        return ops.rms_norm(x, weight.astype(x.dtype), eps)[0]

    def swiglu(self, gate: Tensor, up: Tensor) -> Tensor:
        return ops.swiglu(ops.concat((gate, up), -1), -1)

    def rotate(self, x_BNTC: Tensor, cos_BTC: Tensor, sin_BTC: Tensor) -> Tensor:
        cos, sin = cos_BTC.astype(x_BNTC.dtype).expand_dims(1), sin_BTC.astype(x_BNTC.dtype).expand_dims(1)
        return ops.rotary_position_embedding(x_BNTC, cos, sin, 0)  # mode 0: the rotate_half layout

    def mask(self, allowed_BTS: Tensor) -> Tensor:
        """uint8 [B, 1, T, S]: 1 where the pair may not see each other, as flash attention wants it."""
        return ops.logical_not(allowed_BTS).astype(ms.uint8).expand_dims(1)

    def attend(self, q_BHTC: Tensor, k_BKSC: Tensor, v_BKSC: Tensor, mask: Tensor) -> Tensor:
        width = q_BHTC.shape[-1]
        return ops.flash_attention_score(q_BHTC, k_BKSC, v_BKSC, q_BHTC.shape[1], attn_mask=mask, scalar_value=1.0 / math.sqrt(width), input_layout="BNSD")

    def outer_sum(self, left_MV: Tensor, right_MD: Tensor) -> Tensor:
        return ops.matmul(left_MV.swapaxes(0, 1), right_MD)


def choose_kernels() -> Kernels:
    """Fused where the context's device is Ascend, plain elsewhere."""
    return AscendKernels() if ms.get_context("device_target") == "Ascend" else PlainKernels()
