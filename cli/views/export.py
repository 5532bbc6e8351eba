"""`mspt sample REF --export FILE`: rows to label, as JSON lines or as CSV for a spreadsheet. `mspt train-scorer FILE` reads them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mspt.cli.commands import Context
from mspt.cli.views.render import count
from mspt.core.errors import MachineError, MsptError
from mspt.core.files import atomic_path

NUMBER = 200  # rows, where none is said: an hour's work
MEASURED = ("quality", "source", "lang")  # what helps to put rows in order, where the artifact has it


def check_place(path: Path) -> Path:
    """MsptError where the file cannot be made, or would be written over."""
    path = path.expanduser()
    if path.suffix.lower() not in (".jsonl", ".csv"):
        raise MsptError(f"--export {path.name}: the name says the form", "give it .jsonl or .csv")
    if path.exists():
        raise MsptError(f"{path} is there already, and may hold labels", "choose another name, or remove it first")
    if not path.parent.is_dir():
        raise MsptError(f"{path.parent} is no directory", "make it first, or choose another place")
    return path


def write_rows(shared: Context, path: Path, rows: Sequence[Mapping[str, Any]], summary: str) -> None:
    """rows: redacted; each with id and text, in the file with an empty `label`."""
    from mspt.core.quality.label_files import as_csv, as_jsonl, num_cut

    if not rows:
        raise MsptError(f"{summary}: there is nothing to label", "choose others with --where")
    if "text" not in rows[0]:
        raise MsptError("these rows have no text to label", "leave out --columns")
    columns = ["id", *(name for name in MEASURED if name in rows[0]), "label", "text"]
    lines = [{name: _value(row.get(name)) if name != "label" else "" for name in columns} for row in rows]
    is_csv = path.suffix.lower() == ".csv"
    try:
        with atomic_path(path) as temporary:
            temporary.write_bytes(as_csv(lines, columns) if is_csv else as_jsonl(lines))
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror or error}", "choose another place") from None
    cut = num_cut(lines) if is_csv else 0
    told = [summary, f"{path}: {count(len(lines), 'row')} to label: high, middle, low or a number from 0 to 1 into `label`"]
    told += [f"{count(cut, 'text')} longer than a cell of a spreadsheet can be, cut at 32,000 characters"] if cut else []
    told.append(f"then: mspt train-scorer {path}")
    shared.console.result("\n".join(told), {"file": str(path), "rows": len(lines), "cut": cut})


def _value(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
