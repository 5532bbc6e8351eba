"""Which piece of which document goes into which row: drawn documents become items, items are dealt to blocks, blocks are packed one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mspt.core.tokens.blocks import Block, Buckets, num_blocks
from mspt.core.tokens.cutting import break_levels
from mspt.core.tokens.documents import TRAIN, VALIDATION, Documents
from mspt.core.tokens.items import Cutter, make_items
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

    def padding_ratio(self, row_tokens: int) -> float:
        return 1 - self.positions / (self.num_rows * row_tokens) if self.num_rows else 0.0


@dataclass(frozen=True)
class Plan:
    """Both splits, and where each phase of training begins (row)."""

    train: SplitPlan
    validation: SplitPlan
    phase_starts: tuple[int, ...]


def packing_of(config: PackMindrecordConfig) -> Packing:
    # A legacy row lists no segments: it may hold as many as it likes.
    most = config.seq_length + 1 if config.layout == "legacy" else config.max_documents
    return Packing(config.seq_length, most, config.max_padding, config.pack)


def plan_rows(job: Job[PackMindrecordConfig], documents: Documents, drawn: Drawn, files: TokenFiles, tokenizer: Tokenizer) -> Plan:
    """Deal all items out, then pack. Raises MsptError where nothing is left for training."""
    from mspt.core.errors import MsptError

    config, packing = job.config, packing_of(job.config)
    if not drawn.positions.sum():
        raise MsptError("no document is left for training", "lower --validation-share, or give more documents: mspt show on the tokens")
    cutter = Cutter(files, packing, break_levels(tokenizer.surfaces), tokenizer.token_bytes)
    folder = job.scratch("plan")
    train = [
        Buckets(folder, f"train-{phase}", num_blocks(int(p), int(n), packing.row_tokens))
        for phase, (p, n) in enumerate(zip(drawn.positions, drawn.pieces, strict=True))
    ]
    held = [drawn.held[name] for name in documents.sources]
    validation = [
        Buckets(folder, f"validation-{code}", num_blocks(h["tokens"], h["documents"] + h["tokens"] // packing.row_tokens, packing.row_tokens))
        for code, h in enumerate(held)
    ]
    for side, group, items in deal(documents, drawn, cutter):
        (train if side == TRAIN else validation)[group].add(items)
    splits, starts = [], []
    for split, groups in (("train", train), ("validation", validation)):
        found, first = pack_groups(groups, packing, config.seed)
        splits.append(found)
        if split == "train":
            starts = first
    return Plan(splits[0], splits[1], tuple(starts))


def deal(documents: Documents, drawn: Drawn, cutter: Cutter) -> Iterator[tuple[int, int, Items]]:
    """(side, group, items): training items by phase, validation items by source, so that a validation row says something about one source."""
    for code, first, records, copies in drawn.copies(documents):
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


def scratch_files(folder: Path) -> int:
    """Bytes that the plan takes on disk."""
    return sum(path.stat().st_size for path in folder.iterdir())
