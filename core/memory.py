"""Peak resident memory: of this process, and of the largest that it started to work for it.

The kernel's own figures (getrusage) do not serve: on Linux `ru_maxrss` of a child begins with what the process that started it held, so that a worker of 20 MB
below a parent of 2 GB counts as 2 GB. Each process says what it took itself, and whoever started it notes that.
"""

from __future__ import annotations

import ctypes
import resource
from pathlib import Path

_largest = 0  # bytes, of the processes noted since the run began


def own_peak_rss() -> int:
    """Bytes that this process has held at most since it was started (VmHWM)."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def note_child(peak: int) -> None:
    """Counts a process that this one started, by what it said of itself in bytes."""
    global _largest
    _largest = max(_largest, peak)


def largest_child() -> int:
    """Bytes of the largest process noted; 0 where all work was done in this one."""
    return _largest


def forget_children() -> None:
    """At the start of a run: processes of earlier ones do not count."""
    global _largest
    _largest = 0


def give_back() -> None:
    """Hands freed memory to the system, which allocators keep for what comes next: between steps that have a bound of memory each."""
    import pyarrow as pa  # this module is loaded with the command line, which must start fast

    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)
