"""The smoke chain of examples/tiny as tests run it, and what of it must be equal from run to run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mspt.core.runner import HOST_FILES
from mspt.core.store import Store

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "examples" / "tiny"
DATA_STAGES = ("clean", "dedup", "train-scorer", "score", "train-tokenizer", "tokenize", "pack-mindrecord")
TIMED = ("seconds", "time", "tokens_per_second")  # in the names of metrics that a clock decides


def demo(workspace: Path, *arguments: str) -> str:
    """What `make smoke` prints."""
    command = [sys.executable, str(TINY / "demo.py"), "--size", "smoke", "--workspace", str(workspace), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def chain_command(workspace: Path) -> list[str]:
    return [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace), "--config", str(TINY / "smoke.toml"), "run"]


def data_hashes(workspace: Path) -> dict[str, str]:
    """sha256 of every data file of every data artifact."""
    store = Store(workspace)
    return {f"{name}/{path}": record.sha256 for name in DATA_STAGES for path, record in store.resolve(name).files.items() if path not in HOST_FILES}


def weight_hashes(workspace: Path) -> dict[str, str]:
    """sha256 of weights and optimizer state of every checkpoint that was kept."""
    files = Store(workspace).resolve("train").files
    return {path: record.sha256 for path, record in files.items() if path.endswith(".safetensors")}


def course(workspace: Path) -> list[dict[str, object]]:
    """metrics.jsonl without what a clock decides."""
    lines = (workspace / "train" / "v1" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if not any(word in k for word in TIMED) and k != "data_wait"} for line in lines]
