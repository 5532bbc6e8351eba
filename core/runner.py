"""Running a stage: up to date, resume, or the next version with a line on what changed.

    same fingerprint finished      "up to date (v1)"; nothing is written but `latest`
    matching vN.partial            resume: finished units are kept
    else                           next free number, and which settings or inputs differ from the last version

The fingerprint of a stage that reads raw files is known only after reading them, so its versions and partials match by everything else (the *key*)
and then by the recorded files.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from mspt.core import artifact as artifacts
from mspt.core.artifact import SCHEMA_VERSION, UNHASHED, Artifact, InputRecord, fingerprint
from mspt.core.compiled import is_compiled
from mspt.core.config import as_plain, identity
from mspt.core.errors import MsptError
from mspt.core.files import disk_full, fsync_directory, is_disk_full, is_machine_fault, machine_fault, remove_temporaries, write_text
from mspt.core.finishing import finish, remove_scratch
from mspt.core.job import INPUTS_FILE, SCRATCH, UNITS_FILE, Job, Reporter
from mspt.core.lock import Lock
from mspt.core.memory import forget_children
from mspt.core.raw import RawFile, RawPath, list_files, read_inputs, rehash
from mspt.core.reuse import same_inputs
from mspt.core.stage import Stage, library_versions
from mspt.core.store import PARTIAL, PARTIAL_FILE, Partial, Store, check_name

# Files that carry the times of raw inputs: checked by verify, but no part of the promise of equal bytes.
HOST_FILES = frozenset({INPUTS_FILE, UNITS_FILE})


@dataclass(frozen=True)
class Request:
    """What a person asked for: a validated config, and which inputs."""

    name: str
    config: Any
    references: Mapping[str, str] = field(default_factory=dict)  # read name -> reference; others by default
    paths: Sequence[RawPath] = ()
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    base: Path = field(default_factory=Path.cwd)  # what relative raw paths are relative to
    verify_inputs: bool = False
    take_lock: bool = False
    new: bool = False  # training runs: --new
    resume: str = ""  # training runs: --resume vN
    accept: tuple[str, ...] = ()  # training runs: --accept
    argv: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    artifact: Artifact
    status: Literal["done", "up-to-date"]
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """A request with its inputs resolved and its fingerprint parts computed."""

    stage: Stage
    request: Request
    inputs: Mapping[str, Artifact]
    input_records: tuple[InputRecord, ...]
    raw: tuple[RawFile, ...]
    files: Mapping[str, tuple[RawFile, ...]]
    identity: Mapping[str, Any]
    libraries: Mapping[str, str]

    @property
    def input_parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = {record.name: record.fingerprint for record in self.input_records}
        return parts | self.file_parts(late=False)

    def file_parts(self, late: bool) -> dict[str, Any]:
        """A user's own files as they count, those that units depend on or those that act later (Files.late)."""
        return {name: [f.content for f in found] for name, found in sorted(self.files.items()) if self.stage.files[name].late == late}

    def fingerprint(self, raw: Sequence[RawFile]) -> str:
        parts = self.input_parts | self.file_parts(late=True)
        if self.stage.paths:
            parts["raw"] = [file.content for file in raw]
        return fingerprint(self.stage.name, self.stage.revision, self.identity, parts, self.libraries)

    @property
    def sampled(self) -> bool:
        """Whether it works on a sample, its own or that of an input: such a version never becomes `latest`."""
        return getattr(self.request.config, "sample", None) is not None or any(a.manifest.get("sampled") for a in self.inputs.values())

    @property
    def key(self) -> str:
        """The fingerprint without the raw files and without what acts on finished units: what a partial clean is matched by."""
        return fingerprint(self.stage.name, self.stage.revision, self.identity, self.input_parts, self.libraries)


def resolve_inputs(store: Store, stage: Stage, references: Mapping[str, str], name: str) -> dict[str, Artifact]:
    """The artifact for each read, kinds checked. A person's reference wins; else `latest` of the usual producer."""
    found: dict[str, Artifact] = {}
    for read_name, read in stage.artifacts.items():
        ref = references.get(read_name)
        if ref is None and read.optional and not read.automatic:
            continue
        if ref is None:
            ref = _default_reference(store, stage, read_name, name)
        if ref is None:
            continue
        artifact = store.resolve(ref)
        if artifact.kind not in read.kinds:
            raise MsptError(
                f"{stage.name} --{read_name} wants an artifact of kind {' or '.join(read.kinds)}, {artifact.ref} is of kind {artifact.kind}",
                f"give one that `mspt {read.producer}` wrote: {', '.join(store.producers(read.producer)) or 'there is none yet'}",
            )
        found[read_name] = artifact
    return found


