"""Repeated paragraphs: lines that several documents have.

A paragraph is a line with letters; two are the same when their folded texts (folding.py) are. In policy order

- a paragraph that occurs in `boilerplate` documents or more is removed from all of them (0: never);
- any other stays in the first document that is kept and has it, and is removed from the later ones;
- a document of which less than MIN_LEFT would stay is rejected whole; what only it and later documents have then stays in the next one.

A paragraph that a document repeats within itself (a refrain) counts once. Lines shorter than `width` columns (a Han or Kana character takes two, any other
letter or digit one) are left alone: short lines of dialogue are equal by chance. So are code, verse and tables, and lines inside `pre` spans
or fenced blocks: there a line means nothing without its neighbours.

Paragraphs are compared by two independent 64-bit hashes, 128 bits together: among 10^10 different paragraphs two are taken for one with a probability of
1.5e-19 (n^2 / 2^129). The first hash alone, which is wrong about 2.7 of their pairs, only finds candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.dedup.folding import BLANK, CHARACTER, IGNORED, KIND_SHIFT, SPACE, WORD, fold_table, utf8_buffers
from mspt.core.dedup.utf8 import read_code_point
from mspt.core.kernel import fmix64, kernel
from mspt.core.text.form import fenced_blocks
from mspt.core.text.spans import Span

LEFT_ALONE = frozenset({"code", "verse", "table"})  # forms
MIN_LEFT = 0.1  # share of a document's letters; a page of which nine tenths are its site's furniture is no text of its own
NOBODY = -1  # in the place of a survivor: the paragraph stays
BOILERPLATE = -2  # ... it goes everywhere
_STEP_1 = np.uint64(0x9E3779B97F4A7C15)  # odd constants, from the golden ratio (Knuth, TAOCP 3, 6.4) ...
_STEP_2 = np.uint64(0xD1B54A32D192ED03)  # ... and the plastic number (M. Roberts 2018)


@dataclass(frozen=True)
class Paragraphs:
    """Lines with letters of documents, in reading order; document i has the places offsets[i] to offsets[i + 1].

    starts: where the line begins; ends: where the next one begins (blank lines belong to the line before them); in code points.
    widths: columns of letters and digits. hashes: of the folded line, [lines, 2].
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]


def find_paragraphs(texts: pa.Array) -> Paragraphs:
    """The paragraphs of each text."""
    data, offsets = utf8_buffers(texts)
    num = int(np.count_nonzero(data[offsets[0] : offsets[-1]] == 0x0A)) + len(texts)
    starts, ends, widths = (np.zeros(num, np.int64) for _ in range(3))
    hashes, line_offsets = np.zeros((num, 2), np.uint64), np.zeros(len(offsets), np.int64)
    size = _find_paragraphs(data, offsets, fold_table(), starts, ends, widths, hashes, line_offsets)
    return Paragraphs(starts[:size], ends[:size], widths[:size], hashes[:size], line_offsets)


def left_alone(text: str, form: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Stretches of a text whose lines are never removed."""
    if form in LEFT_ALONE:
        return [(0, len(text))]
    return sorted([*fenced_blocks(text), *((span.start, span.end) for span in spans if span.tag == "pre")])


class Walk:
    """The walk over repeated paragraphs in policy order, as many documents at a time as fit into memory.

    totals: width of each document, by rank. owners: room for one number for each paragraph (mapped from a file where they are many).
    """

    def __init__(self, totals: npt.NDArray[np.int64], owners: npt.NDArray[np.int64], boilerplate: int) -> None:
        self.rejected = np.zeros(len(totals), np.bool_)  # of each document, by rank
        self._totals = totals
        self._owners = owners
        self._owners[:] = NOBODY
        self._boilerplate = boilerplate

    def decide(
        self, ranks: npt.NDArray[np.int64], groups: npt.NDArray[np.int64], widths: npt.NDArray[np.int64], documents: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Of each occurrence the rank of the document that has it first, BOILERPLATE, or NOBODY where it stays.

        ranks: its document, ascending from call to call too; all occurrences of a document in one call. groups: equal for equal paragraphs, below
        len(owners). widths, documents: of its paragraph, and how many documents have that.
        """
        survivors = np.full(len(ranks), NOBODY, np.int64)
        _walk(ranks, groups, widths, documents, self._totals, self._boilerplate, self._owners, survivors, self.rejected)
        return survivors


def document_counts(ranks: npt.NDArray[np.int64], groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """In how many documents each paragraph occurs."""
    order = np.lexsort((ranks, groups))
    first = np.ones(len(order), np.bool_)
    first[1:] = (np.diff(groups[order]) != 0) | (np.diff(ranks[order]) != 0)
    return np.bincount(groups[order][first], minlength=int(groups.max(initial=-1)) + 1).astype(np.int64)


@kernel
def _walk(
    ranks: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int64],
    widths: npt.NDArray[np.int64],
    documents: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64],
    boilerplate: int,
    owners: npt.NDArray[np.int64],
    survivors: npt.NDArray[np.int64],
    rejected: npt.NDArray[np.bool_],
) -> None:
    """`owners`: which kept document has a paragraph first."""
    start = 0
    while start < len(ranks):
        rank = ranks[start]
        end, removed = start, 0
        while end < len(ranks) and ranks[end] == rank:
            group = groups[end]
            if boilerplate > 0 and documents[end] >= boilerplate:
                survivors[end] = BOILERPLATE
            elif owners[group] != NOBODY:
                survivors[end] = owners[group]
            removed += widths[end] if survivors[end] != NOBODY else 0
            end += 1
        if removed > 0 and totals[rank] - removed < MIN_LEFT * totals[rank]:
            rejected[rank] = True
        else:
            for i in range(start, end):
                if owners[groups[i]] == NOBODY:
                    owners[groups[i]] = rank
        start = end


@kernel
def _find_paragraphs(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    table: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    widths: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
    line_offsets: npt.NDArray[np.int64],
) -> int:
    """Folds line by line as folding._fold does: blanks count between two letters that are no Han or Kana, and only once."""
    size = 0
    for document in range(len(offsets) - 1):
        i, end = offsets[document], offsets[document + 1]
        first = size
        place = line = 0  # in code points
        width = 0
        one, two = np.uint64(0), np.uint64(0)
        blank, last = False, CHARACTER
        while True:
            if i < end:
                code, length = read_code_point(data, i, end)
            else:
                code, length = np.int64(10), 1
            i += length
            place += 1
            if code == 10:
                if width > 0:
                    starts[size], widths[size] = line, width
                    hashes[size, 0], hashes[size, 1] = fmix64(one), fmix64(two)
                    if size > first:
                        ends[size - 1] = line
                    size += 1
                if i > end:
                    break
                line, width = place, 0
                one, two = np.uint64(0), np.uint64(0)
                blank, last = False, CHARACTER
                continue
            entry = table[code]
            kind = entry >> KIND_SHIFT
            if kind == IGNORED:
                continue
            if kind == BLANK:
                blank = True
                continue
            if blank and last != CHARACTER and kind != CHARACTER:
                one = fmix64(one ^ np.uint64(SPACE)) * _STEP_1
                two = (two ^ np.uint64(SPACE)) * _STEP_2
                two ^= two >> np.uint64(29)
            one = fmix64(one ^ np.uint64(entry)) * _STEP_1
            two = (two ^ np.uint64(entry)) * _STEP_2
            two ^= two >> np.uint64(29)
            width += 2 if kind == CHARACTER else 1 if kind == WORD else 0
            last = kind
            blank = False
        if size > first:
            ends[size - 1] = place - 1
        line_offsets[document + 1] = size
    return size
