"""Units of work and the records that make them finished: `units/KEY.json` beside the folder `units/KEY/` with the unit's files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mspt.core.artifact import FileRecord
from mspt.core.files import read_json, write_text
from mspt.core.raw import RawFile


@dataclass(frozen=True)
class Unit:
    """What one worker does at once and what a kill can cost. `bytes` is for progress and forecasts only.

    part_bytes: the unit may be far larger than its bytes say (a compressed stream). It is done in parts, each a task of its own: the function is told
    which (`out.part`), does what lies between part * part_bytes and the next, and says by `out.more` whether anything lies behind.
    """

    key: str
    payload: Any
    bytes: int = 1
    part_bytes: int | None = None


@dataclass(frozen=True)
class Task:
    """A unit, or one part of it: what is handed to a worker."""

    unit: Unit
    part: int = 0

    @property
    def key(self) -> str:
        return self.unit.key if self.unit.part_bytes is None else part_key(self.unit.key, self.part)


def part_key(key: str, part: int) -> str:
    return f"{key}-{part:06d}"


@dataclass(frozen=True)
class UnitResult:
    """A finished unit or part: what its function returned and the files it wrote (by the names the function used)."""

    key: str
    directory: Path
    stats: dict[str, Any]
    files: tuple[FileRecord, ...]
    stopped: tuple[dict[str, str], ...] = ()  # documents stopped by a limit or a crash: the one exception to determinism
    inputs: tuple[RawFile, ...] = ()  # raw files that the unit reads, with the sha256 of those read to their end
    more: bool = False  # of a part: something lies behind it
    left_out: tuple[dict[str, Any], ...] = ()  # documents that an earlier version left out of these files (--exclude)

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
        "more": result.more,
        "left_out": list(result.left_out),
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
    return UnitResult(key, units / key, value["stats"], files, tuple(value["stopped"]), inputs, value["more"], tuple(value["left_out"]))


def load_parts(units: Path, unit: Unit) -> Iterator[tuple[int, UnitResult]]:
    """Number and record of each finished part of a unit (0 of one that is not cut), in order; a kill may leave gaps between them."""
    if unit.part_bytes is None:
        if found := load_result(units, unit.key):
            yield 0, found
        return
    for path in sorted(units.glob(f"{unit.key}-*.json")):
        number = int(path.stem.rsplit("-", 1)[1])
        if found := load_result(units, path.stem):
            yield number, found


def forget_unit(directory: Path, key: str) -> None:
    """Makes a finished unit unfinished (its inputs changed)."""
    (directory / f"{key}.json").unlink(missing_ok=True)
    shutil.rmtree(directory / key, ignore_errors=True)
