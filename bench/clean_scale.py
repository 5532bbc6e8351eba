"""Does the memory of `mspt clean` grow with its input, and does a kill in the middle of one huge gzip change a byte?

    python bench/clean_scale.py [--megabytes 100] [--kill]

Writes one gzip of JSONL (so many MB of text: sentences of zh_novels of ../shared/data in random order), cleans it and one ten times larger, and prints peak
memory and MB/s of both. With --kill it cleans the smaller one a second time, ends the whole process group with SIGKILL when half of the parts are done,
resumes, and compares every file by sha256.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

UNIT_BYTES = 64 * 2**20  # clean's default


def generate(path: Path, megabytes: int, data: Path) -> None:
    """JSONL of documents of thirty sentences of zh_novels, drawn at random, in one gzip."""
    with gzip.open(data / "zh_novels.jsonl.gz", "rt", encoding="utf-8") as handle:
        sentences = [sentence for line in handle for sentence in re.findall("[^。\n]{12,60}。", json.loads(line)["text"])]
    rng, left = random.Random(7), megabytes * 1_000_000
    with gzip.open(path, "wb", compresslevel=1) as handle:
        while left > 0:
            line = json.dumps({"text": "".join(rng.choices(sentences, k=30))}, ensure_ascii=False).encode() + b"\n"
            handle.write(line)
            left -= len(line)


def command(path: Path, work: Path, name: str) -> list[str]:
    return [sys.executable, "-m", "mspt.cli", "--workspace", str(work), "--json", "clean", str(path), "--name", name]


def clean(path: Path, work: Path, name: str) -> dict[str, Any]:
    """artifact.json of a run."""
    subprocess.run(command(path, work, name), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    manifest: dict[str, Any] = json.loads((work / name / "v1" / "artifact.json").read_text(encoding="utf-8"))
    return manifest


def kill_half_way(path: Path, work: Path, name: str, parts: int) -> int:
    """Ends a run when half of its parts have a record. Returns how many had one."""
    process = subprocess.Popen(command(path, work, name), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    units = work / name / "v1.partial" / "units"
    while process.poll() is None and len(list(units.glob("*.json"))) < parts // 2:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return len(list(units.glob("*.json")))


def hashes(manifest: dict[str, Any]) -> dict[str, str]:
    return {file["path"]: file["sha256"] for file in manifest["files"] if file["path"].endswith(".parquet") and file["path"] != "inputs.parquet"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100, help="of text in the smaller file")
    parser.add_argument("--kill", action="store_true", help="kill and resume instead of the tenfold input")
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mspt-bench-") as folder:
        work, made = Path(folder) / "work", {}
        for size in (chosen.megabytes,) if chosen.kill else (chosen.megabytes, 10 * chosen.megabytes):
            path = Path(folder) / f"text-{size}.jsonl.gz"
            generate(path, size, chosen.data)
            made[size] = clean(path, work, f"whole-{size}")
            peak = made[size]["peak_rss_bytes"]
            counts = made[size]["counts"]
            seconds = made[size]["seconds"]
            print(f"{size:>6} MB ({path.stat().st_size / 1e6:,.0f} MB gzip): {counts['out']:,} of {counts['in']:,} kept, {seconds:.0f} s, "
                  f"{size / seconds:.1f} MB/s, peak {peak['largest_child'] / 1e6:,.0f} MB a worker, {peak['main'] / 1e6:,.0f} MB in the parent")  # fmt: skip
        if chosen.kill:
            whole = made[chosen.megabytes]
            parts = -(-chosen.megabytes * 1_000_000 // UNIT_BYTES)
            done = kill_half_way(path, work, "killed", parts)
            resumed = clean(path, work, "killed")
            same = hashes(resumed) == hashes(whole)
            print(f"killed with {done} of {parts} parts done, resumed in {resumed['seconds']:.0f} s: {'identical bytes' if same else 'DIFFERENT BYTES'}")
            sys.exit(not same)
        small, large = (made[size]["peak_rss_bytes"]["largest_child"] for size in sorted(made))
        print(f"ten times the input: {large / small:.2f} times the memory of a worker")


if __name__ == "__main__":
    main()
