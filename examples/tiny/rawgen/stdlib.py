"""English text and source code that every Python carries.

Three disjoint parts, so that nothing of one stands in another: the language reference of pydoc (topics), the docstrings of some modules, the
sources of other modules. Only what belongs to the standard library by name is read: no build configuration, no site packages.
"""

from __future__ import annotations

import ast
import functools
import random
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics as PYDOC_TOPICS

from rawgen.pieces import Piece

MIN_CHARACTERS = 400
MAX_CHARACTERS = 4000  # of a docstring or topic piece: many documents make a validation split by document meaningful
MAX_SOURCE_BYTES = 40_000
DOCSTRING_SHARE = 0.2  # modules with more than this share of docstrings give docstrings, the others code
# Not prose, not in every installation (Debian splits them off), other tools' code, or generated (clean rejects what says so).
LEFT_OUT = frozenset({
    "test", "idlelib", "turtledemo", "tkinter", "ensurepip", "lib2to3", "distutils", "encodings", "pydoc_data", "antigravity", "this", "stringprep",
})  # fmt: skip


@dataclass(frozen=True)
class Module:
    """name: dotted; path: below the library's folder; docstrings: qualified names and texts, in the order of the source."""

    name: str
    path: str
    source: str
    docstrings: tuple[tuple[str, str], ...]

    @property
    def rich(self) -> bool:
        return sum(len(text) for _, text in self.docstrings) > DOCSTRING_SHARE * len(self.source)


def _paths(rng: random.Random) -> list[Path]:
    """The Python files of the standard library, shuffled."""
    library = _library()
    names = [name for name in sys.stdlib_module_names if not name.startswith("_") and name not in LEFT_OUT]
    paths = [path for name in names for path in (library / f"{name}.py", *(library / name).rglob("*.py")) if path.is_file()]
    chosen = sorted((p for p in paths if not {"test", "tests"} & set(p.relative_to(library).parts)), key=lambda p: p.parts)
    rng.shuffle(chosen)
    return chosen


def _library() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


@functools.cache
def _read(path: Path) -> Module:
    relative = path.relative_to(_library())
    name = ".".join(part for part in relative.with_suffix("").parts if part != "__init__")
    source = path.read_text(encoding="utf-8")
    return Module(name, relative.as_posix(), source, tuple(_docstrings(ast.parse(source), name)))


def topics(rng: random.Random) -> list[Piece]:
    """Sections of the language reference, shuffled. Topics that only repeat sections of a longer one are left out."""
    pieces = []
    seen: set[str] = set()
    for name in sorted(PYDOC_TOPICS, key=lambda name: (-len(PYDOC_TOPICS[name]), name)):
        for number, text in enumerate(_pack(_sections(PYDOC_TOPICS[name]))):
            paragraphs = _long_paragraphs(text)
            if 2 * sum(p in seen for p in paragraphs) <= len(paragraphs):
                pieces.append(Piece(f"topics/{name}-{number}", "en", "reference", text.split("\n", 1)[0], text))
            seen.update(paragraphs)
    rng.shuffle(pieces)
    return pieces


def docstrings(rng: random.Random) -> Iterator[Piece]:
    """The docstrings of modules that are rich in them, some thousand characters to a piece; the modules shuffled."""
    for module in map(_read, _paths(rng)):
        if module.rich:
            for number, text in enumerate(_pack(_entries(module))):
                yield Piece(f"pydoc/{module.name}-{number}", "en", "reference", f"{module.name}, part {number + 1}", text)


def sources(rng: random.Random) -> Iterator[Piece]:
    """The source files of modules that are poor in docstrings, shuffled."""
    for module in map(_read, _paths(rng)):
        if not module.rich and MIN_CHARACTERS < len(module.source) <= MAX_SOURCE_BYTES:
            yield Piece(f"stdlib/{module.path}", "code", "python", module.name, module.source.rstrip("\n"))


def _sections(text: str) -> Iterator[str]:
    """A topic cut at its headings (a line underlined with one sign)."""
    yield from re.split(r"\n+(?=[^\n]+\n[*=\-~]{4,}\n)", text.strip("\n"))


def _long_paragraphs(text: str) -> list[str]:
    return [p for p in text.split("\n\n") if len(p) > 80]


def _pack(parts: Iterator[str]) -> Iterator[str]:
    """Join short parts and cut long ones between paragraphs, to MIN_CHARACTERS .. about MAX_CHARACTERS each; a short rest is dropped."""
    paragraphs = [p for part in parts for p in re.split(r"\n{2,}", part.strip("\n")) if p.strip()]
    piece: list[str] = []
    length = 0
    for paragraph in paragraphs:
        if length and length + len(paragraph) > MAX_CHARACTERS:
            if length >= MIN_CHARACTERS:
                yield "\n\n".join(piece)
            piece, length = [], 0
        piece.append(paragraph)
        length += len(paragraph) + 2
    if length >= MIN_CHARACTERS:
        yield "\n\n".join(piece)


def _docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Of a module or class or function, then of the public classes and functions in it."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and (text := ast.get_docstring(node)):
        yield name, text
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and not child.name.startswith("_"):
            yield from _docstrings(child, f"{name}.{child.name}")


def _entries(module: Module) -> Iterator[str]:
    """A heading and its docstring; one-liners are left out, they say little without their code."""
    for name, text in module.docstrings:
        if len(text) > 80:
            yield f"{name}\n\n{text}"
