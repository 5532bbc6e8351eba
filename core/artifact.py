"""An artifact: a finished, versioned directory and the artifact.json that says what it is and how it came to be.

    work/clean/v1/  artifact.json  docs-00000.parquet ...  rejected/  removed/  inputs.parquet  log.jsonl

artifact.json is written last, so a directory that has one is whole. Beyond MAX_LISTED_FILES the file list moves to files.jsonl.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mspt.core.config import canonical_json
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.files import read_json, sha256_file, write_text

SCHEMA_VERSION = 1
MANIFEST = "artifact.json"
RUN = "run.json"  # what a training run has from its first step on
FILE_LIST = "files.jsonl"
MAX_LISTED_FILES = 1000
# Written while working or about working; they carry times and host facts and are no part of the determinism promise.
UNHASHED = frozenset({MANIFEST, FILE_LIST, "log.jsonl", "partial.json", RUN})


@dataclass(frozen=True)
class FileRecord:
    """One file of an artifact: path relative to it, size, sha256, and rows where it is a table."""

    path: str
    bytes: int
    sha256: str
    rows: int | None = None


@dataclass(frozen=True)
class InputRecord:
    """Which artifact a stage read: as a reference for people, as a fingerprint for the machine."""

    name: str
    ref: str
    kind: str
    fingerprint: str  # of the artifact, or its named digest where the stage reads only that


@dataclass(frozen=True)
class Artifact:
    """A finished version, or a training run from its first step on. `part` names a checkpoint inside."""

    root: Path
    manifest: Mapping[str, Any] = field(repr=False)
    part: str = ""

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    @property
    def version(self) -> int:
        return int(self.manifest["version"])

    @property
    def ref(self) -> str:
        base = f"{self.name}@v{self.version}"
        return f"{base}/{Path(self.part).name}" if self.part else base

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def stage(self) -> str:
        return str(self.manifest["stage"])

    @property
    def fingerprint(self) -> str:
        """Of the version; of a checkpoint: of its own manifest, since a run goes on changing."""
        if self.part and (self.directory / "manifest.json").is_file():
            return sha256_file(self.directory / "manifest.json")
        return str(self.manifest["fingerprint"])

    @property
    def directory(self) -> Path:
        return self.root / self.part if self.part else self.root

    @property
    def digests(self) -> dict[str, str]:
        return dict(self.manifest.get("digests", {}))

    @property
    def stats(self) -> dict[str, Any]:
        return dict(self.manifest.get("stats", {}))

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.manifest.get("config", {}))

    @property
    def inputs(self) -> list[InputRecord]:
        return [InputRecord(**record) for record in self.manifest.get("inputs", [])]

    @property
    def is_finished(self) -> bool:
        return (self.root / MANIFEST).is_file()

    @cached_property
    def files(self) -> dict[str, FileRecord]:
        if "num_files" in self.manifest:
            return read_file_list(self.root, self.manifest["num_files"])
        return {record["path"]: FileRecord(**record) for record in self.manifest.get("files", [])}

    def path(self, name: str) -> Path:
        return self.directory / name

    def digest(self, name: str | None) -> str:
        """The fingerprint, or the named digest that the stage publishes."""
        if name is None:
            return self.fingerprint
        if name not in self.digests:
            raise MsptError(f"{self.ref} ({self.kind}) publishes no digest `{name}`", f"make it again: mspt {self.stage} ...")
        return self.digests[name]

    def checked(self, name: str) -> Path:
        """The path of a file after its bytes were compared with the recorded sha256; CheckFailed names it."""
        record = self.files.get(name)
        path = self.root / name
        if record is None:
            raise MsptError(f"{self.ref} has no file {name}", f"mspt show {self.ref} lists its files")
        check_file(path, record, self.ref)
        return path


def check_file(path: Path, record: FileRecord, ref: str) -> None:
    """Raises CheckFailed when the file's bytes are not those that were recorded."""
    hint = f"`mspt verify {ref}` checks all its files; restore it from a copy, or make the artifact again with --name"
    if not path.is_file():
        raise CheckFailed(f"{ref}: {record.path} is missing", hint)
    if path.stat().st_size != record.bytes:
        raise CheckFailed(f"{ref}: {record.path} has {path.stat().st_size:,} bytes, recorded were {record.bytes:,}", hint)
    if sha256_file(path) != record.sha256:
        raise CheckFailed(f"{ref}: {record.path} is corrupt (sha256 differs from the recorded one)", hint)


def read_file_list(root: Path, count: int) -> dict[str, FileRecord]:
    """The `count` records of files.jsonl. CheckFailed where it is missing or is not the whole list any more: else nobody would miss a file."""
    try:
        lines = (root / FILE_LIST).read_text(encoding="utf-8").splitlines()
        records = {record.path: record for record in (FileRecord(**json.loads(line)) for line in lines)}
    except (OSError, ValueError, TypeError):
        records = {}
    if len(records) != count:
        raise CheckFailed(f"{root / FILE_LIST} is not the list of {count:,} files that was written", f"restore it from a copy, or remove {root}")
    return records


def is_well_formed(manifest: Mapping[str, Any]) -> bool:
    """Whether the parts of a manifest that all readers rely on hold what mspt writes."""
    try:
        for name, record in (("files", FileRecord), ("inputs", InputRecord)):
            for fields in manifest.get(name, []):
                record(**fields)
    except TypeError:
        return False
    counts = manifest.get("counts") or {"in": 0, "out": 0, "rejected": {}}
    return isinstance(manifest["version"], int) and {"in", "out", "rejected"} <= counts.keys()


def read_manifest(root: Path) -> dict[str, Any] | None:
    """artifact.json of a finished version, else run.json of a training run, else None."""
    for name in (MANIFEST, RUN):
        path = root / name
        if path.is_file():
            manifest = read_json(path, root)
            if manifest.get("schema") != SCHEMA_VERSION:
                raise MsptError(f"{path}: schema {manifest.get('schema')!r}, this mspt reads {SCHEMA_VERSION}", "make it again with this mspt")
            absent = sorted({"kind", "stage", "name", "version", "fingerprint"} - manifest.keys())
            if absent:
                raise CheckFailed(f"{path} lacks {', '.join(absent)}", f"restore it from a copy, or remove {root}")
            if not is_well_formed(manifest):
                raise CheckFailed(f"{path} is not as mspt wrote it", f"restore it from a copy, or remove {root}")
            return manifest
    return None


def write_manifest(root: Path, manifest: dict[str, Any], files: list[FileRecord]) -> None:
    """Writes artifact.json (and files.jsonl for long lists), the last step of making an artifact."""
    records = [asdict(record) for record in files]
    if len(records) > MAX_LISTED_FILES:
        write_text(root / FILE_LIST, "".join(canonical_json(record) + "\n" for record in records))
        manifest = {**manifest, "num_files": len(records)}
    else:
        manifest = {**manifest, "files": records}
    write_text(root / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def fingerprint(stage: str, revision: int, config: Mapping[str, Any], inputs: Any, libraries: Mapping[str, str]) -> str:
    """sha256 of canonical JSON of all that decides bytes. Host, paths, times and runtime settings stay out."""
    value = {"stage": stage, "revision": revision, "config": config, "inputs": inputs, "libraries": libraries}
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()
