"""The held-out draw: stable, by cluster, and a row for every source that can spare one."""

from __future__ import annotations

import numpy as np
import xxhash

from mspt.core.tokens.split import choose_validation, order_key, point

IDS = [f"{i:032x}" for i in range(20_000)]


def test_points_are_the_hash_and_even() -> None:
    expected = (int.from_bytes(xxhash.xxh3_64_digest(b"mspt held-out\0abc"), "big") >> 11) / 2**53
    assert point("abc") == expected
    shares = [sum(point(i) < s for i in IDS) / len(IDS) for s in (0.01, 0.05, 0.5)]
    # 4 standard errors of a binomial share with n = 20,000
    assert np.allclose(shares, (0.01, 0.05, 0.5), atol=[0.0028, 0.0062, 0.0142])


def test_a_larger_corpus_moves_no_document() -> None:
    def held(number: int) -> set[str]:
        split = choose_validation(IDS[:number], ["web"] * number, np.full(number, 100), 0.01, 1000)
        return {IDS[i] for i in np.flatnonzero(split.validation)}

    small, large = held(5_000), held(20_000)
    assert small == large & set(IDS[:5_000])
    assert 30 < len(small) < 70


def test_clusters_never_straddle_sources_or_sides() -> None:
    keys = [f"cluster-{i // 4}" for i in range(4_000)]
    sources = ["a" if i % 2 else "b" for i in range(4_000)]
    split = choose_validation(keys, sources, np.full(4_000, 50), 0.02, 2_000)
    sides: dict[str, set[bool]] = {}
    for key, held in zip(keys, split.validation, strict=True):
        sides.setdefault(key, set()).add(bool(held))
    assert all(len(side) == 1 for side in sides.values())
    assert split.validation.any()


def test_every_source_gets_a_row_if_half_of_it_stays() -> None:
    keys = IDS[:130]
    sources = ["many"] * 100 + ["few"] * 28 + ["one"] * 2
    tokens = np.array([100] * 100 + [40] * 28 + [300] * 2)
    split = choose_validation(keys, sources, tokens, 0.001, 256)
    held = {name: int(tokens[[s == name and bool(v) for s, v in zip(sources, split.validation, strict=True)]].sum()) for name in set(sources)}
    assert held["many"] == 300  # three documents of 100 tokens fill a row of 256
    assert held["few"] == 280
    assert held["one"] == 300
    assert split.thin == ()
    alone = choose_validation(IDS[:1], ["single"], np.array([10_000]), 1e-9, 256)
    assert not alone.validation.any()
    assert alone.thin == ("single",)


def test_a_huge_document_is_passed_over_for_small_ones() -> None:
    tokens = np.full(50, 40)
    first = int(np.argmin([point(i) for i in IDS[:50]]))
    tokens[first] = 1_500  # first in the draw, but 43 % of the source
    split = choose_validation(IDS[:50], ["web"] * 50, tokens, 1e-9, 128)
    assert not split.validation[first]
    assert int(tokens[split.validation].sum()) == 160


def test_the_row_is_filled_in_order_of_points() -> None:
    split = choose_validation(IDS[:50], ["web"] * 50, np.full(50, 10), 1e-9, 30)
    assert set(np.flatnonzero(split.validation)) == set(np.argsort([point(i) for i in IDS[:50]])[:3])


def test_share_zero_holds_nothing_out() -> None:
    split = choose_validation(IDS[:50], ["web"] * 50, np.full(50, 10), 0.0, 30)
    assert not split.validation.any()


def test_order_keys_follow_the_seed() -> None:
    assert order_key(3, "x") == xxhash.xxh3_64_intdigest(b"x", seed=3)
    assert order_key(3, "x") != order_key(4, "x")
