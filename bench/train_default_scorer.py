"""Train the scorer that ships with mspt (core/quality/default_scorer.*), on text that may ship: our own and the standard library's.

    python bench/train_default_scorer.py [--out core/quality]

High class: the documents of examples/tiny, README and docs of this repository, the docstrings, comments and help texts of Python's standard library (3.11). Low
and middle: their corruptions. Each window is corrupted DRAWS times, since there is little Chinese (about 50,000 characters). Nothing of ../shared/data is read.
Equal inputs (the same Python, fasttext and files) give equal bytes.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import platform
import shutil
import sysconfig
import tempfile
import tokenize
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from mspt.core.quality.examples import ExampleSettings, make_examples
from mspt.core.quality.learning import EXAMPLES, calibrate, learn_shapes, measures, write_training_file
from mspt.core.quality.scorer import DEFAULT_STEM, DESCRIPTION, MODEL, SHAPE_COSTS, STEM, Description, Scorer, TrainingSettings, train

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ExampleSettings(window=500, per_document=8, held_out=0.15)
TRAINING = TrainingSettings(dimension=4, buckets=1 << 17, epochs=3, rate=0.5)
VOCABULARY = 1500
STRANGE = 6  # of what it will judge most is unknown to it
DRAWS_CHINESE, DRAWS_ENGLISH = 16, 1
MAX_CHARACTERS = 10_000
LEAST_DOCUMENTATION = 200  # characters of a docstring, or of a run of comments, that reads as prose
ABOUT = "the examples and docs of mspt and Python's standard library"


def own_texts() -> Iterator[tuple[str, str]]:
    """(key, text) of what was written for this project."""
    for path in sorted((ROOT / "examples" / "tiny" / "documents").rglob("*.txt")) + sorted((ROOT / "docs").glob("*.md")) + sorted(ROOT.glob("README*.md")):
        if path.name != "commands.md":  # generated tables of flags
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def library_texts() -> Iterator[tuple[str, str]]:
    """(key, text) of the standard library: long docstrings of a module as one text, and the topics of `help()`."""
    from pydoc_data.topics import topics

    for name, text in sorted(topics.items()):
        yield f"topics/{name}", text
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        name = path.relative_to(library).as_posix()
        if not any(part in ("site-packages", "dist-packages", "test", "tests", "lib2to3", "idlelib", "pydoc_data") for part in path.parts):
            text = documentation(path)
            if len(text) >= LEAST_DOCUMENTATION:
                yield f"stdlib/{name}", text


def documentation(path: Path) -> str:
    """The long docstrings of a module, one after another."""
    try:
        with tokenize.open(path) as file:
            tree = ast.parse(file.read())
    except (SyntaxError, UnicodeDecodeError):
        return ""
    holders = (node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef))
    found = [ast.get_docstring(node) or "" for node in holders]
    return "\n\n".join(text for text in found if len(text) >= LEAST_DOCUMENTATION)


def examples() -> pa.Table:
    """All draws; a document is on the same side of the test in each."""
    own, library = list(own_texts()), list(library_texts())
    rows = []
    for texts, draws in ((own, DRAWS_CHINESE), (library, DRAWS_ENGLISH)):
        for draw in range(draws):
            made = make_examples([key for key, _ in texts], [text for _, text in texts], replace(SETTINGS, draw=draw))
            rows += [vars(example) for example in made]
    return pa.Table.from_pylist(rows, schema=EXAMPLES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "core" / "quality")
    out = parser.parse_args().out
    table = examples()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_training_file(folder / "examples", table, VOCABULARY, SETTINGS.seed, STRANGE)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            pool.submit(train, folder / "examples", folder / MODEL, TRAINING).result()
        about = f"{ABOUT} {platform.python_version()}"
        (folder / SHAPE_COSTS).write_bytes(learn_shapes(table).tobytes())
        Description(MAX_CHARACTERS).write(folder / DESCRIPTION)
        held_out = table.filter(table.column("held_out"))
        found = calibrate(Scorer.load(folder), held_out)
        found.describe(MAX_CHARACTERS, about).write(folder / DESCRIPTION)
        print(measures(found.scores, held_out))
        for name in (MODEL, SHAPE_COSTS, DESCRIPTION):
            shutil.copy(folder / name, out / name.replace(STEM, DEFAULT_STEM))
    print(f"{table.num_rows:,} examples, {sum(path.stat().st_size for path in out.glob(f'{DEFAULT_STEM}.*')) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
