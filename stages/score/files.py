"""What the units of score write. A module of its own, so that workers that only add columns load nothing else."""

from __future__ import annotations

SIGNALS, LAYER, RUN = "signals.parquet", "attributes.parquet", "run.parquet"
REJECTED_ROWS, TEXT, REMOVED_ROWS = "rejected.parquet", "docs.parquet", "removed.parquet"
