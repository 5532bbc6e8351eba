"""Sampling by hand, text that is never half a character, and cached steps against whole forwards."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from mspt.core.errors import MsptError
from mspt.core.nn.generate import CHUNK, Generator
from mspt.core.nn.model import LlamaForCausalLM, load_weights
from mspt.core.nn.open_model import OpenModel
from mspt.core.nn.reference import reference_logits
from mspt.core.nn.sampling import Sampling, candidates, draw, next_token, penalised, uniform
from mspt.core.nn.text_stream import TextStream
from mspt.core.tokens.tokenizer import Tokenizer
from support.peer import NEW_TOKENS, TEXTS, exported, probe_ids, transformers_answer
from support.small_model import CONFIG, tokenizer, weights

LIMIT = CONFIG.max_position_embeddings

# --- sampling ----------------------------------------------------------------------------------------------------------


def test_greedy_takes_the_largest_and_of_equals_the_first():
    assert next_token(np.array([1.0, 3.0, 3.0, 2.0]), [], Sampling(), sequence=0, position=0) == 1


def test_temperature_by_hand():
    # logits ln 1, ln 4, ln 9 at temperature 2 are ln 1, ln 2, ln 3
    ids, probabilities = candidates(np.log([1.0, 4.0, 9.0]), Sampling(temperature=2))
    assert ids.tolist() == [2, 1, 0]
    assert probabilities == pytest.approx([3 / 6, 2 / 6, 1 / 6])


def test_top_k_and_top_p_by_hand():
    logits = np.log([0.1, 0.4, 0.2, 0.3])
    ids, probabilities = candidates(logits, Sampling(temperature=1, top_k=2))
    assert (ids.tolist(), probabilities.tolist()) == ([1, 3], pytest.approx([4 / 7, 3 / 7]))
    ids, probabilities = candidates(logits, Sampling(temperature=1, top_p=0.6))  # .4 is too little, .4 + .3 is enough
    assert (ids.tolist(), probabilities.tolist()) == ([1, 3], pytest.approx([4 / 7, 3 / 7]))
    ids, _ = candidates(logits, Sampling(temperature=1, top_p=0.01))
    assert ids.tolist() == [1]
    ids, _ = candidates(logits, Sampling(temperature=1, top_k=3, top_p=0.5))  # of .4 .3 .2 the first is 4/9, the first two 7/9
    assert ids.tolist() == [1, 3]


def test_repetition_penalty_by_hand():
    assert penalised(np.array([2.0, -2.0, 3.0]), [0, 1, 0], 4.0).tolist() == [0.5, -8.0, 3.0]


def test_draw_inverts_the_running_sum():
    probabilities = np.array([0.5, 0.25, 0.25])
    assert [draw(probabilities, number) for number in (0.0, 0.49, 0.5, 0.74, 0.75, 0.999999)] == [0, 0, 1, 1, 2, 2]


def test_random_numbers_are_functions_of_seed_sequence_and_position():
    assert uniform(1, 2, 3) == uniform(1, 2, 3)
    numbers = [uniform(seed, sequence, position) for seed in range(5) for sequence in range(5) for position in range(40)]
    assert len(set(numbers)) == 1000
    assert abs(np.mean(numbers) - 0.5) < 0.03  # 3 standard errors of a uniform mean: .027
    logits = np.log([0.7, 0.2, 0.1])
    drawn = [next_token(logits, [], Sampling(temperature=1, seed=9), sequence=0, position=position) for position in range(2000)]
    assert np.abs(np.bincount(drawn, minlength=3) / 2000 - [0.7, 0.2, 0.1]).max() < 0.035  # over 3 standard errors


@pytest.mark.parametrize("setting", [{"temperature": -1.0}, {"top_p": 0.0}, {"top_k": -1}, {"repetition_penalty": 0.0}, {"seed": -1}])
def test_impossible_settings_are_named(setting):
    with pytest.raises(MsptError, match=next(iter(setting))):
        Sampling(**setting)


# --- text --------------------------------------------------------------------------------------------------------------


def byte_ids(text: str) -> list[int]:
    """Ids of the byte pieces of a text's UTF-8."""
    return [tokenizer().surfaces.index(bytes([byte])) for byte in text.encode()]


def test_no_half_character_comes_out():
    stream = TextStream(tokenizer(), at_start=True)
    assert [stream.add(token) for token in byte_ids("龘a🙂")] == ["", "", "龘", "a", "", "", "", "🙂"]
    assert stream.finish() == ""


def test_an_unfinished_character_at_the_end_is_marked():
    stream = TextStream(tokenizer(), at_start=True)
    assert "".join(stream.add(token) for token in byte_ids("好龘")[:-1]) == "好"
    assert stream.finish() == "\ufffd"


