"""The workspace: names, their versions, `latest`, locks, and what a reference means.

clean                 the version last completed or answered
clean@v2              that version
train@v1/step-12000   a checkpoint of a training run; also /last and /best
./elsewhere/clean/v2  a path
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mspt.core.artifact import MANIFEST, Artifact, read_manifest
from mspt.core.config import unknown_name
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.files import fsync_directory, read_json, write_text

PARTIAL = ".partial"
PARTIAL_FILE = "partial.json"
PINS = "pins.json"
REMOVED_FILE = "removed.json"  # what stays of the highest version of a name that was removed, so that its number is not given again
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_VERSION = re.compile(r"v([1-9]\d*)(\.partial)?")


def check_name(name: str) -> None:
    """MsptError where `name` cannot be the folder of an artifact, or a reference could not name it."""
    if not _NAME.fullmatch(name):
        raise MsptError(f"`{name}` cannot be the name of an artifact", "small letters, digits, `-`, `_` and `.`, a letter or digit first: clean-strict")


@dataclass(frozen=True)
class Partial:
    """A version being built, or interrupted."""

    root: Path
    version: int
    info: dict[str, Any]


@dataclass(frozen=True)
class Damaged:
    """A version whose manifest cannot be read, or that has none."""

    root: Path
    version: int
    reason: str


@dataclass(frozen=True)
class Store:
    """All artifacts below one workspace directory."""

    workspace: Path

    def names(self) -> list[str]:
        if not self.workspace.is_dir():
            return []
        return sorted(p.name for p in self.workspace.iterdir() if p.is_dir() and _NAME.fullmatch(p.name) and self._numbers(p))

    def _numbers(self, directory: Path) -> list[tuple[int, bool]]:
        if not directory.is_dir():
            return []
        matches = (_VERSION.fullmatch(p.name) for p in directory.iterdir())
        return sorted((int(m[1]), m[2] is not None) for m in matches if m)

    def versions(self, name: str) -> list[Artifact]:
        """Finished versions (and training runs) of a name, oldest first. Damaged ones are not among them."""
        found = []
        for number, partial in self._numbers(self.workspace / name):
            root = self.workspace / name / f"v{number}"
            with contextlib.suppress(MsptError):
                manifest = None if partial else read_manifest(root)
                if manifest is not None:
                    found.append(Artifact(root, manifest))
        return found

    def damaged(self, name: str) -> list[Damaged]:
        """Versions that are there and cannot be read."""
        found = []
        for number, partial in self._numbers(self.workspace / name):
            root = self.workspace / name / f"v{number}"
            if partial or (root / REMOVED_FILE).is_file():
                continue
            try:
                if read_manifest(root) is None:
                    found.append(Damaged(root, number, f"it has no {MANIFEST}"))
            except MsptError as error:
                found.append(Damaged(root, number, error.message))
        return found

    def partials(self, name: str) -> list[Partial]:
        found = []
        for number, partial in self._numbers(self.workspace / name):
            root = self.workspace / name / f"v{number}{PARTIAL}"
            if partial and (root / PARTIAL_FILE).is_file():
                found.append(Partial(root, number, read_json(root / PARTIAL_FILE, root)))
        return found

    def next_version(self, name: str) -> int:
        return max((number for number, _ in self._numbers(self.workspace / name)), default=0) + 1

    def latest(self, name: str) -> Artifact | None:
        link = self.workspace / name / "latest"
        manifest = read_manifest(link.resolve()) if link.is_symlink() and link.exists() else None
        return Artifact(link.resolve(), manifest) if manifest is not None else None

    def point_latest(self, name: str, version: int) -> None:
        """`latest` -> vN in one step; nothing is written when it points there already."""
        link = self.workspace / name / "latest"
        if link.is_symlink() and os.readlink(link) == f"v{version}":
            return
        temporary = link.with_name(f"latest.tmp-{os.getpid()}")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(f"v{version}")
        os.replace(temporary, link)
        fsync_directory(link.parent)

    # --- references ------------------------------------------------------------------------------------------------

    def resolve(self, ref: str) -> Artifact:
        """The artifact that a reference names. MsptError says what is there instead."""
        path = Path(ref).expanduser()
        if "/" in ref.split("@")[0] or ref.startswith(".") or path.is_absolute():
            return self._resolve_path(path)
        name, _, rest = ref.partition("@")
        version, _, part = rest.partition("/")
        if not self._numbers(self.workspace / name):
            if path.is_dir():
                return self._resolve_path(path)
            known = self.names()
            if not known:
                raise MsptError(f"{self.workspace} holds no artifact `{name}`", "run `mspt clean PATH...` first, or name the workspace with --workspace")
            raise unknown_name("artifact", name, known, str(self.workspace))
        artifact = self._version(name, version)
        return self._part(artifact, part) if part or artifact.kind == "model" else artifact

    def _version(self, name: str, version: str) -> Artifact:
        if version in ("", "latest"):
            found = self.latest(name) or next(reversed([a for a in self.versions(name) if not a.manifest.get("sampled")]), None)
        else:
            found = next((a for a in self.versions(name) if f"v{a.version}" == version), None)
        broken = next((d for d in self.damaged(name) if f"v{d.version}" == version), None)
        if found is None and broken is not None:
            raise CheckFailed(f"{name}@{version} is damaged: {broken.reason}", f"restore it from a copy, or remove {broken.root}")
        if found is None:
            have = [f"{name}@v{a.version}" for a in self.versions(name)]
            partial = [f"v{p.version}{PARTIAL}" for p in self.partials(name)]
            state = f"finished: {', '.join(have) or 'none'}" + (f"; unfinished: {', '.join(partial)}" if partial else "")
            raise MsptError(f"there is no {name}@{version or 'latest'}", state)
        return found

    def _resolve_path(self, path: Path) -> Artifact:
        path = path.resolve()
        for root in (path, *path.parents[:2]):
            manifest = read_manifest(root) if root.is_dir() else None
            if manifest is not None:
                part = str(path.relative_to(root)) if root != path else ""
                artifact = Artifact(root, manifest, part)
                return artifact if part or artifact.kind != "model" else self._part(artifact, "")
        raise MsptError(f"{path} is no artifact (it has no {MANIFEST})", "`mspt ls` shows the references of this workspace")

    def _part(self, artifact: Artifact, part: str) -> Artifact:
        """A checkpoint inside a model: step-N, last or best."""
        folder = artifact.root / "checkpoints"
        steps = sorted((p for p in folder.glob("step-*") if p.name[5:].isdigit()), key=lambda p: int(p.name[5:]))
        if not steps:
            if not part:
                return artifact
            raise MsptError(f"{artifact.ref} holds no checkpoint yet", "the first one comes after --checkpoint-every steps")
        if part in ("", "last"):
            chosen: Path | None = steps[-1]
        elif part == "best":
            best = folder / "best"
            chosen = folder / os.readlink(best) if best.is_symlink() else None
        else:
            wanted = part.removeprefix("step-")
            chosen = next((p for p in steps if wanted.isdigit() and int(p.name[5:]) == int(wanted)), None)
        if chosen is None or not chosen.is_dir():
            raise MsptError(f"{artifact.ref} holds no checkpoint `{part}`", f"there are: {', '.join(p.name for p in steps)}")
        return replace(artifact, part=str(chosen.relative_to(artifact.root)))

    def producers(self, stage: str) -> list[str]:
        """The names under which a stage has finished versions."""
        return [name for name in self.names() if any(a.stage == stage for a in self.versions(name))]

    # --- pins ------------------------------------------------------------------------------------------------------

    def pins(self) -> dict[str, str]:
        path = self.workspace / PINS
        return read_json(path, path) if path.is_file() else {}

    def write_pins(self, pins: Mapping[str, str]) -> None:
        """Replaces what is pinned: {reference: why}."""
        write_text(self.workspace / PINS, json.dumps(dict(sorted(pins.items())), indent=1, ensure_ascii=False) + "\n")
