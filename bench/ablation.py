"""Does cleaning help? The same small model, trained at an equal token budget on four states of one dirty corpus, judged by bits per byte of clean text.

    python bench/ablation.py --workspace DIR [--data ../shared/data] [--size full|small|quick] [--seeds 3] [--steps 240]

raw           the documents as a naive reader has them: bytes taken for UTF-8, tags taken off
cleaned       the same files by `mspt clean`
deduplicated  and `mspt dedup`
weighted      and `mspt score --weight strong` (the default formula is nearly flat), drawn by weight for the budget by `mspt pack-mindrecord --target-tokens`

All by the real stages through the command line; one tokenizer, trained on raw so that it helps no state that mspt made; equal model, steps, batch, validation.
Held-out text: other chapters, articles and documents of the same sets, cleaned and deduplicated; no training text is a near-copy of it or shares 13 units in a
row with it. Each seed decides initial weights, order of rows, and the draw by weight. The corpus (bench/dirty_corpus.py) is one for all seeds.

Prints what each state holds by truth, and for each state the mean over seeds of bits per byte with its standard error, and the paired difference to raw with
its own. What is finished is not done again: stages say up to date, training goes on from its last checkpoint. Give the same options again.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import dirty_corpus

from mspt.core.shards import open_docs
from mspt.core.store import Store

SETS = ("zh_novels", "zh_wiki_hans", "zh_techdocs", "en_public_domain", "en_techdocs")
ARMS = ("raw", "cleaned", "deduplicated", "weighted")
CHARACTERS, PER_WORK = 1500, 6  # of a part of a document
SEED = 7  # of the corpus


@dataclass(frozen=True)
class Size:
    """texts: of each set, to train on; held_out: of each set (half of them are judged: pack-mindrecord validates on half at most)."""

    texts: int
    held_out: int
    vocabulary: int
    hidden: int
    layers: int
    batch: int
    seq_length: int
    steps: int

    @property
    def tokens(self) -> int:
        return self.steps * self.batch * self.seq_length


SIZES = {
    "full": Size(texts=200, held_out=60, vocabulary=8192, hidden=128, layers=4, batch=8, seq_length=256, steps=240),
    "small": Size(texts=120, held_out=30, vocabulary=6000, hidden=64, layers=2, batch=8, seq_length=128, steps=200),
    "quick": Size(texts=40, held_out=20, vocabulary=6000, hidden=64, layers=2, batch=8, seq_length=128, steps=40),
}


class Pipeline:
    """mspt in one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace, self.store = workspace, Store(workspace / "work")

    def run(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "mspt.cli", "-q", "--workspace", str(self.workspace / "work"), *map(str, arguments)]
        started = time.monotonic()
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr[-3000:]}")
        seconds = time.monotonic() - started
        print(f"{seconds:7.1f} s  mspt {' '.join(map(str, arguments))}".replace(str(self.workspace), "."), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--workspace", type=Path, required=True, help="a directory for corpus and artifacts; given again, it goes on")
    parser.add_argument("--size", choices=SIZES, default="full", help="quick: does the script work?")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="another length of the runs")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"{options.data} is not there: --data DIR names the folder of the real inputs")
    size = SIZES[options.size]
    if options.steps:
        size = Size(**{**vars(size), "steps": options.steps})
    pipeline = Pipeline(options.workspace.resolve())
    make_corpus(pipeline, options.data, size)
    prepare(pipeline, size)
    for seed in range(options.seeds):  # a seed of all states before the next: a run that is cut short has pairs to compare
        for arm in ARMS:
            train(pipeline, size, arm, seed)
    print(report(pipeline, size, range(options.seeds)))


# --- the corpus --------------------------------------------------------------------------------------------------------


