"""pack-mindrecord against the bare MindRecord library, on generated tokens.

    python bench/pack.py                        100 M tokens: writing and reading, three alternating runs each, medians of CPU time
    python bench/pack.py --memory               peak memory of 10 M and of 100 M tokens
    python bench/pack.py --tokens 20000000 --folder FOLDER

Writing: a bare FileWriter is handed the rows that pack-mindrecord made (same columns, ready in memory); pack does everything: join, split, leakage check,
mixture, packing, gathering, rows, provenance, hashes. CPU time of both whole processes with their workers (one), start and import of MindSpore included.
Reading: MindDataset as it comes against core/tokens/mindrecord.read, and against the reader of training, which shuffles and checks every row; CPU time of the
pass alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from mspt.core.config import WorkerSettings, build_config, setting
from mspt.core.runner import Request, run_stage
from mspt.core.shards import layer_name, shard_name, write_docs, write_table
from mspt.core.stage import Job, Read, Stage, find
from mspt.core.store import Store

VOCABULARY, EOS, PAD = 32_000, 0, 1
SOURCES = {"web": 0.6, "books": 0.1, "code": 0.3}  # share of the documents
MEDIAN = {"web": 300, "books": 6_000, "code": 700}  # tokens of a document; log-normal, sigma 1
SHARD = 20_000  # documents
ROW, SEGMENTS = 2048, 128


@dataclass(frozen=True, kw_only=True)
class Generated(WorkerSettings):
    tokens: Annotated[int, setting("tokens to generate", ge=1000)] = 10_000_000


def lengths_of(tokens: int) -> list[tuple[str, int, int]]:
    """(source, shard, documents with their lengths as seed) is drawn by source, until there are about `tokens`."""
    mean = {s: MEDIAN[s] * float(np.exp(0.5)) for s in SOURCES}
    documents = tokens / sum(SOURCES[s] * mean[s] for s in SOURCES)
    return [(s, i, min(SHARD, int(documents * SOURCES[s]) + 1 - i * SHARD)) for s in sorted(SOURCES) for i in range(int(documents * SOURCES[s]) // SHARD + 1)]


def draw_lengths(source: str, shard: int, count: int) -> Any:
    rng = np.random.default_rng([len(source), shard])
    return np.maximum(2, rng.lognormal(np.log(MEDIAN[source]), 1.0, count)).astype(np.int64)


def ids_of(source: str, shard: int, count: int) -> list[str]:
    return [f"{source}{shard:010d}{i:018d}"[-32:].rjust(32, "0") for i in range(count)]


def run_docs(job: Job[Generated]) -> None:
    import pyarrow as pa

    total = 0
    for number, (source, shard, count) in enumerate(lengths_of(job.config.tokens)):
        ids = ids_of(source, shard, count)
        with job.write(shard_name(number)) as path:
            write_docs(path, pa.table({"id": ids, "text": ["-"] * count, "source": [source] * count}))
        with job.write(layer_name(job.name, number)) as path:
            weights = np.random.default_rng([7, number]).uniform(0.5, 2.0, count)
            write_table(path, pa.table({"keep": [True] * count, "weight": weights}))
        total += count
    job.layers.append(job.name)
    job.count(records_in=total, out=total)


def run_tokens(job: Job[Generated]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import tokenizers

    from mspt.core.tokens.indexed import append_tokens, token_dtype, write_index

    words = {"</s>": EOS, "<pad>": PAD} | {f"w{i}": i for i in range(2, VOCABULARY)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
    with job.write("tokenizer.json") as path:
        made.save(str(path))
    with job.write("tokenizer_config.json") as path:
        path.write_text(json.dumps({"eos_token": "</s>", "pad_token": "<pad>", "add_bos_token": False}))
    dtype = token_dtype(VOCABULARY)
    spelt = np.array([0, 0, *(len(f"w{i}") for i in range(2, VOCABULARY))])
    with job.write("documents.parquet") as table_path:
        writer: Any = None
        for source in sorted(SOURCES):
            every = []
            with job.write(f"{source}.bin") as path:
                for _, shard, count in (part for part in lengths_of(job.config.tokens) if part[0] == source):
                    lengths = draw_lengths(source, shard, count)
                    ids = np.random.default_rng([9, shard]).integers(2, VOCABULARY, int(lengths.sum())).astype(dtype)
                    ids[np.cumsum(lengths) - 1] = EOS
                    append_tokens(path, [ids], dtype)
                    first = sum(map(len, every))
                    columns = {"sequence": np.arange(first, first + count), "id": ids_of(source, shard, count), "source": [source] * count}
                    part = pa.table(columns | {"num_tokens": lengths, "num_bytes": np.add.reduceat(spelt[ids], np.cumsum(lengths) - lengths)})
                    writer = writer or pq.ParquetWriter(table_path, part.schema)
                    writer.write_table(part)
                    every.append(lengths)
            with job.write(f"{source}.idx") as path:
                write_index(path, np.concatenate(every), dtype)
        writer.close()
    job.digest("tokenizer", "generated")


DOCS = Stage(order=1, config=Generated, run=run_docs, writes="docs", reads={}, name="docs", doc="Generated documents.")
TOKENS = Stage(
    order=2, config=Generated, run=run_tokens, writes="tokens", reads={"docs": Read("docs", producer="docs", digest="text")}, name="tokens", doc="Tokens."
)


class Quiet:
    """Says nothing."""

    def note(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def progress(self, what: str, total: float, unit: str = "") -> Any:
        import contextlib

        class Bar:
            def advance(self, amount: float) -> None: ...

        return contextlib.nullcontext(Bar())


def run(store: Store, stage: Stage, name: str, settings: dict[str, Any], references: dict[str, str]) -> Any:
    request = Request(name, build_config(stage.config, settings), references, [], {})
    return run_stage(store, stage, request, Quiet()).artifact


def generate(folder: Path, tokens: int) -> None:
    store = Store(folder)
    run(store, DOCS, "docs", {"tokens": tokens}, {})
    run(store, TOKENS, "tokens", {"tokens": tokens}, {"docs": "docs"})


# --- parts, each a process of its own ----------------------------------------------------------------------------------


def part_pack(folder: Path, name: str) -> None:
    settings = {"workers": 1, "seq_length": ROW, "max_documents": SEGMENTS, "weights": "off"}
    run(Store(folder), find("pack-mindrecord"), name, settings, {"docs": "docs", "tokens": "tokens"})


def part_ready(folder: Path, packed: str, target: Path) -> None:
    """All training rows of an artifact as plain arrays, a folder for each file."""
    from mspt.core.tokens import mindrecord

    for number, path in enumerate(files_of(folder, packed)):
        parts = list(mindrecord.read([path]))
        (target / str(number)).mkdir(parents=True)
        for column in mindrecord.COLUMNS:
            np.save(target / str(number) / f"{column}.npy", np.concatenate([getattr(part, column) for part in parts]))


def part_write(ready: Path, target: Path) -> None:
    """A bare FileWriter."""
    from mindspore.mindrecord import FileWriter

    for number in range(len(list(ready.iterdir()))):
        columns = [(name, np.load(ready / str(number) / f"{name}.npy")) for name in ("input_ids", "labels", "actual_seq_len")]
        writer = FileWriter(str(target / f"bare-{number:05d}.mindrecord"), shard_num=1)
        writer.add_schema({name: {"type": "int32", "shape": [column.shape[1]]} for name, column in columns}, "rows")
        rows = len(columns[0][1])
        for first in range(0, rows, 256):
            writer.write_raw_data([{name: column[i] for name, column in columns} for i in range(first, min(first + 256, rows))])
        writer.commit()


def files_of(folder: Path, packed: str) -> list[Path]:
    artifact = Store(folder).resolve(packed)
    return [artifact.path(n) for n in sorted(artifact.files) if n.startswith("train-") and n.endswith(".mindrecord")]


def part_read(folder: Path, packed: str, how: str) -> float:
    """CPU seconds of one pass over the training rows."""
    import mindspore.dataset as ds

    from mspt.core.nn.reader import PackedRows
    from mspt.core.tokens import mindrecord

    files = files_of(folder, packed)
    rows = PackedRows.open(files, vocab_size=VOCABULARY)
    began = time.process_time()
    if how == "read":
        for _ in mindrecord.read(files):
            pass
    elif how == "train":
        batches = rows.batches(first=0, batch_size=32, seed=0)
        for _ in range(rows.num_rows // 32):
            next(batches)
    else:
        data = ds.MindDataset([str(f) for f in files], columns_list=list(mindrecord.COLUMNS), shuffle=False, num_parallel_workers=1).batch(256)
        for _ in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            pass
    return time.process_time() - began


def measured(*arguments: str) -> tuple[float, dict[str, Any]]:
    """(CPU seconds of the process and its children, what it printed) of a part."""
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"GLOG_v": "3"})
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before, json.loads(done.stdout.splitlines()[-1])


# --- what a person runs ------------------------------------------------------------------------------------------------


def compare(folder: Path, tokens: int) -> None:
    measured("--part", "generate", str(folder), str(tokens))
    measured("--part", "pack", str(folder), "warm")  # compiles kernels
    ready, target = folder / "ready", folder / "bare"
    measured("--part", "ready", str(folder), "warm", str(ready))
    figures: dict[str, list[float]] = {"pack": [], "bare FileWriter": [], "mindrecord.read": [], "reader of train": [], "bare MindDataset": []}
    for i in range(3):
        figures["pack"].append(measured("--part", "pack", str(folder), f"run{i}")[0])
        shutil.rmtree(folder / f"run{i}")
        target.mkdir(exist_ok=True)
        figures["bare FileWriter"].append(measured("--part", "write", str(ready), str(target))[0])
        shutil.rmtree(target)
        for name, how in (("mindrecord.read", "read"), ("bare MindDataset", "bare"), ("reader of train", "train")):
            figures[name].append(measured("--part", how, str(folder), "warm")[1]["cpu"])
    middle = {name: statistics.median(values) for name, values in figures.items()}
    for name, values in figures.items():
        print(f"{name:16} {middle[name]:8.2f} s  ({', '.join(f'{v:.2f}' for v in values)})  {tokens / middle[name] / 1e6:.1f} M tokens/s of CPU time")
    print(f"writing: {middle['bare FileWriter'] / middle['pack']:.2f}x of bare FileWriter (bar .6)")
    bare = middle["bare MindDataset"]
    print(f"reading: {bare / middle['mindrecord.read']:.2f}x of bare MindDataset (bar .9), reader of train {bare / middle['reader of train']:.2f}x")


def memory(folder: Path, tokens: list[int]) -> None:
    for size in tokens:
        part = folder / str(size)
        measured("--part", "generate", str(part), str(size))  # not here: Linux counts a parent's peak for its children
        measured("--part", "pack", str(part), "packed")
        artifact = Store(part).resolve("packed")
        peak, rows = artifact.manifest["peak_rss_bytes"], artifact.stats["rows"]["train"]
        took, documents = artifact.manifest["seconds"], artifact.manifest["counts"]["in"]
        print(f"{size / 1e6:.0f} M tokens, {documents:,} documents, {rows:,} rows, {took:.0f} s: ", end="")
        print(f"peak {peak['main'] / 1e6:.0f} MB in the main process, {peak['largest_child'] / 1e6:.0f} MB in the largest worker", flush=True)
        shutil.rmtree(part)


def run_part(name: str, rest: list[str]) -> dict[str, Any]:
    """One part in this process."""
    if name in ("read", "train", "bare"):
        return {"cpu": part_read(Path(rest[0]), rest[1], name)}
    if name == "generate":
        generate(Path(rest[0]), int(rest[1]))
    elif name == "pack":
        part_pack(Path(rest[0]), rest[1])
    elif name == "ready":
        part_ready(Path(rest[0]), rest[1], Path(rest[2]))
    else:
        part_write(Path(rest[0]), Path(rest[1]))
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(run_part(given.part[0], given.part[1:])))
        return
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="pack-bench-") as folder:
        if given.memory:
            memory(Path(folder), given.tokens or [10_000_000, 100_000_000])
        else:
            compare(Path(folder), (given.tokens or [100_000_000])[0])


if __name__ == "__main__":
    main()
