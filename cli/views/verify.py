"""`mspt verify`: are the bytes those that were recorded, does the record agree with itself and with its inputs, do documents add up.

Checked for every finished version:

    files        each is there, with its recorded size and sha256
    record       the fingerprint is that of the recorded settings, inputs and libraries
    inputs       what lies at the reference of each input is what was read
    documents    layers are row-aligned, ids unique, keep never comes back, in = out + rejected, text digest

Of a training run that goes on: the hashes that each checkpoint carries.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mspt.cli.commands import Context
from mspt.cli.console import duration, quantity
from mspt.cli.views.render import count, present, table, text
from mspt.cli.views.workspace import Lineage, list_entries, locate, walk_sizes
from mspt.core.artifact import FILE_LIST, MANIFEST, UNHASHED, Artifact, FileRecord, fingerprint
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.files import sha256_file
from mspt.core.job import INPUTS_FILE
from mspt.core.store import PARTIAL_FILE, Store

if TYPE_CHECKING:
    import pyarrow as pa

    from mspt.core.engine import Bar
    from mspt.core.shards import Docs

MAX_SHOWN = 20  # findings of one artifact on the screen; --json gives all


@dataclass
class Report:
    """What was found about one artifact. Findings fail it, remarks do not."""

    ref: str
    files: int = 0
    bytes: int = 0
    findings: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass
class Hashes:
    """sha256 of files, each inode once: kept versions share most of theirs by hard link."""

    bar: Bar
    known: dict[tuple[int, int, int, int], str] = field(default_factory=dict)

    def of(self, path: Path) -> str:
        stat = path.stat()
        key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if key not in self.known:
            self.known[key] = sha256_file(path)
        self.bar.advance(stat.st_size)
        return self.known[key]


# --- files -------------------------------------------------------------------------------------------------------------


def check_files(artifact: Artifact, report: Report, hashes: Hashes) -> set[str]:
    """Compares each recorded file; returns the names of bad ones."""
    bad: set[str] = set()
    for record in artifact.files.values():
        problem = _problem(artifact.root / record.path, record, hashes)
        report.files += 1
        report.bytes += record.bytes
        if problem:
            bad.add(record.path)
            report.findings.append(f"{record.path} {problem}")
    listed = artifact.files.keys() | UNHASHED | {FILE_LIST, PARTIAL_FILE}
    strange = sorted(str(path.relative_to(artifact.root)) for path, _ in walk_sizes(artifact.root) if str(path.relative_to(artifact.root)) not in listed)
    if strange:
        report.remarks.append(f"{count(len(strange), 'file')} that it did not write: {', '.join(strange[:3])}{', ...' if len(strange) > 3 else ''}")
    return bad


def _problem(path: Path, record: FileRecord, hashes: Hashes) -> str:
    if not path.is_file():
        return "is missing"
    size = path.stat().st_size
    if size != record.bytes:
        return f"has {size:,} bytes, recorded were {record.bytes:,}"
    return "" if hashes.of(path) == record.sha256 else "is corrupt: its sha256 differs from the recorded one"


def check_checkpoints(run: Artifact, report: Report, hashes: Hashes) -> None:
    """Of a training run that has no list of its files yet: what each checkpoint's own manifest.json says."""
    for manifest in sorted((run.root / "checkpoints").glob("step-*/manifest.json")):
        for fields in json.loads(manifest.read_text(encoding="utf-8"))["files"]:
            record = FileRecord(str((manifest.parent / fields["path"]).relative_to(run.root)), fields["bytes"], fields["sha256"])
            problem = _problem(run.root / record.path, record, hashes)
            report.files += 1
            report.bytes += record.bytes
            if problem:
                report.findings.append(f"{record.path} {problem}")
    report.remarks.append("the run is not finished: the hashes in its checkpoints are checked")


# --- the record --------------------------------------------------------------------------------------------------------


def check_record(artifact: Artifact, report: Report) -> None:
    """Recomputes the fingerprint from what artifact.json (and inputs.parquet) say."""
    from mspt.core.raw import read_inputs

    manifest = artifact.manifest
    if absent := sorted({"revision", "identity", "libraries"} - manifest.keys()):
        report.findings.append(f"{MANIFEST} lacks {', '.join(absent)}")
        return
    parts: dict[str, Any] = {record.name: record.fingerprint for record in artifact.inputs} | dict(manifest.get("user_files", {}))
    if "raw" in manifest:
        if not (artifact.root / INPUTS_FILE).is_file():
            return  # named as missing already
        parts["raw"] = [file.content for file in read_inputs(artifact.root / INPUTS_FILE).values()]
    computed = fingerprint(artifact.stage, manifest["revision"], manifest["identity"], parts, manifest["libraries"])
    if computed != manifest["fingerprint"]:
        report.findings.append(f"{MANIFEST}: its fingerprint is not that of its settings, inputs and libraries: it was changed by hand")


