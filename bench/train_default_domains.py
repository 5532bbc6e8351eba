"""Train the domain model that ships with mspt (core/quality/default_domains.bin and .json), on text that may ship: our own and the standard library's.

    python bench/train_default_domains.py [--out core/quality]

Code and documentation, and as `other` everything else there is: the documents of examples/tiny by their kind (their names say it), README and docs of this
repository, docstrings and source of Python's standard library (3.11). There are 4 to 12 documents each of news, forum, encyclopaedia and literature: a model
that learned from them called 596 of 600 news articles encyclopaedia, and found 8 % of literature (bench/domains.py), so the default does not know these
domains. `mspt train-domains --domain NAME=SOURCE` makes one that does. Nothing of ../shared/data is read. Equal inputs give equal bytes.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import platform
import shutil
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from train_default_scorer import ABOUT, library_texts

from mspt.core.quality.domains import DEFAULT_STEM, DESCRIPTION, EXAMPLES, MODEL, Description, DomainModel, choose, make_examples, measure, write_training_file
from mspt.core.quality.scorer import TrainingSettings, train

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTATION = ("techdoc", "manual", "howto")  # kinds of examples/tiny
MAX_LIBRARY = 250  # files of the standard library, of docstrings and of source
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "lib2to3", "idlelib", "pydoc_data"}  # folders of the standard library
VOCABULARY = 4000
TRAINING = TrainingSettings(dimension=6, ngrams=2, buckets=1 << 15, epochs=15, rate=0.5)
HELD_OUT = 0.2


def texts() -> Iterator[tuple[str, str, str]]:
    """(domain, key, text)."""
    for path in sorted((ROOT / "examples" / "tiny" / "documents").rglob("*.txt")):
        kind = path.stem.split("-")[1]
        domain = "code" if path.parent.name == "code" else "documentation" if kind in DOCUMENTATION else "other"
        yield domain, path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").glob("*.md")) + sorted(ROOT.glob("README*.md")):
        yield "documentation", path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    library = dict(library_texts())
    for key in sorted(choose(list(library), MAX_LIBRARY, 1)):
        yield "documentation", key, library[key]
    root = Path(sysconfig.get_paths()["stdlib"])
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py") if not LEFT_OUT & set(path.parts)}
    for key in sorted(choose(list(files), MAX_LIBRARY, 1)):
        yield "code", f"source/{key}", program(files[key].read_text(encoding="utf-8", errors="replace"))


def program(source: str) -> str:
    """Source without what stands before its first statement: licences and the module's docstring are documentation."""
    body = ast.parse(source).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return "\n".join(source.split("\n")[body[0].lineno - 1 :]) if body else ""


def examples(held_out: float) -> pa.Table:
    rows = [row for domain, key, text in texts() for row in make_examples(domain, "default", {key: text}, held_out, 1)]
    return pa.Table.from_pylist(rows, EXAMPLES)


def fit(table: pa.Table, folder: Path) -> DomainModel:
    write_training_file(folder / "examples", table, VOCABULARY, 1)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(train, folder / "examples", folder / MODEL, TRAINING).result()
    about = f"{ABOUT} {platform.python_version()}"
    Description(domains=tuple(sorted(set(table.column("domain").to_pylist()))), about=about).write(folder / DESCRIPTION)
    return DomainModel.load(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "core" / "quality")
    out = parser.parse_args().out
    table = examples(HELD_OUT)
    with tempfile.TemporaryDirectory() as temporary:
        held_out = table.filter(table.column("held_out"))
        measured = measure(fit(table, Path(temporary)), held_out)
        print(measured)
    with tempfile.TemporaryDirectory() as temporary:  # with so few documents none is left aside in the end
        folder = Path(temporary)
        model = fit(examples(0.0), folder)
        replace(model.description, measured=measured).write(folder / DESCRIPTION)
        shutil.copy(folder / MODEL, out / f"{DEFAULT_STEM}.bin")
        shutil.copy(folder / DESCRIPTION, out / f"{DEFAULT_STEM}.json")
    print(f"{table.num_rows:,} examples, {(out / f'{DEFAULT_STEM}.bin').stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
