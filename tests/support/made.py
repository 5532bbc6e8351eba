"""What a stage made: its rows, and the hashes that must be equal from run to run."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq

from mspt.core.artifact import Artifact
from mspt.core.runner import HOST_FILES


def rows(artifact: Artifact, pattern: str = "docs-*.parquet") -> list[dict[str, Any]]:
    return [row for path in sorted(artifact.root.glob(pattern)) for row in pq.read_table(path).to_pylist()]


def data_hashes(artifact: Artifact) -> dict[str, str]:
    """sha256 of all data files; inputs.parquet and units.json hold times of raw files."""
    return {path: record.sha256 for path, record in artifact.files.items() if path.endswith(".parquet") and path not in HOST_FILES}
