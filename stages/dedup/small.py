"""Little work in this process: a pool of workers takes seconds to start, which a small corpus, or a run with one worker, need not pay at every step."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mspt.core.files import remove_temporaries
from mspt.core.memory import give_back
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.core.unit import load_result

SMALL_BYTES = 64 * 2**20  # of unit.bytes in all: about a second of work


def map_units(job: Job[Any], function: Callable[[Any, UnitOutput], dict[str, Any]], units: Sequence[Unit], *, what: str, group: str) -> list[UnitResult]:
    """`job.map_units`; where there is one worker, or little to do, the same in this process. Files and records are the same either way."""
    total = sum(unit.bytes for unit in units)
    if job.workers == 1 or total <= SMALL_BYTES:
        folder = job.directory / f"units-{group}"
        folder.mkdir(exist_ok=True)
        remove_temporaries(folder)
        with job.progress(what, total, "B") if total > SMALL_BYTES else contextlib.nullcontext() as bar:
            for unit in units:
                if load_result(folder, unit.key) is None:
                    _work(function, unit, folder)
                if bar is not None:
                    bar.advance(unit.bytes)
    return job.map_units(function, units, what=what, group=group)  # finds what is done


def _work(function: Callable[[Any, UnitOutput], dict[str, Any]], unit: Unit, folder: Path) -> None:
    own = folder / unit.key
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    out = UnitOutput(own)
    out.publish(function(unit.payload, out), folder / f"{unit.key}.json", unit.key)
    give_back()
