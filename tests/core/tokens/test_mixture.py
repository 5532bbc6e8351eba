"""The mixture formula, against hand calculation and an independent loop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.errors import MsptError
from mspt.core.tokens.mixture import Chunk, Mixture, MixtureSettings, Phase, SourceReport, Tally


@dataclass(frozen=True)
class Held:
    """Documents in memory, a chunk for each source and `size`."""

    names: tuple[str, ...]
    codes: list[int]
    num_tokens: list[int]
    weights: list[float]
    size: int = 1000

    def chunks(self) -> Iterator[Chunk]:
        for code in range(len(self.names)):
            rows = [d for d in range(len(self.codes)) if self.codes[d] == code]
            for first in range(0, len(rows), self.size):
                part = rows[first : first + self.size]
                keys = np.array(part, dtype=np.uint64) * np.uint64(7919) % np.uint64(101)
                yield Chunk(code, np.array([self.num_tokens[d] for d in part]), np.array([self.weights[d] for d in part], dtype=np.float64), keys)


@dataclass(frozen=True)
class Result:
    copies: np.ndarray  # [phases, documents]
    sources: list[SourceReport]
    tally: Tally


def corpus(documents: list[tuple[int, int, float]], names: tuple[str, ...] = ("a", "b", "c"), size: int = 1000) -> Held:
    """Documents (source, tokens, weight), which must stand in order of their sources."""
    codes, tokens, weights = map(list, zip(*sorted(documents, key=lambda d: d[0]), strict=True))
    return Held(names, codes, tokens, weights, size)


def draw(found: Held, asked: MixtureSettings) -> Result:
    mixture = Mixture(found, asked)
    tally = Tally(mixture)
    parts = []
    for chunk, copies in mixture.draw():
        tally.add(chunk, copies)
        parts.append(copies)
    return Result(np.concatenate(parts, axis=1), tally.report(), tally)


def one(target: int | None = None, shares: tuple[tuple[str, float], ...] = (), **settings_: Any) -> MixtureSettings:
    return MixtureSettings(phases=(Phase(target, shares),), **settings_)


def realised(result: Result) -> dict[str, int]:
    return {s.source: s.realised for s in result.sources}


def test_every_document_once_without_a_target() -> None:
    mixture = draw(corpus([(0, 10, 0.1), (1, 20, 9.0), (2, 30, 1.0)]), one())
    assert mixture.copies.tolist() == [[1, 1, 1]]
    figures = [(s.available, s.wanted, s.realised, s.epochs, s.left_out) for s in mixture.sources]
    assert figures == [(10, 10, 10, 1.0, 0), (20, 20, 20, 1.0, 0), (30, 30, 30, 1.0, 0)]


def test_weights_off_wins_over_a_target() -> None:
    mixture = draw(corpus([(0, 10, 1.0), (1, 20, 1.0), (2, 5, 1.0)]), one(target=1000, use_weights=False))
    assert mixture.copies.tolist() == [[1, 1, 1]]


def test_shares_and_target_by_hand() -> None:
    # T 600: a (share .5) 300 of 100 tokens = 3 epochs; b and c share the rest .5 by size 100:300 -> 75 and 225
    documents = [(0, 10, 1.0)] * 10 + [(1, 10, 1.0)] * 10 + [(2, 10, 1.0)] * 30
    mixture = draw(corpus(documents), one(target=600, shares=(("a", 0.5),)))
    assert set(mixture.copies[0, :10]) == {3}
    assert set(mixture.copies[0, 10:]) == {0, 1}
    assert {s.source: s.wanted for s in mixture.sources} == {"a": 300, "b": 75, "c": 225}
    assert realised(mixture)["a"] == 300
    assert abs(realised(mixture)["b"] - 75) <= 10
    assert abs(realised(mixture)["c"] - 225) <= 10
    assert next(s for s in mixture.sources if s.source == "b").left_out == sum(mixture.copies[0, 10:20] == 0)


def test_what_a_cap_cuts_goes_to_the_others_in_proportion() -> None:
    # T 1000, a .4: 400 of 50 tokens would be 8 epochs; capped at 4 = 200. The 200 cut go to b and c as .3 : .3 -> 400 each
    documents = [(0, 10, 1.0)] * 5 + [(1, 10, 1.0)] * 40 + [(2, 10, 1.0)] * 40
    mixture = draw(corpus(documents), one(target=1000, shares=(("a", 0.4), ("b", 0.3), ("c", 0.3))))
    assert realised(mixture) == {"a": 200, "b": 400, "c": 400}
    assert mixture.sources[0].epochs == 4.0


def test_all_capped_gives_what_there_is() -> None:
    mixture = draw(corpus([(0, 10, 1.0), (1, 20, 1.0), (2, 30, 1.0)]), one(target=10_000, max_epochs=2.0))
    assert mixture.copies.tolist() == [[2, 2, 2]]


def test_a_source_may_have_a_cap_of_its_own() -> None:
    documents = [(0, 10, 1.0)] * 5 + [(1, 10, 1.0)] * 40 + [(2, 10, 1.0)] * 40
    wanted = one(target=1000, shares=(("a", 0.4), ("b", 0.3), ("c", 0.3)), source_epochs=(("a", 1.0), ("c", 0.5)))
    # a 50, c 200 at most; b takes all that is left, 750, and stays below its own cap of 4 epochs (1,600)
    assert realised(draw(corpus(documents), wanted)) == {"a": 50, "b": 750, "c": 200}


def test_weights_prefer_documents_inside_their_source() -> None:
    # T = 200 of 200 tokens; weights 3 and 1, lengths equal: r = 200 w / (10 * (10 * 3 + 10 * 1)) = 1.5 and .5
    documents = [(0, 10, 3.0)] * 10 + [(0, 10, 1.0)] * 10
    mixture = draw(corpus(documents, ("a",)), one(target=200))
    assert sum(mixture.copies[0, :10]) == pytest.approx(15, abs=1)
    assert set(mixture.copies[0, :10]) == {1, 2}
    assert sum(mixture.copies[0, 10:]) == pytest.approx(5, abs=1)
    assert set(mixture.copies[0, 10:]) == {0, 1}


def reference(found: Held, target: float, shares: list[float], cap: float) -> list[float]:
    """DESIGN.md section 5 in plain loops and exact fractions."""
    documents = range(len(found.codes))
    members = {s: [d for d in documents if found.codes[d] == s] for s in range(len(found.names))}
    weight = [Fraction(float(w)) for w in found.weights]
    goal = [Fraction(target) * Fraction(share) for share in shares]
    closed: set[int] = set()
    while True:
        result = [Fraction(0)] * len(found.codes)
        newly, surplus = set(), Fraction(0)
        for s, group in members.items():
            total = sum(weight[e] * int(found.num_tokens[e]) for e in group)
            for d in group:
                result[d] = min(Fraction(cap), goal[s] * weight[d] / total)
            missing = goal[s] - sum(result[d] * int(found.num_tokens[d]) for d in group)
            if missing > Fraction(1, 2) and s not in closed:
                newly.add(s)
                surplus += missing
        closed |= newly
        takers = {s: Fraction(shares[s]) for s in members if s not in closed}
        if not newly or not sum(takers.values()):
            return [float(r) for r in result]
        for s, share in takers.items():
            goal[s] += surplus * share / sum(takers.values())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 500), st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0])), min_size=6, max_size=60),
    st.integers(10, 40_000),
    st.sampled_from([1.0, 2.0, 4.0]),
)
def test_copies_are_floor_or_ceil_of_the_formula(documents: list[tuple[int, int, float]], target: int, cap: float) -> None:
    documents = [*documents, (0, 7, 1.0), (1, 7, 1.0), (2, 7, 1.0)]
    shares = [0.5, 0.25, 0.25]
    found = corpus(documents)
    wanted = one(target=target, shares=tuple(zip(found.names, shares, strict=True)), max_epochs=cap)
    copies = draw(found, wanted).copies[0]
    expected = reference(found, target, shares, cap)
    for copy, r in zip(copies, expected, strict=True):
        assert math.floor(r - 1e-6) <= copy <= math.ceil(r + 1e-6)
    assert abs(copies.sum() - sum(expected)) <= 1 + 1e-6
    assert np.array_equal(copies, draw(found, wanted).copies[0])


@pytest.mark.parametrize(
    ("shares", "message"),
    [((("x", 0.5),), "no source 'x'"), ((("a", 0.8), ("b", 0.4)), "sum to 1.2"), ((("a", 0.4), ("b", 0.4), ("c", 0.1)), "sum to 0.9")],
)
def test_shares_that_make_no_sense(shares: tuple[tuple[str, float], ...], message: str) -> None:
    with pytest.raises(MsptError, match=message):
        draw(corpus([(0, 10, 1.0), (1, 20, 1.0), (2, 30, 1.0)]), one(shares=shares))


@pytest.mark.parametrize("cap", [0.0, -1.0, 1e10, float("nan")])
def test_epochs_that_no_memory_could_hold_are_refused(cap: float) -> None:
    with pytest.raises(MsptError, match="epochs: b = ") as caught:
        draw(corpus([(0, 10, 1.0), (1, 20, 1.0), (2, 30, 1.0)]), one(target=10**14, source_epochs=(("b", cap),)))
    assert "<= 1,000" in caught.value.hint


def test_weights_must_be_positive() -> None:
    with pytest.raises(MsptError, match="1 documents have a weight that is not a positive number"):
        draw(corpus([(0, 10, 1.0), (1, 20, 0.0), (2, 3, 1.0)]), one(target=100))


# --- phases ------------------------------------------------------------------------------------------------------------


def phased(*phases: tuple[int | None, tuple[tuple[str, float], ...]], **settings_: Any) -> MixtureSettings:
    return MixtureSettings(phases=tuple(Phase(target, shares) for target, shares in phases), **settings_)


def test_phases_take_what_the_ones_before_left() -> None:
    """Three phases of a third each, without weights: every document once in all, whatever the phase."""
    result = draw(corpus([(0, 10, 1.0)] * 300, ("a",)), phased((1000, ()), (1000, ()), (1000, ())))
    assert result.copies.sum(axis=0).tolist() == [1] * 300
    assert np.abs(result.copies.sum(axis=1) - 100).max() <= 2


def test_unequal_phases_draw_what_each_asks_for() -> None:
    """.4, .35 and .25 of a source, then half of it again."""
    result = draw(corpus([(0, 10, 1.0)] * 1000, ("a",)), phased((4000, ()), (3500, ()), (2500, ()), (5000, ())))
    assert np.abs(result.copies.sum(axis=1) - [400, 350, 250, 500]).max() <= 4
    assert set(result.copies[:3].sum(axis=0)) == {1}
    assert set(result.copies.sum(axis=0)) == {1, 2}


def test_a_cap_counts_over_all_phases() -> None:
    # a: 100 tokens, at most 2 epochs. Phase 1 takes 150 of them; phase 2 may take 50 more, the rest of its 150 goes to b
    documents = [(0, 10, 1.0)] * 10 + [(1, 10, 1.0)] * 100
    result = draw(corpus(documents, ("a", "b")), phased((150, (("a", 1.0),)), (300, (("a", 0.5), ("b", 0.5))), max_epochs=2.0))
    by_phase = [{s.source: s.realised for s in result.tally.report(i)} for i in range(2)]
    assert by_phase[0] == {"a": pytest.approx(150, abs=20), "b": 0}
    assert by_phase[0]["a"] + by_phase[1]["a"] == 200
    assert by_phase[1]["b"] == pytest.approx(250, abs=20)
    assert set(result.copies[:, :10].sum(axis=0)) == {2}


def test_the_last_phase_may_take_the_rest() -> None:
    result = draw(corpus([(0, 10, 1.0)] * 100, ("a",)), phased((300, ()), (None, ())))
    assert result.copies.sum(axis=0).tolist() == [1] * 100


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 500), st.sampled_from([0.25, 1.0, 3.0])), min_size=6, max_size=60),
    st.lists(st.integers(10, 9_000), min_size=2, max_size=4),
)
def test_chunks_do_not_matter_and_all_phases_together_stay_within_the_formula(documents: list[tuple[int, int, float]], targets: list[int]) -> None:
    documents = [*documents, (0, 7, 1.0), (1, 7, 1.0), (2, 7, 1.0)]
    asked = phased(*((target, ()) for target in targets), max_epochs=3.0)
    found = corpus(documents)
    mixture = Mixture(found, asked)
    drawn = draw(found, asked)
    first = 0
    for chunk, copies in mixture.draw():
        sums = mixture.repetitions(chunk.code, chunk.weights, len(targets))
        assert (sums <= 3.0 + 1e-9).all()
        total = copies.sum(axis=0)
        assert (np.floor(sums[-1] - 1e-6) <= total).all()
        assert (total <= np.ceil(sums[-1] + 1e-6)).all()
        assert (copies >= 0).all()
        first += len(total)
    assert first == drawn.copies.shape[1]
    # the plan (how often anything is expected) is the same however the corpus is cut
    assert np.allclose(Mixture(corpus(documents, size=3), asked).scale, mixture.scale, rtol=1e-12)
