"""Machine code on disk goes stale with whatever was compiled into it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mspt.core import kernel as kernels
from mspt.core.compiled import is_compiled

CALLER = """
import numba
from called import LIMIT, TABLE, add
from mspt.core.kernel import kernel

@kernel
def ours(x):
    return add(x) + LIMIT + TABLE[0]

@numba.njit(cache=True)
def plain(x):
    return add(x) + LIMIT + TABLE[0]
"""
CALLED = """
import numpy as np
import pytest
from mspt.core.kernel import part

LIMIT = {limit}
TABLE = np.array([{first}, 0])

@part
def add(x):
    return x + {added}
"""


def run(folder: Path, **values: int) -> list[int]:
    (folder / "called.py").write_text(CALLED.format(**values), encoding="utf-8")
    code = "import caller; print(caller.ours(1), caller.plain(1), sum(caller.ours.stats.cache_hits.values()))"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )
    return [int(number) for number in found.stdout.split()]


def test_a_change_in_another_file_compiles_the_kernel_again(tmp_path: Path) -> None:
    """A part, a constant and a table of another file, each changed by itself. numba alone believes its old code."""
    (tmp_path / "caller.py").write_text(CALLER, encoding="utf-8")
    first = {"limit": 100, "first": 1000, "added": 10}
    assert run(tmp_path, **first) == [1111, 1111, 0]
    assert run(tmp_path, **first) == [1111, 1111, 1], "what did not change is read from disk"
    for change, expected in (({"added": 20}, 1121), ({"limit": 200}, 1211), ({"first": 3000}, 3111)):
        ours, plain, hits = run(tmp_path, **{**first, **change})
        assert (ours, hits) == (expected, 0)
        assert plain == 1111


def test_the_stamp_is_the_same_in_every_process() -> None:
    """Also where strings hash otherwise."""
    code = "from mspt.core.text.rules import scan; print([v._cache._cache_file._source_stamp[1] for v in vars(scan).values() if hasattr(v, 'py_func')])"
    found = {
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert "'" in found.pop()


def test_a_kernel_that_calls_itself_has_a_stamp() -> None:
    namespace: dict[str, object] = {}
    exec("def down(x):\n    return x if x < 1 else down(x - 1)\n", namespace)
    import numba

    namespace["down"] = numba.njit(namespace["down"])
    digest = kernels._digest(namespace["down"].py_func)  # type: ignore[attr-defined]
    assert len(digest) == 64
    assert np.int64(namespace["down"](3)) == 0  # type: ignore[operator]


def test_an_installation_without_machine_code_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not is_compiled("text")
    subprocess.run([sys.executable, "-c", "import numpy; from mspt.core.kernel import fmix64; fmix64(numpy.uint64(1))"], check=True)
    assert is_compiled("text")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert is_compiled("a folder that is not there"), "nor can one be told that cannot be written to"
