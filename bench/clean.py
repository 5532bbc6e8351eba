"""How fast text goes through the steps of clean, by step: MB of UTF-8 a second of CPU time, one process, the median of three runs.

    python bench/clean.py [--data ../shared/data]

Texts are those of zh_novels, zh_wiki_hans, zh_techdocs, en_public_domain and en_techdocs. decode: bytes to text, and the look for mojibake.
decode + normalize is measured twice: of the text as it is (CR LF, wrapped lines, runs of blanks, ...), and of what comes out, which needs no change.
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

from mspt.core.text.cleaning import Recipe, clean
from mspt.core.text.decoding import mojibake
from mspt.core.text.decoding.decode import decode
from mspt.core.text.form import detect_form
from mspt.core.text.language.identify import identify
from mspt.core.text.normal.normalize import normalize
from mspt.core.text.readers.record import Record
from mspt.core.text.rules import document_rules as rules
from mspt.core.text.rules.line_rules import cut_lines

SETS = ("zh_novels", "zh_wiki_hans", "zh_techdocs", "en_public_domain", "en_techdocs")
RUNS = 3
MAX_BYTES = 12_000_000


def read(path: Path) -> list[bytes]:
    found, size = [], 0
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            found.append(json.loads(line)["text"].encode())
            size += len(found[-1])
            if size > MAX_BYTES:
                break
    return found


def rate(function: Callable[[Any], Any], values: list[Any], size: int) -> float:
    """MB/s."""
    seconds = []
    for _ in range(RUNS):
        started = time.process_time()
        for value in values:
            function(value)
        seconds.append(time.process_time() - started)
    return size / 1e6 / statistics.median(seconds)


def steps(raws: list[bytes]) -> dict[str, float]:
    size = sum(map(len, raws))
    texts = [decode(raw).text for raw in raws]
    forms = {text: detect_form(text).form for text in texts}
    tags = {text: identify(text, forms[text]).tag for text in texts}
    cleaned = [normalize(text, form=forms[text]).text.encode() for text in texts]
    records = [Record("bench#0", decode(raw)) for raw in raws]
    recipe = Recipe()  # one a run, as in the stage
    return {
        "decode": rate(lambda raw: mojibake.judge(decode(raw).text), raws, size),
        "normalize": rate(lambda text: normalize(text, form=forms[text]), texts, size),
        "decode + normalize": rate(lambda raw: normalize((mojibake.judge(text := decode(raw).text), text)[1]), raws, size),
        "the same of its own output": rate(lambda raw: normalize((mojibake.judge(text := decode(raw).text), text)[1]), cleaned, sum(map(len, cleaned))),
        "form": rate(detect_form, texts, size),
        "language": rate(lambda text: identify(text, forms[text]), texts, size),
        "rules": rate(lambda text: (cut_lines(text, form=forms[text]), rules.judge(text, form=forms[text], language=tags[text])), texts, size),
        "all of clean": rate(lambda record: clean(record, recipe), records, size),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    data = parser.parse_args().data
    clean(Record("warm#0", decode("先热一热。".encode() * 50)), Recipe())  # models, tables and kernels are loaded
    for name in SETS:
        print(name, "  ".join(f"{step} {value:.1f}" for step, value in steps(read(data / f"{name}.jsonl.gz")).items()), "MB/s", flush=True)


if __name__ == "__main__":
    main()
