"""What the levels of dedup that change texts cost: megabytes of UTF-8 per second of processor time, on one core.

    python bench/dedup_levels.py [--data ../shared/data] [--length 100]

paragraphs: lines found and hashed. anchors: what every text pays for --substrings; suffix array: what text that repeats pays on top (here all of the text, in
blocks of 2 million characters). test sets: units found, and matched against GSM8K, HumanEval, AGIEval and CMRC 2018.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mspt.core.dedup.anchors import find_anchors
from mspt.core.dedup.folding import batches
from mspt.core.dedup.overlaps import BATCH_BYTES, build_matcher, find_overlaps
from mspt.core.dedup.paragraphs import find_paragraphs
from mspt.core.dedup.suffixes import first_copies
from mspt.core.dedup.units import find_units

SETS = ("zh_novels", "en_public_domain")
TASKS = ("gsm8k/grade_school_math/data/test.jsonl", "humaneval/data/HumanEval.jsonl.gz", "cmrc2018/squad-style-data/cmrc2018_trial.json")
BLOCK = 2_000_000  # characters
REPEATS = 3


def seconds(function: Callable[[], Any]) -> float:
    """The best of some runs, after one that compiles."""
    function()
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--length", type=int, default=100, help="of repeated substrings, in characters")
    options = parser.parse_args()
    tasks = [*(options.data / "eval" / name for name in TASKS), *sorted((options.data / "eval/agieval/data/v1").glob("*.jsonl"))]
    start = time.process_time()
    matcher = build_matcher(tasks)
    print(f"{len(tasks)} task files: {len(matcher.pieces):,} texts, {len(matcher.keys):,} windows, read in {time.process_time() - start:.1f} s")
    for name in SETS:
        with gzip.open(options.data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        column = pa.array(texts, pa.large_string())
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
        offsets = np.cumsum([0, *map(len, texts)])
        block = codes[:BLOCK]
        parts = list(batches(column, BATCH_BYTES))
        figures = {
            "paragraphs": seconds(lambda parts=parts: [find_paragraphs(part) for part in parts]),
            "anchors": seconds(lambda codes=codes, offsets=offsets: find_anchors(codes, offsets, options.length)),
            "suffix array": seconds(lambda block=block: first_copies(block, np.array([len(block)]), options.length)) * len(codes) / len(block),
            "units": seconds(lambda parts=parts: [find_units(part) for part in parts]),
            "test sets (units included)": seconds(lambda column=column: find_overlaps(matcher, column)),
        }
        print(f"\n{name}, {megabytes:.1f} MB")
        for what, taken in figures.items():
            print(f"  {what:28} {megabytes / taken:8.0f} MB/s")


if __name__ == "__main__":
    main()