def check_inputs(artifact: Artifact, report: Report, lineage: Lineage) -> None:
    """What lies at the reference of each input must be what was read; that it is gone is only remarked."""
    for record in artifact.inputs:
        found, same = lineage.find(record)
        if found is None:
            report.remarks.append(f"its input {record.name} ({record.ref}) is not here any more")
        elif not same:
            report.findings.append(f"its input {record.name} was {record.ref} with fingerprint {record.fingerprint[:12]}, what lies there now is another")


# --- documents ---------------------------------------------------------------------------------------------------------


def check_documents(artifact: Artifact, report: Report, bad: set[str]) -> None:
    """The promises of docs. Files that are bad already are not read."""
    from mspt.core.shards import open_docs

    try:
        docs = open_docs(artifact)
    except KeyError as error:
        report.findings.append(f"{error.args[0]} is not among its files: text shards and layers do not fit together")
        return
    shards = [i for i in range(docs.num_shards) if not any(file.path in bad for file in docs.files(i))]
    live = 0
    aligned = True
    for shard in shards:
        rows = check_alignment(docs, shard, report)
        aligned &= rows is not None
        live += check_keep(docs, shard, report) if rows is not None else 0
    if aligned and len(shards) == docs.num_shards:
        check_ids(docs, report)
        if docs.digest() != artifact.digests.get("text"):
            report.findings.append("digest text: the documents are not those that it was computed of")
        check_counts(artifact, report, live, bad)


def check_alignment(docs: Docs, shard: int, report: Report) -> int | None:
    """Rows of a shard, or None where a layer has another number of rows than its text."""
    import pyarrow.parquet as pq

    counts = {file.path: int(pq.read_metadata(docs.root / file.path).num_rows) for file in docs.files(shard)}
    rows = counts[docs.text[shard].path]
    wrong = {path: n for path, n in counts.items() if n != rows}
    for path, n in wrong.items():
        report.findings.append(f"{path} has {n:,} rows, {docs.text[shard].path} has {rows:,}")
    return None if wrong else rows