def make_corpus(pipeline: Pipeline, data: Path, size: Size) -> None:
    """Held-out texts, and files of the dirty corpus, made of texts that have nothing in common with them."""
    folder = pipeline.workspace / "texts"
    held_out, pool = folder / "held-out.jsonl", folder / "pool.jsonl"
    if not pool.exists():
        folder.mkdir(parents=True)
        texts = split(list(dirty_corpus.good_texts(data, SETS, CHARACTERS, PER_WORK)), size)
        for path, own in ((held_out, texts[0]), (pool, texts[1])):
            path.write_text("".join(json.dumps(vars(good), ensure_ascii=False) + "\n" for good in own), encoding="utf-8")
    pipeline.run("clean", f"--source=held-out={held_out}", "--source-field", "source", "--name", "clean-held-out")
    pipeline.run("dedup", "--docs", "clean-held-out", "--name", "dedup-held-out")
    pipeline.run("clean", f"--source=pool={pool}", "--steps", "language", "--name", "pool")
    pipeline.run(
        "dedup", "--docs", "pool", "--against", "dedup-held-out", "--decontaminate", held_out, "--decontaminate-fields", "text", "--name", "dedup-pool"
    )
    if not (pipeline.workspace / "naive").exists():
        known = {good.id: good for good in (dirty_corpus.Good(**json.loads(line)) for line in pool.read_text(encoding="utf-8").splitlines())}
        ids = sorted(
            json.loads(meta)["id"] for table in open_docs(pipeline.store.resolve("dedup-pool")).iterate_live(["meta"]) for meta in table["meta"].to_pylist()
        )
        records = dirty_corpus.corpus([known[id_] for id_ in ids], dirty_corpus.furniture(data), SEED)
        dirty_corpus.write(records, pipeline.workspace / "raw", pipeline.workspace / "naive")


def split(texts: list[dirty_corpus.Good], size: Size) -> tuple[list[dirty_corpus.Good], list[dirty_corpus.Good]]:
    """(held out, to train on): whole works on one side, as many texts of each set as `size` says."""
    works = sorted({good.work for good in texts})
    random.Random(SEED).shuffle(works)
    place = {work: number for number, work in enumerate(works)}
    found: tuple[list[dirty_corpus.Good], list[dirty_corpus.Good]] = ([], [])
    for name in SETS:
        own = sorted((good for good in texts if good.source == name), key=lambda good: (place[good.work], good.id))
        edge = next((i for i in range(size.held_out, len(own)) if own[i].work != own[i - 1].work), len(own))
        found[0].extend(own[:edge])
        found[1].extend(own[edge : edge + size.texts])
    return found


def prepare(pipeline: Pipeline, size: Size) -> None:
    """Docs, tokens and rows of the four states, and rows of the held-out texts."""
    run = pipeline.run
    run("clean", f"--source=crawl={pipeline.workspace / 'naive'}", "--steps", "language", "--name", "raw")
    run("clean", f"--source=crawl={pipeline.workspace / 'raw'}", "--name", "cleaned")
    run("dedup", "--docs", "cleaned", "--name", "deduplicated")
    run("score", "--docs", "deduplicated", "--weight", "strong", "--name", "weighted")
    run("train-tokenizer", "--docs", "raw", "--vocab-size", size.vocabulary, "--min-character-count", 5, "--force")
    shape = ("--seq-length", size.seq_length)
    for arm in ("raw", "cleaned", "deduplicated"):
        run("tokenize", "--docs", arm, "--tokenizer", "train-tokenizer", "--name", f"tokens-{arm}")
        run("pack-mindrecord", "--tokens", f"tokens-{arm}", "--docs", arm, *shape, "--validation-share", 0, "--name", f"rows-{arm}")
    run("tokenize", "--docs", "dedup-held-out", "--tokenizer", "train-tokenizer", "--name", "tokens-held-out")
    run("pack-mindrecord", "--tokens", "tokens-held-out", "--docs", "dedup-held-out", *shape, "--validation-share", 0.5, "--name", "rows-held-out")


def train(pipeline: Pipeline, size: Size, arm: str, seed: int) -> None:
    """One model, and its bits per byte."""
    rows, name = f"rows-{arm}", f"{arm}-{seed}"
    if arm == "weighted":
        rows = f"rows-{name}"
        draw = ("--target-tokens", size.tokens, "--seed", seed)
        pipeline.run(
            "pack-mindrecord", "--tokens", "tokens-deduplicated", "--docs", arm, "--seq-length", size.seq_length, "--validation-share", 0, *draw, "--name", rows
        )
    shape = ("--hidden-size", size.hidden, "--layers", size.layers, "--batch-size", size.batch)
    length = ("--steps", size.steps, "--lr", 0.004, "--checkpoint-every", 0, "--validation-every", 0)
    pipeline.run("train", "--mindrecord", rows, *shape, *length, "--seed", seed, "--name", f"train-{name}")
    pipeline.run("eval", "--model", f"train-{name}", "--mindrecord", "rows-held-out", "--no-baselines", "--name", f"eval-{name}")


