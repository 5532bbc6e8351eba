"""The whole chain over all text of ../shared/data: raw files to a trained model, and what came of each source.

    python bench/whole_chain.py --workspace DIR [--data ../shared/data] [--steps 40]

Every folder and file of the data that holds text is a source of its own: novels, poems, encyclopaedia, documentation, manual pages, licences, web pages, WARC
files (some of them broken on purpose), sentences of 113 languages, tasks. Tokenizers, models and gold answers are left out. The training is a few steps of a
small model: this is about the data.

Prints documents and tokens of each source through the stages, times, and three checks: `mspt verify` of every artifact; every packed row read exactly once by
two readers of MindDataset; tokens of random rows spell the text of the documents that they are traced to.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from mspt.core.shards import open_docs
from mspt.core.store import Store

LEFT_OUT = {"README.md", "tokenizers", "model", "neardup_spdx_gold_pairs.tsv.gz"}  # no text, or not meant as text
STAGES = ("clean", "dedup", "train-scorer", "score", "train-tokenizer", "tokenize", "pack-mindrecord", "train", "eval")
ROWS = 200  # that are traced


def sources(data: Path) -> list[str]:
    """NAME=PATH for each entry of the folder."""
    return [f"{path.name.split('.')[0]}={path.resolve()}" for path in sorted(data.iterdir()) if path.name not in LEFT_OUT]


def settings(data: Path, steps: int) -> str:
    """mspt.toml."""
    return f"""
[run]
steps = {json.dumps(STAGES)}

[clean]
source = {json.dumps(sources(data))}

[train-tokenizer]
vocab_size = 32768

[pack-mindrecord]
seq_length = 1024

[train]
hidden_size = 64
layers = 2
batch_size = 2
steps = {steps}
validation_every = 0
validation_rows = 8

[eval]
baselines = false
"""


def mspt(workspace: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "mspt.cli", "--workspace", str(workspace), *arguments], check=True)


def documents(store: Store, name: str, columns: list[str]) -> Iterator[dict[str, str]]:
    """What the artifact keeps."""
    for table in open_docs(store.resolve(name)).iterate_live(columns):
        yield from table.to_pylist()


def show_sources(store: Store) -> None:
    """Documents into clean, kept by clean, dedup and score; tokens; share of the mixture."""
    counts = {name: Counter(row["source"] for row in documents(store, name, ["source"])) for name in ("clean", "dedup", "score")}
    mixture = store.resolve("pack-mindrecord").stats["mixture"]
    print(f"{'source':24} {'clean':>8} {'dedup':>8} {'score':>8} {'tokens':>12} {'share':>7}")
    for name in sorted(counts["clean"]):
        drawn = mixture.get(name, {"available": 0, "share": 0.0})
        print(f"{name:24} {counts['clean'][name]:8,} {counts['dedup'][name]:8,} {counts['score'][name]:8,} {drawn['available']:12,} {drawn['share']:7.2%}")


def show_stages(store: Store) -> None:
    print(f"{'stage':24} {'in':>8} {'out':>8} {'seconds':>8} {'main':>8} {'worker':>8}")
    for name in STAGES:
        found = store.resolve(name).manifest
        counts, peak = found.get("counts") or {}, found["peak_rss_bytes"]
        numbers = [f"{counts[key]:,}" if key in counts else "" for key in ("in", "out")]
        print(f"{name:24} {numbers[0]:>8} {numbers[1]:>8} {found['seconds']:8.1f} {peak['main'] >> 20:5} MB {peak['largest_child'] >> 20:5} MB")


def check_reading(store: Store) -> None:
    """Two readers together see each row once."""
    import mindspore.dataset as ds

    packed = store.resolve("pack-mindrecord")
    files = [str(packed.path(name)) for name in sorted(packed.files) if name.startswith("train-") and name.endswith(".mindrecord")]
    seen: Counter[bytes] = Counter()
    for shard in range(2):
        reader = ds.MindDataset(files, columns_list=["input_ids", "labels"], num_shards=2, shard_id=shard, shuffle=False)
        for row in reader.create_dict_iterator(num_epochs=1, output_numpy=True):
            seen[row["input_ids"].tobytes() + row["labels"].tobytes()] += 1
    whole: Counter[bytes] = Counter()
    for row in ds.MindDataset(files, columns_list=["input_ids", "labels"], shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True):
        whole[row["input_ids"].tobytes() + row["labels"].tobytes()] += 1
    rows = packed.stats["rows"]["train"]
    assert sum(whole.values()) == rows
    # MindDataset gives each reader equally many rows: with an odd number one row comes twice
    assert sum(seen.values()) in (rows, rows + 1)
    assert not whole - seen
    print(f"rows: {rows:,}, all read by two readers together")


def check_tracing(store: Store) -> None:
    """What random rows hold is text of the documents that their provenance names. Decoded by SentencePiece itself."""
    import mindspore.dataset as ds
    import sentencepiece

    packed = store.resolve("pack-mindrecord")
    texts = {row["id"]: row["text"] for row in documents(store, "score", ["id", "text"])}
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(store.resolve("train-tokenizer").path("tokenizer.model")))
    files = [str(packed.path(name)) for name in sorted(packed.files) if name.startswith("train-") and name.endswith(".mindrecord")]
    chosen = set(random.Random(0).sample(range(packed.stats["rows"]["train"]), ROWS))
    names = sorted(name for name in packed.files if name.startswith("rows-train"))
    segments = [line for name in names for line in pq.read_table(packed.path(name)).to_pylist() if line["row"] in chosen]
    held = {}
    for number, row in enumerate(ds.MindDataset(files, columns_list=["labels"], shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True)):
        if number in chosen:
            held[number] = row["labels"].tolist()
    for line in segments:
        ids = [token for token in held[line["row"]][line["start"] : line["end"]] if not pieces.is_control(token)]
        spelt = b"".join(_bytes(pieces, token) for token in ids)
        assert spelt in texts[line["id"]].encode("utf-8", "surrogatepass"), line
    print(f"provenance: {len(segments):,} segments of {ROWS} random rows are text of the documents that they name")


def _bytes(pieces: object, token: int) -> bytes:
    """UTF-8 bytes of a piece: byte pieces are <0xE4>."""
    surface = pieces.id_to_piece(token)  # type: ignore[attr-defined]
    return bytes([int(surface[3:5], 16)]) if pieces.is_byte(token) else surface.replace("▁", " ").encode()  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    arguments.workspace.mkdir(parents=True, exist_ok=True)
    config = arguments.workspace / "mspt.toml"
    config.write_text(settings(arguments.data, arguments.steps), encoding="utf-8")
    began = time.perf_counter()
    mspt(arguments.workspace, "--config", str(config), "run")
    print(f"chain: {time.perf_counter() - began:.0f} s")
    store = Store(arguments.workspace)
    show_sources(store)
    show_stages(store)
    mspt(arguments.workspace, "verify", "--all")
    check_reading(store)
    check_tracing(store)


if __name__ == "__main__":
    main()
