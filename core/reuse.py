"""Units whose inputs did not change are not cleaned again: from the interrupted run, or by hard link from the previous version."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mspt.core.artifact import Artifact, FileRecord
from mspt.core.files import link_or_copy
from mspt.core.raw import RawFile, rehash
from mspt.core.unit import Unit, UnitResult, forget_unit, load_parts, part_key, write_record


def same_inputs(now: Sequence[RawFile], recorded: Mapping[tuple[str, str], RawFile]) -> bool:
    """Whether the files are those recorded: by (bytes, mtime); where only the time differs, by their content."""
    if len(now) != len(recorded):
        return False
    for file in now:
        old = recorded.get((file.source, file.path))
        if old is None or old.bytes != file.bytes:
            return False
        if old.mtime_ns != file.mtime_ns and rehash(file).sha256 != old.sha256:
            return False
    return True


def _by_path(files: Sequence[RawFile]) -> dict[tuple[str, str], RawFile]:
    return {(f.source, f.path): f for f in files}


def take_over_units(units: Sequence[Unit], directory: Path, previous: Artifact | None, usable: Callable[[Mapping[str, Any]], bool]) -> int:
    """Drops finished units of an interrupted run whose inputs changed; links unchanged units of `previous`. Returns how many were linked.

    usable: whether the entry of a unit in units.json of `previous` may be taken over.
    """
    table = _unit_table(previous)
    linked = 0
    for unit in units:
        _, files = unit.payload
        finished = list(load_parts(directory, unit))
        for _, result in finished:
            if not same_inputs(files, _by_path(result.inputs)):
                forget_unit(directory, result.key)
        if finished or previous is None:
            continue
        entries = _entries(unit, table)
        if entries and all(usable(entry) and same_inputs(files, _by_path([RawFile(**f) for f in entry["inputs"]])) for entry in entries.values()):
            for key, entry in entries.items():
                _link_unit(previous, key, entry, directory)
            linked += 1
    return linked


def _entries(unit: Unit, table: Mapping[str, Any]) -> dict[str, Any]:
    """What units.json says of a unit, by key: one entry, or one for each of its parts."""
    if unit.part_bytes is None:
        return {unit.key: table[unit.key]} if unit.key in table else {}
    keys = itertools.takewhile(table.__contains__, (part_key(unit.key, part) for part in itertools.count()))
    return {key: table[key] for key in keys}


def _unit_table(previous: Artifact | None) -> dict[str, Any]:
    if previous is None or "units.json" not in previous.files:
        return {}
    return dict(json.loads(previous.checked("units.json").read_text(encoding="utf-8")))


def _link_unit(previous: Artifact, key: str, entry: Mapping[str, Any], directory: Path) -> None:
    records = []
    for name, final in entry["files"].items():
        source = previous.checked(final)
        link_or_copy(source, directory / key / name)
        record = previous.files[final]
        records.append(FileRecord(name, record.bytes, record.sha256))
    os.makedirs(directory / key, exist_ok=True)
    inputs = tuple(RawFile(**f) for f in entry["inputs"])
    write_record(
        directory / f"{key}.json",
        UnitResult(
            key,
            directory / key,
            stats=entry["stats"],
            files=tuple(records),
            stopped=tuple(entry["stopped"]),
            inputs=inputs,
            more=entry["more"],
            left_out=tuple(entry["left_out"]),
        ),
    )


def unit_table(results: Mapping[str, UnitResult], unit_files: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """units.json: for each unit its inputs, its stats and under which final name each of its files lies."""
    return {
        key: {
            "stats": result.stats,
            "stopped": list(result.stopped),
            "more": result.more,
            "left_out": list(result.left_out),
            "inputs": [
                {"source": f.source, "path": f.path, "location": "", "bytes": f.bytes, "mtime_ns": f.mtime_ns, "sha256": f.sha256} for f in result.inputs
            ],
            "files": dict(unit_files.get(key, {})),
        }
        for key, result in results.items()
    }
