"""Blanks and blank lines: one blank between words, none at line ends, at most two blank lines; code keeps its own. Steps of `normalize`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.normal.classes import EXOTIC_BLANK, EXOTIC_BLANKS
from mspt.core.text.normal.document import Document
from mspt.core.text.script import code_points
from mspt.core.text.spans import Edit

PROSE_FORMS = frozenset({"prose", "markup"})
BLANK_RUNS = re.compile(f"[ \\t{EXOTIC_BLANKS}]{{2,}}|[{EXOTIC_BLANKS}]")


def blanks(document: Document, found: int) -> Iterator[Edit]:
    text = document.text
    if document.form not in PROSE_FORMS or not (found & EXOTIC_BLANK or "  " in text or "\t" in text):
        return iter(())
    return document.outside_indented(_exotic_runs(text)) if found & EXOTIC_BLANK else _plain_runs(document)


def _exotic_runs(text: str) -> Iterator[Edit]:
    return (Edit(one.start(), one.end(), _one_blank(one)) for one in BLANK_RUNS.finditer(text))


def _plain_runs(document: Document) -> Iterator[Edit]:
    """Runs of blanks and tabs inside lines, by arrays, for tables have thousands; as `Document.outside_indented` has them. Those at a line's start are
    indentation, which stays."""
    text = document.text
    has_tabs = "\t" in text
    codes: NDArray[Any] = np.frombuffer(text.encode(), dtype=np.uint8) if text.isascii() else code_points(text)
    is_blank = (codes == 32) | (codes == 9) if has_tabs else codes == 32
    is_pair = is_blank[1:-1] & is_blank[2:]
    starts = np.flatnonzero(is_pair & ~is_blank[:-2] & (codes[:-2] != 10)) + 1
    if not starts.size:
        return
    run_ends = np.append(np.flatnonzero(is_pair[:-1] & ~is_blank[3:]) + 3, codes.size)
    ends = run_ends[np.searchsorted(run_ends, starts, "right")]
    lines = np.append(0, np.flatnonzero(codes == 10) + 1)
    lines = lines[np.searchsorted(lines, starts, "right") - 1]  # where the line of each begins
    is_indented = (codes[lines] == 9) | np.all([codes[np.minimum(lines + place, codes.size - 1)] == 32 for place in range(4)], axis=0)
    chosen = ~(is_indented | document.is_code(starts, ends))
    for start, end in zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True):
        yield Edit(start, end, "\t" if has_tabs and text.find("\t", start, end) >= 0 else " ")


def _one_blank(run: re.Match[str]) -> str:
    """What a run of blanks becomes. At a line's start indentation stays, but the ideographic one, which is mere layout; inside a line one
    blank, or a tab where there was one (cells of a row)."""
    blanks = run[0]
    if run.start() == 0 or run.string[run.start() - 1] == "\n":
        if "\u3000" in blanks:
            return ""
        return blanks if blanks.isascii() else re.sub(f"[{EXOTIC_BLANKS}]", " ", blanks)
    return "\t" if "\t" in blanks else " "


def trailing(document: Document, found: int) -> Iterator[Edit]:
    if " \n" in document.text or "\t\n" in document.text or document.text[-1:] in (" ", "\t"):
        return document.outside_elements(_line_tails(document.text))
    return iter(())


def _line_tails(text: str) -> Iterator[Edit]:
    end = -1
    for line in text.split("\n"):
        end += 1 + len(line)
        if line[-1:] in (" ", "\t"):
            yield Edit(end - len(line) + len(line.rstrip(" \t")), end, "")


def blank_lines(document: Document, found: int) -> Iterator[Edit]:
    text = document.text
    edges = [Edit(0, head.end(), "")] if (head := re.match(r"(?:[ \t]*+\n)+", text)) else []
    body_end = len(text.rstrip("\n"))
    inner = re.finditer(r"\n{4,}", text) if "\n\n\n\n" in text else ()
    edges += [Edit(*run.span(), "\n\n\n") for run in inner if (head is None or run.start() >= head.end()) and run.end() <= body_end]
    if body_end < len(text) and (head is None or head.end() < len(text)):
        edges.append(Edit(body_end, len(text), ""))
    return document.outside_elements(iter(edges))
