"""The held-out draw: stable, by cluster, and a row for every source that can spare one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xxhash

from mspt.core.tokens.split import Split, choose_validation, hashed_key, order_key, point
from support.indexed_documents import everything, index

IDS = [f"{i:032x}" for i in range(20_000)]


def choose(folder: Path, keys: list[str], sources: list[str], tokens: list[int], share: float, row: int) -> tuple[set[int], Split]:
    """(which documents are held out, the split). Every document has an id of its own; `keys` are clusters."""
    ids = [f"document-{i:08d}" for i in range(len(keys))]
    found = index(folder, ids, sources, tokens, cluster=keys)
    split = choose_validation(found, share, row)
    records = everything(found)
    number = {f"document-{i:08d}".encode(): i for i in range(len(keys))}
    return {number[i] for i in records["id"][split.holds_out(records["key"])].tolist()}, split


def test_points_are_the_hash_and_even() -> None:
    expected = (int.from_bytes(xxhash.xxh3_64_digest(b"mspt held-out\0abc"), "big") >> 11) / 2**53
    assert point("abc") == expected
    shares = [sum(point(i) < s for i in IDS) / len(IDS) for s in (0.01, 0.05, 0.5)]
    # 4 standard errors of a binomial share with n = 20,000
    assert np.allclose(shares, (0.01, 0.05, 0.5), atol=[0.0028, 0.0062, 0.0142])


def test_hashed_keys_fall_where_their_points_do() -> None:
    split = Split(0.3, np.array([hashed_key("x")], np.uint64), ())
    keys = ["x", *IDS[:200]]
    assert split.holds_out(np.array([hashed_key(k) for k in keys], np.uint64)).tolist() == [True, *(point(k) < 0.3 for k in keys[1:])]


def test_a_larger_corpus_moves_no_document(tmp_path: Path) -> None:
    def held(number: int) -> set[int]:
        return choose(tmp_path, IDS[:number], ["web"] * number, [100] * number, 0.01, 1000)[0]

    small, large = held(5_000), held(20_000)
    assert small == {i for i in large if i < 5_000}
    assert 30 < len(small) < 70


def test_clusters_never_straddle_sources_or_sides(tmp_path: Path) -> None:
    keys = [f"cluster-{i // 4}" for i in range(4_000)]
    sources = ["a" if i % 2 else "b" for i in range(4_000)]
    held, _ = choose(tmp_path, keys, sources, [50] * 4_000, 0.02, 2_000)
    sides: dict[str, set[bool]] = {}
    for i, key in enumerate(keys):
        sides.setdefault(key, set()).add(i in held)
    assert all(len(side) == 1 for side in sides.values())
    assert held


def test_every_source_gets_a_row_if_half_of_it_stays(tmp_path: Path) -> None:
    sources = ["many"] * 100 + ["few"] * 28 + ["one"] * 2
    tokens = [100] * 100 + [40] * 28 + [300] * 2
    held, split = choose(tmp_path, IDS[:130], sources, tokens, 0.001, 256)
    sums = {name: sum(tokens[i] for i in held if sources[i] == name) for name in set(sources)}
    assert sums == {"many": 300, "few": 280, "one": 300}  # three documents of 100 tokens fill a row of 256
    assert split.thin == ()
    held, split = choose(tmp_path, IDS[:1], ["single"], [10_000], 1e-9, 256)
    assert not held
    assert split.thin == ("single",)


def test_a_source_too_small_for_a_row_keeps_its_documents(tmp_path: Path) -> None:
    """Half of it would not fill a row: nothing is gained by holding it out."""
    held, split = choose(tmp_path, IDS[:30], ["few"] * 30, [100] * 30, 0.05, 5_000)
    assert held == {i for i in range(30) if point(IDS[i]) < 0.05}
    assert split.thin == ("few",)


def test_a_huge_document_is_passed_over_for_small_ones(tmp_path: Path) -> None:
    tokens = [40] * 50
    first = int(np.argmin([point(i) for i in IDS[:50]]))
    tokens[first] = 1_500  # first in the draw, but 43 % of the source
    held, _ = choose(tmp_path, IDS[:50], ["web"] * 50, tokens, 1e-9, 128)
    assert first not in held
    assert sum(tokens[i] for i in held) == 160


def test_the_row_is_filled_in_order_of_points(tmp_path: Path) -> None:
    held, _ = choose(tmp_path, IDS[:50], ["web"] * 50, [10] * 50, 1e-9, 30)
    assert held == set(np.argsort([point(i) for i in IDS[:50]])[:3].tolist())


def test_share_zero_holds_nothing_out(tmp_path: Path) -> None:
    assert choose(tmp_path, IDS[:50], ["web"] * 50, [10] * 50, 0.0, 30)[0] == set()


def test_order_keys_follow_the_seed() -> None:
    assert order_key(3, "x") == xxhash.xxh3_64_intdigest(b"x", seed=3)
    assert order_key(3, "x") != order_key(4, "x")
