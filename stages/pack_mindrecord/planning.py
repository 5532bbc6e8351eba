"""Which piece of which document goes into which row: drawn documents become items, items are dealt to blocks, blocks are packed one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mspt.core.tokens.blocks import Block, Buckets, num_blocks
from mspt.core.tokens.cutting import break_levels
from mspt.core.tokens.documents import TRAIN, VALIDATION, Documents
from mspt.core.tokens.items import Cutter, make_items
from mspt.core.tokens.masking import bucket_lengths
from mspt.core.tokens.mlm import SPECIALS
from mspt.core.tokens.packing import Items, Packing

if TYPE_CHECKING:
    from mspt.core.stage import Job
    from mspt.core.tokens.token_files import TokenFiles
    from mspt.core.tokens.tokenizer import Tokenizer
    from mspt.stages.pack_mindrecord import PackMindrecordConfig
    from mspt.stages.pack_mindrecord.choosing import Drawn


@dataclass(frozen=True)
class SplitPlan:
    """The rows of train or validation."""

    blocks: tuple[Block, ...]
    num_rows: int
    positions: int
    segments: int
    cut: int  # documents no longer than a row that were cut
    cut_tokens: int


@dataclass(frozen=True)
class RowSet:
    """Rows of one length of one split, which go into files `<name>-NNNNN`. Rows of a split are numbered over its sets: `first` is that of the first row."""

    name: str
    length: int
    plan: SplitPlan
    first: int


@dataclass(frozen=True)
class Plan:
    """Both splits, and where each phase of training begins (row; not of mlm, whose rows are ordered by length)."""

    train: tuple[RowSet, ...]
    validation: tuple[RowSet, ...]
    phase_starts: tuple[int, ...]


def packing_of(config: PackMindrecordConfig) -> Packing:
    if config.objective == "mlm":
        return Packing(config.seq_length - SPECIALS, 2, 0.0, "alone")
    # A legacy row lists no segments: it may hold as many as it likes.
    most = config.seq_length + 1 if config.layout == "legacy" else config.max_documents
    return Packing(config.seq_length, most, config.max_padding, config.pack)


def plan_rows(job: Job[PackMindrecordConfig], documents: Documents, drawn: Drawn, files: TokenFiles, tokenizer: Tokenizer) -> Plan:
    """Deal all items out, then pack."""
    config, packing = job.config, packing_of(job.config)
    cutter = Cutter(files, packing, break_levels(tokenizer.surfaces), tokenizer.token_bytes)
    lengths = bucket_lengths(config.seq_length) if config.objective == "mlm" else (config.seq_length,)
    groups = {
        TRAIN: open_groups(job.scratch("plan"), "train", list(zip(drawn.positions.tolist(), drawn.pieces.tolist(), strict=True)), lengths),
        VALIDATION: open_groups(job.scratch("plan"), "validation", [held_size(drawn, name, packing.row_tokens) for name in documents.sources], lengths),
    }
    for side, group, items in deal(documents, drawn, cutter):
        for bucket, part in by_length(items, lengths):
            groups[side][bucket][group].add(part)
    train, starts = pack_sets("train", groups[TRAIN], lengths, packing, config.seed)
    validation, _ = pack_sets("validation", groups[VALIDATION], lengths, packing, config.seed)
    return Plan(train, validation, tuple(starts))


def held_size(drawn: Drawn, source: str, row_tokens: int) -> tuple[int, int]:
    """(tokens, about how many items) of a source's validation."""
    held = drawn.held[source]
    return held["tokens"], held["documents"] + held["tokens"] // row_tokens


def open_groups(folder: Path, split: str, sizes: Sequence[tuple[int, int]], lengths: Sequence[int]) -> list[list[Buckets]]:
    """[row lengths][groups]: each group may lie wholly in one row length."""
    return [
        [Buckets(folder, f"{split}-{length}-{number}", num_blocks(positions, items, lengths[-1])) for number, (positions, items) in enumerate(sizes)]
        for length in lengths
    ]


def by_length(items: Items, lengths: Sequence[int]) -> Iterator[tuple[int, Items]]:
    """(number of the row length, items): an mlm item goes into the shortest row that holds it and the special tokens."""
    if len(lengths) == 1:
        yield 0, items
        return
    buckets = np.searchsorted(np.array(lengths), items["length"] + SPECIALS)
    for bucket in np.unique(buckets).tolist():
        yield bucket, items[buckets == bucket]


def pack_sets(split: str, groups: list[list[Buckets]], lengths: Sequence[int], packing: Packing, seed: int) -> tuple[tuple[RowSet, ...], list[int]]:
    """Row sets of a split, shortest rows first, and the first row of each group of the last one."""
    sets: list[RowSet] = []
    first, starts = 0, [0]
    for length, buckets in zip(lengths, groups, strict=True):
        plan, starts = pack_groups(buckets, packing, seed)
        name = split if len(lengths) == 1 else f"{split}-L{length:05d}"
        if plan.num_rows or len(lengths) == 1:
            sets.append(RowSet(name, length, plan, first))
        first += plan.num_rows
    return tuple(sets), starts


def deal(documents: Documents, drawn: Drawn, cutter: Cutter) -> Iterator[tuple[int, int, Items]]:
    """(side, group, items): training items by phase, validation items by source, so that a validation row says something about one source."""
    for code, first, records, copies in drawn.copies(documents):
        if cutter.packing.method == "alone":
            records["tokens"] -= 1  # the end of the document: these rows close with an eos of their own
        for side in (TRAIN, VALIDATION):
            mine = np.where(records["side"] == side, copies, 0)
            for phase, items in make_items(first, records, mine, cutter):
                if len(items):
                    yield side, (phase if side == TRAIN else code), items


def pack_groups(groups: list[Buckets], packing: Packing, seed: int) -> tuple[SplitPlan, list[int]]:
    """The rows of one group after another; the first row of each."""
    blocks: list[Block] = []
    rows, positions, segments, cut, cut_tokens, starts = 0, 0, 0, 0, 0, []
    for number, group in enumerate(groups):
        starts.append(rows)
        for path, packed in group.pack(packing, seed + number):
            blocks.append(Block.save(path, packed, rows))
            rows += packed.num_rows
            positions += packed.num_positions
            segments += len(packed.pieces)
            cut += packed.cut
            cut_tokens += packed.cut_tokens
    return SplitPlan(tuple(blocks), rows, positions, segments, cut, cut_tokens), starts


def blocks_of(plan: SplitPlan, first_row: int, last_row: int) -> tuple[Block, ...]:
    """The blocks that rows [first_row, last_row) lie in."""
    return tuple(b for b in plan.blocks if b.first_row < last_row and first_row < b.first_row + b.num_rows)
