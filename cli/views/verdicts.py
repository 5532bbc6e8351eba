"""Whose verdict changed between two docs artifacts.

Each side is a table of (hash of id, verdict, hash of text), sorted by the first: 26 bytes a document, whatever their length. A verdict is "kept", the
rule that rejected the document, or "dropped earlier" (not live, and not rejected by this stage). Texts are compared where both sides keep the document.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mspt.cli.views.rows import Rows, open_rows
from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

KEPT, DROPPED, ABSENT = "kept", "dropped earlier", "not in it"
CHANGES = {
    "lost": "kept -> rejected",
    "won": "rejected -> kept",
    "rule": "rejected by another rule",
    "gone": "only in the first",
    "new": "only in the second",
    "text": "text changed",
}


@dataclass(frozen=True)
class Change:
    """A kind of change with the verdict on each side."""

    kind: str
    old: str
    new: str


@dataclass(frozen=True)
class Side:
    """All documents that one artifact knows of, sorted by `ids`. `places`: (part, row) in its docs (kept) or rejected rows."""

    ids: npt.NDArray[np.uint64]
    verdicts: npt.NDArray[np.int16]  # index into names
    texts: npt.NDArray[np.uint64]
    places: npt.NDArray[np.int32]  # [N, 2]
    names: list[str]


@dataclass(frozen=True)
class Comparison:
    """`changed`: for each change the positions in both sides (-1: absent)."""

    a: Side
    b: Side
    counts: dict[Change, int]
    changed: dict[Change, npt.NDArray[np.int64]]  # [n, 2]
    same: int

    @property
    def num_a(self) -> int:
        return len(self.a.ids)

    @property
    def num_b(self) -> int:
        return len(self.b.ids)


@dataclass(frozen=True)
class Example:
    change: Change
    a: dict[str, Any] | None
    b: dict[str, Any] | None


def _hashes(column: pa.ChunkedArray) -> Iterator[int]:
    """xxh3-64 of each text, read from Arrow's buffers without copying; 0 for null."""
    import numpy as np
    import pyarrow as pa
    import xxhash

    for chunk in column.chunks:
        if not pa.types.is_string(chunk.type):
            chunk = chunk.cast(pa.string())
        _, offsets, data = chunk.buffers()
        edges = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1].tolist()
        raw = memoryview(data) if data is not None else memoryview(b"")
        valid = chunk.is_valid().to_pylist()
        for i, (start, end) in enumerate(itertools.pairwise(edges)):
            yield xxhash.xxh3_64_intdigest(raw[start:end]) if valid[i] else 0


def _rejected(artifact: Artifact) -> Rows | None:
    return open_rows(artifact, "rejected") if any(name.startswith("rejected/") for name in artifact.files) else None


def read_side(artifact: Artifact, with_text: bool) -> Side:
    """The verdict on every document. A document that stands both in docs (not live) and in rejected/ counts as rejected."""
    import numpy as np

    names = [KEPT, DROPPED]
    parts: list[tuple[Any, Any, Any, Any]] = []
    docs = open_rows(artifact, "documents")
    for part in range(docs.num_parts):
        table = docs.read(part, ["id", "keep", *(["text"] if with_text else [])])
        keep = table.column("keep").to_numpy()
        texts = np.fromiter(_hashes(table.column("text")), np.uint64, len(keep)) if with_text else np.zeros(len(keep), np.uint64)
        parts.append((_ids(table), np.where(keep, 0, 1).astype(np.int16), texts, _places(part, len(keep))))
    rejected = _rejected(artifact)
    for part in range(rejected.num_parts if rejected else 0):
        assert rejected is not None
        table = rejected.read(part, ["id", "rule"])
        rules = table.column("rule").to_pylist()
        names += [rule for rule in dict.fromkeys(rules) if rule not in names]
        codes = np.array([names.index(rule) for rule in rules], np.int16)
        parts.append((_ids(table), codes, np.zeros(len(codes), np.uint64), _places(part, len(codes))))
    ids, verdicts, texts, places = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((-verdicts, ids))  # of one id the rule comes before "dropped earlier" and "kept"
    order = order[np.unique(ids[order], return_index=True)[1]]
    return Side(ids[order], verdicts[order], texts[order], places[order], names)


def _ids(table: pa.Table) -> npt.NDArray[np.uint64]:
    import numpy as np

    return np.fromiter(_hashes(table.column("id")), np.uint64, table.num_rows)


def _places(part: int, rows: int) -> npt.NDArray[np.int32]:
    import numpy as np

    places: npt.NDArray[np.int32] = np.stack([np.full(rows, part, np.int32), np.arange(rows, dtype=np.int32)], axis=1)
    return places


