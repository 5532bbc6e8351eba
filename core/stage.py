"""What a stage is: declared in one place, found by walking `mspt.stages`.

    STAGE = Stage(order=60, config=TokenizeConfig, run=run, writes="tokens", libraries=("sentencepiece",),
                  reads={"docs": Read("docs", producer="score", digest="text"),
                         "tokenizer": Read("tokenizer", producer="train-tokenizer")})

From it follow the command, its flags and help, its place in `--help`, its table in mspt.toml, its page in docs/, its fingerprint, and the tests that every
stage gets. The module's name is the command's name; the module's docstring is its help. This module imports nothing heavy: `mspt --help` loads
all stages.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mspt.core.errors import MsptError
from mspt.core.job import Job
from mspt.core.raw import RawFile
from mspt.core.unit import Unit, UnitResult
from mspt.core.worker import DocumentStopped, Limits, UnitOutput

__all__ = ["DocumentStopped", "Files", "Job", "Limits", "Paths", "RawFile", "Read", "Stage", "Unit", "UnitOutput", "UnitResult", "discover", "find"]


@dataclass(frozen=True)
class Read:
    """An artifact that a stage reads: its kind and the stage that usually makes it.

    `optional`: may be missing. `automatic`: an optional one is taken from the workspace when it is there (False: only when a person names it).
    `digest`: the named digest of it that counts for the fingerprint, where the stage reads no more than that. `also`: further kinds that do as well.
    """

    kind: str
    producer: str
    optional: bool = False
    automatic: bool = True
    digest: str | None = None
    help: str = ""
    also: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.kind, *self.also)


@dataclass(frozen=True)
class Paths:
    """Raw corpus files: PATH... and --source NAME=PATH. Read unit by unit; hashed by the workers that read them."""

    help: str


@dataclass(frozen=True)
class Files:
    """A user's own file or directory (labels, task files, a Hugging Face directory), hashed whole before the run.

    late: it acts on finished units (--exclude), which stay valid when it changes. kind: a reference to an artifact of that kind does as well.
    """

    help: str
    optional: bool = False
    positional: bool = False
    many: bool = False
    late: bool = False
    kind: str = ""


Input = Read | Paths | Files


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of the pipeline. `revision` goes up when the same settings would give other bytes.

    also_identity: what decides bytes beyond the settings themselves (the source of a user's function), by a name of its own. compiles: the folder of core/
    whose kernels take long to compile at the first run after installation.
    """

    order: int
    config: type
    run: Callable[[Job[Any]], None]
    writes: str
    reads: Mapping[str, Input]
    libraries: tuple[str, ...] = ()
    revision: int = 1
    lifecycle: Literal["build", "run"] = "build"
    acceptable: frozenset[str] = frozenset()  # training runs: settings that --accept may change within a run
    also_identity: Callable[[Any, Path], Mapping[str, Any]] = lambda config, base: {}
    compiles: str = ""
    next: str = ""  # the command that usually follows, for the last line on the console
    name: str = ""  # filled by discover()
    doc: str = ""

    @property
    def paths(self) -> bool:
        return any(isinstance(read, Paths) for read in self.reads.values())

    @property
    def artifacts(self) -> dict[str, Read]:
        return {name: read for name, read in self.reads.items() if isinstance(read, Read)}

    @property
    def files(self) -> dict[str, Files]:
        return {name: read for name, read in self.reads.items() if isinstance(read, Files)}

    @property
    def summary(self) -> str:
        return self.doc.strip().split("\n", 1)[0]


@functools.cache
def discover() -> tuple[Stage, ...]:
    """All stages in the order of the pipeline."""
    import mspt.stages

    stages = []
    for module in pkgutil.iter_modules(mspt.stages.__path__):
        loaded = importlib.import_module(f"mspt.stages.{module.name}")
        if isinstance(stage := getattr(loaded, "STAGE", None), Stage):
            stages.append(replace(stage, name=module.name.replace("_", "-"), doc=loaded.__doc__ or ""))
    return tuple(sorted(stages, key=lambda stage: (stage.order, stage.name)))


def find(name: str) -> Stage:
    from mspt.core.config import unknown_name

    stages = {stage.name: stage for stage in discover()}
    if name not in stages:
        raise unknown_name("stage", name, stages, "mspt")
    return stages[name]


def library_versions(libraries: tuple[str, ...]) -> dict[str, str]:
    """Installed versions of the libraries that decide a stage's bytes. 'python' means the interpreter's own (its Unicode tables)."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in sorted(libraries):
        try:
            found[name] = platform.python_version() if name == "python" else version(name)
        except PackageNotFoundError:
            raise MsptError(f"the package {name} is not installed", "install mspt again: pip install -e .") from None
    return found
