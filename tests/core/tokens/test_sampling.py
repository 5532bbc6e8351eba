"""The draw by source and language: figures by hand, and the same draw however the documents come."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.errors import MsptError
from mspt.core.tokens.sampling import Choice, Draw, Stratum, divide

ZH, HANT, EN, CODE = ("web", "zh-Hans"), ("web", "zh-Hant"), ("web", "en"), ("git", "zxx")


def test_divided_by_size() -> None:
    assert divide({ZH: 600, EN: 400}, 100) == {ZH: 60, EN: 40}
    assert divide({ZH: 60, EN: 40}, 100) == {ZH: 60, EN: 40}
    assert divide({ZH: 1, EN: 1, CODE: 1}, 2) == {ZH: 1, EN: 1, CODE: 0}  # what rounding leaves goes to the first


def test_shares_of_languages_and_sources() -> None:
    available = {ZH: 500, HANT: 100, EN: 300, CODE: 100}
    shares = (("zh", Fraction(1, 2)), ("git", Fraction(1, 4)))
    # zh: 100 of 200 by 5:1, git 50, the rest (en) 50
    assert divide(available, 200, shares) == {ZH: 84, HANT: 16, EN: 50, CODE: 50}
    # git has 100 where 225 are wanted: the other 125 go to zh and en by what they have left, 125 : 25 : 75; 2 that rounding leaves to the first
    assert divide(available, 900, shares) == {ZH: 375 + 69 + 2, HANT: 75 + 13, EN: 225 + 41, CODE: 100}


@pytest.mark.parametrize(
    ("shares", "message"),
    [([("fr", "0.5")], "no source or language 'fr'"), ([("zh", "0.8"), ("en", "0.3")], "come to more than 1"), ([("zh", "0")], "zh=0 is no share")],
)
def test_shares_that_cannot_be(shares: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(MsptError, match=message):
        divide({ZH: 500, EN: 500}, 100, tuple((name, Fraction(share)) for name, share in shares))


def keys(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def test_documents_are_taken_in_order_of_their_keys_the_last_in_part() -> None:
    draw = Draw(500)
    draw.add(ZH, keys(30, 10, 20), np.array([100, 200, 300]))
    draw.add(EN, keys(5, 9), np.array([150, 250]))
    choice = draw.choose()
    # half of 1000 bytes: 300 of the first (10, then 20 in part), 200 of the second (5, then 9 in part)
    assert choice.taken(ZH, keys(30, 10, 20), np.array([100, 200, 300])).tolist() == [0, 200, 100]
    assert choice.taken(EN, keys(5, 9), np.array([150, 250])).tolist() == [150, 50]
    assert choice.taken(CODE, keys(1), np.array([7])).tolist() == [0]
    assert [row["sampled_bytes"] for row in choice.report()] == [200, 300]


documents = st.lists(st.tuples(st.sampled_from([ZH, EN, CODE]), st.integers(0, 2**64 - 1), st.integers(0, 60)), max_size=80, unique_by=lambda d: d[1])


@given(documents, st.integers(1, 400), st.integers(1, 7))
def test_neither_order_nor_batches_change_the_draw(found: list[tuple[Stratum, int, int]], budget: int, step: int) -> None:
    def draw(order: list[tuple[Stratum, int, int]], batch: int) -> Choice:
        drawn = Draw(budget)
        for start in range(0, len(order), batch):
            for stratum in (ZH, EN, CODE):
                mine = [d for d in order[start : start + batch] if d[0] == stratum]
                if mine:
                    drawn.add(stratum, keys(*(d[1] for d in mine)), np.array([d[2] for d in mine], dtype=np.int64))
        return drawn.choose()

    first, second = draw(found, len(found) or 1), draw(found[::-1], step)
    assert first.report() == second.report()
    total = 0
    for stratum in (ZH, EN, CODE):
        mine = sorted(d[1:] for d in found if d[0] == stratum)
        columns = keys(*(k for k, _ in mine)), np.array([size for _, size in mine], dtype=np.int64)
        taken = first.taken(stratum, *columns)
        assert taken.tolist() == second.taken(stratum, *columns).tolist()
        total += int(taken.sum())
        assert [0 < t < s for t, s in zip(taken, columns[1], strict=True)].count(True) <= 1
        full = [t == s for t, s in zip(taken, columns[1], strict=True) if s]
        assert full == sorted(full, reverse=True)  # in order of the keys
    assert total == min(budget, sum(size for _, _, size in found))


def test_memory_is_bounded_by_the_budget() -> None:
    draw = Draw(1000)
    generator = np.random.default_rng(1)
    for _ in range(200):
        draw.add(ZH, generator.integers(0, 2**63, 500).astype(np.uint64), np.full(500, 10))
    assert draw.strata[ZH].documents == 100_000
    assert len(draw.strata[ZH].keys) <= 2 * 100 + 500
