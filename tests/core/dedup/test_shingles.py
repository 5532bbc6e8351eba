"""Shingles by script, against regular expressions and sets of tuples."""

from __future__ import annotations

import random
import re

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.dedup.folding import fold
from mspt.core.dedup.shingles import ShingleSize, jaccard, shingle, shingle_sets

FIVE = ShingleSize()
HAN = "\u4e00-\u9fff"


def units_by_hand(text: str) -> list[str]:
    return re.findall(f"[{HAN}]|[^\\W{HAN}]+", text.casefold())


def shingles_by_hand(text: str, characters: int = 5, words: int = 5) -> list[tuple[str, ...]]:
    units = units_by_hand(text)
    sizes = [characters if re.match(f"[{HAN}]", unit) else words for unit in units]
    return [tuple(units[i : i + n]) for i, n in enumerate(sizes) if i + n <= len(units)]


def count(text: str, size: ShingleSize = FIVE) -> int:
    return len(shingle(fold(pa.array([text])), size).hashes)


@pytest.mark.parametrize(
    ("text", "shingles"),
    [
        ("一二三四五六", 2),
        ("一，二。三 四\n五", 1),
        ("one two three four five six", 2),
        ("one-two, three/four_4 five", 1),  # one two three four_4 five
        ("我用Python写代码。", 2),
        ("一二三四", 0),
        ("one two three four", 0),
        ("a", 0),
        ("", 0),
        ("，。！？、", 0),
        ("한국어 문장 은 낱말 로", 1),
        ("ภาษาไทย", 3),
    ],
)
def test_numbers_counted_by_hand(text, shingles):
    assert count(text) == shingles


def test_each_run_of_mixed_text_is_cut_by_its_own_size():
    # units: 我 爱 big red apple trees 树; characters take 2, words 3: 我爱 爱big big-red-apple red-apple-trees apple-trees-树; 树 and trees reach no further
    assert count("我爱big red apple trees树", ShingleSize(characters=2, words=3)) == 5


@pytest.mark.parametrize("size", [ShingleSize(), ShingleSize(3, 2), ShingleSize(1, 7)])
def test_equal_shingles_have_equal_hashes_and_different_ones_do_not(size):
    chooser = random.Random(1)
    vocabulary = [*"一二三中文的", *["a", "b", "c", "word", "Word", "42", "x_y"]]
    texts = [" ".join(chooser.choices(vocabulary, k=chooser.randrange(40))) for _ in range(200)]
    shingles = shingle(fold(pa.array(texts)), size)
    by_tuple: dict[tuple[str, ...], int] = {}
    for i, text in enumerate(texts):
        own = shingles.hashes[shingles.offsets[i] : shingles.offsets[i + 1]].tolist()
        expected = shingles_by_hand(text, size.characters, size.words)
        assert len(own) == len(expected)
        for key, value in zip(expected, own, strict=True):
            assert by_tuple.setdefault(key, value) == value
    assert len(set(by_tuple.values())) == len(by_tuple)
    assert len({value & 0xFFFFFFFF for value in by_tuple.values()}) > 0.999 * len(by_tuple)


def test_hashes_fill_the_32_bits_evenly():
    text = "".join(map(chr, range(0x4E00, 0x9000)))  # consecutive code points: the most regular text there is
    low = shingle(fold(pa.array([text])), FIVE).low()
    for shift in (0, 8, 16, 24):
        counts = np.bincount(low >> np.uint32(shift) & np.uint32(255), minlength=256)
        expected = len(low) / 256
        assert ((counts - expected) ** 2 / expected).sum() < 350  # chi-square, 255 degrees of freedom: p < 1e-4


def test_jaccard_is_that_of_the_sets():
    first = "the quick brown fox jumps over the lazy dog and runs away"
    second = "the quick brown fox jumps over the lazy cat and runs away"
    sets = shingle_sets(pa.array([first, second, first.upper() + "!!", "", "short"]), FIVE)
    a, b = set(shingles_by_hand(first)), set(shingles_by_hand(second))
    assert jaccard(sets[0], sets[1]) == len(a & b) / len(a | b) == 4 / 12
    assert jaccard(sets[0], sets[2]) == 1.0
    assert jaccard(sets[3], sets[4]) == 0.0
    assert sets.select(np.array([2, 0]))[0].tolist() == sets[0].tolist()


def test_sets_are_sorted_and_distinct():
    sets = shingle_sets(pa.array(["ha ha ha ha ha ha ha ha", "一二三四五一二三四五一二三四五"]), FIVE)
    assert sets.sizes.tolist() == [1, 5]
    assert (np.diff(sets[1].astype(np.int64)) > 0).all()


def test_one_word_of_sixty_leaves_the_similarity_that_the_docstring_names():
    road = [f"word{i}" for i in range(60)]
    other = [*road[:30], "1506", *road[31:]]
    sets = shingle_sets(pa.array([" ".join(road), " ".join(other)]), FIVE)
    assert jaccard(sets[0], sets[1]) == pytest.approx(51 / 61)  # 56 shingles each, 5 changed; .836
