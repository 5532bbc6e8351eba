"""The life of a training run: `train/vN/` exists from the first step, with run.json (running, stopped, finished) and pinned inputs.

With an unfinished version of the name:

    equal identity                       resume
    other, and all differences accepted  resume; each change stands in events.jsonl with step, old and new
    other                                exit 2: the differing settings and the two commands that are possible (--new, --resume vN --accept ...)

The identity in force is the original one plus the accepted changes, so a rerun with it is up to date. `--resume vN --accept steps` on a finished run
makes the next version, which starts from its last checkpoint.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mspt.core.artifact import RUN, SCHEMA_VERSION, Artifact, read_manifest, write_manifest
from mspt.core.config import as_plain
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.files import disk_full, is_disk_full, link_or_copy, remove_temporaries, write_text
from mspt.core.finishing import list_artifact_files, manifest, remove_scratch
from mspt.core.job import Job, Reporter
from mspt.core.lock import Lock
from mspt.core.runner import Outcome, Plan, Request, make_plan
from mspt.core.stage import Stage
from mspt.core.store import Store

EVENTS = "events.jsonl"
CHECKPOINTS = "checkpoints"


def run_training(store: Store, stage: Stage, request: Request, reporter: Reporter) -> Outcome:
    """Starts, resumes or continues a run, or finds it up to date."""
    plan = make_plan(store, stage, request)
    for record in plan.input_records:
        reporter.note(f"{record.name}: {record.ref}")
    with Lock(store.workspace / request.name / ".lock", list(request.argv), request.take_lock):
        version, changes, continues = choose_version(store, plan, reporter)
        if version.is_finished:
            if not plan.sampled:
                store.point_latest(request.name, version.version)
            return Outcome(version, "up-to-date")
        return _train(store, plan, version, changes, continues, reporter)


def identity_in_force(run: Artifact) -> dict[str, Any]:
    """All that decides the run's course now: settings, inputs, revision, libraries."""
    return dict(run.manifest["in_force"])


def wanted_identity(plan: Plan) -> dict[str, Any]:
    parts: dict[str, Any] = dict(plan.identity)
    parts |= {f"input {name}": value for name, value in plan.input_parts.items()}
    parts |= {"revision": plan.stage.revision, "libraries": dict(plan.libraries)}
    return parts


def differences(run: Artifact, plan: Plan) -> list[dict[str, Any]]:
    """[{field, old, new}] between the identity in force and what is asked for."""
    old, new = identity_in_force(run), wanted_identity(plan)
    return [{"field": name, "old": old.get(name), "new": new.get(name)} for name in sorted({*old, *new}) if old.get(name) != new.get(name)]


def choose_version(store: Store, plan: Plan, reporter: Reporter) -> tuple[Artifact, list[dict[str, Any]], bool]:
    """(the version to run, accepted changes, whether it continues another version's last checkpoint)."""
    request = plan.request
    for broken in store.damaged(request.name):  # else a run whose record is damaged would silently begin again
        raise CheckFailed(f"{request.name}@v{broken.version} is damaged: {broken.reason}", f"restore it from a copy, or remove {broken.root}")
    runs = [v for v in store.versions(request.name) if v.stage == plan.stage.name]
    if request.resume:
        return _resume_named(store, plan, runs)
    if request.new or not runs:
        return _create(store, plan), [], False
    for run in reversed(runs):
        if not differences(run, plan):
            if not run.is_finished:
                reporter.note(f"resuming {run.ref}")
            return run, [], False
    unfinished = [run for run in runs if not run.is_finished]
    if not unfinished:
        reporter.note(f"a new run, since {_words(differences(runs[-1], plan))}")
        return _create(store, plan), [], False
    return _accept(plan, unfinished[-1]), differences(unfinished[-1], plan), False


def _resume_named(store: Store, plan: Plan, runs: list[Artifact]) -> tuple[Artifact, list[dict[str, Any]], bool]:
    wanted = plan.request.resume
    run = next((r for r in runs if wanted in (f"v{r.version}", r.ref)), None)
    if run is None:
        raise MsptError(f"--resume {wanted}: {plan.request.name} has no such version", f"there are: {', '.join(r.ref for r in runs) or 'none'}")
    changes = differences(run, plan)
    if not run.is_finished or not changes:
        return _accept(plan, run), changes, False
    _accept(plan, run)
    target = _create(store, plan)
    _copy_history(run, target)
    return target, changes, True