def _default_reference(store: Store, stage: Stage, read_name: str, name: str) -> str | None:
    read = stage.artifacts[read_name]
    names = store.producers(read.producer)
    if name in names and name != stage.name:
        return name
    if len(names) > 1:
        raise MsptError(
            f"{stage.name} needs {read_name}, and `{read.producer}` has made it under {len(names)} names: {', '.join(names)}",
            f"choose one: --{read_name} {names[0]}",
        )
    if not names:
        if read.optional:
            return None
        others = [other for other in store.names() if any(a.kind in read.kinds for a in store.versions(other) if a.is_finished)]
        given = f"or take what there is of this kind: --{read_name} {others[-1]}" if others else f"or give --{read_name} REF"
        raise MsptError(
            f"{stage.name} needs {read_name} (kind {read.kind}) of {read.producer}, and there is none yet", f"run `mspt {read.producer}` first, {given}"
        )
    if store.latest(names[0]) is None and read.optional:
        return None
    return names[0]


def make_plan(store: Store, stage: Stage, request: Request) -> Plan:
    inputs = resolve_inputs(store, stage, request.references, request.name)
    records = tuple(InputRecord(name, artifact.ref, artifact.kind, artifact.digest(stage.artifacts[name].digest)) for name, artifact in sorted(inputs.items()))
    raw: tuple[RawFile, ...] = ()
    if stage.paths:
        if request.paths and inputs:
            raise MsptError(f"{stage.name} reads raw files or an artifact, not both", f"leave out PATH, or --{next(iter(inputs))}")
        if not request.paths and not inputs:
            raise MsptError(f"{stage.name} needs at least one PATH", f"mspt {stage.name} PATH..., or `paths = [...]` in [{request.name}] of mspt.toml")
        raw = tuple(list_files(request.paths, request.base)) if request.paths else ()
    files = {name: tuple(_user_files(found, store, stage.files[name].kind)) for name, found in request.files.items() if found}
    for name, spec in stage.files.items():
        if not spec.optional and not files.get(name):
            raise MsptError(f"{stage.name} needs {name}", spec.help)
    chosen = {**identity(request.config), **stage.also_identity(request.config, request.base)}
    return Plan(stage, request, inputs, records, raw, files, chosen, library_versions(stage.libraries))


def _user_files(paths: Sequence[Path], store: Store, kind: str) -> list[RawFile]:
    """A user's files with their hashes; a directory stands for the files below it, a reference (where `kind` allows one) for what is recorded of it."""
    found = []
    for path in paths:
        if kind and (not path.exists() or (path / artifacts.MANIFEST).is_file()):
            found += _artifact_files(store, path, kind)
            continue
        if not path.exists():
            raise MsptError(f"{path}: no such file or directory")
        found += [rehash(file) for file in list_files([RawPath(str(path.resolve()))], Path("/"), follow_links=True)]
    return found


def _artifact_files(store: Store, path: Path, kind: str) -> list[RawFile]:
    try:
        artifact = store.resolve(str(path) if path.exists() else path.name)
    except MsptError as error:
        raise MsptError(f"{path}: no such file or directory, and no artifact of that name", error.message) from None
    if artifact.kind != kind:
        raise MsptError(f"{artifact.ref} is of kind {artifact.kind}, not {kind}", f"name an artifact of kind {kind}, or a file")
    return [rehash(file) for name in artifact.files for file in list_files([RawPath(str(artifact.checked(name).resolve()))], Path("/"), follow_links=True)]


# --- building ----------------------------------------------------------------------------------------------------------


