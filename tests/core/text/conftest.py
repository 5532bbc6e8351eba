"""Fixtures of the tests of text."""

from __future__ import annotations

import pytest

from mspt.core.text.containers.walk import Limits
from support.opening import open_all, rules


@pytest.fixture
def opened(tmp_path):
    """opened(data) -> ({ref: bytes} of the leaves, [(ref, rule)] of the problems) of a file `raw` with these bytes."""

    def run(data: bytes, limits: Limits = Limits(), ref: str = "raw") -> tuple[dict[str, bytes], list[tuple[str, str]]]:  # noqa: B008
        leaves, problems = open_all(tmp_path, data, limits, ref)
        return leaves, rules(problems)

    return run
