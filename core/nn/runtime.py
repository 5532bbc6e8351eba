"""MindSpore's settings for this process, in one place, and the facts of the machine that bit-exactness depends on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import mindspore as ms

from mspt.core.errors import MachineError

DTYPES = {"float32": ms.float32, "float16": ms.float16}
# Wider vector units round sums in another order: results are bit-equal only between machines of one set.
INSTRUCTION_SETS = ("avx512f", "avx2", "asimd")
CPUINFO = Path("/proc/cpuinfo")


def prepare() -> None:
    """Compiled graphs, and deterministic kernels where the device has others. Before any network is built; again does no harm.

    Raises MachineError where MindSpore cannot compute here (a NumPy of the wrong generation is the usual reason).
    """
    ms.set_context(mode=ms.GRAPH_MODE)
    if ms.get_context("device_target") != "CPU":
        ms.set_deterministic(True)
    try:
        ms.Tensor([1.0, 2.0], ms.float32).reshape(2, 1).asnumpy()
    except ImportError as error:
        raise MachineError(f"MindSpore cannot compute here: {error}", "install the pinned versions: pip install -e . (numpy below 2)") from error


def machine_facts() -> dict[str, str]:
    """What two runs must share to agree in the last bit: device, instruction set, threads, library versions."""
    return {
        "device": str(ms.get_context("device_target")),
        "instruction_set": instruction_set(),
        "threads": os.environ.get("OMP_NUM_THREADS", str(os.cpu_count())),
        "python": platform.python_version(),
        **{name: version(name) for name in ("mindspore", "numpy")},
    }


def instruction_set() -> str:
    """The widest vector instructions of this processor, by the names of /proc/cpuinfo."""
    flags: set[str] = set()
    if CPUINFO.is_file():
        for line in CPUINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith(("flags", "Features")):
                flags.update(line.partition(":")[2].split())
                break
    return next((name for name in INSTRUCTION_SETS if name in flags), platform.machine())
