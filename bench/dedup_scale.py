"""Do time per document and memory of `mspt dedup` stay flat while the corpus grows?

    python bench/dedup_scale.py [--documents 10000 100000 1000000] [--workers 2] [--memory SIZE]

Generates short documents (60 to 140 characters, seeded), of which one in twenty is an exact copy and one in ten a near copy of an earlier one, runs the stage
over each number of them, and prints time for each document, peak memory of the parent and of the largest worker, and how many of the planted copies went.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from mspt.core.config import setting
from mspt.core.shards import shard_name, write_docs
from mspt.core.stage import Job, Stage
from mspt.core.text.documents import DOCS, document_id

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from conftest import Workspace  # noqa: E402

LETTERS = [chr(0x4E00 + 7 * i) for i in range(2500)]
SHARD = 100_000  # documents


@dataclass(frozen=True, kw_only=True)
class GenerateConfig:
    documents: Annotated[int, setting("how many")]


def original(number: int) -> str:
    chooser = random.Random(number)
    return "".join(chooser.choices(LETTERS, k=chooser.randrange(60, 140)))


def text_of(number: int) -> str:
    """Exact copies at 19, 39, ...; near copies (one character replaced) at 9, 13, 29, 33, ...; all others are originals."""
    place = number % 20
    if number < 20 or place not in (19, 9, 13):
        return original(number)
    chooser = random.Random(-number)
    text = original(chooser.randrange(number // 20) * 20 + chooser.randrange(9))
    if place == 19:
        return text
    position = chooser.randrange(len(text))
    return text[:position] + chooser.choice(LETTERS) + text[position + 1 :]


def planted(documents: int) -> int:
    return sum(number % 20 in (19, 9, 13) for number in range(20, documents))


def generate(job: Job[GenerateConfig]) -> None:
    for shard, start in enumerate(range(0, job.config.documents, SHARD)):
        numbers = range(start, min(start + SHARD, job.config.documents))
        columns = {"id": [document_id("made", str(i)) for i in numbers], "text": [text_of(i) for i in numbers], "source": ["made"] * len(numbers)}
        table = pa.table({field.name: columns.get(field.name, pa.nulls(len(numbers), field.type)) for field in DOCS}, schema=DOCS)
        with job.write(shard_name(shard)) as path:
            write_docs(path, table)


GENERATED = Stage(order=1, config=GenerateConfig, run=generate, writes="docs", reads={}, name="generated", doc="Generated documents.")


def run(folder: Path, documents: int, flags: list[str]) -> dict[str, Any]:
    """artifact.json of a run."""
    workspace = Workspace(folder / str(documents) / "work")
    workspace.run(GENERATED, {"documents": documents})
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "--json", "dedup", "--docs", "generated", *flags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    manifest: dict[str, Any] = json.loads((workspace.path / "dedup/v1/artifact.json").read_text(encoding="utf-8"))
    return manifest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="")
    chosen = parser.parse_args()
    flags = ["--workers", str(chosen.workers), *(["--memory", chosen.memory] if chosen.memory else [])]
    with tempfile.TemporaryDirectory(prefix="mspt-bench-") as folder:
        for documents in chosen.documents:
            made = run(Path(folder), documents, flags)
            peak, rejected = made["peak_rss_bytes"], sum(made["counts"]["rejected"].values())
            index = sum(file["bytes"] for file in made["files"] if file["path"].startswith("index/"))
            print(f"{documents:>9,} documents: {made['seconds']:.1f} s, {1e6 * made['seconds'] / documents:.0f} us each; peak memory "
                  f"{peak['main'] / 1e6:,.0f} MB in the parent, {peak['largest_child'] / 1e6:,.0f} MB in a worker (0: it needed none); removed {rejected:,} of "
                  f"{planted(documents):,} planted; index {index / made['counts']['out']:.0f} bytes a document kept", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
