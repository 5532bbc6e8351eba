"""What a finished artifact says of itself: artifact.json with every file's size and hash, written last; only then go the intermediate files.

A run killed while they are removed finds artifact.json when it is resumed and removes the rest: nothing half removed is ever read again.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.core.artifact import SCHEMA_VERSION, UNHASHED, Artifact, FileRecord, write_manifest
from mspt.core.config import as_plain
from mspt.core.files import sha256_file
from mspt.core.job import INPUTS_FILE, SCRATCH, UNITS, UNITS_FILE, Job
from mspt.core.memory import largest_child, own_peak_rss
from mspt.core.raw import write_inputs
from mspt.core.reuse import unit_table

if TYPE_CHECKING:
    from mspt.core.runner import Plan


def finish(plan: Plan, job: Job[Any], started: float) -> None:
    """Writes what every artifact has (inputs, unit table, digests, file list) and artifact.json last."""
    if plan.stage.paths:
        with job.write(INPUTS_FILE) as path:
            write_inputs(path, job.read_files)
        job.write_json(UNITS_FILE, unit_table(job.raw_results, job.unit_files))
    job.event("finish", seconds=round(time.time() - started, 3))
    records = list_artifact_files(job.directory, job.known)
    value = manifest(plan, job, started)
    if plan.stage.writes == "docs":
        value["digests"] |= {"text": _text_digest(job, value, records)}
    write_manifest(job.directory, value, records)


def remove_scratch(root: Path) -> None:
    """Removes the intermediate files of an artifact whose artifact.json is written."""
    for folder in root.iterdir():
        if _is_scratch(folder):
            shutil.rmtree(folder)


def _is_scratch(folder: Path) -> bool:
    return folder.is_dir() and (folder.name in (SCRATCH, UNITS) or folder.name.startswith(f"{UNITS}-"))


def _text_digest(job: Job[Any], value: Mapping[str, Any], records: Sequence[FileRecord]) -> str:
    from mspt.core.shards import open_docs

    return open_docs(Artifact(job.directory, {**value, "files": [asdict(r) for r in records]})).digest()


def list_artifact_files(root: Path, known: Mapping[str, FileRecord]) -> list[FileRecord]:
    """Every file of an artifact with size, sha256 and rows; hashes that are known are not computed again. Intermediate files are none of it."""
    records = []
    for path in sorted(path for top in root.iterdir() if not _is_scratch(top) for path in (top, *top.rglob("*"))):
        name = str(path.relative_to(root))
        if not path.is_file() or path.is_symlink() or name in UNHASHED:
            continue
        record = known.get(name)
        rows = record.rows if record is not None and record.rows is not None else _rows(path)
        records.append(FileRecord(name, path.stat().st_size, record.sha256 if record else sha256_file(path), rows))
    return records


def _rows(path: Path) -> int | None:
    if path.suffix != ".parquet":
        return None
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def manifest(plan: Plan, job: Job[Any], started: float) -> dict[str, Any]:
    digests = dict(job.digests)
    print_ = plan.fingerprint(job.read_files)
    value: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "kind": plan.stage.writes,
        "stage": plan.stage.name,
        "revision": plan.stage.revision,
        "name": job.name,
        "version": job.version,
        "fingerprint": print_,
        "key": plan.key if plan.stage.paths else print_,
        "inputs": [asdict(record) for record in plan.input_records],
        "user_files": {name: [f.content for f in files] for name, files in plan.files.items()},
        "config": as_plain(plan.request.config),
        "identity": dict(plan.identity),
        "libraries": dict(plan.libraries),
        "digests": digests,
        "layers": list(job.layers),
        "counts": job.counts.plain() if job.counts else None,
        "stats": job.stats,
        "stopped": job.stopped,
        "sampled": plan.sampled,
        "argv": list(plan.request.argv),
    }
    if plan.stage.paths:
        value["raw"] = {"files": len(job.read_files), "bytes": sum(f.bytes for f in job.read_files)}
    seconds = time.time() - started
    if job.sample_share:
        value["forecast"] = {"share": job.sample_share, "seconds": round(seconds / job.sample_share, 1)}
    return value | host_facts(started, seconds)


def host_facts(started: float, seconds: float) -> dict[str, Any]:
    """What is told about the run and is no part of any fingerprint."""
    return {
        "mspt": mspt_version(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(started)),
        "seconds": round(seconds, 3),
        "host": {"name": socket.gethostname(), "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()},
        "peak_rss_bytes": {"main": own_peak_rss(), "largest_child": largest_child()},
    }


def mspt_version() -> dict[str, str]:
    """Version of the distribution and, in a git checkout, its commit."""
    import subprocess
    from importlib.metadata import version

    source = Path(__file__).resolve().parent
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=False) if (source.parent / ".git").exists() else None
    return {"version": version("mspt-toolchain"), "commit": asked.stdout.strip() if asked is not None and asked.returncode == 0 else ""}
