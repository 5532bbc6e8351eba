"""Stages that make artifacts for the views out of what a test writes down: documents with verdicts, and a training run with its files."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from unittest import mock

import pyarrow as pa
import pytest
import typer

from mspt.cli import app
from mspt.core.artifact import Artifact
from mspt.core.config import SampleSettings, setting
from mspt.core.shards import write_docs, write_table
from mspt.core.stage import Job, Paths, Read, Stage, UnitOutput
from mspt.core.text.documents import DOCS, REJECTED, REMOVED, document_id
from mspt.core.training_run import append_event


@dataclass(frozen=True, kw_only=True)
class ShelfConfig(SampleSettings):
    """Documents shorter than `shortest` are rejected; `shout` changes the text of the others."""

    shortest: Annotated[int, setting("shorter documents are rejected", ge=0)] = 10
    shout: Annotated[bool, setting("capital letters")] = False


def shelf_unit(payload: tuple[ShelfConfig, list[Any]], out: UnitOutput) -> dict[str, Any]:
    """Each raw file is JSONL of {text, ...}; its lines become documents or rejection rows."""
    config, files = payload
    docs: list[dict[str, Any]] = []
    rejected: list[dict[str, Any]] = []
    for file in files:
        raw = Path(file.location).read_bytes()
        out.hashed(file, hashlib.sha256(raw).hexdigest())
        for number, line in enumerate(raw.decode().splitlines()):
            row = json.loads(line)
            ref = f"{file.path}#{number}"
            row = {"id": document_id(file.source, ref), "ref": ref, "source": file.source, "lang": "en", "meta": "{}", "spans": [], **row}
            if len(row["text"]) < config.shortest:
                facts = {"stage": "shelf", "rule": "too-short", "value": len(row["text"]), "threshold": config.shortest, "excerpt": row["text"]}
                rejected.append({k: row[k] for k in ("id", "ref", "source", "text")} | facts)
            else:
                docs.append(row | {"text": row["text"].upper() if config.shout else row["text"]})
    write_docs(out.path("docs-0.parquet"), pa.Table.from_pylist(docs, DOCS))
    if rejected:
        write_table(out.path("rejected.parquet"), pa.Table.from_pylist(rejected, REJECTED))
    rules = dict(Counter(row["rule"] for row in rejected))
    sources = {files[0].source: {"in": len(docs) + len(rejected), "rejected": len(rejected)}}
    return {"in": len(docs) + len(rejected), "out": len(docs), "rejected": rules, "sources": sources}


def run_shelf(job: Job[ShelfConfig]) -> None:
    results = job.map_raw(shelf_unit, job.config, what="files")
    job.collect(results, "docs-*.parquet", "docs-{:05d}.parquet")
    job.collect(results, "rejected.parquet", "rejected/rejected-{:05d}.parquet")
    rules: Counter[str] = Counter()
    for result in results:
        rules.update(result.stats["rejected"])
    job.count(records_in=sum(r.stats["in"] for r in results), out=sum(r.stats["out"] for r in results), rejected=dict(rules))
    job.stats["sources"] = {name: counts for result in results for name, counts in result.stats["sources"].items()}
    job.stats["characters"] = 1234567
    if rules:
        job.warn("some documents are short")


@dataclass(frozen=True, kw_only=True)
class SieveConfig(SampleSettings):
    without: Annotated[str, setting("documents that hold this are dropped")] = "drop me"


def run_sieve(job: Job[SieveConfig]) -> None:
    """Judges only: links the text, writes keep, rejection rows that name the first document as survivor, and removed parts."""
    docs = job.docs()
    job.link_docs(docs)
    kept = dropped = removed = 0
    for shard in range(docs.num_shards):
        rows = docs.read(shard, ["id", "ref", "source", "text", "keep"]).to_pylist()
        keep = [row["keep"] and job.config.without not in row["text"] for row in rows]
        with job.write(job.layer_file(shard)) as path:
            write_table(path, pa.table({"keep": keep, "score": [len(row["text"]) / 100 for row in rows]}))
        gone = [row for row, stays in zip(rows, keep, strict=True) if row["keep"] and not stays]
        facts = {"stage": "sieve", "rule": "unwanted", "survivor": rows[0]["id"] if rows else None, "similarity": 0.9}
        with job.write(f"rejected/rejected-{shard:05d}.parquet") as path:
            write_table(path, pa.Table.from_pylist([{k: row[k] for k in ("id", "ref", "source", "text")} | facts for row in gone], REJECTED))
        kept, dropped = kept + sum(keep), dropped + len(gone)
        parts = [row for row in rows if "long" in row["text"]]
        where = [{"rule": "long-word", "start": row["text"].index("long"), "end": row["text"].index("long") + 4, "text": "long"} for row in parts]
        with job.write(f"removed/removed-{shard:05d}.parquet") as path:
            write_table(path, pa.Table.from_pylist([{k: row[k] for k in ("id", "ref", "source")} | w for row, w in zip(parts, where, strict=True)], REMOVED))
        removed += len(parts)
    job.count(records_in=kept + dropped, out=kept, rejected={"unwanted": dropped} if dropped else {}, removed={"long-word": removed} if removed else {})


@dataclass(frozen=True, kw_only=True)
class CourseConfig:
    steps: Annotated[int, setting("steps", ge=1)] = 4
    fails_at: Annotated[int, setting("the run stops here", runtime=True)] = 0


def run_course(job: Job[CourseConfig]) -> None:
    """A training run as far as files go: loss 8 / step, a validation and a checkpoint every second step."""
    with (job.directory / "metrics.jsonl").open("a") as log:
        for step in range(1, job.config.steps + 1):
            if step == job.config.fails_at:
                raise KeyboardInterrupt
            log.write(json.dumps({"step": step, "loss": 8 / step, "lr": 0.001}) + "\n")
            if step % 2 == 0:
                log.write(json.dumps({"step": step, "validation_loss": 9 / step}) + "\n")
                save_checkpoint(job.directory / "checkpoints" / f"step-{step:08d}", b"weights" * step)
                append_event(job.directory, "validation", step=step, loss=9 / step)
            log.flush()


def save_checkpoint(folder: Path, weights: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(weights)
    record = {"path": "model.safetensors", "bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps({"files": [record]}))


SHELF = Stage(order=1, config=ShelfConfig, run=run_shelf, writes="docs", reads={"paths": Paths("raw")}, name="shelf", doc="Documents.")
SIEVE = Stage(
    order=2, config=SieveConfig, run=run_sieve, writes="docs", reads={"docs": Read("docs", producer="shelf", digest="text")}, name="sieve", doc="A judge."
)
COURSE = Stage(
    order=3, config=CourseConfig, run=run_course, writes="model", reads={"docs": Read("docs", producer="sieve")}, name="course", doc="A run.", lifecycle="run"
)

TEXTS = ("a first long document", "short", "another long document", "please drop me at once", "tiny", "write to jane.doe@example.com or 13812345678 today")


def put_raw(folder: Path, texts: Sequence[str] = TEXTS, name: str = "books") -> Path:
    """A JSONL file of documents; its source is its name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def shelf(workspace: Any, texts: Sequence[str] = TEXTS, name: str | None = None, **config: Any) -> Artifact:
    made: Artifact = workspace.run(SHELF, config, paths=[put_raw(workspace.path.parent / "raw", texts)], name=name, argv=("mspt", "shelf", "raw/books.jsonl"))
    return made


@functools.cache
def _command() -> Any:
    """The command line, built once: that takes longer than most views."""
    return typer.main.get_command(app.build_app())


def look(capsys: Any, workspace: Any, *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a view in this workspace."""
    command = _command()
    with pytest.raises(SystemExit) as ended, mock.patch.object(app, "build_app", return_value=command):
        app.main(["--workspace", str(workspace.path), *arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def look_json(capsys: Any, workspace: Any, *arguments: str) -> dict[str, Any]:
    """The one JSON object of a view that succeeds."""
    code, out, _ = look(capsys, workspace, "--json", *arguments)
    assert code == 0
    return dict(json.loads(out))
