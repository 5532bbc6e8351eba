"""A stage that makes docs of JSONL rows as they are: what the stages behind clean start from in their tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from mspt.core.artifact import Artifact
from mspt.core.config import SampleSettings, setting
from mspt.core.shards import open_docs, shard_name, write_docs, write_table
from mspt.core.stage import Files, Job, Stage
from mspt.core.text.documents import DOCS, document_id


@dataclass(frozen=True, kw_only=True)
class GivenConfig(SampleSettings):
    shards: Annotated[int, setting("number of shards", ge=1)] = 1
    dropped: Annotated[tuple[str, ...], setting("refs with keep = false")] = ()


def run_given(job: Job[GivenConfig]) -> None:
    rows: list[dict[str, Any]] = []
    for file in job.files["rows"]:
        rows += [json.loads(line) for line in Path(file.location).read_text(encoding="utf-8").split("\n") if line]  # texts may hold U+2028
    for row in rows:
        row.setdefault("source", "given")
        row["id"] = document_id(row["source"], row["ref"])
    per_shard = -(-len(rows) // job.config.shards) or 1
    for shard in range(job.config.shards):
        part = rows[shard * per_shard : (shard + 1) * per_shard]
        with job.write(shard_name(shard)) as path:
            write_docs(path, pa.Table.from_pylist(part, DOCS))
        with job.write(job.layer_file(shard)) as path:
            layer = {"keep": pa.array([row["ref"] not in job.config.dropped for row in part], pa.bool_())}
            if any("quality" in row for row in rows):
                layer["quality"] = pa.array([row.get("quality") for row in part], pa.float32())
            write_table(path, pa.table(layer))


GIVEN = Stage(order=1, config=GivenConfig, run=run_given, writes="docs", reads={"rows": Files("JSONL of documents")}, name="given", doc="Given documents.")


def given(workspace: Any, texts: dict[str, str] | list[dict[str, Any]], *, name: str = "given", **config: Any) -> Artifact:
    """A docs artifact of these texts (by ref), or of these rows (ref, text, source, ...)."""
    rows = [{"ref": ref, "text": text} for ref, text in texts.items()] if isinstance(texts, dict) else texts
    path = workspace.path.parent / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    made: Artifact = workspace.run(GIVEN, config, files={"rows": [path]}, name=name)
    return made


def read_all(artifact: Artifact) -> list[dict[str, Any]]:
    """All rows of a docs artifact with all layers applied."""
    docs = open_docs(artifact)
    return [row for shard in range(docs.num_shards) for row in docs.read(shard).to_pylist()]


def read_rejected(artifact: Artifact) -> list[dict[str, Any]]:
    """All rejection rows of an artifact."""
    import pyarrow.parquet as pq

    names = sorted(name for name in artifact.files if name.startswith("rejected/"))
    return [row for name in names for row in pq.read_table(artifact.root / name).to_pylist()]


def hashes(artifact: Artifact) -> dict[str, str]:
    """sha256 of every data file."""
    return {name: record.sha256 for name, record in artifact.files.items()}