def _accept(plan: Plan, run: Artifact) -> Artifact:
    """`run`, when every difference is accepted by name; else the error with the two commands that are possible."""
    changes = differences(run, plan)
    refused = [c for c in changes if c["field"] not in plan.stage.acceptable]
    missing = [c for c in changes if c["field"] not in plan.request.accept]
    if not missing and not refused:
        return run
    names = ",".join(c["field"].replace("input ", "") for c in changes)
    commands = [f"a new run: mspt {plan.stage.name} --new"]
    if not refused:
        commands.append(f"go on with them: mspt {plan.stage.name} --resume v{run.version} --accept {names}")
    state = "unfinished" if not run.is_finished else "finished"
    reason = f"; {', '.join(c['field'] for c in refused)} cannot change within a run" if refused else ""
    raise MsptError(f"{run.ref} is {state} and differs: {_words(changes)}{reason}", "; or ".join(commands))


def _words(changes: list[dict[str, Any]]) -> str:
    return "; ".join(f"{c['field']} {_short(c['old'])} -> {_short(c['new'])}" for c in changes)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:12].strip(chr(34))}..."


def _create(store: Store, plan: Plan) -> Artifact:
    version = store.next_version(plan.request.name)
    root = store.workspace / plan.request.name / f"v{version}"
    (root / CHECKPOINTS).mkdir(parents=True)
    value = {
        "schema": SCHEMA_VERSION,
        "kind": plan.stage.writes,
        "stage": plan.stage.name,
        "revision": plan.stage.revision,
        "name": plan.request.name,
        "version": version,
        "fingerprint": plan.fingerprint(()),
        "status": "running",
        "inputs": [asdict(record) for record in plan.input_records],
        "config": as_plain(plan.request.config),
        "identity": dict(plan.identity),
        "libraries": dict(plan.libraries),
        "in_force": wanted_identity(plan),
        "accepted": [],
        "sampled": plan.sampled,
        "argv": list(plan.request.argv),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    _write_run(root, value)
    return Artifact(root, value)


def _write_run(root: Path, value: Mapping[str, Any]) -> None:
    write_text(root / RUN, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _copy_history(run: Artifact, target: Artifact) -> None:
    """The last checkpoint by hard link, and the metrics and events up to it."""
    steps = sorted((p for p in (run.root / CHECKPOINTS).glob("step-*")), key=lambda p: int(p.name[5:]))
    if not steps:
        raise MsptError(f"{run.ref} holds no checkpoint to continue from")
    for path in sorted(p for p in steps[-1].rglob("*") if p.is_file()):
        link_or_copy(path, target.root / CHECKPOINTS / steps[-1].name / path.relative_to(steps[-1]))
    for name in ("metrics.jsonl", EVENTS):
        if (run.root / name).is_file():
            (target.root / name).write_bytes((run.root / name).read_bytes())  # they grow: copied, never linked


def append_event(root: Path, kind: str, **fields: Any) -> None:
    line = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "event": kind, **fields}
    with (root / EVENTS).open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(line, ensure_ascii=False) + "\n")


def last_step(root: Path) -> int:
    steps = [int(p.name[5:]) for p in (root / CHECKPOINTS).glob("step-*") if p.name[5:].isdigit()]
    return max(steps, default=0)


def _train(store: Store, plan: Plan, run: Artifact, changes: list[dict[str, Any]], continues: bool, reporter: Reporter) -> Outcome:
    started = time.time()
    root = run.root
    remove_temporaries(root)
    step = last_step(root)
    accepted = [{"step": step, **change} for change in changes]
    value = dict(run.manifest) | {
        "status": "running",
        "config": as_plain(plan.request.config),
        "identity": dict(plan.identity),
        "in_force": wanted_identity(plan),
        "accepted": [*run.manifest["accepted"], *accepted],
    }
    _write_run(root, value)
    for change in accepted:
        append_event(root, "accepted", **change)
    if not plan.sampled:
        store.point_latest(plan.request.name, run.version)
    job: Job[Any] = Job(
        stage=plan.stage.name,
        name=plan.request.name,
        version=run.version,
        config=plan.request.config,
        inputs=dict(plan.inputs),
        raw=[],
        files={name: list(files) for name, files in plan.files.items()},
        directory=root,
        reporter=reporter,
        resuming=step > 0 or continues,
        accepted=accepted,
    )
    try:
        plan.stage.run(job)
    except BaseException as error:
        _write_run(root, value | {"status": "stopped", "reason": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"})
        if is_disk_full(error):
            raise disk_full(root) from None
        raise
    return _finish(plan, job, value, started)


def _finish(plan: Plan, job: Job[Any], run: Mapping[str, Any], started: float) -> Outcome:
    value = manifest(plan, job, started) | {name: run[name] for name in ("in_force", "accepted")}
    records = list_artifact_files(job.directory, job.known)
    _write_run(job.directory, dict(run) | {"status": "finished"})
    write_manifest(job.directory, value, records)  # from here on it is finished
    remove_scratch(job.directory)
    finished = read_manifest(job.directory)
    assert finished is not None
    return Outcome(Artifact(job.directory, finished), "done", time.time() - started)