def run_stage(store: Store, stage: Stage, request: Request, reporter: Reporter) -> Outcome:
    """Runs a stage to a finished artifact, or finds that it is up to date. An interrupted run leaves vN.partial to resume."""
    check_name(request.name)
    if stage.lifecycle == "run":
        from mspt.core.training_run import run_training

        return run_training(store, stage, request, reporter)
    plan = make_plan(store, stage, request)
    for record in plan.input_records:
        reporter.note(f"{record.name}: {record.ref}")
    with Lock(store.workspace / request.name / ".lock", list(request.argv), request.take_lock):
        answer = find_finished(store, plan)
        if answer is not None:
            if not plan.sampled:
                store.point_latest(request.name, answer.version)
            return Outcome(answer, "up-to-date")
        partial, resuming = open_partial(store, plan, reporter)
        return build(store, plan, partial, resuming, reporter)


def find_finished(store: Store, plan: Plan) -> Artifact | None:
    """The newest finished version that this request would make again."""
    for version in reversed(store.versions(plan.request.name)):
        if not version.is_finished or version.stage != plan.stage.name:
            continue
        if plan.stage.paths:
            if version.manifest["key"] == plan.key and _late_files_unchanged(version, plan) and _raw_unchanged(version, plan):
                return version
        elif version.fingerprint == plan.fingerprint(()):
            return version
    return None


def _late_files_unchanged(version: Artifact, plan: Plan) -> bool:
    before, now = version.manifest["user_files"], plan.file_parts(late=True)
    return all(before.get(name) == now.get(name) for name, spec in plan.stage.files.items() if spec.late)


def _raw_unchanged(version: Artifact, plan: Plan) -> bool:
    recorded = read_inputs(version.root / INPUTS_FILE)
    if plan.request.verify_inputs:
        now = [rehash(file) for file in plan.raw]
        return [f.content for f in now] == [f.content for f in recorded.values()]
    return same_inputs(plan.raw, recorded)


