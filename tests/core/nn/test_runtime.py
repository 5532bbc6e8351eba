from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mspt.core.nn import runtime
from mspt.core.nn.runtime import instruction_set, machine_facts


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("model name\t: x\nflags\t\t: fpu sse avx avx2 avx512f fma\n", "avx512f"),
        ("flags\t\t: fpu sse avx avx2 fma\n", "avx2"),
        ("Features\t: fp asimd aes\n", "asimd"),
    ],
)
def test_the_widest_vector_instructions_are_named(text: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    monkeypatch.setattr(runtime, "CPUINFO", path)
    assert instruction_set() == name
    assert machine_facts()["instruction_set"] == name


def test_mindspore_is_quiet_unless_a_person_wants_it_loud() -> None:
    program = "import os, mspt.core.nn; print(os.environ['GLOG_v'])"
    for given, expected in (({}, "3"), ({"GLOG_v": "1"}, "1")):
        done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected
