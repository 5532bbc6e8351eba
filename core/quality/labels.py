"""A person's labels: rows of `text` and `label`, high, middle, low or a number in [0, 1], in JSONL or CSV (label_files.py). Other fields are let be."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from mspt.core.dedup.folding import exact_hashes, fold
from mspt.core.errors import MsptError
from mspt.core.quality.calibration import CLASS_VALUES, class_of
from mspt.core.quality.label_files import FORM, read_rows


@dataclass(frozen=True)
class Label:
    """A labelled text: value 1 high, 1/2 middle, 0 low, or between."""

    text: str
    value: float
    place: str  # file:line, for messages


@dataclass(frozen=True)
class Labels:
    """unlabelled: rows left out because nobody has labelled them yet."""

    labels: list[Label]
    unlabelled: int


def read_labels(paths: Sequence[Path], *, skip_unlabelled: bool = False) -> Labels:
    """All labels of the files. MsptError names the row that is no label, empty, there twice or contradicted, and says when there is one class only; rows
    without a label are an error, too, unless they are to be skipped."""
    rows = [pair for path in paths for pair in read_rows(path)]
    names = ", ".join(path.name for path in paths)
    if not rows:
        raise MsptError(f"{names}: there is no label in it", FORM)
    empty = [place for place, row in rows if "text" in row and _is_empty(row.get("label"))]
    if empty and not skip_unlabelled:
        raise MsptError(f"{len(empty):,} of {len(rows):,} rows have no label, the first is {empty[0]}", "label them, or leave them out with --skip-unlabelled")
    labels = [_label(row, place) for place, row in rows if "text" not in row or not _is_empty(row.get("label"))]
    if not labels:
        raise MsptError(f"{names}: none of the {len(rows):,} rows has a label yet", "put high, middle, low or a number from 0 to 1 into `label`")
    check_texts([(label.text, f"{label.value:g}", label.place) for label in labels])
    classes = {class_of(label.value) for label in labels}
    if len(classes) < 2:
        raise MsptError(f"all {len(labels):,} labels are {classes.pop()}: one class teaches nothing", "label texts of at least two of high, middle and low")
    return Labels(labels, len(empty))


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _label(row: Mapping[str, Any], place: str) -> Label:
    text = row.get("text")
    if not isinstance(text, str):
        raise MsptError(f"{place} has no `text`", FORM)
    return Label(text.encode("utf-8", "replace").decode("utf-8"), _value(row.get("label"), place), place)  # lone surrogates, which JSON can write, as `?`


def _value(value: Any, place: str) -> float:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in CLASS_VALUES:
            return CLASS_VALUES[word]
        with contextlib.suppress(ValueError):
            value = float(word.replace(",", "."))  # a spreadsheet writes numbers as text, in many countries with a comma
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise MsptError(f"{place}: label {value!r} is none", FORM)


def check_texts(labelled: Sequence[tuple[str, str, str]]) -> None:
    """MsptError for an empty text, or one that comes twice. labelled: text, label in words, place. Texts are the same that dedup takes for the same: without
    case, width and blanks."""
    seen: dict[tuple[int, int], tuple[str, str]] = {}
    folded = fold(pa.array([text for text, _, _ in labelled], pa.large_string()))
    for (_, label, place), length, (high, low) in zip(labelled, folded.lengths.tolist(), exact_hashes(folded).tolist(), strict=True):
        if not length:
            raise MsptError(f"{place}: the text is empty", "leave the row out")
        label_before, before = seen.setdefault((high, low), (label, place))
        if before == place:
            continue
        if label_before != label:
            raise MsptError(f"{place} contradicts {before}: the same text, labels {label_before} and {label}", "keep one of them")
        raise MsptError(f"{place} repeats {before}: the same text and label", "keep one of them: it would count twice, and on both sides of the test")