def open_partial(store: Store, plan: Plan, reporter: Reporter) -> tuple[Partial, bool]:
    """The matching vN.partial, or a new one with the next free number and a line on what changed."""
    key = plan.key if plan.stage.paths else plan.fingerprint(())
    for partial in reversed(store.partials(plan.request.name)):
        if partial.info.get("key") == key and partial.info.get("stage") == plan.stage.name:
            reporter.note(f"resuming {plan.request.name}/v{partial.version}{PARTIAL}")
            return partial, True
    for broken in store.damaged(plan.request.name):
        reporter.warn(f"{plan.request.name}@v{broken.version} is damaged and left alone: {broken.reason}")
    version = store.next_version(plan.request.name)
    previous = [v for v in store.versions(plan.request.name) if v.is_finished]
    if previous:
        reporter.note(f"v{version}, since {what_changed(previous[-1], plan)}")
    root = store.workspace / plan.request.name / f"v{version}{PARTIAL}"
    root.mkdir(parents=True)
    info = {"schema": SCHEMA_VERSION, "stage": plan.stage.name, "kind": plan.stage.writes, "name": plan.request.name, "key": key,
            "config": as_plain(plan.request.config), "inputs": [asdict(r) for r in plan.input_records], "argv": list(plan.request.argv),
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z")}  # fmt: skip
    write_text(root / PARTIAL_FILE, json.dumps(info, indent=1, ensure_ascii=False))
    return Partial(root, version, info), False


def what_changed(old: Artifact, plan: Plan) -> str:
    """Which settings or inputs differ from an earlier version, in words."""
    if old.stage != plan.stage.name:
        return f"v{old.version} was written by {old.stage}"
    before, now = old.manifest["identity"], plan.identity
    changes = [f"{name} {before.get(name)!r} -> {now.get(name)!r}" for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    known = {r.name: r for r in old.inputs}
    for record in plan.input_records:
        if record.name not in known or known[record.name].fingerprint != record.fingerprint:
            changes.append(f"{record.name} {known[record.name].ref if record.name in known else 'none'} -> {record.ref}")
    changes += [f"{name} is no longer read" for name in known if name not in plan.inputs]
    libraries = old.manifest["libraries"]
    changes += [f"{name} {libraries.get(name)} -> {version}" for name, version in plan.libraries.items() if libraries.get(name) != version]
    if old.manifest["revision"] != plan.stage.revision:
        changes.append(f"revision of {plan.stage.name} {old.manifest['revision']} -> {plan.stage.revision}")
    if plan.stage.paths:
        changes += _raw_changes(old, plan)
    if {name: [f.content for f in files] for name, files in plan.files.items()} != old.manifest.get("user_files", {}):
        changes.append("the given files changed")
    return "; ".join(changes) or f"v{old.version} no longer matches"


def _raw_changes(old: Artifact, plan: Plan) -> list[str]:
    before = read_inputs(old.root / INPUTS_FILE)
    now = {(f.source, f.path): f for f in plan.raw}
    added, gone = now.keys() - before.keys(), before.keys() - now.keys()
    touched = [k for k in now.keys() & before.keys() if now[k].bytes != before[k].bytes or now[k].mtime_ns != before[k].mtime_ns]
    counts = {"added": added, "gone": gone, "changed": touched}
    parts = [f"{len(keys)} {what} ({'/'.join(sorted(keys)[0])}{', ...' if len(keys) > 1 else ''})" for what, keys in counts.items() if keys]
    return [f"inputs: {', '.join(parts)}"] if parts else []


def build(store: Store, plan: Plan, partial: Partial, resuming: bool, reporter: Reporter) -> Outcome:
    """Runs the stage in vN.partial and publishes it. ENOSPC anywhere becomes a MachineError that says how to go on."""
    started = time.time()
    forget_children()
    try:
        if not (partial.root / artifacts.MANIFEST).is_file():  # else: killed after the last file
            remove_temporaries(partial.root)
            job = _job(store, plan, partial, resuming, reporter)
            job.event("start", argv=list(plan.request.argv), resuming=resuming)
            if plan.stage.compiles and not is_compiled(plan.stage.compiles):
                job.note("the first run after installation compiles its inner loops: half a minute or more without progress")
            plan.stage.run(job)
            finish(plan, job, started)
        remove_scratch(partial.root)
        return Outcome(_publish(store, plan, partial), "done", time.time() - started)
    except MsptError as error:
        _drop_if_empty(partial, is_mistake=error.exit_code == MsptError.exit_code)
        raise
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(partial.root) from None
        if is_machine_fault(error):
            raise machine_fault(error) from None
        raise


def _drop_if_empty(partial: Partial, *, is_mistake: bool) -> None:
    """A mistake in the call that was found before any unit was done leaves no version behind."""
    scratch = partial.root / SCRATCH
    kept = (path for path in partial.root.rglob("*") if path.is_file() and path.name not in UNHASHED and not (is_mistake and path.is_relative_to(scratch)))
    if next(kept, None) is None:
        shutil.rmtree(partial.root)


def _job(store: Store, plan: Plan, partial: Partial, resuming: bool, reporter: Reporter) -> Job[Any]:
    previous = [v for v in store.versions(plan.request.name) if v.is_finished and v.manifest.get("key") == plan.key] if plan.stage.paths else []
    return Job(
        stage=plan.stage.name,
        name=plan.request.name,
        version=partial.version,
        config=plan.request.config,
        inputs=dict(plan.inputs),
        raw=list(plan.raw),
        files={name: list(files) for name, files in plan.files.items()},
        base=plan.request.base,
        directory=partial.root,
        reporter=reporter,
        previous=previous[-1] if previous else None,
        earlier=tuple(v for v in reversed(store.versions(plan.request.name)) if v.is_finished and _same_maker(v, plan)),
        resuming=resuming,
    )


def _same_maker(version: Artifact, plan: Plan) -> bool:
    """Whether the stage would write the same bytes today, given the same settings and inputs."""
    made = (version.stage, version.manifest.get("revision"), version.manifest.get("libraries"))
    return made == (plan.stage.name, plan.stage.revision, dict(plan.libraries))


def _publish(store: Store, plan: Plan, partial: Partial) -> Artifact:
    """vN.partial -> vN in one step, then `latest` (never to a sample)."""
    root = partial.root.with_name(f"v{partial.version}")
    os.rename(partial.root, root)
    (root / PARTIAL_FILE).unlink(missing_ok=True)
    fsync_directory(root.parent)
    manifest_ = artifacts.read_manifest(root)
    assert manifest_ is not None
    if not plan.sampled:
        store.point_latest(plan.request.name, partial.version)
    return Artifact(root, manifest_)
