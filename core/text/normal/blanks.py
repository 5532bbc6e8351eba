"""Blanks and blank lines: one blank between words, none at line ends, at most two blank lines; code keeps its own. Steps of `normalize`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.classes import EXOTIC_BLANK, EXOTIC_BLANKS
from mspt.core.text.normal.document import Document
from mspt.core.text.script import code_points
from mspt.core.text.spans import Edit

LINE_END, TAB, BLANK = np.uint32(0x0A), np.uint32(0x09), np.uint32(0x20)
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
    """Runs of blanks and tabs inside lines, as `Document.outside_indented` has them. Those at a line's start are indentation, which stays."""
    starts, ends, tabs = _find_runs(code_points(document.text))
    chosen = ~document.is_code(starts, ends) if len(starts) else slice(0)
    for start, end, has_tab in zip(starts[chosen].tolist(), ends[chosen].tolist(), tabs[chosen].tolist(), strict=True):
        yield Edit(start, end, "\t" if has_tab else " ")


@kernel
def _find_runs(codes: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Where two or more blanks and tabs stand inside a line that is not indented by four blanks or a tab; whether one of them is a tab."""
    starts, ends, tabs, size = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.bool_), 0
    i, line, n = 0, 0, len(codes)
    while i < n:
        code = codes[i]
        if code == LINE_END:
            line = i + 1
        elif _is_blank(code) and i + 1 < n and _is_blank(codes[i + 1]):
            start, has_tab = i, False
            while i < n and _is_blank(codes[i]):
                has_tab |= codes[i] == TAB
                i += 1
            if start > line and codes[line] != TAB and not _is_indented(codes, line):
                if size == len(starts):
                    starts, ends, tabs = np.concatenate((starts, starts)), np.concatenate((ends, ends)), np.concatenate((tabs, tabs))
                starts[size], ends[size], tabs[size] = start, i, has_tab
                size += 1
            continue
        i += 1
    return starts[:size], ends[:size], tabs[:size]


@kernel
def _is_indented(codes: NDArray[np.uint32], line: int) -> bool:
    place = line
    while place < min(line + 4, len(codes)) and codes[place] == BLANK:
        place += 1
    return place == line + 4


@kernel
def _is_blank(code: np.uint32) -> bool:
    return code in (BLANK, TAB)


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
