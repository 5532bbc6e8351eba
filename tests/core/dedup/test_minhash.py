"""Signatures against datasketch itself; bands against the formula."""

from __future__ import annotations

import random

import datasketch
import numpy as np
import pyarrow as pa
import pytest

from mspt.core.dedup.folding import fold
from mspt.core.dedup.minhash import band_keys, permutations, signatures
from mspt.core.dedup.shingles import ShingleSize, shingle


@pytest.mark.parametrize("seed", [1, 42, 2**32 - 1])
@pytest.mark.parametrize("num", [112, 128, 1])
def test_signatures_are_those_of_datasketch(seed, num):
    generator = np.random.default_rng(seed)
    sizes = [0, 1, 2, 50, 3000]
    hashes = generator.integers(0, 2**32, sum(sizes), dtype=np.uint32)
    hashes[1:3] = 0, 0xFFFFFFFF
    offsets = np.cumsum([0, *sizes])
    found = signatures(hashes, offsets, permutations(num, seed))
    for i, size in enumerate(sizes):
        theirs = datasketch.MinHash(num, seed=seed, scheme="affine32", hashfunc=int)
        if size:
            theirs.update_batch(hashes[offsets[i] : offsets[i + 1]].tolist())
        assert found[i].dtype == theirs.hashvalues.dtype
        assert found[i].tolist() == theirs.hashvalues.tolist()


def test_signatures_of_real_shingles_are_those_of_datasketch():
    shingles = shingle(fold(pa.array(["春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。" * 3])), ShingleSize())
    theirs = datasketch.MinHash(112, seed=1, hashfunc=int)
    theirs.update_batch([int(h) & 0xFFFFFFFF for h in shingles.hashes])
    assert signatures(shingles.low(), shingles.offsets, permutations(112, 1))[0].tolist() == theirs.hashvalues.tolist()


def test_a_band_is_shared_exactly_where_its_rows_are_equal():
    generator = np.random.default_rng(0)
    signed = generator.integers(0, 2, (40, 12), dtype=np.uint32)  # few values: many equal bands
    keys = band_keys(signed, bands=4, rows=3)
    for band in range(4):
        rows = [tuple(row) for row in signed[:, 3 * band : 3 * band + 3].tolist()]
        for i in range(40):
            assert [keys[i, band] == key for key in keys[:, band]] == [rows[i] == row for row in rows]
    with pytest.raises(ValueError, match="4 bands x 4 rows"):
        band_keys(signed, 4, 4)


def test_share_of_pairs_that_meet_follows_the_formula():
    chooser = random.Random(5)
    hashes: list[int] = []
    for _ in range(400):
        universe = chooser.sample(range(2**32), 110)
        hashes += universe[:100] + universe[10:]  # 90 in common, 110 in all
    signed = signatures(np.array(hashes, np.uint32), np.arange(0, len(hashes) + 1, 100), permutations(112, 1))
    keys = band_keys(signed, 14, 8)
    met = (keys[0::2] == keys[1::2]).any(axis=1).mean()
    assert met == pytest.approx(1 - (1 - (90 / 110) ** 8) ** 14, abs=0.031)  # .957, three standard errors
