"""Sums by source and standard errors by hand; rows and multiple choice against the NumPy reference, document by document."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from mspt.core.errors import InputError, MsptError
from mspt.core.nn import choices
from mspt.core.nn.choices import Option, Question, Verdict, encode_option, judge, pack_options, read_questions
from mspt.core.nn.evaluate import RowScorer, Segments, label_bytes, measure, open_validation, ratio_error, score, sum_segments, validation_names
from mspt.core.nn.model import LlamaForCausalLM, load_weights
from mspt.core.nn.reference import reference_logits
from mspt.core.tokens.rows import IGNORED, RowBatch
from support.peer import exported
from support.small_model import CONFIG, packed, sentences, tokenizer, weights

# --- sums by hand ------------------------------------------------------------------------------------------------------


def segments(*rows: tuple[int, int, int, int, str, str]) -> Segments:
    columns = list(zip(*rows, strict=True))
    return Segments(*(np.array(column, np.int64) for column in columns[:4]), *(np.array(column) for column in columns[4:]))


# row, start, end, bytes, document, source: document "b" lies in two pieces
HAND = segments((0, 0, 2, 5, "a", "web"), (0, 2, 3, 1, "b", "web"), (1, 0, 2, 7, "b", "web"), (2, 0, 3, 12, "c", "book"))
LOSSES = np.array([[1.0, 2.0, 4.0, 9.0], [0.5, 0.5, 9.0, 9.0], [1.0, 1.0, 1.0, 9.0]])
LABELS = np.array([[5, 6, 7, IGNORED], [5, 6, IGNORED, IGNORED], [5, 6, 7, IGNORED]], np.int32)


def test_nats_and_tokens_of_segments_by_hand():
    losses = np.where(LABELS == IGNORED, 0, LOSSES)
    nats, tokens = sum_segments(losses, LABELS, HAND, 0)
    assert nats.tolist() == [3.0, 4.0, 1.0, 3.0]
    assert tokens.tolist() == [2, 1, 2, 3]
    later, _ = sum_segments(losses[1:], LABELS[1:], HAND, 1)
    assert later.tolist() == [1.0, 3.0]


def test_a_label_outside_every_document_is_refused():
    labels = LABELS.copy()
    labels[1, 3] = 8
    with pytest.raises(InputError, match="labels lie outside the documents"):
        sum_segments(np.zeros((3, 4)), labels, HAND, 0)


def test_score_by_hand():
    nats, tokens = np.array([3.0, 4.0, 1.0, 3.0]), np.array([2, 1, 2, 3])
    found = score(HAND, nats, tokens, HAND.source == "web")
    assert (found.documents, found.tokens, found.num_bytes, found.nats) == (2, 5, 13, 8.0)
    assert found.loss == 8 / 5
    assert found.perplexity == pytest.approx(math.exp(1.6))
    assert found.bits_per_byte == pytest.approx(8 / math.log(2) / 13)
    # documents a: 3 nats, 5 bytes; b: 5 nats, 8 bytes; ratio 8/13; residuals 3 - 40/13 = -1/13 and +1/13; sqrt(2/1 * 2/169) / 13 = 2/169
    assert found.error == pytest.approx(2 / 169 / math.log(2))
    assert math.isnan(score(HAND, nats, tokens, HAND.source == "book").error)


def test_ratio_error_is_what_drawing_again_shows():
    rng = np.random.default_rng(2)
    size = rng.integers(20, 200, 4000).astype(float)
    value = size * 0.7 + rng.normal(0, 5, 4000)
    ratios = [value[part].sum() / size[part].sum() for part in rng.permutation(4000).reshape(40, 100)]
    assert ratio_error(value[:100], size[:100]) == pytest.approx(np.std(ratios, ddof=1), rel=0.35)  # 40 draws: +-11 %


def test_label_bytes_by_hand():
    batch = RowBatch(np.zeros((2, 3), np.int32), np.array([[1, 0, IGNORED], [2, IGNORED, IGNORED]], np.int32), np.full((2, 1), 3, np.int32))
    surfaces = [b"", b"ab", b"\xe4"]
    assert label_bytes([batch, batch], surfaces) == b"ab\xe4ab\xe4"
    assert [label_bytes([batch, batch], surfaces, last=size) for size in (9, 6, 5, 3, 1)] == [b"ab\xe4ab\xe4"] * 2 + [b"b\xe4ab\xe4", b"ab\xe4", b"\xe4"]


# --- rows of a real data set -------------------------------------------------------------------------------------------


@functools.cache
def scorer() -> RowScorer:
    network = LlamaForCausalLM(CONFIG)
    load_weights(network, weights())
    return RowScorer(network)


def reference_nats(ids: list[int], labels: list[int]) -> list[float]:
    """Minus log-probabilities by the NumPy forward, in float64."""
    logits = reference_logits(exported(), np.array(ids)).astype(np.float64)
    top = logits.max(-1)
    total = top + np.log(np.exp(logits - top[:, None]).sum(-1))
    return (total - logits[np.arange(len(labels)), labels]).tolist()


VALIDATION = {"web": sentences(5, seed=21), "book": sentences(4, seed=22)}


def test_rows_give_each_document_what_it_gets_alone(workspace):
    artifact = packed(workspace, {"train": {"web": sentences(2, seed=20)}, "validation": VALIDATION})
    rows, where = open_validation(artifact.directory, validation_names(artifact.files), CONFIG)
    assert rows.num_rows > 2
    found = measure(scorer(), rows, where, batch_size=2)  # the last batch is filled up
    for source, texts in VALIDATION.items():
        nats, tokens = 0.0, 0
        for text in texts:
            ids = tokenizer().encode(text).tolist()
            nats += math.fsum(reference_nats([tokenizer().prefix_id, *ids], [*ids, tokenizer().eos_id]))
            tokens += len(ids) + 1
        size = sum(len(text.encode()) for text in texts)
        mine = found.by_source[source]
        assert (mine.documents, mine.tokens, mine.num_bytes) == (len(texts), tokens, size)
        assert mine.nats == pytest.approx(nats, rel=1e-6)
        assert mine.bits_per_byte == pytest.approx(nats / math.log(2) / size, rel=1e-6)
    assert found.total.nats == pytest.approx(sum(s.nats for s in found.by_source.values()))
    with pytest.raises(InputError, match=r"rows-\*\.parquet differ"):
        measure(scorer(), rows.choose([0]), where, batch_size=2)


def test_missing_or_too_long_rows_are_refused(workspace):
    artifact = packed(workspace, {"train": {"web": sentences(2, seed=20)}, "validation": {"web": sentences(1, seed=1)}}, row_tokens=192)
    with pytest.raises(MsptError, match="rows of 192 positions, the model has 160"):
        open_validation(artifact.directory, validation_names(artifact.files), CONFIG)
    with pytest.raises(InputError, match="no validation rows"):
        open_validation(artifact.directory, [], CONFIG)


# --- multiple choice ---------------------------------------------------------------------------------------------------


def test_options_count_from_where_the_choice_begins():
    query, choice = "The old sailor", " read an old letter."
    option = encode_option(tokenizer(), query, choice, positions=160)
    whole = tokenizer().encode(query + choice).tolist()
    assert option.inputs == (tokenizer().prefix_id, *whole[:-1])
    assert option.labels == tuple(whole)
    assert not option.cut
    assert tokenizer().decode(option.labels[: option.first]) == query[: len(tokenizer().decode(option.labels[: option.first]))]
    assert tokenizer().decode(option.labels[option.first :]).endswith(choice)


def test_a_long_query_loses_its_beginning():
    query = "The old sailor read an old letter. " * 8
    option = encode_option(tokenizer(), query, "Yes", positions=20)
    whole = tokenizer().encode(query + "Yes").tolist()
    assert option.cut
    assert option.labels == tuple(whole[-20:])
    assert option.inputs == tuple(whole[-21:-1])
    assert tokenizer().decode(option.labels[option.first :]).endswith("Yes")
    with pytest.raises(InputError, match="the model has 3 positions"):
        encode_option(tokenizer(), "", "The old sailor read an old letter.", positions=3)


def test_packing_of_options_by_hand(monkeypatch):
    monkeypatch.setattr(choices, "MAX_SEGMENTS", 3)
    options = [Option((0,) * n, (0,) * n, 0, False) for n in (4, 4, 3, 1, 1, 8)]
    assert pack_options(options, 8) == [[0, 1], [2, 3], [4], [5]]  # two options a row, since padding is a segment too


def question(number: int, gold: int = 0) -> Question:
    return Question(f"q{number}", "the quiet dog ", ("sang in the kitchen", "opened the green door", "写了一封长长的信"), gold)


def test_sums_are_those_of_the_reference():
    questions = [question(number) for number in range(4)]
    (verdict, *others) = judge(scorer(), tokenizer(), questions, positions=160, batch_size=1)
    for choice, found in zip(verdict.question.choices, verdict.log_probabilities, strict=True):
        option = encode_option(tokenizer(), verdict.question.query, choice, 160)
        nats = reference_nats(list(option.inputs), list(option.labels))[option.first :]
        assert found == pytest.approx(-math.fsum(nats), rel=1e-5)
    assert all(other.log_probabilities == pytest.approx(verdict.log_probabilities, rel=1e-5) for other in others)  # wherever they lie in a row


def test_accuracies_and_errors_by_hand():
    two = ("aa", "bbbb")  # per byte: -3/2 against -4/4
    verdicts = [Verdict(Question("1", "", two, gold), (-3.0, -4.0), cut=gold == 1) for gold in (0, 0, 0, 1)]
    assert (verdicts[0].chosen, verdicts[0].chosen_norm) == (0, 1)
    found = choices.summarise(verdicts)
    assert (found.questions, found.accuracy, found.accuracy_norm, found.chance, found.cut) == (4, 0.75, 0.25, 0.5, 1)
    # lm-eval's mean_stderr: sample deviation / sqrt(n)
    assert found.accuracy_error == pytest.approx(np.std([1, 1, 1, 0], ddof=1) / 2)
    assert found.accuracy_norm_error == pytest.approx(found.accuracy_error)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"task\.jsonl:2: Expecting property name"),
        ('{"id": "x", "choices": ["a", "b"], "gold": 0}', r"task\.jsonl:2: there is no 'query'"),
        ('{"id": "x", "query": "q", "choices": ["a"], "gold": 0}', "at least two choices"),
        ('{"id": "x", "query": "q", "choices": ["a", ""], "gold": 0}', "none empty"),
        ('{"id": "x", "query": "q", "choices": ["a", "b"], "gold": 2}', "gold 2 is not the index of one of 2"),
        ('{"id": "x", "query": "q", "choices": ["a", "b"], "gold": true}', "gold True is not"),
    ],
)
def test_bad_task_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "task.jsonl"
    path.write_text(json.dumps({"id": 1, "query": "q", "choices": ["a", "b"], "gold": 1}) + "\n" + line + "\n")
    with pytest.raises(InputError, match=message):
        read_questions(path)


def test_an_empty_task_is_refused(tmp_path):
    (tmp_path / "task.jsonl").write_text("\n")
    with pytest.raises(InputError, match="holds no question"):
        read_questions(tmp_path / "task.jsonl")
