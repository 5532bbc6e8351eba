"""The demo: makes messy raw files, runs the whole chain on them and prints what came out.

usage: python examples/tiny/demo.py [--size full|smoke] [--workspace DIR]

Everything that it prints after the chain is read from the artifacts; run it again and every step is up to date.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from make_raw import SIZES, make
from mspt.core.artifact import Artifact
from mspt.core.store import Store

HERE = Path(__file__).resolve().parent
PROMPTS = ("房间", "Return the")


def mspt(workspace: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "mspt.cli", "--workspace", str(workspace), *arguments]


def percent(part: float, whole: float) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns: the first to the left, the others to the right."""
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  " + "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))) for row in rows)


def funnel(store: Store) -> str:
    rows = []
    for name in ("clean", "dedup", "score"):
        counts = store.resolve(name).manifest["counts"]
        rows.append((f"into {name}", f"{counts['in']:,}", ""))
        rows += [(f"  {rule}", f"-{number:,}", percent(number, counts["in"])) for rule, number in counts["rejected"].items()]
    kept = store.resolve("score").manifest["counts"]["out"]
    return table([*rows, ("kept", f"{kept:,}", percent(kept, store.resolve("clean").manifest["counts"]["in"]))])


def token_counts(store: Store) -> str:
    sources = store.resolve("tokenize").stats["sources"]
    if isinstance(sources, dict):
        sources = [{"source": name, **facts} for name, facts in sources.items()]
    rows = [(s["source"], f"{s['documents']:,}", f"{s['tokens']:,}", f"{s['bytes'] / s['tokens']:.2f}") for s in sources]
    return table([("source", "documents", "tokens", "bytes/token"), *rows])


def losses(model: Artifact) -> str:
    lines = [json.loads(line) for line in (model.root / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if line.get("loss") is not None]
    shown = sorted({0, len(steps) // 10, len(steps) // 4, len(steps) // 2, len(steps) - 1})
    return table([("step", "loss"), *((f"{steps[i]['step']:,}", f"{steps[i]['loss']:.3f}") for i in shown)])


def bits_per_byte(evaluation: Artifact) -> str:
    figures = evaluation.stats["baselines"]
    total = next(row for row in evaluation.stats["validation"] if row["source"] == "all")
    names = {"model": "this model", "bigram": "interpolated bigram", "unigram": "unigram", "lzma": "lzma, preset 9"}
    rows = [(label, f"{figures[name]:.3f}", f"{figures[name] - figures['unigram']:+.3f}") for name, label in names.items()]
    head = f"  on {total['tokens']:,} labelled tokens ({total['bytes']:,} bytes) of {total['documents']} validation documents"
    return head + "\n" + table([("", "bits/byte", "to unigram"), *rows])


def quantised(store: Store) -> str:
    rows = [("", "bytes", "perplexity")]
    for name in ("quantize-int8", "quantize"):
        if store.latest(name) is None:
            continue
        artifact = store.resolve(name)
        size, (before, after) = artifact.stats["size"], artifact.stats["perplexity"]
        if len(rows) == 1:
            rows.append(("float32", f"{size['float32_bytes']:,}", f"{before['perplexity']:.2f}"))
        rows.append((f"int{artifact.config['bits']}", f"{size['quantised_bytes']:,}", f"{after['perplexity']:.2f}"))
    return table(rows)


def generated(workspace: Path) -> str:
    command = mspt(workspace, "generate", *PROMPTS, "--max-tokens", "40", "--temperature", "0.7", "--top-p", "0.9", "--seed", "1", "--json")
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return "\n".join(f"  {made['prompt'] + made['text']!r}" for made in answer["continuations"])


def step_costs(store: Store) -> str:
    rows = [("step", "seconds", "peak memory")]
    for name in sorted(store.names(), key=lambda name: store.resolve(name).manifest["started"]):
        manifest = store.resolve(name).manifest
        peak = max(manifest["peak_rss_bytes"].values())
        rows.append((name, f"{manifest['seconds']:.1f}", f"{peak / 1e6:,.0f} MB"))
    return table(rows)


def report(workspace: Path) -> str:
    store = Store(workspace)
    export = store.resolve("convert-hf")
    parts = {
        "Documents": funnel(store),
        "Tokens": token_counts(store),
        "Training loss": losses(store.resolve("train")),
        "Validation": bits_per_byte(store.resolve("eval")),
        "Quantised": quantised(store),
        "Samples": generated(workspace),
        "Steps": step_costs(store),
        "Export": f"  {export.root}\n  opens in transformers: AutoModelForCausalLM.from_pretrained(...)",
    }
    return "\n\n".join(f"{title}\n{text}" for title, text in parts.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=("full", "smoke"), default="full")
    parser.add_argument("--workspace", type=Path, help="default: work (smoke: work-smoke) beside this file")
    arguments = parser.parse_args()
    smoke = arguments.size == "smoke"
    workspace = arguments.workspace or HERE / ("work-smoke" if smoke else "work")
    started = time.monotonic()
    make(SIZES[arguments.size], 1).write(HERE / ("raw-smoke" if smoke else "raw"))
    chain = subprocess.run(mspt(workspace, "--config", str(HERE / ("smoke.toml" if smoke else "mspt.toml")), "run"), check=False)
    if chain.returncode != 0:
        sys.exit(chain.returncode)  # the chain has said what is wrong
    print("\n" + report(workspace))
    print(f"\n{time.monotonic() - started:.0f} s in all. Look around: mspt --workspace {workspace} ls")


if __name__ == "__main__":
    main()
