"""Continuing a text: keys and values of earlier positions are kept, so that a token costs one position.

    prompt --CHUNK positions at a time--> CachedDecoder --+--> logits of the last position --> next token --+--> text
                                              ^           |                                                 |
                                              |  keys and values, one Parameter per layer, written in place |
                                              +--------------------- one position ---------------------------+

Shapes are static, so two graphs serve every prompt and every length: one for CHUNK positions, one for a single position, over a cache of
`size` slots. Slots behind the present position hold nothing or the padding of the last chunk; the mask hides them until they are overwritten.
A prompt shorter than CHUNK is read position by position: that takes less time than compiling the second graph (3 s at 5 layers).

A prompt starts as a document does in training: behind the tokenizer's prefix (eos, or the BOS of an adopted tokenizer). It ends at eos.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import mindspore as ms
import numpy as np
import numpy.typing as npt
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mspt.core.errors import MsptError
from mspt.core.nn.compile_cache import compile_cache
from mspt.core.nn.model import LlamaForCausalLM
from mspt.core.nn.open_model import OpenModel
from mspt.core.nn.runtime import machine_facts
from mspt.core.nn.sampling import Sampling, next_token
from mspt.core.nn.text_stream import TextStream

CHUNK = 64  # positions of a prompt at once
LEAST_SLOTS = 256  # slots double from here, so that prompts of different lengths share their graphs; a multiple of CHUNK
Stop = Literal["eos", "length", "context"]


class CachedDecoder(nn.Cell):  # type: ignore[misc]
    """T new positions of one text through the decoder; S slots per layer. Suffixes: see kernels.py."""

    def __init__(self, model: LlamaForCausalLM, size: int) -> None:
        super().__init__(auto_prefix=False)
        config = model.config
        self.model = model
        self.keys = self.slots("keys", config.num_hidden_layers, (config.num_key_value_heads, size, config.head_dim))
        self.values = self.slots("values", config.num_hidden_layers, (config.num_key_value_heads, size, config.head_dim))
        self.heads_K = Tensor(np.arange(config.num_key_value_heads, dtype=np.int32))
        self.slots_S = Tensor(np.arange(size, dtype=np.int32))
        self.last_position = config.max_position_embeddings - 1

    def slots(self, name: str, layers: int, shape: tuple[int, ...]) -> ParameterTuple:
        """One cache [K, S, C] per layer."""
        empty = (Parameter(Tensor(np.zeros(shape, np.float32)), name=f"cache.{layer}.{name}", requires_grad=False) for layer in range(layers))
        return ParameterTuple(list(empty))

    def stored(self, cache_KSC: Parameter, new_1KTC: Tensor, places_KT2: Tensor) -> Tensor:
        """The cache [1, K, S, C] once `new` has been written into its slots, in place."""
        return ops.depend(cache_KSC, ops.scatter_nd_update(cache_KSC, places_KT2, new_1KTC[0])).expand_dims(0)

    def construct(self, ids_1T: Tensor, start: Tensor, last: Tensor) -> Tensor:
        """Logits float32 [V] of new position `last` (0 .. T - 1, int32 [1]); the first new position is `start` (int32 [1])."""
        length, groups = ids_1T.shape[1], self.heads_K.shape[0]
        positions_T = start + self.slots_S[:length]
        heads_KT = ops.broadcast_to(self.heads_K.expand_dims(1), (groups, length))
        places_KT2 = ops.stack((heads_KT, ops.broadcast_to(positions_T.expand_dims(0), (groups, length))), -1)
        # padding of the last chunk may lie behind the last position that has a rotation: its values are never seen
        cos, sin = self.model.rotary(ops.minimum(positions_T, Tensor(self.last_position, ms.int32)).expand_dims(0))
        mask = self.model.kernels.mask((self.slots_S.expand_dims(0) <= positions_T.expand_dims(1)).expand_dims(0))
        x_1TD = self.model.model.embed_tokens(ids_1T)
        for index in range(len(self.keys)):
            layer = self.model.model.layers[index]
            q, k, v = layer.self_attn.project(layer.input_layernorm(x_1TD), cos, sin)
            keys, values = self.stored(self.keys[index], k, places_KT2), self.stored(self.values[index], v, places_KT2)
            x_1TD = x_1TD + layer.self_attn.attend(q, keys, values, mask)
            x_1TD = x_1TD + layer.mlp(layer.post_attention_layernorm(x_1TD))
        return self.model.logits(self.model.model.norm(ops.gather(x_1TD, last, 1))).reshape(-1)


@dataclass(frozen=True)
class Step:
    """One token of a continuation: its id, the text that it completes, and why it is the last one."""

    token: int
    text: str
    stop: Stop | None = None


class Generator:
    """Continues prompts with one model. `context`: the most positions, prompt and continuation together."""

    def __init__(self, opened: OpenModel, context: int) -> None:
        limit = opened.config.max_position_embeddings
        if not 1 <= context <= limit:
            raise MsptError(f"a context of {context} positions, this model has {limit}", f"set it within 1 and {limit}")
        self.tokenizer = opened.tokenizer
        self.context = context
        self.slots = max(LEAST_SLOTS, 1 << (context - 1).bit_length())
        self.decoder = CachedDecoder(opened.network, self.slots)
        self.decoder.set_train(False)

    @classmethod
    def for_prompts(cls, opened: OpenModel, prompts: Sequence[str], max_tokens: int) -> Generator:
        """With room for the longest prompt and its continuation, as far as the model has positions."""
        longest = 1 + max(len(opened.tokenizer.encode(prompt)) for prompt in prompts)
        return cls(opened, min(longest + max_tokens, opened.config.max_position_embeddings))

    def compile(self, prompts: Sequence[str], cache: Path) -> None:
        """Compile what these prompts need, through the cache of compiled graphs in `cache`: a second process starts in a third of the time."""
        widths = [1, *([CHUNK] if any(len(self.prompt_ids(prompt)) >= CHUNK for prompt in prompts) else [])]
        graph = {"generate": widths, "slots": self.slots, "config": self.decoder.model.config.to_hf(), **machine_facts()}
        with compile_cache(cache, graph):
            for width in widths:
                self.decoder.compile(*arguments(np.zeros(width, np.int32), 0, 0))

    def prompt_ids(self, prompt: str) -> list[int]:
        """prefix t1 .. tn."""
        return [self.tokenizer.prefix_id, *(int(i) for i in self.tokenizer.encode(prompt))]

    def logits(self, ids: npt.NDArray[np.int32], start: int, last: int) -> npt.NDArray[np.float32]:
        """Run the positions `start` .. and return float32 [V] of the one that is number `last` among them."""
        found: npt.NDArray[np.float32] = self.decoder(*arguments(ids, start, last)).asnumpy()
        return found

    def read(self, ids: list[int]) -> npt.NDArray[np.float32]:
        """Fill the cache with `ids` from position 0 on; logits [V] behind the last one."""
        width = CHUNK if len(ids) >= CHUNK else 1
        for start in range(0, len(ids), width):
            part = ids[start : start + width]
            padded = np.array(part + [0] * (width - len(part)), np.int32)
            logits = self.logits(padded, start, len(part) - 1)
        return logits

    def stream(self, prompt: str, *, max_tokens: int, sampling: Sampling, sequence: int = 0) -> Iterator[Step]:
        """The continuation, token by token; the last step says why it ends. `sequence` numbers the prompt for the random draws.

        Raises MsptError where the prompt leaves no position.
        """
        ids = self.prompt_ids(prompt)
        if len(ids) > self.context:
            raise MsptError(f"the prompt has {len(ids)} tokens, the context {self.context} positions", "shorten the prompt")
        text = TextStream(self.tokenizer, at_start=not prompt)
        logits = self.read(ids)
        for number in range(max_tokens):
            token = next_token(logits, ids, sampling, sequence=sequence, position=number)
            ids.append(token)
            stop = self.stops(token, number + 1 == max_tokens, len(ids))
            yield Step(token, text.add(token) + (text.finish() if stop else ""), stop)
            if stop:
                return
            logits = self.logits(np.array([token], np.int32), len(ids) - 1, 0)

    def stops(self, token: int, is_last: bool, length: int) -> Stop | None:
        """Why generation ends behind `token`, the last of `length` ids."""
        if token == self.tokenizer.eos_id:
            return "eos"
        if is_last:
            return "length"
        return "context" if length > self.context else None


def arguments(ids: npt.NDArray[np.int32], start: int, last: int) -> tuple[Tensor, Tensor, Tensor]:
    """What CachedDecoder takes."""
    return Tensor(ids[None]), Tensor([start], ms.int32), Tensor([last], ms.int32)
