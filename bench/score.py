"""How fast texts are scored, against bare fastText prediction: the same model on token lines that are ready, without tokens, shapes and calibration.

    python bench/score.py [--data ../shared/data] [--scorer DIR]

MB of UTF-8 a second of CPU time (one thread), the median of five runs in turn, and the ratio. Without --scorer the default scorer is measured; the model's size
decides how fast fastText is, so both sides use the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from mspt.core.quality.features import token_lines
from mspt.core.quality.scorer import Scorer

SETS = ("zh_novels", "zh_wiki_hans", "zh_techdocs", "en_public_domain")
RUNS = 5
MAX_BYTES = 4_000_000


def read(path: Path, max_characters: int) -> list[str]:
    """What a scorer reads of each text."""
    found, size = [], 0
    for line in gzip.decompress(path.read_bytes()).decode("utf-8").split("\n"):
        if line and size < MAX_BYTES:
            found.append(json.loads(line)["text"][:max_characters])
            size += len(found[-1].encode())
    return found


def seconds(function: Callable[[], Any]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--scorer", type=Path, help="the directory of a scorer")
    options = parser.parse_args()
    scorer = Scorer.load(options.scorer) if options.scorer else Scorer.default()
    longest = scorer.description.max_characters
    print(f"{'':<20}{'score MB/s':>12}{'fastText MB/s':>15}{'ratio':>8}")
    for name in SETS:
        texts = read(options.data / f"{name}.jsonl.gz", longest)
        column, size = pa.array(texts, pa.large_string()), sum(len(text.encode()) for text in texts) / 1e6
        lines = token_lines(column, longest, scorer.vocabulary)
        scorer.score(column)  # kernels compiled, caches warm
        pairs = [(seconds(lambda c=column: scorer.score(c)), seconds(lambda ls=lines: scorer.model.predict(ls, k=3))) for _ in range(RUNS)]
        ours, bare = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(f"{name:<20}{size / ours:>12.1f}{size / bare:>15.1f}{bare / ours:>8.2f}")


if __name__ == "__main__":
    main()
