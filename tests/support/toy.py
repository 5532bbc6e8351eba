"""A stage small enough to follow by hand: each raw file is one document, `bad` in its text rejects it. Used to test the engine room."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from mspt.core.config import SampleSettings, setting
from mspt.core.shards import write_docs, write_table
from mspt.core.stage import DocumentStopped, Job, Limits, Paths, Read, Stage, Unit, UnitOutput


@dataclass(frozen=True, kw_only=True)
class ToyConfig(SampleSettings):
    suffix: Annotated[str, setting("added to every text")] = "!"
    slow: Annotated[float, setting("seconds per document", runtime=True)] = 0.0
    kill_once: Annotated[str, setting("a file: while it exists, the worker that meets `die` removes it and kills itself", runtime=True)] = ""


def read_one(text: str, kill_once: str) -> str:
    if "die" in text and kill_once and Path(kill_once).exists():
        Path(kill_once).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if "crash" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "forever" in text:
        while True:
            pass
    if "huge" in text:
        return "x" * (1 << 33)
    return text


def toy_unit(payload: tuple[ToyConfig, list[Any]], out: UnitOutput) -> dict[str, Any]:
    config, files = payload
    rows, rejected = [], []
    for index, file in enumerate(files):
        raw = Path(file.location).read_bytes()
        out.hashed(file, hashlib.sha256(raw).hexdigest())
        time.sleep(config.slow)
        row = {"id": file.path, "text": raw.decode() + config.suffix, "source": file.source}
        try:
            out.guard(index, read_one, raw.decode(), config.kill_once)
        except DocumentStopped as stop:
            rejected.append(row | {"rule": stop.rule})
            continue
        (rejected if b"bad" in raw else rows).append(row | ({"rule": "bad"} if b"bad" in raw else {}))
        out.advance(file.bytes)
    schema = pa.schema([(name, pa.string()) for name in ("id", "text", "source")])
    write_docs(out.path("docs-0.parquet"), pa.Table.from_pylist(rows, schema))
    write_table(out.path("rejected.parquet"), pa.Table.from_pylist(rejected, schema.append(pa.field("rule", pa.string()))))
    rules: dict[str, int] = {}
    for row in rejected:
        rules[row["rule"]] = rules.get(row["rule"], 0) + 1
    return {"in": len(files), "out": len(rows), "rejected": rules, "sources": {files[0].source: {"in": len(files), "rejected": len(rejected)}}}


def run_toy(job: Job[ToyConfig]) -> None:
    results = job.map_raw(toy_unit, job.config, what="files", limits=Limits(cpu_seconds=1.0, memory_bytes=2 * 2**30))
    job.collect(results, "docs-*.parquet", "docs-{:05d}.parquet")
    job.collect(results, "rejected.parquet", "rejected/rejected-{:05d}.parquet")
    rules: dict[str, int] = {}
    for result in results:
        for rule, count in result.stats["rejected"].items():
            rules[rule] = rules.get(rule, 0) + count
    job.count(records_in=sum(r.stats["in"] for r in results), out=sum(r.stats["out"] for r in results), rejected=rules)


def upper_unit(payload: tuple[Any, int], out: UnitOutput) -> dict[str, Any]:
    docs, shard = payload
    table = docs.read(shard, ["text", "keep"])
    texts = table.column("text").to_pylist()
    write_table(out.path("attributes.parquet"), pa.table({"length": [len(t) for t in texts], "keep": [len(t) < 12 for t in texts]}))
    return {"rows": len(texts)}


@dataclass(frozen=True, kw_only=True)
class JudgeConfig(SampleSettings):
    factor: Annotated[int, setting("anything", ge=1)] = 1


def run_judge(job: Job[JudgeConfig]) -> None:
    docs = job.docs()
    results = job.map_units(upper_unit, [Unit(f"{i:05d}", (docs, i), docs.bytes(i)) for i in range(docs.num_shards)], what="documents")
    job.link_docs(docs)
    for shard, result in enumerate(results):
        job.link(result.path("attributes.parquet"), job.layer_file(shard), result.record("attributes.parquet"))


TOY = Stage(order=1, config=ToyConfig, run=run_toy, writes="docs", reads={"paths": Paths("raw files")}, name="toy", doc="A toy.")
JUDGE = Stage(
    order=2, config=JudgeConfig, run=run_judge, writes="docs", reads={"docs": Read("docs", producer="toy", digest="text")}, name="judge", doc="A judge."
)
