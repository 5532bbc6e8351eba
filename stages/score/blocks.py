"""Blocks of consecutive documents as columns and as a table, and the command that cleans the low ones again."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.quality.blocks import Block, Run, as_table, cut_into_blocks, read_places
from mspt.core.shards import Docs, write_table
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.score import ScoreConfig
from mspt.stages.score.files import LAYER, RUN

BLOCKS = "blocks.parquet"
SECOND_NAME = "clean-strict"  # of the artifact that the second clean makes
MAX_LISTED = 100  # low blocks in the stats; blocks.parquet has all


@dataclass(frozen=True)
class BlockTask:
    """A judged layer, the block of each of its rows, and the mean quality of every block."""

    layer: Path
    places: Path
    qualities: Path


def add_blocks(job: Job[ScoreConfig], docs: Docs, judged: Sequence[UnitResult]) -> list[UnitResult]:
    """Cuts the documents that stay into blocks, lists the low ones, and gives the layers (LAYER of each result) the columns `block` and `block_quality`."""
    folder = job.scratch("blocks")
    shutil.rmtree(folder)  # of a run that was interrupted: rows are appended there
    folder.mkdir()
    places = [folder / f"places-{shard:05d}" for shard in range(docs.num_shards)]
    runs = [Run(result.path(RUN), tuple((source, ref) for source, ref in result.stats["firsts"])) for result in judged]
    found = list(cut_into_blocks(runs, job.config.block_documents, places))
    np.save(folder / "qualities.npy", np.array([block.quality for block in found], np.float64))
    with job.write(BLOCKS) as path:
        write_table(path, as_table(found))
    _list_low(job, found)
    tasks = [BlockTask(result.path(LAYER), path, folder / "qualities.npy") for result, path in zip(judged, places, strict=True)]
    units = [Unit(f"{shard:05d}", task, docs.num_rows(shard)) for shard, task in enumerate(tasks)]
    return job.map_units(write_layer, units, what="blocks", group="blocks")


def _list_low(job: Job[ScoreConfig], found: Sequence[Block]) -> None:
    low = [block for block in found if block.quality < job.config.low_block]
    documents, characters = sum(block.documents for block in low), sum(block.characters for block in low)
    ref = f"{job.name}@v{job.version}"
    stats: dict[str, Any] = {"documents_each": job.config.block_documents, "below": job.config.low_block, "blocks": len(found), "low": len(low)}
    stats |= {"low_documents": documents, "low_characters": characters}
    job.stats["blocks"] = stats
    if not low:
        return
    stats["command"] = clean_again(ref, f"block_quality < {job.config.low_block!r}")
    rows = as_table(low[:MAX_LISTED]).to_pylist()
    job.stats["low_blocks"] = [{**row, "quality": round(row["quality"], 4), "command": clean_again(ref, f"block == {row['block']}")} for row in rows]
    what = f"{len(low):,} of {len(found):,} blocks ({documents:,} documents) have a mean quality under {job.config.low_block}"
    job.note(f"{what}; to clean them again: {stats['command']}")


def clean_again(ref: str, where: str) -> str:
    """The command as one pastes it into a shell."""
    return shlex.join(["mspt", "clean", "--docs", ref, "--name", SECOND_NAME, "--profile", "strict", "--where", where])


def write_layer(task: BlockTask, out: UnitOutput) -> dict[str, Any]:
    """The layer with its blocks; null for documents that do not stay."""
    layer = pq.read_table(task.layer)
    numbers = read_places(task.places, layer.num_rows)
    none = numbers < 0
    qualities = np.load(task.qualities)[np.where(none, 0, numbers)] if not none.all() else np.zeros(layer.num_rows)
    layer = layer.append_column("block", pa.array(numbers, pa.int32(), mask=none)).append_column("block_quality", pa.array(qualities, pa.float64(), mask=none))
    write_table(out.path(LAYER), layer)
    return {}
