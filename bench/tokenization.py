"""How fast `mspt tokenize` is, from docs shards to .bin/.idx, against SentencePiece's bare batch encode of the same texts; and whether its memory stays flat.

    python bench/tokenization.py [--data ../shared/data] [--megabytes 200] [--sets Chinese code] [--runs 3] [--memory]

(bench/tokenize.py would hide Python's own module of that name from every script in this folder.)

Sets: Chinese (the zh_ sets of --data, repeated up to --megabytes: nothing of it is remembered, so that repetition helps neither side), English prose
(the en_ sets and the docstrings of the installed packages, no text twice) and code (the .py files of the standard library and the installed packages, no text
twice). The tokenizer has 32,768 pieces and is trained on a sample of all three.

Both sides run in turn, each in a process of its own with all cores. SentencePiece: `processor.encode(texts, return_type="numpy", num_threads=cores)`, the
fastest of its modes measured here; only that call is timed. mspt: the whole command, start of the interpreter, reading, hashing, writing and joining included.
Printed are MB of UTF-8 a second by wall clock and by CPU time of all processes (which says more on a loaded machine), medians and ratios; ids are compared.

--memory: peak memory of the main process and the largest worker for a tenth of the Chinese text and for all of it.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.config import setting
from mspt.core.shards import TARGET_BYTES, shard_name, write_docs
from mspt.core.stage import Job, Stage
from mspt.core.text.documents import DOCS, document_id

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from conftest import Workspace  # noqa: E402

CHINESE = ("zh_novels", "zh_wiki_hans", "zh_wiki_hant", "zh_poetry_hans", "zh_poetry_hant")
ENGLISH = ("en_public_domain", "en_wikitext2", "en_techdocs")
TRIPLE_QUOTED = re.compile(r'"""([^"\\\\]*)"""')
MIN_DOCSTRING = 400  # characters: prose rather than a label
BARE = """
import json, resource, sys, time
import pyarrow.parquet as pq, sentencepiece
model, cores, *shards = sys.argv[1:]
processor = sentencepiece.SentencePieceProcessor(model_file=model)
texts = [text for shard in shards for text in pq.read_table(shard, columns=["text"], partitioning=None).column("text").to_pylist()]
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before, started = cpu(), time.monotonic()
processor.encode(texts, return_type="numpy", num_threads=int(cores))
print(json.dumps([time.monotonic() - started, cpu() - before]))
"""


def texts_of(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def python_files() -> Iterator[str]:
    """Every different .py file of the standard library and the installed packages."""
    seen: set[int] = set()
    for folder in dict.fromkeys(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")):
        for path in sorted(Path(folder).rglob("*.py")):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if text.strip() and hash(text) not in seen:
                seen.add(hash(text))
                yield text


def docstrings() -> Iterator[str]:
    """Every different long triple-quoted string in them: nearly all are documentation."""
    seen: set[int] = set()
    for text in python_files():
        for found in TRIPLE_QUOTED.findall(text):
            if len(found) >= MIN_DOCSTRING and hash(found) not in seen:
                seen.add(hash(found))
                yield found


def up_to(texts: Iterable[str], num_bytes: float) -> list[str]:
    found, size = [], 0
    for text in texts:
        if size >= num_bytes:
            break
        found.append(text)
        size += len(text.encode())
    return found


def corpora(data: Path, megabytes: int, wanted: list[str]) -> dict[str, list[str]]:
    chinese = [text for name in CHINESE for text in texts_of(data / f"{name}.jsonl.gz")]
    size = sum(len(text.encode()) for text in chinese)
    english = (text for name in ENGLISH for text in texts_of(data / f"{name}.jsonl.gz"))
    found = {
        "Chinese": lambda: up_to(chinese * (megabytes * 10**6 // size + 1), megabytes * 1e6),
        "English prose": lambda: up_to(itertools.chain(english, docstrings()), megabytes * 1e6),
        "code": lambda: up_to(python_files(), megabytes * 1e6),
    }
    return {name: found[name]() for name in wanted}


# --- docs ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GivenConfig:
    what: Annotated[str, setting("which texts")]


GIVEN: dict[str, list[str]] = {}


def give(job: Job[GivenConfig]) -> None:
    """Docs of texts in shards of the usual size."""
    shard, waiting, size = 0, [], 0
    texts = GIVEN[job.config.what]
    for number, text in enumerate(texts):
        waiting.append((document_id("given", str(number)), text))
        size += len(text.encode())
        if size >= TARGET_BYTES or number == len(texts) - 1:
            columns = {"id": [i for i, _ in waiting], "text": [t for _, t in waiting], "source": ["given"] * len(waiting)}
            table = pa.table({field.name: columns.get(field.name, pa.nulls(len(waiting), field.type)) for field in DOCS}, schema=DOCS)
            with job.write(shard_name(shard)) as path:
                write_docs(path, table)
            shard, waiting, size = shard + 1, [], 0


DOCS_OF = Stage(order=1, config=GivenConfig, run=give, writes="docs", reads={}, name="given", doc="Given documents.")


# --- the two sides -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Time:
    wall: float
    cpu: float


def run_bare(model: Path, shards: list[Path]) -> Time:
    command = [sys.executable, "-c", BARE, str(model), str(os.cpu_count()), *map(str, shards)]
    return Time(*json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def run_mspt(workspace: Path, docs: str, name: str) -> Time:
    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace), "-q", "tokenize", "--docs", docs, "--tokenizer", "train-tokenizer"]
    before, started = used(), time.monotonic()
    subprocess.run([*command, "--name", name], check=True, capture_output=True)
    return Time(time.monotonic() - started, used() - before)


def same_ids(model: Path, shards: list[Path], tokens: Path) -> bool:
    """Whether the .bin holds SentencePiece's ids of every document, each followed by eos."""
    import numpy as np
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    with (tokens / "given.bin").open("rb") as handle:
        for shard in shards:
            for ids in processor.encode(pq.read_table(shard, columns=["text"], partitioning=None).column("text").to_pylist(), return_type="numpy"):
                expected = np.append(ids, processor.eos_id()).astype("<u2").tobytes()
                if handle.read(len(expected)) != expected:
                    return False
        return not handle.read(1)


def compare(workspace: Workspace, runs: int) -> None:
    model = workspace.path / "train-tokenizer/v1/tokenizer.model"
    print(f"{'':<14}{'MB':>6}  {'SentencePiece MB/s':>20}  {'mspt tokenize MB/s':>20}  {'ratio':>12}  ids", flush=True)
    print(f"{'':<14}{'':>6}  {'wall / CPU':>20}  {'wall / CPU':>20}  {'wall / CPU':>12}", flush=True)
    for what, texts in GIVEN.items():
        if what == "all":
            continue
        name = what.lower().replace(" ", "-")
        workspace.run(DOCS_OF, {"what": what}, name=name)
        shards = sorted((workspace.path / name / "v1").glob("docs-*.parquet"))
        size = sum(len(text.encode()) for text in texts) / 1e6
        pairs = [(run_bare(model, shards), run_mspt(workspace.path, name, f"tokens-{name}-{i}")) for i in range(runs)]
        bare, mspt = [(statistics.median(side[i].wall for side in pairs), statistics.median(side[i].cpu for side in pairs)) for i in (0, 1)]
        equal = same_ids(model, shards, workspace.path / f"tokens-{name}-0/v1")
        print(f"{what:<14}{size:>6.0f}  {size / bare[0]:>11.1f} / {size / bare[1]:>6.1f}  {size / mspt[0]:>11.1f} / {size / mspt[1]:>6.1f}"
              f"  {bare[0] / mspt[0]:>5.2f} / {bare[1] / mspt[1]:>4.2f}  {'identical' if equal else 'DIFFERENT'}", flush=True)  # fmt: skip


def memory(workspace: Workspace) -> None:
    for part in (10, 1):
        texts = GIVEN["Chinese"]
        GIVEN["part"] = texts[: len(texts) // part]
        name = f"part-{part}"
        workspace.run(DOCS_OF, {"what": "part"}, name=name)
        run_mspt(workspace.path, name, f"tokens-{name}")
        made = json.loads((workspace.path / f"tokens-{name}/v1/artifact.json").read_text(encoding="utf-8"))
        size, peak = sum(len(text.encode()) for text in GIVEN["part"]) / 1e6, made["peak_rss_bytes"]
        print(
            f"{size:>6.0f} MB of text: {peak['main'] / 1e6:.0f} MB in the main process, {peak['largest_child'] / 1e6:.0f} MB in the largest worker", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--megabytes", type=int, default=200, help="of each set at most")
    parser.add_argument("--sets", nargs="+", choices=["Chinese", "English prose", "code"], default=["Chinese", "English prose", "code"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="measure memory instead of speed")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary directory)")
    chosen = parser.parse_args()
    GIVEN.update(corpora(chosen.data, chosen.megabytes, ["Chinese"] if chosen.memory else chosen.sets))
    GIVEN["all"] = [text[:20_000] for texts in list(GIVEN.values()) for text in texts[:: max(1, len(texts) // 1500)]]
    with tempfile.TemporaryDirectory(prefix="mspt-bench-", dir=chosen.folder) as folder:
        workspace = Workspace(Path(folder) / "work")
        workspace.run(DOCS_OF, {"what": "all"}, name="all")
        workspace.run("train-tokenizer", {"force": True}, references={"docs": "all"})
        if chosen.memory:
            memory(workspace)
        else:
            compare(workspace, chosen.runs)


if __name__ == "__main__":
    main()
