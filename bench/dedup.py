"""How fast is dedup, against datasketch, and as a whole stage? One run, one core.

    python bench/dedup.py [--data ../shared/data] [--megabytes 200]

1. Text to signature (fold, shingle, 112 permutations), in MB of UTF-8 of processor time, over zh_novels and en_public_domain, and how many times that is what
   datasketch's update_batch does: from text with a fast 32-bit hash (the bar) and with its default hash, and where a part of its work is done already.
2. The whole stage (`mspt dedup --workers 1`: read, shingle, sign, band, verify, write) on the same texts grown by seeded edits (tests/support/edits.py).
   MB/s of wall time on one core, and of processor time of all its processes.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import datasketch
import numpy as np
import pyarrow as pa
import xxhash

from mspt.core.dedup.folding import fold
from mspt.core.dedup.minhash import DEFAULT_SEED, permutations, signatures
from mspt.core.dedup.shingles import ShingleSize, shingle, shingled

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from conftest import Workspace  # noqa: E402

from support.edits import edit  # noqa: E402
from support.given import given  # noqa: E402

SETS = ("zh_novels", "en_public_domain")
PERMUTATIONS = 112
PEER_BYTES = 4_000_000  # of text that datasketch is timed on
RUNS = 3


def read(data: Path) -> list[str]:
    texts = []
    for name in SETS:
        with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as handle:
            texts += [json.loads(line)["text"] for line in handle]
    return texts


def size(texts: list[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def best(function: Any) -> float:
    """Seconds of processor time, the best of some runs."""
    seconds = []
    for _ in range(RUNS):
        started = time.process_time()
        function()
        seconds.append(time.process_time() - started)
    return min(seconds)


def sign(column: pa.Array) -> None:
    permuted_by = permutations(PERMUTATIONS, DEFAULT_SEED)
    for _, shingles in shingled(column, ShingleSize()):
        signatures(shingles.hashes, shingles.offsets, permuted_by)


def peer_texts(texts: list[str]) -> list[str]:
    """Texts spread over the whole list, so many as PEER_BYTES hold."""
    step = max(1, size(texts) // PEER_BYTES)
    return texts[::step]


def bench_signatures(texts: list[str]) -> None:
    column = pa.array(texts, pa.large_string())
    sign(column.slice(0, 10))  # kernels are loaded
    ours = size(texts) / 1e6 / best(lambda: sign(column))
    some = peer_texts(texts)
    megabytes = size(some) / 1e6
    shingles = shingle(fold(pa.array(some)), ShingleSize())
    permuted_by = permutations(PERMUTATIONS, DEFAULT_SEED)
    alone = megabytes / best(lambda: signatures(shingles.low(), shingles.offsets, permuted_by))
    hashes = [part.tolist() for part in np.split(shingles.low(), shingles.offsets[1:-1])]
    as_bytes = [cut(text) for text in some]
    rivals = {
        "BAR (20): both start from the text; it cuts the same shingles with Python and hashes them with xxh32, a 32-bit hash in C": (
            xxhash.xxh32_intdigest, lambda: map(cut, some), ours),
        "its default: both start from the text; it hashes with the first four bytes of SHA-1": (None, lambda: map(cut, some), ours),
        "it starts from shingles as bytes and hashes them with xxh32; we start from the text": (xxhash.xxh32_intdigest, lambda: as_bytes, ours),
        "it starts from our 32-bit shingle hashes as Python integers; we start from the text": (int, lambda: hashes, ours),
        "permutations alone: both start from the same 32-bit shingle hashes": (int, lambda: hashes, alone),
    }  # fmt: skip
    print(f"text to signature: {ours:.0f} MB/s; permutations alone, from ready 32-bit hashes: {alone:.0f} MB/s", flush=True)
    print(f"datasketch {datasketch.__version__}, MinHash({PERMUTATIONS}, scheme=affine32).update_batch on every {len(texts) // len(some)}th text:", flush=True)
    for name, (hashfunc, values, compared) in rivals.items():
        empty = datasketch.MinHash(PERMUTATIONS, seed=DEFAULT_SEED, scheme="affine32", hashfunc=hashfunc)
        theirs = megabytes / best(functools.partial(update_all, empty, values))
        print(f"    {compared / theirs:5.1f} x ({theirs:.2f} MB/s)  {name}", flush=True)


def cut(text: str) -> list[bytes]:
    """Shingles as a user of datasketch makes them: five characters where Chinese prevails, else five words."""
    if sum("一" <= character <= "龥" for character in text[:200]) > 50:
        return [text[i : i + 5].encode() for i in range(len(text) - 4)]
    words = text.split()
    return [" ".join(words[i : i + 5]).encode() for i in range(len(words) - 4)]


def update_all(empty: datasketch.MinHash, documents: Callable[[], Iterable[list[Any]]]) -> None:
    for values in documents():
        empty.copy().update_batch(values)


def grow(texts: list[str], megabytes: int) -> list[str]:
    chooser, grown, left = random.Random(5), list(texts), megabytes * 1_000_000 - size(texts)
    while left > 0:
        grown.append(edit(chooser.choice(texts), chooser))
        left -= len(grown[-1].encode())
    return grown


def bench_stage(texts: list[str], folder: Path) -> None:
    workspace = Workspace(folder / "work")
    given(workspace, {str(i): text for i, text in enumerate(texts)}, shards=max(1, round(size(texts) / 128e6)))
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace.path), "--json", "dedup", "--docs", "given", "--workers", "1"]
    for attempt in range(2):  # the first run compiles what is not compiled yet and reads the files into the page cache
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([*command, "--name", f"dedup-{attempt}"], check=True, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {0}))
        wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    manifest = json.loads((workspace.path / "dedup-1/v1/artifact.json").read_text())
    megabytes, counts, peak = size(texts) / 1e6, manifest["counts"], manifest["peak_rss_bytes"]
    print(f"whole stage: {megabytes:.0f} MB, {counts['in']:,} documents, removed {counts['rejected']}: {wall:.1f} s = {megabytes / wall:.1f} MB/s on one core; "
          f"{processor:.1f} s of processor time = {megabytes / processor:.1f} MB/s; peak memory {max(peak.values()) / 1e6:.0f} MB in "
          "the largest process", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--export", type=Path, help="write 1 in 20 of the grown texts as JSONL for bench/dedup_datatrove.py, and end")
    chosen = parser.parse_args()
    texts = read(chosen.data)
    if chosen.export:
        lines = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in grow(texts, chosen.megabytes)[::20]]
        chosen.export.write_text("".join(lines), encoding="utf-8")
        return
    bench_signatures(texts)
    with tempfile.TemporaryDirectory(prefix="mspt-bench-") as folder:
        bench_stage(grow(texts, chosen.megabytes), Path(folder))


if __name__ == "__main__":
    main()
