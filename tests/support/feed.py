"""A stage that makes docs of a JSON Lines file as they are, for tests of the stages that read docs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from mspt.core.config import WorkerSettings, setting
from mspt.core.shards import shard_name, write_docs, write_table
from mspt.core.stage import Files, Job, Stage

TEXT = pa.schema([(name, pa.string()) for name in ("id", "text", "source", "lang")])
LAYER = pa.schema([("keep", pa.bool_()), ("cluster", pa.string()), ("weight", pa.float64())])


@dataclass(frozen=True, kw_only=True)
class FeedConfig(WorkerSettings):
    shard_rows: Annotated[int, setting("documents in a shard", ge=1)] = 1000


def run_feed(job: Job[FeedConfig]) -> None:
    rows = [json.loads(line) for line in Path(job.files["documents"][0].location).read_text(encoding="utf-8").splitlines()]
    for shard, first in enumerate(range(0, max(len(rows), 1), job.config.shard_rows)):
        part = rows[first : first + job.config.shard_rows]
        with job.write(shard_name(shard)) as path:
            write_docs(path, pa.Table.from_pylist(part, TEXT))
        with job.write(job.layer_file(shard)) as path:
            write_table(path, pa.Table.from_pylist([{"keep": True, "weight": 1.0, **row} for row in part], LAYER))
    kept = sum(row.get("keep", True) for row in rows)
    job.count(records_in=len(rows), out=kept, rejected={"not kept": len(rows) - kept} if kept < len(rows) else {})


FEED = Stage(order=3, config=FeedConfig, run=run_feed, writes="docs", reads={"documents": Files("a JSON Lines file")}, name="feed", doc="Feeds documents.")


def document(id_: str, text: str, source: str = "web", lang: str = "en", **layer: Any) -> dict[str, Any]:
    return {"id": id_, "text": text, "source": source, "lang": lang, **layer}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
