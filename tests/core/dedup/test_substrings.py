"""Repeated substrings against brute force over all windows, in one block and in many."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.dedup.anchors import Anchors, find_anchors, reach
from mspt.core.dedup.repetitions import cut_repetitions
from mspt.core.dedup.runs import find_repeated
from mspt.core.dedup.substrings import Candidates, Walk, Windows, find_windows, gather
from mspt.core.dedup.suffixes import NONE, first_copies

FULL = 1 << 64


def codes_of(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32), np.cumsum([0, *map(len, texts)])


def candidates(texts: list[str], anchors: Anchors, chosen: np.ndarray, length: int) -> Candidates:
    """The text around the chosen anchors."""
    parts, said = [], []
    for rank, text in enumerate(texts):
        own = chosen[(chosen >= anchors.offsets[rank]) & (chosen < anchors.offsets[rank + 1])]
        if not len(own):
            continue
        for start, end in reach(anchors.places[np.sort(own)], len(text), length).tolist():
            for first, last, period, repeats in cut_repetitions(codes_of([text[start:end]])[0], length).tolist():
                parts.append(codes_of([text[start + first : start + last]])[0])
                said.append((rank, start + first, period, repeats))
    return gather(*np.array(said, np.int64).reshape(-1, 4).T, parts, length)


def remove(texts: list[str], length: int, blocks: int = 1) -> tuple[list[str], set[int]]:
    """What is left of each text, and which are rejected, by the modules under test."""
    codes, offsets = codes_of(texts)
    anchors = find_anchors(codes, offsets, length)
    order = np.argsort(anchors.hashes, kind="stable")
    repeated = order[np.concatenate([found.places for found in find_repeated([anchors.hashes[order]], ranges=blocks)])]
    edges = [FULL * i // blocks for i in range(blocks + 1)]
    found = []
    for low, high in itertools.pairwise(edges):
        inside = repeated[(anchors.hashes[repeated] >= low) & (anchors.hashes[repeated] <= high - 1)]
        if len(inside):
            found.append(find_windows(candidates(texts, anchors, inside, length), length, low, high))
    walk, cuts, windows = Walk(length, np.diff(offsets)), {}, Windows.join(found)
    for own in (windows.ranks < 3, windows.ranks >= 3):  # two calls: what one leaves behind, the next finds
        cuts |= walk.decide(Windows(*(getattr(windows, name)[own] for name in Windows.__dataclass_fields__)))
    left = []
    for rank, text in enumerate(texts):
        for cut in reversed(cuts.get(rank, [])):
            text = text[: cut.start] + text[cut.end :]
        left.append(text)
    return left, set(walk.rejected)


def remove_by_hand(texts: list[str], length: int) -> tuple[list[str], set[int]]:
    """As the module's docstring says it, window by window."""
    left, rejected = [], set()
    seen: dict[str, tuple[int, int]] = {}
    for rank, text in enumerate(texts):
        gone, of_others = [False] * len(text), [False] * len(text)
        new: dict[str, int] = {}
        for i in range(len(text) - length + 1):
            window = text[i : i + length]
            if window in seen or new.setdefault(window, i) + length <= i:
                gone[i : i + length] = [True] * length
                of_others[i : i + length] = [True] * length if window in seen else of_others[i : i + length]
        left_over = len(text) - sum(gone)
        if any(of_others) and left_over < 0.1 * (left_over + sum(of_others)):
            rejected.add(rank)
            left.append(text)
            continue
        seen |= {window: (rank, i) for window, i in new.items()}
        left.append("".join(character for character, removed in zip(text, gone, strict=True) if not removed))
    return left, rejected


texts = st.lists(st.text(alphabet="ab文😀", max_size=40), max_size=8)
copies = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 30), st.integers(5, 30)), max_size=6)


@settings(deadline=None, max_examples=150)
@given(texts, copies, st.integers(4, 9), st.integers(1, 5))
def test_equals_brute_force_in_any_number_of_blocks(drawn, copied, length, blocks):
    made = list(drawn)
    for source, target, start, size in copied:  # stretches of one text in another: repeats of all lengths
        if source < len(made) and target < len(made):
            made[target] += made[source][start : start + size]
    assert remove(made, length, blocks) == remove_by_hand(made, length)


