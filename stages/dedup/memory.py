"""What dedup needs at least, so that a bound that cannot hold is refused before any work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from mspt.core.errors import MsptError
from mspt.core.shards import Docs
from mspt.core.stage import Job

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig
    from mspt.stages.dedup.corpus import Shard

# Measured by bench/dedup_memory.py (737 MiB for four shards of 131 MB and all levels) and on a million documents of a line: resident memory of the process with
# its libraries, of which 211 MiB are mapped files; of each document while all are put in order; of each byte of the largest shard, which is written whole when
# it loses parts of texts.
BASE_BYTES = 432 * 2**20
DOCUMENT_BYTES = 272
SHARD_FACTOR = 2.25


def needed_bytes(docs: Docs, old: Sequence[Shard], workers: int) -> int:
    """Memory without which a run may not go, whatever else is bounded by the setting. One worker is the process itself."""
    documents, largest = old[-1].end if old else 0, 0
    for shard in range(docs.num_shards):
        metadata = pq.read_metadata(docs.root / docs.text[shard].path)
        documents += metadata.num_rows
        largest = max(largest, sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)))
    at_work = int(SHARD_FACTOR * largest)
    return BASE_BYTES + DOCUMENT_BYTES * documents + (at_work if workers == 1 else workers * (BASE_BYTES + at_work))


def check_memory(job: Job[DedupConfig], docs: Docs, old: Sequence[Shard]) -> None:
    """MsptError where `--memory` says less than is needed."""
    needed = -(-needed_bytes(docs, old, job.workers) // 2**20)
    if job.config.memory is not None and job.config.memory < needed * 2**20:
        with_workers = "1 worker" if job.workers == 1 else f"{job.workers} workers"
        raise MsptError(
            f"memory = {job.config.memory / 2**20:.0f} MiB: these documents and their largest shard take {needed:,} MiB at least with {with_workers}",
            f"--memory {needed}MiB{', or --workers 1' if job.workers > 1 else ''}",
        )
