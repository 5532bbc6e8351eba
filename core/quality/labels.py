"""A person's labels: JSONL rows of `text` and `label`, high, middle, low or a number in [0, 1]. Other fields are let be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from mspt.core.dedup.folding import exact_hashes, fold
from mspt.core.errors import MsptError
from mspt.core.quality.calibration import CLASS_VALUES, class_of

_FORM = '{"text": "...", "label": "high"}: high, middle, low or a number from 0 to 1, one a line'


@dataclass(frozen=True)
class Label:
    """A labelled text: value 1 high, 1/2 middle, 0 low, or between."""

    text: str
    value: float
    place: str  # file:line, for messages


def read_labels(paths: Sequence[Path]) -> list[Label]:
    """All labels of the files. MsptError names the line that is no label, empty, there twice or contradicted, and says when there is one class only."""
    labels = [label for path in paths for label in _of_file(path)]
    if not labels:
        raise MsptError(f"{', '.join(path.name for path in paths)}: there is no label in it", _FORM)
    _check_texts(labels)
    classes = {class_of(label.value) for label in labels}
    if len(classes) < 2:
        raise MsptError(f"all {len(labels):,} labels are {classes.pop()}: one class teaches nothing", "label texts of at least two of high, middle and low")
    return labels


def _of_file(path: Path) -> list[Label]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # no other line ends: texts may hold U+2028
    except UnicodeDecodeError as error:
        raise MsptError(f"{path.name} is not UTF-8: {error}", _FORM) from None
    return [_label(line, f"{path.name}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _label(line: str, place: str) -> Label:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MsptError(f"{place} is no JSON: {error}", _FORM) from None
    text, value = (row.get("text"), row.get("label")) if isinstance(row, dict) else (None, None)
    if not isinstance(text, str):
        raise MsptError(f"{place} has no `text`", _FORM)
    return Label(text.encode("utf-8", "replace").decode("utf-8"), _value(value, place), place)  # lone surrogates, which JSON can write, as `?`


def _value(value: Any, place: str) -> float:
    if isinstance(value, str) and value.strip().lower() in CLASS_VALUES:
        return CLASS_VALUES[value.strip().lower()]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise MsptError(f"{place}: label {value!r} is none", _FORM)


def _check_texts(labels: Sequence[Label]) -> None:
    """Texts are the same that dedup takes for the same: without case, width and blanks."""
    seen: dict[tuple[int, int], Label] = {}
    folded = fold(pa.array([label.text for label in labels], pa.large_string()))
    for label, length, (high, low) in zip(labels, folded.lengths.tolist(), exact_hashes(folded).tolist(), strict=True):
        if not length:
            raise MsptError(f"{label.place}: the text is empty", "leave the row out")
        before = seen.setdefault((high, low), label)
        if before is label:
            continue
        if before.value != label.value:
            raise MsptError(f"{label.place} contradicts {before.place}: the same text, labels {before.value:g} and {label.value:g}", "keep one of them")
        raise MsptError(
            f"{label.place} repeats {before.place}: the same text and label", "keep one of them: it would count twice, and on both sides of the test"
        )
