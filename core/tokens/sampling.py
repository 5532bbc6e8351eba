"""Which text a tokenizer is trained on: a fixed draw within a budget of bytes, by source and language, in memory that does not grow with the corpus.

A *stratum* is the documents of one source in one language. In the order it happens:

1. `Draw.add` sees every live document once: its stratum and bytes, and a position in a seeded order (split.order_key). Of each stratum it keeps the first
   documents of that order, as many as the whole budget could ever take.
2. `Draw.choose` divides the budget (`divide`) and says for each stratum up to which position its documents are taken, the last one perhaps in part.
3. A second pass over the documents reads those that `Choice.taken` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from mspt.core.errors import MsptError

Stratum = tuple[str, str]  # source, language (BCP 47)
Keys = npt.NDArray[np.uint64]
Sizes = npt.NDArray[np.int64]


@dataclass
class _Seen:
    """The first documents of a stratum in the seeded order, and what there is in all."""

    documents: int = 0
    num_bytes: int = 0
    keys: Keys = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    sizes: Sizes = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def add(self, keys: Keys, sizes: Sizes, budget: int) -> None:
        self.documents += len(keys)
        self.num_bytes += int(sizes.sum())
        self.keys, self.sizes = np.concatenate([self.keys, keys]), np.concatenate([self.sizes, sizes])
        if int(self.sizes.sum()) > 2 * budget:
            self.trim(budget)

    def trim(self, budget: int) -> None:
        """Sort, and forget the documents that lie behind the budget."""
        order = np.argsort(self.keys, kind="stable")
        sizes = self.sizes[order]
        needed = np.cumsum(sizes) - sizes < budget
        self.keys, self.sizes = self.keys[order][needed], sizes[needed]


@dataclass(frozen=True)
class Choice:
    """`limits`: stratum -> (position of the last document taken, bytes taken of it). `available` and `wanted` are bytes."""

    limits: Mapping[Stratum, tuple[int, int]]
    available: Mapping[Stratum, int]
    wanted: Mapping[Stratum, int]

    def taken(self, stratum: Stratum, keys: Keys, sizes: Sizes) -> Sizes:
        """int64 [documents]: bytes to read of each, 0 for those that are not chosen."""
        if stratum not in self.limits:
            return np.zeros(len(keys), dtype=np.int64)
        last, part = self.limits[stratum]
        return np.where(keys < np.uint64(last), sizes, np.where(keys == np.uint64(last), np.minimum(sizes, part), 0))

    def report(self) -> list[dict[str, object]]:
        return [
            {"source": source, "language": language, "available_bytes": size, "sampled_bytes": self.wanted.get((source, language), 0)}
            for (source, language), size in sorted(self.available.items())
        ]


class Draw:
    """Collects what there is; `budget` is the bytes to take in all."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.strata: dict[Stratum, _Seen] = {}

    def add(self, stratum: Stratum, keys: Keys, sizes: Sizes) -> None:
        """Documents of a stratum: uint64 positions, int64 UTF-8 bytes."""
        self.strata.setdefault(stratum, _Seen()).add(keys, sizes, self.budget)

    def choose(self, shares: Sequence[tuple[str, Fraction]] = ()) -> Choice:
        """See `divide` for `shares`."""
        available = {stratum: seen.num_bytes for stratum, seen in sorted(self.strata.items())}
        wanted = divide(available, self.budget, shares)
        limits = {}
        for stratum, amount in wanted.items():
            seen = self.strata[stratum]
            seen.trim(max(amount, 1))
            if amount and len(seen.keys):
                before = int(seen.sizes[:-1].sum())
                limits[stratum] = (int(seen.keys[-1]), amount - before)
        return Choice(limits, available, wanted)


def divide(available: Mapping[Stratum, int], budget: int, shares: Sequence[tuple[str, Fraction]] = ()) -> dict[Stratum, int]:
    """Bytes for each stratum, `budget` in all or everything there is.

    `shares` are shares of the budget for sources or languages ("zh" is zh-Hans and zh-Hant too): a stratum belongs to the first that names it, the strata
    that none names divide the rest. Inside each such group bytes go by size. What a group cannot fill goes to the others, by size of what they have left.
    """
    check_shares(available, shares)
    if sum(available.values()) <= budget:
        return dict(available)
    groups: dict[int, list[Stratum]] = {}
    for stratum in available:
        groups.setdefault(next((i for i, (name, _) in enumerate(shares) if belongs(stratum, name)), len(shares)), []).append(stratum)
    rest = 1 - sum((share for _, share in shares), Fraction(0))
    weights = {i: shares[i][1] if i < len(shares) else rest for i in groups}
    if not shares:
        weights = dict.fromkeys(groups, Fraction(1))
    found = dict.fromkeys(available, 0)
    for i, strata in groups.items():
        found |= _by_size({s: available[s] for s in strata}, int(weights[i] * budget))
    left = {stratum: available[stratum] - found[stratum] for stratum in available}
    for stratum, more in _by_size(left, budget - sum(found.values())).items():
        found[stratum] += more
    return found


def belongs(stratum: Stratum, name: str) -> bool:
    """Whether `name` is the stratum's source or (a prefix of) its language tag."""
    source, language = stratum
    return name in (source, language) or language.startswith(f"{name}-")


def check_shares(available: Mapping[Stratum, int], shares: Sequence[tuple[str, Fraction]]) -> None:
    """MsptError where a share names nothing, or they come to more than everything."""
    for name, share in shares:
        if share <= 0:
            raise MsptError(f"shares: {name}={float(share):g} is no share", "a share lies between 0 and 1: zh=0.6 or zh=60%")
        if not any(belongs(stratum, name) for stratum in available):
            known = sorted({part for stratum in available for part in stratum})
            raise MsptError(f"shares: there is no source or language {name!r}", f"there are {', '.join(known)}")
    if sum(share for _, share in shares) > 1:
        raise MsptError(f"shares: {' '.join(f'{name}={float(share):g}' for name, share in shares)} come to more than 1", "they are shares of --sample-bytes")


def _by_size(sizes: Mapping[Stratum, int], amount: int) -> dict[Stratum, int]:
    """`amount` divided in proportion to sizes, none above its size; what rounding leaves goes to the first."""
    total = sum(sizes.values())
    amount = min(amount, total)
    if not total:
        return dict.fromkeys(sizes, 0)
    found = {stratum: size * amount // total for stratum, size in sizes.items()}
    for stratum, size in sizes.items():
        more = min(amount - sum(found.values()), size - found[stratum])
        found[stratum] += max(more, 0)
    return found
