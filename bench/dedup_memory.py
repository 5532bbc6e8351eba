"""Does `mspt dedup` with all its levels stay within --memory? And is a bound that cannot hold refused?

    python bench/dedup_memory.py [--data ../shared/data] [--megabytes 260 520] [--memory 768MiB] [--workers 1]

Texts of zh_novels and en_public_domain grown by seeded edits (bench/dedup.py), in shards of about 128 MB; near duplicates, paragraphs, substrings of 100
characters, test sets. Prints the peak memory of the process (with --workers 1 one process does everything) beside the bound.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from dedup import Workspace, given, grow, read, size

ROOT = Path(__file__).resolve().parents[1]
TASK = "eval/gsm8k/grade_school_math/data/test.jsonl"
LEVELS = ("--paragraphs", "--substrings", "100", "--decontaminate-by", "cut")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[260, 520])
    parser.add_argument("--memory", default="768MiB")
    parser.add_argument("--workers", default="1")
    chosen = parser.parse_args()
    for megabytes in chosen.megabytes:
        with tempfile.TemporaryDirectory(prefix="mspt-bench-") as folder:
            texts = grow(read(chosen.data), megabytes)
            workspace = Workspace(Path(folder) / "work")
            given(workspace, {str(i): text for i, text in enumerate(texts)}, shards=max(1, round(size(texts) / 128e6)))
            del texts
            command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "--json", "dedup", "--docs", "given"]
            command += [*LEVELS, "--decontaminate", str(chosen.data / TASK), "--workers", chosen.workers, "--memory", chosen.memory]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{megabytes} MB, --memory {chosen.memory}: refused: {done.stdout.strip()} {done.stderr.strip()}", flush=True)
                continue
            manifest = json.loads((workspace.path / "dedup/v1/artifact.json").read_text(encoding="utf-8"))
            peak = manifest["peak_rss_bytes"]
            main_peak, child = (peak[name] / 2**20 for name in ("main", "largest_child"))
            what = f"{megabytes} MB, {manifest['counts']['in']:,} documents, --memory {chosen.memory}, {chosen.workers} worker(s)"
            print(f"{what}: peak {main_peak:.0f} MiB in the parent, {child:.0f} MiB in a child; removed parts {manifest['counts']['removed']}", flush=True)


if __name__ == "__main__":
    main()