# --- what it says ------------------------------------------------------------------------------------------------------


def report(pipeline: Pipeline, size: Size, seeds: Iterable[int]) -> str:
    return "\n".join([*truth_table(pipeline), "", *results(pipeline, size, list(seeds))])


def truth_table(pipeline: Pipeline) -> list[str]:
    """Documents, and kilobytes of text, of each kind that are live in each state; for weighted the mean weight."""
    counts = {arm: kinds(pipeline, arm) for arm in ARMS[:3]}
    weights = mean_weights(pipeline)
    names = sorted({kind for found in counts.values() for kind in found})
    lines = [f"{'documents / kB':<14}" + "".join(f"{arm:>16}" for arm in ARMS[:3]) + f"{'mean weight':>14}"]
    for kind in names:
        lines.append(
            f"{kind:<14}" + "".join(f"{found[kind][0]:>8}{found[kind][1] / 1000:>8.0f}" for found in counts.values()) + f"{weights.get(kind, math.nan):>14.2f}"
        )
    totals = [[sum(part) for part in zip(*found.values(), strict=True)] for found in counts.values()]
    return [*lines, f"{'all':<14}" + "".join(f"{documents:>8}{size / 1000:>8.0f}" for documents, size in totals)]


def kinds(pipeline: Pipeline, arm: str) -> Counter[str] | dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for table in open_docs(pipeline.store.resolve(arm)).iterate_live(["ref", "text"]):
        for ref, text in zip(table["ref"].to_pylist(), table["text"].to_pylist(), strict=True):
            documents, size = found.get(kind_of(ref), (0, 0))
            found[kind_of(ref)] = (documents + 1, size + len(text.encode()))
    return {kind: found.get(kind, (0, 0)) for kind in ("plain", "page", "gb18030", "mojibake", "copy", *dirty_corpus.JUNK)}


def kind_of(ref: str) -> str:
    """`spam.jsonl#12`, `gb18030/00012.txt`."""
    return ref.split("#")[0].split("/")[0].removesuffix(".jsonl")


def mean_weights(pipeline: Pipeline) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for table in open_docs(pipeline.store.resolve("weighted")).iterate_live(["ref", "weight"]):
        for ref, weight in zip(table["ref"].to_pylist(), table["weight"].to_pylist(), strict=True):
            found.setdefault(kind_of(ref), []).append(weight)
    return {kind: statistics.fmean(weights) for kind, weights in found.items()}


def results(pipeline: Pipeline, size: Size, seeds: list[int]) -> list[str]:
    """Mean and standard error over seeds, in all and by set, and of the paired difference to raw."""
    scores = {arm: [validation(pipeline, f"eval-{arm}-{seed}") for seed in seeds] for arm in ARMS}
    facts = scores["raw"][0]["all"]
    head = f"{size.tokens:,} tokens each, {len(seeds)} seeds; {facts['documents']} held-out documents, {facts['bytes'] / 1000:.0f} kB"
    lines = [head, f"{'bits per byte':<14}{'all':>16}{'to raw':>18}" + "".join(f"{name:>18}" for name in SETS)]
    for arm in ARMS:
        own = [row["all"]["bits_per_byte"] for row in scores[arm]]
        against = [a - b["all"]["bits_per_byte"] for a, b in zip(own, scores["raw"], strict=True)]
        sets = "".join(f"{statistics.fmean(row[name]['bits_per_byte'] for row in scores[arm]):>18.4f}" for name in SETS)
        lines.append(f"{arm:<14}{with_error(own):>16}{with_error(against, '+') if arm != 'raw' else '':>18}{sets}")
    return [*lines, f"one run's error by held-out documents: {facts['bits_per_byte_error']:.4f}"]


def validation(pipeline: Pipeline, name: str) -> dict[str, dict[str, float]]:
    return {row["source"]: row for row in pipeline.store.resolve(name).stats["validation"]}


def with_error(values: list[float], sign: str = "") -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.fmean(values):{sign}.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
