"""Units of work and the records that make them finished: `units/KEY.json` beside the folder `units/KEY/` with the unit's files."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mspt.core.artifact import FileRecord
from mspt.core.files import read_json, write_text
from mspt.core.raw import RawFile


@dataclass(frozen=True)
class Unit:
    """What one worker does at once and what a kill can cost. `bytes` is for progress and forecasts only."""

    key: str
    payload: Any
    bytes: int = 1


@dataclass(frozen=True)
class UnitResult:
    """A finished unit: what its function returned and the files it wrote (by the names the function used)."""

    key: str
    directory: Path
    stats: dict[str, Any]
    files: tuple[FileRecord, ...]
    stopped: tuple[dict[str, str], ...] = ()  # documents stopped by a limit or a crash: the one exception to determinism
    inputs: tuple[RawFile, ...] = ()  # raw files that the unit read, with their sha256

    def path(self, name: str) -> Path:
        return self.directory / name

    def record(self, name: str) -> FileRecord:
        return next(file for file in self.files if file.path == name)


def write_record(path: Path, result: UnitResult) -> None:
    value = {
        "stats": result.stats,
        "files": [asdict(file) for file in result.files],
        "stopped": list(result.stopped),
        "inputs": [asdict(file) for file in result.inputs],
    }
    write_text(path, json.dumps(value, ensure_ascii=False))


def load_result(units: Path, key: str) -> UnitResult | None:
    """The record of a finished unit, or None."""
    record = units / f"{key}.json"
    if not record.is_file():
        return None
    value = read_json(record, record)
    files = tuple(FileRecord(**file) for file in value["files"])
    inputs = tuple(RawFile(**file) for file in value["inputs"])
    return UnitResult(key, units / key, value["stats"], files, tuple(value["stopped"]), inputs)


def forget_unit(directory: Path, key: str) -> None:
    """Makes a finished unit unfinished (its inputs changed)."""
    (directory / f"{key}.json").unlink(missing_ok=True)
    shutil.rmtree(directory / key, ignore_errors=True)