def check_keep(docs: Docs, shard: int, report: Report) -> int:
    """Live rows of a shard. `keep` may only go from true to false, from layer to layer."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    keep: pa.ChunkedArray | None = None
    for file in docs.files(shard):
        if "keep" not in pq.read_schema(docs.root / file.path).names:
            continue
        now = pq.read_table(docs.root / file.path, columns=["keep"], partitioning=None).column("keep")
        back = 0 if keep is None else pc.sum(pc.and_(now, pc.invert(keep))).as_py() or 0
        if back:
            report.findings.append(f"{file.path}: keep comes back to true in {back:,} rows")
        if now.null_count:
            report.findings.append(f"{file.path}: keep is null in {now.null_count:,} rows")
        keep = now
    return docs.num_rows(shard) if keep is None else int(pc.sum(keep).as_py() or 0)


def check_ids(docs: Docs, report: Report) -> None:
    """Ids occur once over all shards: by hash first (8 bytes each), the few suspects by text."""
    import numpy as np
    import xxhash

    def hashes(shard: int) -> Any:
        ids = docs.read(shard, ["id"], check=False).column("id").to_pylist()
        return ids, np.fromiter((xxhash.xxh3_64_intdigest(str(i).encode("utf-8", "surrogatepass")) for i in ids), np.uint64, len(ids))

    every = np.concatenate([np.zeros(0, np.uint64), *(hashes(shard)[1] for shard in range(docs.num_shards))])
    values, counts = np.unique(every, return_counts=True)
    suspects = set(values[counts > 1].tolist())
    if not suspects:
        return
    seen: dict[str, int] = {}
    for shard in range(docs.num_shards):
        ids, found = hashes(shard)
        for id_, value in zip(ids, found.tolist(), strict=True):
            if value in suspects:
                seen[id_] = seen.get(id_, 0) + 1
    twice = {id_: n for id_, n in seen.items() if n > 1}
    if twice:
        first = next(iter(sorted(twice)))
        report.findings.append(f"{len(twice):,} ids occur more than once ({first}: {twice[first]} times)")


def check_counts(artifact: Artifact, report: Report, live: int, bad: set[str]) -> None:
    """in = out + rejected; out is what is live; each rule has as many rows as were counted."""
    import pyarrow.parquet as pq

    counts = artifact.manifest.get("counts")
    if counts is None:
        return
    total = sum(counts["rejected"].values())
    if counts["in"] != counts["out"] + total:
        report.findings.append(
            f"counts: {counts['in']:,} in, {counts['out']:,} out, {total:,} rejected: {counts['in'] - counts['out'] - total:,} are unaccounted for"
        )
    if counts["out"] != live:
        report.findings.append(f"counts: {counts['out']:,} out, but {live:,} documents are live")
    names = [name for name in sorted(artifact.files) if name.startswith("rejected/")]
    if any(name in bad for name in names):
        return
    rules: dict[str, int] = {}
    for name in names:
        for entry in pq.read_table(artifact.root / name, columns=["rule"], partitioning=None).column("rule").value_counts().to_pylist():
            rules[entry["values"]] = rules.get(entry["values"], 0) + entry["counts"]
    for rule in sorted(rules.keys() | counts["rejected"].keys()):
        if rules.get(rule, 0) != counts["rejected"].get(rule, 0):
            report.findings.append(f"rejected/: {rules.get(rule, 0):,} rows of rule {rule}, counted were {counts['rejected'].get(rule, 0):,}")


# --- running it --------------------------------------------------------------------------------------------------------


def check(artifact: Artifact, lineage: Lineage, hashes: Hashes) -> Report:
    """All checks of one artifact."""
    report = Report(f"{artifact.name}@v{artifact.version}")
    if not artifact.is_finished:
        check_checkpoints(artifact, report, hashes)
        check_inputs(artifact, report, lineage)
        return report
    bad = check_files(artifact, report, hashes)
    check_record(artifact, report)
    check_inputs(artifact, report, lineage)
    if artifact.kind == "docs":
        check_documents(artifact, report, bad)
    return report


def wanted(store: Store, refs: Sequence[str], everything: bool) -> list[Artifact]:
    """The versions to check, each once."""
    if everything:
        return [entry.artifact for entry in list_entries(store) if entry.artifact is not None]
    found: dict[Path, Artifact] = {}
    for ref in refs:
        artifact = locate(store, ref)
        if not isinstance(artifact, Artifact):
            raise MsptError(f"{ref} is not finished: nothing is recorded of it yet", "run the same command again to finish it")
        found.setdefault(artifact.root, artifact)
    return list(found.values())


def _broken(store: Store) -> Iterator[Report]:
    """Versions whose record itself cannot be read."""
    for name in store.names():
        for broken in store.damaged(name):
            yield Report(f"{name}@v{broken.version}", findings=[broken.reason])


def run(shared: Context, refs: Sequence[str], *, everything: bool) -> None:
    """`mspt verify REF...|--all`."""
    if bool(refs) == everything:
        raise MsptError("verify needs a REF, or --all", "`mspt ls` shows what there is")
    started = time.monotonic()
    artifacts = wanted(shared.store, refs, everything)
    lineage = Lineage(shared.store)
    size = sum(record.bytes for artifact in artifacts for record in artifact.files.values())
    with shared.console.progress("verify", size, "B") as bar:
        hashes = Hashes(bar)
        reports = [check(artifact, lineage, hashes) for artifact in artifacts]
    reports += list(_broken(shared.store)) if everything else []
    _print(shared, reports, time.monotonic() - started)


def _print(shared: Context, reports: Sequence[Report], seconds: float) -> None:
    failed = [report for report in reports if report.findings]
    rows = [[r.ref, text("failed", "bold red") if r.findings else text("ok", "green"), f"{r.files:,}", quantity(r.bytes, "B")] for r in reports]
    blocks: list[Any] = [table(["", "", "files", "size"], rows, right=["files", "size"])] if rows else [text("nothing to verify")]
    for report in reports:
        blocks += [text(f"{report.ref}: {finding}", "red") for finding in report.findings[:MAX_SHOWN]]
        if len(report.findings) > MAX_SHOWN:
            blocks.append(text(f"{report.ref}: and {len(report.findings) - MAX_SHOWN:,} more", "red"))
        blocks += [text(f"{report.ref}: {remark}", "dim") for remark in report.remarks]
    value = {"ok": not failed, "seconds": round(seconds, 3), "artifacts": [{"ref": r.ref, "ok": not r.findings, "files": r.files, "bytes": r.bytes,
             "findings": r.findings, "remarks": r.remarks} for r in reports]}  # fmt: skip
    present(shared.console, value, *blocks)
    if failed:
        total = sum(len(report.findings) for report in failed)
        hint = "restore the files from a copy, or make the artifact again with --name"
        shared.console.error(f"{len(failed)} of {count(len(reports), 'artifact')} failed: {count(total, 'finding')} in {duration(seconds)}", hint)
        raise typer.Exit(CheckFailed.exit_code)
