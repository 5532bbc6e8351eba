"""Prose that was broken into lines of one width, as in mail, RFCs and old e-books, joined to paragraphs again.

A line is broken where the next word did not fit. So each break says in which widths it would be one: at least the line, less than the line and that word. In
wrapped prose most breaks agree on one width, hardly a line exceeds it, and most of these breaks fall inside a sentence; in verse, lists, and one sentence a
line they do not. Only breaks that the width explains are joined: last lines of paragraphs, headings, signatures and turns of dialogue are shorter.

Measured (share of the breaks that agree on the best width): .80 to .99 in 61 of 61 wrapped documents of ../shared en_public_domain but the King James
Genesis (.61, every verse a paragraph); at most .35 in its verse and in all of zh_poetry; of zh_novels and zh_wiki no document has five such breaks in
sentences.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.form import HEAD_CHARACTERS
from mspt.core.text.marks import is_mark
from mspt.core.text.normal.document import Document, Edits, outside
from mspt.core.text.normal.line_breaks import ASK, BREAK, ITEM, MAX_OVERLONG, MIN_BREAKS, NO_BREAK, Breaks, agree, inside_paragraphs, possible_breaks
from mspt.core.text.normal.line_widths import (
    ASK_CASE,
    ASK_FIRST,
    ASK_STATEMENT,
    HAN_CHARACTERS,
    PLAIN,
    PROGRAM,
    STARTS_SMALL,
    UPPER,
    Lines,
    measure_lines,
    num_line_ends,
)  # fmt: skip
from mspt.core.text.normal.rows import NO_ROWS, Rows
from mspt.core.text.normal.settling import settled
from mspt.core.text.normal.verbatim import verbatim
from mspt.core.text.script import Codes

MAX_AVERAGE = 110  # characters a line of the whole text: longer ones are paragraphs

IS_HAN = re.compile(f"[{HAN_CHARACTERS}]")
AS_ITEM = r"(?:[-*+•●·◦▪■□◆※]|\[?\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]:](?=\s|\Z)|[（(]?[一二三四五六七八九十]{1,3}[)）、.．]|[①-⑳])"
# Headings, quotations, fields, dates, requests of roff.
OTHER = (
    r"[>|#=~_^`%&@<\\—:]|--|\$(?!\d)|\.\.(?=\s|\Z)|[.'][A-Z]{2}|[\w-]++(?:\.\w++)*+(?:: |::| ?= )|[\w-]++[:=]\w|\d+[-/.]\d|/"
    r"|第[一二三四五六七八九十百零〇\d]{1,6}[章回节節條条卷部篇]"
)
IS_ITEM, OPENS = re.compile(AS_ITEM), re.compile(f"{AS_ITEM}|{OTHER}")
# Lines of a program in which comments and long lists look like prose; line_widths.STATEMENT_STARTS lists how they begin.
STATEMENT = re.compile(
    r"[#%;]|//|/\*|\*/|(?:from [\w.]+ )?import [\w.]+|assert\b|(?:def|class|function|static|const|public|private|elif|else:|end|set\() ?\w*\("
)
SPACED = re.compile(f"[{HAN_CHARACTERS}] [A-Za-z0-9]|[A-Za-z0-9] [{HAN_CHARACTERS}]")
UNSPACED = re.compile(f"[{HAN_CHARACTERS}][A-Za-z0-9]|[A-Za-z0-9][{HAN_CHARACTERS}]")


class _Judged(NamedTuple):
    """The lines of the head of a text, the breaks among them, and what these say."""

    lines: Lines
    breaks: NDArray[np.uint8]
    found: Breaks


def join_lines(document: Document) -> Edits:
    """Line ends inside paragraphs to one blank, to nothing between Han characters. Nothing where structure is known (spans)."""
    if document.form == "prose" and all(map(is_mark, document.spans)):
        return settled(document, _edits)  # where two widths are mixed, a second run would find the other one
    return NO_ROWS


def join_indented(document: Document) -> Edits:
    """As join_lines, of text that may have ideographic blanks before its paragraphs, which `normalize` takes away."""
    return join_lines(document) if "\u3000" in document.text else NO_ROWS


def _edits(document: Document) -> Rows:
    codes = document.codes
    if not _may_be_wrapped(codes) or (judged := _judge(document)) is None:
        return NO_ROWS
    text = document.text
    lines, breaks, found = judged
    if len(text) > HEAD_CHARACTERS:
        lines = _all_lines(codes)
        breaks = _breaks(text, lines)
    _ask(text, lines, breaks)
    return outside(inside_paragraphs(codes, lines, breaks, found, _is_spaced(text)), verbatim(document).stretches)


def _may_be_wrapped(codes: Codes) -> bool:
    line_ends = num_line_ends(codes)
    return line_ends >= MIN_BREAKS and (line_ends + 1) * MAX_AVERAGE >= len(codes)


def _judge(document: Document) -> _Judged | None:
    lines = measure_lines(document.codes[:HEAD_CHARACTERS], MAX_OVERLONG)
    if lines is None:
        return None
    breaks = _breaks(document.text, lines)
    found = agree(lines, breaks)
    return _Judged(lines, breaks, found) if found else None


def _all_lines(codes: Codes) -> Lines:
    lines = measure_lines(codes)
    assert lines is not None
    return lines


def _is_spaced(text: str) -> bool:
    """Whether a blank stands between Han and Latin, by the head of a text."""
    head = text[:HEAD_CHARACTERS]
    return not head.isascii() and IS_HAN.search(head) is not None and len(SPACED.findall(head)) > len(UNSPACED.findall(head))


def _breaks(text: str, lines: Lines) -> NDArray[np.uint8]:
    """Of each line whether it may go on with the paragraph of the line before."""
    breaks = possible_breaks(lines)
    asked = np.flatnonzero(breaks == ASK)
    for number, start, end in zip(asked.tolist(), lines.starts[asked].tolist(), lines.ends[asked].tolist(), strict=True):
        breaks[number] = BREAK if OPENS.match(text, start, end) is None else NO_BREAK
    return breaks


def _ask(text: str, lines: Lines, breaks: NDArray[np.uint8]) -> None:
    """Completes the flags of the lines around breaks by what only patterns and Unicode can tell."""
    starts, ends, flags = lines.starts, lines.ends, lines.flags
    around = breaks.astype(np.bool_)
    around[:-1] |= around[1:]
    asked = np.flatnonzero(around & ((flags & PLAIN == 0) | (flags & (ASK_CASE | ASK_FIRST | ASK_STATEMENT) != 0)))
    for number, start, end, known in zip(asked.tolist(), starts[asked].tolist(), ends[asked].tolist(), flags[asked].tolist(), strict=True):
        found = (
            (ITEM if not known & PLAIN and IS_ITEM.match(text, start, end) else 0)
            | (UPPER if known & ASK_CASE and text[start:end].isupper() else 0)
            | (STARTS_SMALL if known & ASK_FIRST and text[start].islower() else 0)
            | (PROGRAM if known & ASK_STATEMENT and STATEMENT.match(text, start, end) else 0)
        )
        if found:
            flags[number] |= found
