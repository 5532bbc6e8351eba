"""Multiple choice: which continuation of a query does the model find likeliest?

A task is JSONL, one question a line: {"id": "q1", "query": "The sky is", "choices": [" blue", " loud"], "gold": 0}. A choice is appended to the
query as it stands: blanks belong to the file (English choices begin with one, Chinese do not).

    accuracy        the choice with the largest sum of log-probabilities is `gold` (lm-eval's acc)
    accuracy_norm   the same of log-probability per UTF-8 byte of the choice, so that short choices are not favoured (lm-eval's acc_norm divides
                    by characters, which for Han counts a third of what it counts for Latin)

Standard errors are those of a mean: sqrt(p (1 - p) / (n - 1)), as lm-eval prints them. Each (query, choice) is a document of its own behind the
tokenizer's prefix; many are packed into a row, where they cannot see each other. A query that does not fit the model's positions loses
its beginning, counted in `cut`.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mspt.core.errors import InputError
from mspt.core.nn.batch import IGNORED, Batch
from mspt.core.nn.evaluate import RowScorer
from mspt.core.tokens.tokenizer import Tokenizer

MAX_SEGMENTS = 32  # options in a row; the mask is built from [T, MAX_SEGMENTS]
LEAST_ROW = 128  # positions; rows grow by doubling to what the longest option needs
_EXPECTED = '{"id": "q1", "query": "...", "choices": ["...", "..."], "gold": 0}'


@dataclass(frozen=True)
class Question:
    """`gold` is the index of the right choice."""

    id: str
    query: str
    choices: tuple[str, ...]
    gold: int


@dataclass(frozen=True)
class Option:
    """One choice as ids to predict: prefix and query come in from `inputs`; labels before position `first` do not count. `cut`: the query was."""

    inputs: tuple[int, ...]
    labels: tuple[int, ...]
    first: int
    cut: bool


@dataclass(frozen=True)
class Verdict:
    """What the model made of a question: sums of log-probabilities (nats), and the choices that win by sum and per byte."""

    question: Question
    log_probabilities: tuple[float, ...]
    cut: bool

    @property
    def chosen(self) -> int:
        return int(np.argmax(self.log_probabilities))

    @property
    def chosen_norm(self) -> int:
        sizes = [len(choice.encode("utf-8")) for choice in self.question.choices]
        return int(np.argmax(np.array(self.log_probabilities) / sizes))


@dataclass(frozen=True)
class TaskScore:
    """Of one task. `chance` is what guessing gives."""

    questions: int
    accuracy: float
    accuracy_error: float
    accuracy_norm: float
    accuracy_norm_error: float
    chance: float
    cut: int


def read_questions(path: Path) -> list[Question]:
    """Raises InputError naming the line."""
    questions = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            questions.append(_question(line, f"{path.name}:{number}"))
    if not questions:
        raise InputError(f"{path} holds no question", f"one JSON object a line: {_EXPECTED}")
    return questions


def _question(line: str, where: str) -> Question:
    try:
        found = json.loads(line)
        question = Question(str(found["id"]), found["query"], tuple(found["choices"]), found["gold"])
    except KeyError as error:
        raise InputError(f"{where}: there is no {error}", f"expected {_EXPECTED}") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: {error}", f"expected {_EXPECTED}") from error
    texts = (question.query, *question.choices)
    if not all(isinstance(text, str) for text in texts) or len(question.choices) < 2 or "" in question.choices:
        raise InputError(f"{where}: query and choices must be texts, at least two choices, none empty", f"expected {_EXPECTED}")
    if type(question.gold) is not int or not 0 <= question.gold < len(question.choices):
        raise InputError(f"{where}: gold {question.gold!r} is not the index of one of {len(question.choices)} choices", f"expected {_EXPECTED}")
    return question


def encode_option(tokenizer: Tokenizer, query: str, choice: str, positions: int) -> Option:
    """Ids of query + choice behind the prefix, of which those that hold the choice count.

    A token that reaches across the border counts with the choice: the ids of the query alone are compared with those of the whole, and all from
    the first difference on count. Raises InputError where the choice alone has more tokens than the model positions.
    """
    whole = [int(i) for i in tokenizer.encode(query + choice)]
    alone = tokenizer.encode(query)
    same = 0
    while same < min(len(alone), len(whole)) and whole[same] == alone[same]:
        same += 1
    if not whole:
        raise InputError(f"the tokenizer leaves nothing of the choice {choice[:40]!r}", "leave the question out")
    same = min(same, len(whole) - 1)  # at least one token counts
    if len(whole) - same > positions:
        raise InputError(f"a choice of {len(whole) - same} tokens, the model has {positions} positions: {choice[:40]!r}", "leave the question out")
    inputs = [tokenizer.prefix_id, *whole[:-1]]
    dropped = max(0, len(whole) - positions)
    return Option(tuple(inputs[dropped:]), tuple(whole[dropped:]), same - dropped, dropped > 0)


def judge(
    scorer: RowScorer,
    tokenizer: Tokenizer,
    questions: Sequence[Question],
    *,
    positions: int,
    batch_size: int,
    advance: Callable[[int], None] = lambda options: None,
) -> list[Verdict]:
    """Score every choice of every question with a model of `positions` positions. `advance` is told how many options have been done."""
    options = [[encode_option(tokenizer, question.query, choice, positions) for choice in question.choices] for question in questions]
    sums = iter(score_options(scorer, [option for group in options for option in group], positions, batch_size, advance))
    return [
        Verdict(question, tuple(itertools.islice(sums, len(group))), any(option.cut for option in group))
        for question, group in zip(questions, options, strict=True)
    ]


def score_options(scorer: RowScorer, options: Sequence[Option], positions: int, batch_size: int, advance: Callable[[int], None]) -> list[float]:
    """Sum of log-probabilities of each option's counted labels."""
    length = row_length(options, positions)
    rows = pack_options(options, length)
    rows += [[]] * (-len(rows) % batch_size)
    batches = (fill(options, rows[at : at + batch_size], length) for at in range(0, len(rows), batch_size))
    sums = [0.0] * len(options)
    for first, _, losses in scorer.losses(batches):
        for row, members in enumerate(rows[first : first + batch_size]):
            at = 0
            for member in members:
                end = at + len(options[member].labels)
                sums[member] = -math.fsum(losses[row, at:end])
                at = end
            advance(len(members))
    return sums


