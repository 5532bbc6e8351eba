"""The model against the textbook formula, written down a second time with dictionaries and recursion."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mspt.core.errors import InputError
from mspt.core.quality.alphabet import BOUNDARY, UNKNOWN
from mspt.core.quality.kneser_ney import discounts
from mspt.core.quality.ngram_model import ASSIGNED, Model, train


class Textbook:
    """Chen and Goodman 1999, interpolated, three discounts; documents as tuples of symbols that begin with BOUNDARY."""

    def __init__(self, documents: list[tuple[int, ...]], num_symbols: int, order: int) -> None:
        self.order, self.num_symbols = order, num_symbols
        raw = [Counter(d[i : i + k] for d in documents for i in range(len(d) - k + 1)) for k in range(order + 2)]
        self.counts: list[dict[tuple[int, ...], int]] = [{} for _ in range(order + 1)]
        self.counts[order] = dict(raw[order])
        for k in range(1, order):
            before = Counter(gram[1:] for gram in raw[k + 1])
            self.counts[k] = {gram: number if gram[0] == BOUNDARY else before[gram] for gram, number in raw[k].items()}
        self.counts[1].pop((int(BOUNDARY),), None)
        self.taken = [self._discounts(list(counts.values())) for counts in self.counts]

    @staticmethod
    def _discounts(counts: list[int]) -> list[float]:
        n = [sum(c == i for c in counts) for i in range(5)]
        if n[1] == 0 or n[2] == 0:
            return [0, 0.5, 0.5, 0.5]
        y = n[1] / (n[1] + 2 * n[2])
        three = [i - (i + 1) * y * n[i + 1] / n[i] if n[i] else -1 for i in (1, 2, 3)]
        return [0, *three] if all(0 < d <= i for d, i in zip(three, (1, 2, 3), strict=True)) else [0, y, y, y]

    def p(self, context: tuple[int, ...], symbol: int) -> float:
        return self._p(context[-(self.order - 1) :], symbol)

    def _p(self, context: tuple[int, ...], symbol: int) -> float:
        k = len(context) + 1
        follow = {gram: c for gram, c in self.counts[k].items() if gram[:-1] == context}
        below = self._p(context[1:], symbol) if context else 1 / (self.num_symbols - 1)
        total = sum(follow.values())
        if not total:
            return below
        own = follow.get((*context, symbol), 0)
        free = sum(self.taken[k][min(c, 3)] for c in follow.values())
        return (own - self.taken[k][min(own, 3)]) / total + free / total * below


def read(model: Model, texts: list[str]) -> list[tuple[int, ...]]:
    return [tuple(model.alphabet.read(text).values.tolist()) for text in texts]


TEXTS = st.lists(st.text("ab 天，1", max_size=25), min_size=1, max_size=4)
# Counts of 1 to 4 at every order, so that all three discounts are used.
CHOOSER = random.Random(4)
ENOUGH = ["".join(CHOOSER.choices("天地玄黄宇宙", [32, 16, 8, 4, 2, 1], k=CHOOSER.randrange(30))) for _ in range(40)]


@given(texts=TEXTS, order=st.integers(2, 5), min_count=st.integers(1, 3))
@example(texts=["b天1", "a1a1a1"], order=2, min_count=1)  # a discount of 0 would leave a probability of 0
@settings(max_examples=60, deadline=None)
def test_every_probability_is_the_textbooks(texts, order, min_count):
    model = train(texts, order, min_count)
    documents = read(model, texts)
    book = Textbook(documents, len(model.alphabet), order)
    contexts = {d[max(0, i - order + 1) : i] for d in documents for i in range(1, len(d) + 1)} | {(int(UNKNOWN),), (2, 3), (3, 2, 2)}
    for context in contexts:
        if max(context) < len(model.alphabet):
            found = [model.probability(context, s) for s in range(1, len(model.alphabet))]
            assert found == pytest.approx([book.p(context, s) for s in range(1, len(model.alphabet))], rel=1e-5)
            assert sum(found) == pytest.approx(1, abs=1e-5)


def test_three_discounts_and_the_score_of_a_text():
    model = train(ENOUGH, 3, 1)
    documents = read(model, ENOUGH)
    book = Textbook(documents, len(model.alphabet), 3)
    assert len(set(book.taken[3][1:])) == 3
    text = "天地天玄\n地黄 x 宙龘天"
    (symbols,) = read(model, [text])
    assert [i for i, s in enumerate(symbols) if s == UNKNOWN] == [7, 9]  # x and 龘
    logs = [math.log(book.p(symbols[:i], symbols[i])) for i in range(1, len(symbols))]
    for i in (7, 9):
        logs[i - 1] -= math.log(ASSIGNED - len(model.alphabet.characters))
    score = model.score(text)
    assert score.units == len(logs) == 10
    assert score.log_probability == pytest.approx(sum(logs), rel=1e-6)
    assert [units for _, units in score.lines] == [4, 6]
    assert [log for log, _ in score.lines] == pytest.approx([sum(logs[:4]), sum(logs[4:])], rel=1e-6)
    assert score.perplexity == pytest.approx(math.exp(-sum(logs) / 10), rel=1e-6)


def test_relative_perplexity_is_that_of_the_text_over_that_of_its_symbols_one_by_one():
    texts = [*ENOUGH, "the old house", "the old door", "a house"]
    model = train(texts, 3, 2)
    documents = read(model, texts)
    book = Textbook(documents, len(model.alphabet), 3)
    text = "天地\nthe zzz old, 龘"  # zzz is spelled; the comma and 龘 are unknown
    score, (symbols,) = model.score(text), read(model, [text])
    assert score.units == 7
    known = [1, 2, 3, 7]  # 天 地 the old, which stands behind three letters
    gain = sum(math.log(book.p(symbols[:i], symbols[i]) / book.p((), symbols[i])) for i in known)
    assert (score.log_gain, score.known) == (pytest.approx(gain, rel=1e-6), 4)
    assert score.relative == pytest.approx(math.exp(-gain / 4), rel=1e-6)
    assert model.score("the old house").relative < 1 < model.score("house old the").relative
    assert model.score("").relative is model.score("zzz 龘").relative is None


def test_discounts_by_hand():
    # n1 = 4, n2 = 2, n3 = 1, n4 = 1: Y = 4 / 8; D1 = 1 - 2 * .5 * 2/4, D2 = 2 - 3 * .5 * 1/2, D3 = 3 - 4 * .5 * 1/1.
    assert discounts(np.array([1, 1, 1, 1, 2, 2, 3, 4, 9])).tolist() == [0, 0.5, 1.25, 1.0]
    assert discounts(np.array([1, 1, 2])).tolist() == [0, 0.5, 0.5, 0.5]  # no n3: Y = 2 / 4
    assert discounts(np.array([5, 5])).tolist() == [0, 0.5, 0.5, 0.5]  # the fallback


def test_long_and_unlikely_texts_do_not_underflow():
    model = train(ENOUGH, 3, 1)
    once, often = model.score("龘"), model.score("龘" * 5000)
    assert once.log_probability < -5
    assert math.isfinite(often.log_probability)
    assert often.log_probability < 4000 * once.log_probability / 2
    # Known symbols in the worst order, and in the best: 5000 gains of some nats.
    for pair in (ENOUGH[0][:2], ENOUGH[0][1::-1]):
        few, many = model.score(pair * 10), model.score(pair * 5000)
        assert many.known == 500 * few.known
        assert many.log_gain == pytest.approx(500 * few.log_gain, rel=0.1)
    empty = model.score(" \n\n ")
    assert (empty.units, empty.perplexity, empty.lines) == (0, None, ())


def test_equal_texts_give_equal_bytes_and_the_file_holds_all(tmp_path):
    a, b = tmp_path / "a.bin", tmp_path / "b.bin"
    model = train(ENOUGH, 4, 2)
    model.save(a)
    train(list(ENOUGH), 4, 2).save(b)
    assert a.read_bytes() == b.read_bytes()
    loaded = Model.load(a)
    assert loaded.order == 4
    for text in [*ENOUGH, "zzz", ""]:
        assert loaded.score(text) == model.score(text)
    a.write_bytes(a.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"a\.bin is no n-gram model"):
        Model.load(a)


def test_a_model_of_nothing_gives_every_symbol_the_same():
    model = train([], 3, 1)
    assert model.score("天地").perplexity == pytest.approx(ASSIGNED)


def test_layout_case_and_numbers_do_not_matter_but_words_do():
    model = train(["the old house of 1987\n"] * 3, 4, 1)
    known = model.score("the old house of 1987")
    assert model.score("The old\n\n  house\tof 20 ").log_probability == pytest.approx(known.log_probability, rel=1e-12)
    assert known.units == 5
    assert model.score("house old of the 1987").perplexity > 2 * known.perplexity
    assert model.score("eht dlo esuoh fo 1987").perplexity > 100 * known.perplexity