def test_special_tokens_and_padding_rows_are_nothing():
    stream = TextStream(tokenizer(), at_start=True)
    assert stream.add(tokenizer().eos_id) + stream.add(len(tokenizer().pieces) + 5) == ""


class DummyPrefix(Tokenizer):
    """Puts a blank first, as Llama's SentencePiece models do."""

    def __init__(self) -> None:
        super().__init__(["<s>", " a", " b"], replace(tokenizer().special, prefix=0), [b"", b" a", b" b"])

    def encode_batch(self, texts):
        return [np.array([1], np.int32) for _ in texts]

    def decode(self, ids):
        return "a"


def test_the_blank_before_a_text_is_left_out_at_its_start_only():
    start, inside = TextStream(DummyPrefix(), at_start=True), TextStream(DummyPrefix(), at_start=False)
    assert start.add(1) + start.add(2) == "a b"
    assert inside.add(1) + inside.add(2) == " a b"


# --- the network -------------------------------------------------------------------------------------------------------


@functools.cache
def generator() -> Generator:
    """One for all tests: its two graphs take seconds to compile."""
    network = LlamaForCausalLM(CONFIG)
    load_weights(network, weights())
    return Generator(OpenModel(network, tokenizer()), LIMIT)


def test_cached_chunks_and_steps_equal_whole_forwards():
    ids = (probe_ids() * 3)[: 2 * CHUNK + 7]  # two whole chunks and a part
    whole = reference_logits(exported(), np.array(ids))
    assert np.abs(generator().read(ids) - whole[-1]).max() < 1e-4
    by_step = [generator().logits(np.array([token], np.int32), position, 0) for position, token in enumerate(ids[:20])]
    assert np.abs(np.stack(by_step) - whole[:20]).max() < 1e-4  # over what the longer text left in the cache


def test_greedy_continuation_is_that_of_transformers():
    steps = list(generator().stream(TEXTS[0], max_tokens=NEW_TOKENS, sampling=Sampling()))
    assert [step.token for step in steps] == transformers_answer().continuations[1]


def test_sampled_continuations_depend_on_nothing_but_seed_and_sequence():
    sampling = Sampling(temperature=1.0, seed=4)

    def made(sampling: Sampling, sequence: int) -> list[int]:
        return [step.token for step in generator().stream(TEXTS[1], max_tokens=12, sampling=sampling, sequence=sequence)]

    first = made(sampling, 0)
    others = [made(sampling, 1), made(replace(sampling, seed=5), 0)]
    assert made(sampling, 0) == first
    assert first not in others


@contextlib.contextmanager
def output_matrix(rows: dict[int, np.ndarray]) -> Iterator[None]:
    """The shared generator with an output matrix of zeros but for these rows: all other logits are 0."""
    changed = weights()
    changed["lm_head.weight"] = np.zeros_like(changed["lm_head.weight"])
    for token, row in rows.items():
        changed["lm_head.weight"][token] = row
    load_weights(generator().decoder.model, changed)
    try:
        yield
    finally:
        load_weights(generator().decoder.model, weights())


def test_the_end_of_a_document_ends_it():
    unit = np.eye(CONFIG.hidden_size, dtype=np.float32)
    with output_matrix(dict(enumerate(unit))):
        state = generator().read(generator().prompt_ids(TEXTS[0]))[: CONFIG.hidden_size]  # what the output matrix is multiplied with
    with output_matrix({tokenizer().eos_id: state}):
        steps = list(generator().stream(TEXTS[0], max_tokens=5, sampling=Sampling()))
    assert [(step.token, step.text, step.stop) for step in steps] == [(tokenizer().eos_id, "", "eos")]


def test_length_and_context_end_it_and_longer_prompts_are_refused():
    fitting = tokenizer().decode(tokenizer().encode(TEXTS[1] * 40)[: LIMIT - 4])
    room = LIMIT - len(generator().prompt_ids(fitting))
    with output_matrix({}):  # of equal logits the lowest id: never eos
        short = list(generator().stream("", max_tokens=3, sampling=Sampling()))
        full = list(generator().stream(fitting, max_tokens=50, sampling=Sampling()))
    assert [(step.token, step.stop) for step in short] == [(0, None), (0, None), (0, "length")]
    assert (len(full), full[-1].stop) == (room + 1, "context")  # the last position still predicts
    with pytest.raises(MsptError, match=rf"tokens, the context {LIMIT} positions"):
        next(generator().stream(TEXTS[1] * 40, max_tokens=1, sampling=Sampling()))
    with pytest.raises(MsptError, match=f"this model has {LIMIT}"):
        Generator(OpenModel(generator().decoder.model, tokenizer()), LIMIT + 1)
