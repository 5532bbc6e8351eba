"""Row lengths and runs of masked-language-model rows, by hand and against a slow reading of the same rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.tokens.masking import ACROSS, NO_TAG, bucket_lengths, expand, find_runs

TAGS = {"h1": 0, "p": 1, "code": 2}


@pytest.mark.parametrize("longest", [16, 100, 128, 512, 2048, 8192])
def test_no_bucket_is_wider_than_fifteen_percent(longest: int) -> None:
    """Whatever the lengths in a bucket are: the worst is that a share of them lies at each end."""
    lengths = bucket_lengths(longest)
    assert lengths[-1] == longest
    assert lengths[0] == 2  # prefix and eos of an empty text
    for below, longest_here in itertools.pairwise(lengths):
        shares = np.linspace(0.01, 0.99, 99)
        mean = shares * (below + 1) + (1 - shares) * longest_here
        deviation = np.sqrt(shares * (1 - shares)) * (longest_here - below - 1)
        assert (deviation / mean).max() <= 0.15


def test_runs_by_hand() -> None:
    text = "# Kopf\n\nText mit Ä in Zeile."
    spans = [("h1", 0, 6), ("p", 8, len(text)), ("code", 17, 18)]
    pieces = ["# ", "Kopf", "\n", "\nT", "ext", " mit", " ", "Ä", " in", " Zeile", "."]
    assert "".join(pieces) == text
    runs = find_runs(text, spans, np.cumsum([len(p.encode()) for p in pieces]), TAGS)
    # h1: 2 tokens; outside: the first newline; "\nT" lies across; p: 3; code: Ä; p: the rest
    assert runs.tolist() == [(0, 0), (2, NO_TAG), (3, ACROSS), (4, 1), (7, 2), (8, 1)]
    ids, rates = expand(runs, 0, 11, [3000, 1500, 0, 1000])
    assert ids.tolist() == [1, 1, 2, 3, 4, 4, 4, 5, 6, 6, 6]
    assert rates.tolist() == [3000, 3000, 1000, 0, 1500, 1500, 1500, 0, 1500, 1500, 1500]


def test_a_piece_from_the_middle_counts_its_runs_from_one() -> None:
    runs = np.array([(0, 0), (2, NO_TAG), (5, 1)], dtype=[("first", "<i4"), ("tag", "<i4")])
    ids, rates = expand(runs, 3, 4, [1, 2, 3])
    assert (ids.tolist(), rates.tolist()) == ([1, 1, 2, 2], [3, 3, 2, 2])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_run_crosses_a_border(data: st.DataObject) -> None:
    text = data.draw(st.text(st.sampled_from("ab 字é🙂\n"), min_size=1, max_size=40))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    spans = [(data.draw(st.sampled_from(sorted(TAGS))), a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False) if a < b]
    raw = text.encode()
    ends = sorted({*data.draw(st.lists(st.integers(1, len(raw)), max_size=12)), len(raw)})  # tokens may end inside a character (byte fallback)
    runs = find_runs(text, spans, np.array(ends), TAGS)
    borders = {len(text[:p].encode()) for _, a, b in spans for p in (a, b)}
    innermost = [NO_TAG] * len(raw)
    for tag, a, b in spans:  # disjoint or touching: the only one around a byte is the innermost
        innermost[len(text[:a].encode()) : len(text[:b].encode())] = [TAGS[tag]] * len(text[a:b].encode())
    starts = [0, *ends[:-1]]
    which = np.searchsorted(runs["first"], np.arange(len(ends)), side="right") - 1
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        crosses = any(start < border < end for border in borders)
        assert (runs["tag"][which[i]] == ACROSS) == crosses
        if not crosses:
            assert runs["tag"][which[i]] == innermost[start]
        if i and which[i] == which[i - 1]:
            assert start not in borders
            assert not crosses
