"""Segments of rows made of token sequences in memory, as read_segments gives them from files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mspt.core.tokens.documents import record_type
from mspt.core.tokens.packing import PIECE
from mspt.core.tokens.rows import Segments


@dataclass(frozen=True)
class Piece:
    """Labels `sequence[start:start + length]` of document `id`, whose text has `num_bytes` bytes."""

    sequence: np.ndarray
    start: int
    length: int
    id: str
    source: str
    num_bytes: int


class Held:
    """Stands for TokenFiles: all sequences one after another."""

    def __init__(self, sequences: list[np.ndarray]) -> None:
        self.tokens = np.concatenate(sequences)

    def read(self, source: int, start: int, length: int) -> np.ndarray:
        return self.tokens[start : start + length]


def segments(rows: list[list[Piece]], prefix_id: int) -> tuple[Segments, tuple[str, ...], Any]:
    """(segments, names of the sources, what the tokens can be read from)."""
    flat = [piece for row in rows for piece in row]
    sources = tuple(dict.fromkeys(piece.source for piece in flat))
    pieces = np.zeros(len(flat), PIECE)
    pieces["row"] = [r for r, row in enumerate(rows) for _ in row]
    pieces["start"], pieces["length"] = [p.start for p in flat], [p.length for p in flat]
    pieces["total"] = -1
    records = np.zeros(len(flat), record_type(max(len(p.id) for p in flat)))
    sizes = np.array([len(p.sequence) for p in flat])
    records["start"], records["tokens"] = np.cumsum(sizes) - sizes, sizes
    records["bytes"], records["id"] = [p.num_bytes for p in flat], [p.id.encode() for p in flat]
    records["source"] = [sources.index(p.source) for p in flat]
    parts = [p.sequence[p.start - bool(p.start) : p.start + p.length] for p in flat]
    lead = np.array([bool(p.start) for p in flat], np.int64)
    counts = np.array([len(part) for part in parts])
    before = np.array([p.sequence[p.start - 1] if p.start else prefix_id for p in flat], np.int32)
    return Segments(pieces, records, np.concatenate(parts), np.cumsum(counts) - counts + lead, before), sources, Held([p.sequence for p in flat])
