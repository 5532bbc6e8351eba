"""Next-token cross-entropy over packed rows.

    labels_BT is input_ids_BT shifted by the packer; IGNORED marks padding and whatever shall not count.
    losses_BT = TokenLoss(model)(input_ids_BT, labels_BT, actual_seq_len_BN)      # float32, exactly 0 where ignored

The mean is taken by the caller over the valid labels of the whole accumulated batch, so a micro-batch of mostly padding does not weigh as
much as a full one.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops

from mspt.core.nn.batch import IGNORED
from mspt.core.nn.kernels import Kernels
from mspt.core.nn.model import LlamaForCausalLM


class ProjectedCrossEntropy(nn.Cell):  # type: ignore[misc]
    """logsumexp(W x) - (W x)[label] per row, with the projection inside, so that no gradient of logits' size is ever built.

    The gradient of a row's loss by its logits is p - onehot. Both products with it split: (p - onehot) W = p W - W[label], and the
    factor of a row is applied to the narrow side (D numbers), not to the wide one (V). On CPU this takes the loss from 95 to 15 of 550 ms per
    step (B4 T256 V8192 D256), most of it broadcasts and equality masks of MindSpore's own gradients.
    """

    def __init__(self, kernels: Kernels) -> None:
        super().__init__()
        self.kernels = kernels
        self.project = ops.MatMul(transpose_b=True)
        self.product = ops.MatMul()
        self.largest = ops.ArgMaxWithValue(axis=-1)

    def construct(self, x_MD: Tensor, weight_VD: Tensor, labels_M: Tensor) -> tuple[Tensor, Tensor]:
        """losses_M and the probabilities p_MV that the gradient needs. M = B T rows; labels must lie in the vocabulary."""
        logits_MV = self.project(x_MD, weight_VD)
        p_MV = ops.softmax(logits_MV, -1)
        best_M, top_M = self.largest(logits_MV)
        # The largest probability is 1 / sum(exp(logits - top)), at least 1 / V: its logarithm is safe where that of a label's may be -inf.
        # log1p, since MindSpore's log on CPU is off by 1.3e-6 on average (and always low), log1p by 4e-10.
        largest_M = ops.gather_elements(p_MV, 1, best_M.expand_dims(1)).reshape(-1)
        log_sum_M = top_M + ops.log1p(1.0 / largest_M - 1.0)
        return log_sum_M - ops.gather_elements(logits_MV, 1, labels_M.expand_dims(1)).reshape(-1), p_MV

    def bprop(
        self, x_MD: Tensor, weight_VD: Tensor, labels_M: Tensor, out: tuple[Tensor, Tensor], dout: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        factor_M1 = dout[0].expand_dims(1)
        dx_MD = (self.product(out[1], weight_VD) - ops.gather(weight_VD, labels_M, 0)) * factor_M1
        scaled_MD = x_MD * factor_M1
        at_labels_VD = ops.unsorted_segment_sum(scaled_MD, labels_M, weight_VD.shape[0])
        return dx_MD, self.kernels.outer_sum(out[1], scaled_MD) - at_labels_VD, ops.zeros_like(labels_M)


class TokenLoss(nn.Cell):  # type: ignore[misc]
    """Loss of each position, float32 [B, T]; 0 where the label is IGNORED. The projection is float32 whatever the model's dtype."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        super().__init__(auto_prefix=False)
        self.model = model
        self.cross_entropy = ProjectedCrossEntropy(model.kernels)

    def construct(self, input_ids_BT: Tensor, labels_BT: Tensor, actual_seq_len_BN: Tensor) -> Tensor:
        x_BTD = self.model.hidden(input_ids_BT, actual_seq_len_BN)
        valid_M = (labels_BT != IGNORED).reshape(-1).astype(ms.int32)
        labels_M = labels_BT.reshape(-1) * valid_M  # an ignored label points at row 0, with factor 0
        losses_M, _ = self.cross_entropy(x_BTD.reshape(-1, x_BTD.shape[-1]).astype(ms.float32), self.model.output_weight(), labels_M)
        return (losses_M * valid_M.astype(ms.float32)).reshape(labels_BT.shape)