repetitions = st.tuples(st.integers(0, 7), st.text(alphabet="ab文", min_size=1, max_size=14), st.integers(1, 60))


@settings(deadline=None, max_examples=200)
@given(texts, st.lists(repetitions, min_size=1, max_size=8), copies, st.integers(4, 9), st.integers(1, 5))
def test_long_repetitions_equal_brute_force(drawn, repeated, copied, length, blocks):
    """Of all periods below and above the length, beside each other, in several texts, cut off anywhere."""
    made = [*drawn, "", ""]
    for target, period, times in repeated:
        made[target % len(made)] += (period * times)[: 20 * length + times]
    for source, target, start, size in copied:
        made[target % len(made)] += made[source % len(made)][start : start + 5 * size]
    assert remove(made, length, blocks) == remove_by_hand(made, length)


@pytest.mark.parametrize("blocks", [1, 9])
def test_repetitions_whose_first_copies_stand_in_a_rejected_text(blocks):
    """Periods of one letter up to more than the length; the second text goes whole, and what the third has of it is an original."""
    for period in ("a", "ab", "abcdefg", "abcdefghijklm", "abcdefghijklmno"):
        first = "".join(map(chr, range(0x4E00, 0x4E00 + 900)))
        made = [first, first + period * (60 // len(period)), "x" + period * (400 // len(period)) + "y", "z" + period[::-1] * 20 + period * 30]
        assert remove(made, 10, blocks) == remove_by_hand(made, 10)
        assert 1 in remove(made, 10, blocks)[1]


def test_pieces_by_hand():
    """Windows of 4 in "xy" + "abc" * 20 + "z": of the repetition, from 2 to 62, the first 3 + 3 characters stay; windows from 59 on reach over its end."""
    codes = codes_of(["xy" + "abc" * 20 + "z"])[0]
    assert cut_repetitions(codes, 4).tolist() == [[0, 8, 3, 18], [59, 63, 0, 0]]
    assert cut_repetitions(codes[:12], 4).tolist() == [[0, 12, 0, 0]]
    assert cut_repetitions(np.arange(1000, dtype=np.uint32), 4).tolist() == [[0, 1000, 0, 0]]


@pytest.mark.parametrize("period", [1, 2, 50, 99, 100, 101, 150])
def test_a_long_repetition_is_held_and_said_in_few(period):
    """Ten million characters: some thousand are looked at, and a few runs say what was found."""
    chooser = random.Random(period)
    unit = np.array([chooser.randrange(97, 123) for _ in range(period)], np.uint32)
    codes = np.resize(unit, 10_000_000)
    pieces = cut_repetitions(codes, 100)
    assert (pieces[:, 1] - pieces[:, 0]).sum() < 2_000
    held = [codes[start:end] for start, end in pieces[:, :2].tolist()]
    found = find_windows(gather(np.zeros(len(pieces), np.int64), pieces[:, 0], pieces[:, 2], pieces[:, 3], held, 100), 100, 0, FULL)
    assert len(found.ranks) < 10
    cuts = Walk(100, np.array([10_000_000])).decide(found)
    (cut,) = cuts[0]
    assert (cut.end, cut.survivor) == (10_000_000, 0)
    assert cut.start == -(-100 // period) * period  # the first 100 stay, and what only overlaps with them


@pytest.mark.parametrize("blocks", [1, 7])
def test_long_texts_with_planted_repeats(blocks):
    chooser = random.Random(3)
    made = ["".join(chooser.choices("天地玄黄宇宙洪荒日月盈昃辰宿列张abcdefgh ", k=800)) for _ in range(12)]
    for _ in range(20):
        start = chooser.randrange(700)
        made[chooser.randrange(12)] += made[chooser.randrange(12)][start : start + chooser.randrange(30, 200)]
    made += [made[3], made[4][:100] + made[5][:100] + made[6][:10], "a" * 500]
    left, rejected = remove(made, 50, blocks)
    assert (left, rejected) == remove_by_hand(made, 50)
    assert 12 in rejected
    assert left[-1] == "a" * 50  # the first fifty stay; windows that overlap with them are no copies


def test_the_first_in_order_stays_and_nothing_is_lost():
    quote = "床前明月光疑是地上霜举头望明月低头思故乡"
    left, rejected = remove(["甲" * 30 + quote, quote + "乙" * 9, "丙" * 7 + quote[3:] + "丁" * 30], 10)
    assert rejected == set()
    assert left == ["甲" * 10 + quote, "乙" * 9, "丙" * 7 + "丁" * 10]


def test_a_thousand_copies_of_one_line_leave_one():
    line = "一千遍同一行字，没有别的文章有它。\n"
    assert remove([line * 1000, "另外一篇。" * 3], 10) == ([line, "另外一篇。" * 3], set())  # five characters apart: too near to be copies
    assert remove([line, line * 1000], 10)[1] == {1}  # the first has it already


def test_a_rejected_document_is_no_original():
    """The second text is nearly all copied, but for `xyz1234567`, which then stays in the third."""
    first, own = "".join(map(chr, range(0x4E00, 0x4E00 + 200))), "xyz1234567"
    left, rejected = remove([first, first + own, "0" * 5 + own + "9" * 5], 10)
    assert rejected == {1}
    assert left[2] == "0" * 5 + own + "9" * 5


def test_boilerplate_is_held_once():
    """One anchor of a notice that 200 documents have: 150 characters around it, not 200 times that."""
    chooser = random.Random(9)

    def words(size):
        return "".join(chooser.choices("abcdefghijklmnopqrstuvwxyz ", k=size))

    notice = words(600)
    made = [words(150) + notice + words(150) for _ in range(200)]
    anchors = find_anchors(*codes_of(made), 100)
    inside = [i for i in range(len(anchors.places)) if anchors.places[i] == anchors.places[(anchors.places > 400) & (anchors.places < 500)][0]]
    found = candidates(made, anchors, np.array(inside), 100)
    assert len(found.codes) == 150
    assert found.copy_ranks.tolist() == list(range(1, 200))
    left, rejected = remove(made, 100, blocks=40)
    assert (left, rejected) == remove_by_hand(made, 100)


def test_first_copies_of_a_small_text_by_hand():
    # 0 a b a b | 5 b a b a; windows of two that reach over the border between the stretches do not count
    codes = np.frombuffer("ababbaba".encode("utf-32-le"), np.uint32)
    found = first_copies(codes, np.array([4, 8]), 2)
    assert found.tolist() == [0, 1, 0, NONE, 1, 0, 1, NONE]


def test_more_symbols_than_16_bits_hold():
    codes = np.arange(1, 70_001, dtype=np.uint32)
    found = first_copies(np.concatenate([codes, codes[60_000:60_010]]), np.array([70_000, 70_010]), 10)
    assert np.flatnonzero(found != NONE).tolist() == [60_000, 70_000]
    assert found[70_000] == 60_000


def test_anchors_are_few_and_equal_in_equal_windows():
    chooser = random.Random(5)
    text = "".join(chooser.choices("abcdefghijklmnop", k=20_000))
    anchors = find_anchors(*codes_of([text, "??" + text[5000:5200]]), 100)
    here = dict(zip(anchors.places[: anchors.offsets[1]].tolist(), anchors.hashes.tolist(), strict=False))
    there = range(anchors.offsets[1], anchors.offsets[2])
    assert sum(here.get(anchors.places[i] - 2 + 5000) == anchors.hashes[i] for i in there) >= len(there) - 1  # only "??" may have one of its own
    assert anchors.offsets[1] < 20_000 * 3 / 51  # 2 / (width + 1) of the positions on average


@pytest.mark.parametrize("length", [6, 10**12, 2**63 - 1])
def test_windows_longer_than_any_text_cost_nothing(length):
    """Room for the k-grams of a window was made whether a text had one or not."""
    anchors = find_anchors(*codes_of(["abcde", "", "xy"]), length)
    assert (len(anchors.hashes), len(anchors.places), anchors.offsets.tolist()) == (0, 0, [0, 0, 0, 0])
    assert len(find_anchors(*codes_of(["abcde", "", "xy"]), 5).places) == 1


def test_a_text_of_one_letter_has_few_anchors():
    """Windows of 100 hold 51 places of a 50-gram: one anchor is enough for so many."""
    anchors = find_anchors(*codes_of(["x" * 10_000, "ab" * 5_000]), 100)
    assert np.diff(anchors.offsets).max() <= 10_000 // 50 + 1
    assert remove(["x" * 3_000, "y" + "x" * 500 + "z" * 60], 100) == ([("x" * 100), "y" + "z" * 60], set())
