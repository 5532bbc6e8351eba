"""The documents beside this folder: documents/<language>/NN-<kind>-<slug>.txt."""

from __future__ import annotations

from pathlib import Path

from rawgen.pieces import Piece

DOCUMENTS = Path(__file__).resolve().parent.parent / "documents"
LANGUAGES = ("zh-Hans", "zh-Hant", "en", "mixed", "code")
FOLDERS = {"zh-Hans": "zh"}  # where the folder is not called like the language


def load(language: str, step: int = 1) -> list[Piece]:
    """Every `step`-th document of a language, in the order of their numbers."""
    folder = DOCUMENTS / FOLDERS.get(language, language)
    return [_read(path, language) for path in sorted(folder.glob("*.txt"))[::step]]


def _read(path: Path, language: str) -> Piece:
    text = path.read_text(encoding="utf-8").rstrip("\n")
    _, kind, _ = path.stem.split("-", 2)
    return Piece(f"{path.parent.name}/{path.stem}", language, kind, text.split("\n", 1)[0].strip(), text)
