"""What is in a workspace and in which state: finished versions, training runs, partials, and who is at work on them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mspt.core.artifact import Artifact, InputRecord
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.lock import STALE_SECONDS
from mspt.core.stage import discover
from mspt.core.store import PARTIAL, Partial, Store

_PARTIAL_REF = re.compile(rf"(?:(?P<name>[^@/]+)@)?v(?P<version>\d+){re.escape(PARTIAL)}")
RUNNING, INTERRUPTED, ABANDONED, STOPPED, FINISHED, DAMAGED = "running", "interrupted", "abandoned", "stopped", "finished", "damaged"


@dataclass(frozen=True)
class Entry:
    """One version of a name. `info` is its manifest, or partial.json; of a damaged one the reason alone."""

    name: str
    version: int
    root: Path
    state: str
    info: Mapping[str, Any]
    is_partial: bool
    is_latest: bool = False
    pin: str | None = None  # the note of a pin
    artifact: Artifact | None = None

    @property
    def ref(self) -> str:
        return f"{self.name}@v{self.version}{PARTIAL if self.is_partial else ''}"

    @property
    def kind(self) -> str:
        return str(self.info.get("kind", ""))

    @property
    def stage(self) -> str:
        return str(self.info.get("stage", ""))

    @property
    def sample(self) -> str | None:
        own = dict(self.info.get("config", {})).get("sample")
        return own or ("of an input" if self.info.get("sampled") else None)

    @property
    def is_run(self) -> bool:
        """A training run: it exists from its first step on."""
        return "in_force" in self.info

    @property
    def inputs(self) -> list[InputRecord]:
        return [InputRecord(**record) for record in self.info.get("inputs", [])]

    @property
    def records(self) -> int | None:
        """Documents that came out, where the stage counts them."""
        counts = self.info.get("counts")
        return int(counts["out"]) if counts else None

    @property
    def step(self) -> int | None:
        """The last step of a training run: of its metrics, else of its checkpoints."""
        if not self.is_run:
            return None
        last = last_json_line(self.root / "metrics.jsonl")
        steps = [int(p.name[5:]) for p in (self.root / "checkpoints").glob("step-*") if p.name[5:].isdigit()]
        return max([int((last or {}).get("step", 0)), *steps], default=0)

    @property
    def bytes(self) -> int:
        if self.state == FINISHED and self.artifact is not None:
            return sum(record.bytes for record in self.artifact.files.values())
        return sum(size for _, size in walk_sizes(self.root))

    @property
    def seconds(self) -> float | None:
        return self.info.get("seconds")

    @property
    def changed(self) -> float:
        """When it was last worked on, as Unix time."""
        started = parse_time(self.info.get("started"))
        if self.state == FINISHED and started is not None:
            return started + float(self.info.get("seconds", 0))
        times = [p.stat().st_mtime for p in (self.root / "log.jsonl", self.root / "metrics.jsonl", self.root) if p.exists()]
        return max(times)

    def plain(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "ref": self.ref, "name": self.name, "version": self.version, "kind": self.kind, "stage": self.stage, "state": self.state,
            "latest": self.is_latest, "pinned": self.pin is not None, "sample": self.sample, "records": self.records, "step": self.step,
            "bytes": self.bytes, "started": self.info.get("started"), "seconds": self.seconds, "path": str(self.root),
        }  # fmt: skip


def list_entries(store: Store, names: Sequence[str] | None = None) -> list[Entry]:
    """All versions, names in the order of the pipeline, versions oldest first."""
    found = [entry for name in (store.names() if names is None else names) for entry in name_entries(store, name)]
    order = {stage.name: stage.order for stage in discover()}
    first = {entry.name: order.get(entry.stage, len(order) * 1000) for entry in reversed(found)}
    return sorted(found, key=lambda entry: (first[entry.name], entry.name, entry.version))


def name_entries(store: Store, name: str) -> list[Entry]:
    versions, partials = store.versions(name), store.partials(name)
    newest = max([a.version for a in versions] + [p.version for p in partials], default=0)
    latest = None
    with contextlib.suppress(MsptError):  # a damaged one is listed as such below
        latest = store.latest(name)
    pins = store.pins()
    holder = lock_holder(store.workspace / name / ".lock")
    active = _active_partial(partials) if holder is not None else None
    entries = []
    for artifact in versions:
        state = FINISHED if artifact.is_finished else _run_state(artifact, holder is not None and active is None)
        is_latest = latest is not None and latest.version == artifact.version
        pin = next((note for ref, note in pins.items() if ref.split("/")[0] == f"{name}@v{artifact.version}"), None)
        entries.append(Entry(name, artifact.version, artifact.root, state, artifact.manifest, False, is_latest, pin, artifact))
    for partial in partials:
        state = RUNNING if partial is active else INTERRUPTED if partial.version == newest else ABANDONED
        entries.append(Entry(name, partial.version, partial.root, state, partial.info, True))
    entries += [Entry(name, broken.version, broken.root, DAMAGED, {"reason": broken.reason}, False) for broken in store.damaged(name)]
    return sorted(entries, key=lambda entry: entry.version)


def _active_partial(partials: Sequence[Partial]) -> Partial | None:
    """Which one the holder of the lock works on: a job writes to log.jsonl when it starts."""
    logs = [(p.root / "log.jsonl", p) for p in partials]
    started = [(log.stat().st_mtime, p.version, p) for log, p in logs if log.is_file()]
    return max(started)[2] if started else None


def _run_state(run: Artifact, locked: bool) -> str:
    status = run.manifest.get("status")
    if status == "running":
        return RUNNING if locked else INTERRUPTED
    return STOPPED


def lock_holder(path: Path) -> dict[str, Any] | None:
    """Who else holds the lock of a name ({host, pid, argv}), or None.

    A holder writes who it is and empties the file when it leaves. Only what a killed one left behind is tried, with a shared lock for a moment.
    """
    if not path.is_file() or not (content := path.read_text(encoding="utf-8", errors="replace")):
        return None
    try:
        holder = dict(json.loads(content))
    except ValueError:
        holder = {"host": "?", "pid": 0, "argv": []}  # it is being written just now
    if (holder["host"], holder["pid"]) == (socket.gethostname(), os.getpid()):
        return None
    with path.open("rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES) and time.time() - path.stat().st_mtime > STALE_SECONDS:
                return None  # no flock here: the heartbeat says that it is gone
    return holder


# --- references --------------------------------------------------------------------------------------------------------


def locate(store: Store, ref: str) -> Artifact | Partial:
    """What a reference means, unfinished versions (`clean@v3.partial`) included. A name with nothing finished means its newest partial."""
    path = Path(ref)
    found = _PARTIAL_REF.fullmatch(path.name)
    if found is not None:
        directory = store.workspace / found["name"] if found["name"] else path.resolve().parent
        if not found["name"] and path.resolve().parent.parent != store.workspace:
            return _partial(Store(directory.parent), directory.name, int(found["version"]), ref)
        return _partial(store, directory.name, int(found["version"]), ref)
    name = ref.partition("@")[0]
    if name == ref and not store.versions(name) and (partials := store.partials(name)):
        return partials[-1]
    return store.resolve(ref)


def _partial(store: Store, name: str, version: int, ref: str) -> Partial:
    found = next((p for p in store.partials(name) if p.version == version), None)
    if found is None:
        done = next((f"{name}@v{a.version}" for a in store.versions(name) if a.version == version), None)
        have = ", ".join(f"{name}@v{p.version}{PARTIAL}" for p in store.partials(name)) or "none"
        raise MsptError(f"there is no {ref}", f"it is finished: {done}" if done else f"unfinished versions of {name}: {have}")
    return found


def find_entry(store: Store, target: Artifact | Partial) -> Entry:
    """The entry of what `locate` found, also in another workspace."""
    home = Store(target.root.parent.parent)
    found = next((e for e in name_entries(home, target.root.parent.name) if e.root == target.root), None)
    if found is None:  # a version that was copied somewhere else
        assert isinstance(target, Artifact)
        return Entry(target.name, target.version, target.root, FINISHED, target.manifest, False, artifact=target)
    return found


class Lineage:
    """Finds the artifacts that others were made of, by reference and by fingerprint."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._by_print: dict[str, Artifact] = {}
        for name in store.names():
            for artifact in store.versions(name):
                for value in (artifact.fingerprint, *artifact.digests.values()):
                    self._by_print.setdefault(value, artifact)

    def find(self, record: InputRecord) -> tuple[Artifact | None, bool]:
        """(the artifact, whether its fingerprint is the recorded one). A copy under another name counts; (None, False) when it is gone."""
        named = None
        with contextlib.suppress(MsptError):
            named = self.store.resolve(record.ref)
        if named is not None and record.fingerprint in (named.fingerprint, *named.digests.values()):
            return named, True
        same = self._by_print.get(record.fingerprint)
        return (same, True) if same is not None else (named, False)

    def ancestors(self, inputs: Sequence[InputRecord]) -> Iterator[Artifact]:
        """Everything that these inputs were made of, themselves included, each once."""
        seen: set[Path] = set()
        waiting = list(inputs)
        while waiting:
            record = waiting.pop()
            found, same = self.find(record)
            both = [found] if same else [found, self._by_print.get(record.fingerprint)]
            for artifact in both:
                if artifact is not None and artifact.root not in seen:
                    seen.add(artifact.root)
                    waiting += artifact.inputs
                    yield artifact


# --- files -------------------------------------------------------------------------------------------------------------


def walk_sizes(root: Path) -> Iterator[tuple[Path, int]]:
    """(path, bytes) of each regular file; files that vanish meanwhile are left out."""
    for path in root.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            stat = path.lstat()
            if path.is_file() and not path.is_symlink():
                yield path, stat.st_size


def last_json_line(path: Path, window: int = 64 * 1024) -> dict[str, Any] | None:
    """The last whole line of a JSONL file that may be growing."""
    if not path.is_file():
        return None
    with path.open("rb") as handle:
        handle.seek(0, 2)
        handle.seek(max(0, handle.tell() - window))
        for line in reversed(handle.read().splitlines()):
            with contextlib.suppress(ValueError):
                return dict(json.loads(line))
    return None


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a JSONL file, one after another. A last line that is half written is left out; CheckFailed for any other that is broken."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as handle:
        for number, line in enumerate(handle, 1):
            try:
                yield dict(json.loads(line))
            except ValueError:
                if next(handle, None) is not None:
                    raise CheckFailed(f"{path}: line {number} is not JSON", "the file was changed or damaged") from None


def parse_time(text: Any) -> float | None:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp() if isinstance(text, str) else None
