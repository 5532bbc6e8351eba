"""One optimizer step as one Cell that owns weights, moments and accumulators, compiled whole.

    batch --> forward, loss * scale --> gradients --> accumulate ----(the last micro-batch)----> unscale, finite?, norm, clip --> AdamW
              once per micro-batch

The loss of a micro-batch is the sum over its tokens times loss_scale / valid tokens of the *whole* batch: gradients of micro-batches then
simply add up to that of the mean, however unevenly the padding lies. The order is: accumulate, (reduce over ranks), unscale, check finite,
norm, clip, step. Unscaling and clipping are one factor per gradient, so each is read once.

A step whose gradients are not finite leaves weights and moments as they were, bit for bit: rate 0, both betas 1, gradient 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import mindspore as ms
import numpy as np
import numpy.typing as npt
from mindspore import ParameterTuple, Tensor, nn, ops

from mspt.core.errors import MsptError
from mspt.core.nn.batch import Batch
from mspt.core.nn.loss import TokenLoss
from mspt.core.nn.model import LlamaForCausalLM
from mspt.core.nn.optimizer import AdamW

Phase = Literal["whole", "add", "last"]
FIRST_MOMENT, SECOND_MOMENT = "exp_avg", "exp_avg_sq"  # torch's names; a tensor is FIRST_MOMENT.NAME in optimizer.safetensors
Arrays = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Outcome:
    """What a step gives back: mean loss per valid token (unscaled), gradient norm before clipping, whether all was finite and the step taken."""

    loss: float
    grad_norm: float
    finite: bool


class WeightedLoss(nn.Cell):  # type: ignore[misc]
    """Sum of the tokens' losses times a weight (what is differentiated), and the plain sum beside it."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        super().__init__(auto_prefix=False)
        self.token_loss = TokenLoss(model)

    def construct(self, input_ids_BT: Tensor, labels_BT: Tensor, actual_seq_len_BN: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        total = self.token_loss(input_ids_BT, labels_BT, actual_seq_len_BN).sum(-1).sum()
        return total * weight, total


class StepCell(nn.Cell):  # type: ignore[misc]
    """The compiled step. `phase` is a constant of the graph: "whole" (one micro-batch is the batch), "add" (accumulate) and "last"."""

    def __init__(self, model: LlamaForCausalLM, optimizer: AdamW, accumulates: bool) -> None:
        super().__init__(auto_prefix=False)
        self.loss = WeightedLoss(model)
        self.weights = ParameterTuple(model.trainable_params())
        self.first_moments = self.weights.clone(FIRST_MOMENT, init="zeros")
        self.second_moments = self.weights.clone(SECOND_MOMENT, init="zeros")
        self.sums = self.weights.clone("sum", init="zeros") if accumulates else ()
        self.decays = tuple(optimizer.decays(weight.name, weight.shape) for weight in self.weights)
        self.beta1, self.beta2, self.clip = optimizer.beta1, optimizer.beta2, optimizer.clip
        self.guarded = model.dtype != ms.float32  # in float32 a value that is not finite ends the run: nothing to protect
        self.gradients = ops.value_and_grad(self.loss, None, self.weights, has_aux=True)
        self.update = ops.AdamWeightDecay()

    def construct(
        self, input_ids_BT: Tensor, labels_BT: Tensor, actual_seq_len_BN: Tensor, weight: Tensor, unscale: Tensor, rate: Tensor, eps: Tensor,
        decay: Tensor, phase: Phase,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Sum of losses of this micro-batch, gradient norm and whether it is finite (both 0 while adding)."""
        (_, total), gradients = self.gradients(input_ids_BT, labels_BT, actual_seq_len_BN, weight)
        if phase == "add":
            for index in range(len(gradients)):
                total = ops.depend(total, ops.assign_add(self.sums[index], gradients[index]))
            return total, Tensor(0.0, ms.float32), Tensor(True)
        if phase == "last":
            gradients = self.summed(gradients)
        norm, finite = self.apply(gradients, unscale, rate, eps, decay)
        return total, norm, finite

    def summed(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """This micro-batch's gradients on top of the accumulated ones, which return to zero."""
        result: tuple[Tensor, ...] = ()
        for index in range(len(gradients)):
            whole = gradients[index] + self.sums[index]
            result += (ops.depend(whole, ops.assign(self.sums[index], ops.depend(ops.zeros_like(whole), whole))),)
        return result

    def apply(self, gradients: tuple[Tensor, ...], unscale: Tensor, rate: Tensor, eps: Tensor, decay: Tensor) -> tuple[Tensor, Tensor]:
        """Unscale, check, measure, clip, step. Returns the norm before clipping and whether it is finite."""
        squares = Tensor(0.0, ms.float32)
        for gradient in gradients:
            squares = squares + (gradient * gradient).sum(-1).sum()  # in two stages: 1.5 ms, a flat sum takes 10 ms (8192 x 256)
        norm = ops.sqrt(squares) * unscale
        finite = ops.isfinite(norm)
        one, zero = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)
        factor = unscale
        if self.clip > 0:
            factor = unscale * ops.minimum(one, self.clip / ops.maximum(norm, Tensor(1e-30, ms.float32)))
        rate, beta1, beta2 = ops.select(finite, rate, zero), ops.select(finite, self.beta1 * one, one), ops.select(finite, self.beta2 * one, one)
        for index in range(len(gradients)):
            clipped = gradients[index] * factor
            if self.guarded:
                clipped = ops.select(finite, clipped, ops.zeros_like(clipped))
            applied = decay if self.decays[index] else zero
            first, second = self.first_moments[index], self.second_moments[index]
            norm = ops.depend(norm, self.update(self.weights[index], first, second, rate, beta1, beta2, eps, applied, clipped))
        return norm, finite


class TrainStep:
    """Runs StepCell over the micro-batches of a batch and holds the moments' way to and from disk."""

    def __init__(self, model: LlamaForCausalLM, optimizer: AdamW, *, accumulation: int = 1) -> None:
        self.optimizer = optimizer
        self.accumulation = accumulation
        self.cell = StepCell(model, optimizer, accumulation > 1)
        self.cell.set_train()

    @property
    def phases(self) -> list[Phase]:
        """The graph of each micro-batch, in order."""
        if self.accumulation == 1:
            return ["whole"]
        adding: list[Phase] = ["add"] * (self.accumulation - 1)
        return [*adding, "last"]

    def compile(self, part: Batch) -> None:
        """Compile all graphs for micro-batches of this shape, always in the same order (the compile cache counts). Nothing is computed."""
        for phase in dict.fromkeys(self.phases):
            self.cell.compile(*self.arguments(part, 1.0, 1.0, 1.0, 1, phase))

    def arguments(self, part: Batch, weight: float, scale: float, rate: float, update: int, phase: Phase) -> tuple[Tensor | str, ...]:
        """StepCell's inputs."""
        rate, eps, decay = self.optimizer.fused(rate, update)
        numbers = (Tensor(number, ms.float32) for number in (weight, 1.0 / scale, rate, eps, decay))
        return Tensor(part.input_ids), Tensor(part.labels), Tensor(part.actual_seq_len), *numbers, phase

    def __call__(self, batch: Batch, *, rate: float, update: int, loss_scale: float = 1.0) -> Outcome:
        """One step on a batch of accumulation * B rows. `update` is the number of this update, from 1.

        Raises MsptError where no label counts: the mean would be 0 / 0.
        """
        valid = batch.num_valid
        if not valid:
            raise MsptError("a batch has no label that counts", "raise batch_size, or pack again: a row of padding only should not exist")
        total = 0.0
        for part, phase in zip(batch.split(self.accumulation), self.phases, strict=True):
            loss, norm, finite = self.cell(*self.arguments(part, loss_scale / valid, loss_scale, rate, update, phase))
            total += float(loss.asnumpy())
        return Outcome(loss=total / valid, grad_norm=float(norm.asnumpy()), finite=bool(finite.asnumpy()) and np.isfinite(total).item())

    def moments(self) -> dict[str, npt.NDArray[np.generic]]:
        """exp_avg.NAME and exp_avg_sq.NAME, float32; copies (see `model_weights`)."""
        return {moment.name: moment.asnumpy().copy() for moment in (*self.cell.first_moments, *self.cell.second_moments)}

    def load_moments(self, moments: Arrays) -> None:
        """Set all moments. Raises MsptError if the names differ."""
        own = {moment.name: moment for moment in (*self.cell.first_moments, *self.cell.second_moments)}
        if own.keys() != moments.keys():
            differing = sorted(own.keys() ^ moments.keys())
            raise MsptError(f"the optimizer state does not fit the model: {', '.join(differing[:5])}", "resume from a checkpoint of this run")
        for name, moment in own.items():
            moment.set_data(Tensor(np.ascontiguousarray(moments[name])))
