"""Whether the kernels of a part of core/ were compiled on this machine before. Asked without loading numba."""

from __future__ import annotations

import os
from pathlib import Path


def is_compiled(part: str) -> bool:
    """Whether numba has kept machine code of core/`part`; true too where it keeps it somewhere else, because the installation is read-only."""
    kept = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / part)
    return not os.access(kept, os.W_OK) or next(kept.rglob("*.nbi"), None) is not None