def same_text(a: Artifact, b: Artifact) -> bool:
    """Whether both have the very same text shards (a stage that only judges links them)."""
    shards = [[f.sha256 for name, f in sorted(artifact.files.items()) if name.startswith("docs-")] for artifact in (a, b)]
    return shards[0] == shards[1]


def compare(a: Artifact, b: Artifact) -> Comparison:
    import numpy as np

    for artifact in (a, b):
        if artifact.kind != "docs":
            raise MsptError(f"{artifact.ref} is of kind {artifact.kind}: it holds no documents", "--documents compares two docs artifacts")
    with_text = not same_text(a, b)
    left, right = (read_side(artifact, with_text) for artifact in (a, b))
    _, ours, theirs = np.intersect1d(left.ids, right.ids, assume_unique=True, return_indices=True)
    names = list(dict.fromkeys([*left.names, *right.names, ABSENT]))
    old, new = _codes(left, names)[ours], _codes(right, names)[theirs]
    kept = names.index(KEPT)
    text = (old == kept) & (new == kept) & (left.texts[ours] != right.texts[theirs])
    absent = names.index(ABSENT)
    gone, fresh = _missing(left, ours), _missing(right, theirs)
    columns = (
        np.concatenate([old, _codes(left, names)[gone], np.full(len(fresh), absent)]),
        np.concatenate([new, np.full(len(gone), absent), _codes(right, names)[fresh]]),
        np.concatenate([text, np.zeros(len(gone) + len(fresh), bool)]),
    )
    positions = (
        np.concatenate([ours, gone, np.full(len(fresh), -1)]),
        np.concatenate([theirs, np.full(len(gone), -1), fresh]),
    )
    return _grouped(left, right, np.stack(columns, axis=1), np.stack(positions, axis=1), names)


def _codes(side: Side, names: Sequence[str]) -> npt.NDArray[np.int64]:
    import numpy as np

    codes: npt.NDArray[np.int64] = np.array([names.index(name) for name in side.names], np.int64)[side.verdicts]
    return codes


def _missing(side: Side, found: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.setdiff1d(np.arange(len(side.ids)), found, assume_unique=True)


def _grouped(a: Side, b: Side, pairs: npt.NDArray[np.int64], positions: npt.NDArray[np.int64], names: Sequence[str]) -> Comparison:
    import numpy as np

    different = (pairs[:, 0] != pairs[:, 1]) | (pairs[:, 2] == 1)
    kinds, which = np.unique(pairs[different], axis=0, return_inverse=True)
    counts = Counter(which.ravel().tolist())
    changes = [Change(_kind(names[old], names[new], bool(text)), names[old], names[new]) for old, new, text in kinds.tolist()]
    order = sorted(range(len(changes)), key=lambda i: (list(CHANGES.values()).index(changes[i].kind), -counts[i], changes[i].old, changes[i].new))
    changed = {changes[i]: positions[different][which.ravel() == i] for i in order}
    return Comparison(a, b, {changes[i]: counts[i] for i in order}, changed, int((~different).sum()))


def _kind(old: str, new: str, text: bool) -> str:
    if text:
        return CHANGES["text"]
    if ABSENT in (old, new):
        return CHANGES["new" if old == ABSENT else "gone"]
    return CHANGES["lost" if old == KEPT else "won" if new == KEPT else "rule"]


def examples(a: Artifact, b: Artifact, found: Comparison, count: int, seed: int) -> list[Example]:
    """`count` documents of each change, chosen by a hash of (seed, id): the same ones every time."""
    import xxhash

    shown = []
    for change, positions in found.changed.items():
        if ABSENT in (change.old, change.new) and KEPT not in (change.old, change.new):
            continue  # one side rejected what the other never saw: between two stages that is no news
        ids = [int(found.a.ids[p] if p >= 0 else found.b.ids[q]) for p, q in positions.tolist()]
        chosen = heapq.nsmallest(count, range(len(ids)), key=lambda i: xxhash.xxh64_intdigest(ids[i].to_bytes(8, "little"), seed=seed))
        for i in sorted(chosen):
            p, q = positions[i].tolist()
            shown.append(Example(change, _row(a, found.a, p), _row(b, found.b, q)))
    return shown


def _row(artifact: Artifact, side: Side, position: int) -> dict[str, Any] | None:
    """The row that stands for a verdict: of rejected/ for a rule, else of docs."""
    if position < 0:
        return None
    ruled = side.names[side.verdicts[position]] not in (KEPT, DROPPED)
    part, row = side.places[position].tolist()
    rows = open_rows(artifact, "rejected" if ruled else "documents")
    return dict(rows.read(part, None).slice(row, 1).to_pylist()[0])
