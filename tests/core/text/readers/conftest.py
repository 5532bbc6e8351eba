"""How tests of readers read: bytes in, in small chunks, and every item read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mspt.core.text.containers.sniff import HEAD_BYTES, FileType, sniff
from mspt.core.text.containers.streams import ByteStream
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.readers.read import items
from mspt.core.text.readers.record import Options, Record

Read = Callable[..., list[Record | Problem]]


def leaf_of(data: bytes, kind: FileType | None = None, chunk: int = 1000) -> Leaf:
    return Leaf("f", kind or sniff(data[:HEAD_BYTES]), ByteStream([data[i : i + chunk] for i in range(0, len(data), chunk)]))


def skimmed(data: bytes, wanted: Callable[[int], bool], kind: FileType | None, options: Options) -> Sequence[tuple[int, Record | Problem]]:
    """(byte, record or problem) of those items whose number is wanted; the others are not read."""
    return [(item.at, item.read()) for number, item in enumerate(items(leaf_of(data, kind), options)) if wanted(number)]


@pytest.fixture
def read() -> Read:
    """Reads bytes as a leaf. That is: in full, and checked to give the same where every second item, or all but the last, is left out."""

    def run(data: bytes, kind: FileType | None = None, **options: Any) -> list[Record | Problem]:
        chosen = Options(**options)
        full = skimmed(data, lambda number: True, kind, chosen)
        for remainder in (0, 1):
            assert skimmed(data, lambda number, r=remainder: number % 2 == r, kind, chosen) == full[remainder::2]
        assert skimmed(data, lambda number: number == len(full) - 1, kind, chosen) == full[-1:]
        places = [at for at, _ in full]
        assert places == sorted(places)
        assert all(0 <= at < max(1, len(data)) for at in places)
        return [found for _, found in full]

    return run
