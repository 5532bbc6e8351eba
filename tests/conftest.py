"""Fixtures that every test file shares."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from mspt.core.artifact import Artifact
from mspt.core.config import build_config
from mspt.core.engine import Bar
from mspt.core.raw import RawPath
from mspt.core.runner import Outcome, Request, run_stage
from mspt.core.stage import Stage, find
from mspt.core.store import Store

ROOT = Path(__file__).resolve().parent.parent
settings.register_profile("here", deadline=None)  # no test asserts a time
settings.register_profile("ci", deadline=None, derandomize=True)  # a run of CI can be repeated; on a person's machine each run looks elsewhere
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real inputs with gold answers; tests that need it are skipped where it is absent."""
    path = Path(os.environ.get("MSPT_SHARED", ROOT.parent / "shared"))
    if not (path / "data").is_dir():
        pytest.skip("the real inputs (../shared/data, or MSPT_SHARED) are not on this machine")
    return path


class _Bar:
    def advance(self, amount: float) -> None:
        pass


@dataclass
class Notes:
    """A reporter that remembers what it was told."""

    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    @contextlib.contextmanager
    def progress(self, what: str, total: float, unit: str = "") -> Iterator[Bar]:
        yield _Bar()


@dataclass
class Workspace:
    """Runs stages in a workspace of its own, as the command line does."""

    path: Path
    notes: Notes = field(default_factory=Notes)

    @property
    def store(self) -> Store:
        return Store(self.path)

    def outcome(
        self,
        stage: str | Stage,
        config: dict[str, Any] | None = None,
        *,
        paths: list[Path] | None = None,
        references: dict[str, str] | None = None,
        files: dict[str, list[Path]] | None = None,
        name: str | None = None,
        **request: Any,
    ) -> Outcome:
        found = find(stage) if isinstance(stage, str) else stage
        settings = build_config(found.config, config or {})
        raw = [RawPath(str(p)) for p in paths or []]
        self.notes.notes.clear()
        wanted = Request(name or found.name, settings, references or {}, raw, files or {}, **request)
        return run_stage(self.store, found, wanted, self.notes)

    def run(self, stage: str | Stage, config: dict[str, Any] | None = None, **inputs: Any) -> Artifact:
        return self.outcome(stage, config, **inputs).artifact


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "work")
