"""Blanks and blank lines: one blank between words, none at line ends, at most two blank lines; code keeps its own. Steps of `normalize`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.classes import EXOTIC_BLANK, EXOTIC_BLANKS
from mspt.core.text.normal.document import Document
from mspt.core.text.script import code_points
from mspt.core.text.spans import Edit

PROSE_FORMS = frozenset({"prose", "markup"})
LINE_TAIL = re.compile(r"(?<![ \t])[ \t]++(?=\n|\Z)")
OTHER_BLANK = re.compile(f"[{EXOTIC_BLANKS}]")
LINE_END, TAB, BLANK = np.uint32(0x0A), np.uint32(0x09), np.uint32(0x20)
NONE, PLAIN, EXOTIC, IDEOGRAPHIC = range(4)  # kinds of blanks; a run is of the highest among them


def blanks(document: Document, found: int) -> Iterator[Edit]:
    """Runs of blanks inside lines to one blank, or to a tab where there was one (cells of a row). At a line's start indentation stays, of plain blanks, but the
    ideographic one, which is mere layout. Lines indented by four blanks or a tab, which may be code, stay."""
    text = document.text
    if document.form in PROSE_FORMS and (found & EXOTIC_BLANK or "  " in text or "\t" in text):
        yield from _edits(document)


def _edits(document: Document) -> Iterator[Edit]:
    runs = _find_runs(code_points(document.text), _kinds())
    chosen = ~document.is_code(runs[:, 0], runs[:, 1]) if len(runs) else slice(0)
    for start, end, kind, has_tab, is_indent in runs[chosen].tolist():
        yield Edit(start, end, _indent(document.text[start:end], kind) if is_indent else "\t" if has_tab else " ")


def _indent(blanks: str, kind: int) -> str:
    return "" if kind == IDEOGRAPHIC else OTHER_BLANK.sub(" ", blanks)


@cache
def _kinds() -> NDArray[np.uint8]:
    """[0x3001]: the kind of each blank."""
    kinds = np.zeros(0x3001, dtype=np.uint8)
    kinds[[ord(blank) for blank in " \t"]] = PLAIN
    kinds[[code for code in range(0x80, 0x3001) if OTHER_BLANK.match(chr(code))]] = EXOTIC
    kinds[0x3000] = IDEOGRAPHIC
    return kinds


@kernel
def _find_runs(codes: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> NDArray[np.int64]:
    """[runs, 5]: start and end of two or more blanks, or one exotic one; the highest kind; whether a tab is among them; whether they begin their line. None of
    plain blanks at the beginning of a line, none in lines that begin with four blanks or a tab."""
    runs, size = np.empty((16, 5), np.int64), 0
    i, line, n = 0, 0, len(codes)
    while i < n:
        if codes[i] == LINE_END:
            line = i + 1
        elif _kind(codes[i], kinds):
            start, kind, has_tab = i, NONE, False
            while i < n and _kind(codes[i], kinds):
                kind, has_tab = max(kind, _kind(codes[i], kinds)), has_tab or codes[i] == TAB
                i += 1
            if (kind > PLAIN or (i - start > 1 and start > line)) and not _is_indented(codes, line):
                if size == len(runs):
                    runs = np.concatenate((runs, runs))
                runs[size, 0], runs[size, 1], runs[size, 2], runs[size, 3], runs[size, 4] = start, i, kind, has_tab, start == line
                size += 1
            continue
        i += 1
    return runs[:size]


@kernel
def _kind(code: np.uint32, kinds: NDArray[np.uint8]) -> int:
    return kinds[code] if code < len(kinds) else NONE


@kernel
def _is_indented(codes: NDArray[np.uint32], line: int) -> bool:
    """Whether a line begins with a tab or four blanks."""
    place = line
    while place < min(line + 4, len(codes)) and codes[place] == BLANK:
        place += 1
    return place == line + 4 or (line < len(codes) and codes[line] == TAB)


def trailing(document: Document, found: int) -> Iterator[Edit]:
    if " \n" in document.text or "\t\n" in document.text or document.text[-1:] in (" ", "\t"):
        return document.outside_elements(_line_tails(document.text))
    return iter(())


def _line_tails(text: str) -> Iterator[Edit]:
    return (Edit(*tail.span(), "") for tail in LINE_TAIL.finditer(text))


def blank_lines(document: Document, found: int) -> Iterator[Edit]:
    text = document.text
    edges = [Edit(0, head.end(), "")] if (head := re.match(r"(?:[ \t]*+\n)+", text)) else []
    body_end = len(text.rstrip("\n"))
    inner = re.finditer(r"\n{4,}", text) if "\n\n\n\n" in text else ()
    edges += [Edit(*run.span(), "\n\n\n") for run in inner if (head is None or run.start() >= head.end()) and run.end() <= body_end]
    if body_end < len(text) and (head is None or head.end() < len(text)):
        edges.append(Edit(body_end, len(text), ""))
    return document.outside_elements(iter(edges))