def row_length(options: Sequence[Option], limit: int) -> int:
    """LEAST_ROW doubled until the longest option fits, at most the model's positions."""
    longest, length = max(len(option.labels) for option in options), LEAST_ROW
    while length < longest:
        length *= 2
    return min(length, limit)


def pack_options(options: Sequence[Option], length: int) -> list[list[int]]:
    """Numbers of the options in each row, in order; a row is closed when the next one does not fit."""
    rows: list[list[int]] = []
    left = 0
    for number, option in enumerate(options):
        if not rows or len(option.labels) > left or len(rows[-1]) == MAX_SEGMENTS - 1:
            rows.append([])
            left = length
        rows[-1].append(number)
        left -= len(option.labels)
    return rows


def fill(options: Sequence[Option], rows: Sequence[Sequence[int]], length: int) -> Batch:
    """Rows with every option as a document of its own; what does not count has no label."""
    ids = np.zeros((len(rows), length), np.int32)
    labels = np.full((len(rows), length), IGNORED, np.int32)
    ends = np.full((len(rows), MAX_SEGMENTS), length, np.int32)
    for row, members in enumerate(rows):
        at = 0
        for slot, member in enumerate(members):
            option = options[member]
            end = at + len(option.labels)
            ids[row, at:end] = option.inputs
            labels[row, at + option.first : end] = option.labels[option.first :]
            ends[row, slot] = at = end
    return Batch(ids, labels, ends)


def summarise(verdicts: Sequence[Verdict]) -> TaskScore:
    """Accuracies with standard errors."""
    right = [verdict.chosen == verdict.question.gold for verdict in verdicts]
    right_norm = [verdict.chosen_norm == verdict.question.gold for verdict in verdicts]
    chance = math.fsum(1 / len(verdict.question.choices) for verdict in verdicts) / len(verdicts)
    plain, norm = mean_and_error(right), mean_and_error(right_norm)
    return TaskScore(len(verdicts), *plain, *norm, chance, sum(verdict.cut for verdict in verdicts))


def mean_and_error(right: Sequence[bool]) -> tuple[float, float]:
    """Share of True and its standard error; NaN for one question."""
    count, share = len(right), sum(right) / len(right)
    return share, math.sqrt(share * (1 - share) / (count - 1)) if count > 1 else math.nan


def verdict_line(verdict: Verdict) -> dict[str, Any]:
    """One line of the predictions file."""
    return {
        "id": verdict.question.id,
        "gold": verdict.question.gold,
        "chosen": verdict.chosen,
        "chosen_norm": verdict.chosen_norm,
        "log_probabilities": list(verdict.log_probabilities),
        "choices": list(verdict.question.choices),
    }
