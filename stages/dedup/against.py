"""Old documents: those that earlier dedup artifacts kept, from the index that each of them holds.

`--against dedup@v2` counts v2 and whatever v2 was itself made against, the oldest first: each artifact's index has its own documents only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.shards import Docs
    from mspt.stages.dedup import DedupConfig
    from mspt.stages.dedup.corpus import Shard
    from mspt.stages.dedup.levels import Place

READ = "against"
MUST_AGREE = ("characters", "words", "bands", "rows", "seed")  # else keys cannot be compared


def index_name(shard: int) -> str:
    """The file of an artifact that holds the index of one shard."""
    return f"index/index-{shard:05d}.npy"


def old_shards(artifact: Artifact | None, config: DedupConfig, revision: int, scratch: Path) -> list[Shard]:
    """The indexed shards of an artifact and of its own ancestors, one after another. MsptError where one cannot be compared with.

    `scratch`: a folder for the indices of shards that lost documents after they were indexed.
    """
    from mspt.core.dedup.index import Runs
    from mspt.core.dedup.merge import RunFile
    from mspt.core.shards import open_docs
    from mspt.stages.dedup.contamination import CONTAMINATED
    from mspt.stages.dedup.corpus import Shard

    found: list[Shard] = []
    start = 0
    for old in lineage(artifact):
        check_comparable(old, config, revision)
        docs, texts = open_docs(old), texts_before(old)
        for name in old.files:
            if name.startswith(CONTAMINATED):  # read later, without a look at its hash
                old.checked(name)
        for number in range(docs.num_shards):
            index = old.checked(index_name(number))
            path = _of_live(docs, number, index, scratch / f"{len(found):05d}.npy")
            end = start + len(Runs.map(path)[0])
            found.append(Shard(docs, number, RunFile(path, start), end, texts, index))
            start = end
    return found


def _of_live(docs: Docs, shard: int, index: Path, path: Path) -> Path:
    """The index of the documents that are live: a later level (paragraphs, test sets) may have dropped some that were indexed."""
    import numpy as np

    from mspt.core.dedup.index import Runs

    runs, (rows, ranks) = Runs.map(index)
    live = docs.read(shard, ["keep"]).column("keep").to_numpy()[rows]
    if live.all():
        return index
    runs.select(np.asarray(live, np.bool_)).save(path, rows[live], ranks[live])
    return path


def texts_before(old: Artifact) -> Docs:
    """The texts that an artifact compared: its own, or where it cut parts out of them those of the docs that it was made of."""
    from mspt.core.shards import open_docs

    if not old.manifest["counts"]["removed"]:
        return open_docs(old)
    if old.config.get("sample") is not None:
        raise MsptError(
            f"{old.ref} was made of a sample and its texts were cut: the texts that it compared are not kept", f"make it again without --sample, then --{READ}"
        )
    return open_docs(_ancestor(old, "docs"))


def _ancestor(artifact: Artifact, name: str) -> Artifact:
    """An input of an artifact. MsptError where that is not what it was."""
    from mspt.core.store import Store

    record = next(record for record in artifact.inputs if record.name == name)
    try:
        found = Store(artifact.root.parents[1]).resolve(record.ref)
    except MsptError:
        what = "its texts were cut, and those before" if name == "docs" else "documents in the index of that one"
        raise MsptError(
            f"{artifact.ref} was made of {record.ref}, which is not there: {what} are compared too",
            f"put {record.ref} back beside it; `mspt gc` keeps what a kept version was made of",
        ) from None
    if found.fingerprint != record.fingerprint:
        raise MsptError(f"{artifact.ref} was made of {record.ref}, and that is another one now", "keep artifacts together with their ancestors")
    return found


@dataclass(frozen=True)
class OldDocuments:
    """What exact and near duplicates left in earlier runs, as Kept: what later levels of those runs did is decided once more. ids: by rank."""

    places: tuple[Place, ...]
    rows: tuple[npt.NDArray[np.int64], ...]
    ranks: tuple[npt.NDArray[np.int64], ...]
    ids: npt.NDArray[np.uint8]


def old_documents(shards: Sequence[Shard]) -> OldDocuments:
    """Of old shards, in their order."""
    import numpy as np
    import pyarrow as pa

    from mspt.core.dedup.ids import parse_ids
    from mspt.core.dedup.index import Runs
    from mspt.stages.dedup.contamination import CUTS, DROPS, contaminated_name
    from mspt.stages.dedup.levels import Place

    places, rows, stored, ids = [], [], [], []
    for shard in shards:
        assert shard.index is not None
        own, ranks = Runs.map(shard.index)[1]
        cuts, drops = (shard.docs.root / contaminated_name(name, shard.number) for name in (CUTS, DROPS))
        stays = ~np.isin(own, pq_column(drops, "row")) if drops.exists() else np.ones(len(own), np.bool_)
        places.append(Place(shard.texts.one(shard.number), 0, cuts if cuts.exists() else None))
        rows.append(own[stays].astype(np.int64))
        stored.append((shard.docs.ref, ranks[stays]))
        ids.append(parse_ids(shard.docs.read(shard.number, ["id"], check=False).column("id").take(pa.array(rows[-1]))))
    joined = joined_ranks(stored)
    by_rank = np.empty((sum(map(len, rows)), 16), np.uint8)
    for own_ranks, own_ids in zip(joined, ids, strict=True):
        by_rank[own_ranks] = own_ids
    return OldDocuments(tuple(places), tuple(rows), tuple(joined), by_rank)


def pq_column(path: Path, name: str) -> npt.NDArray[np.int64]:
    """One column of a file of cuts or drops."""
    import pyarrow.parquet as pq

    found: npt.NDArray[np.int64] = pq.read_table(path, columns=[name], use_threads=False, partitioning=None).column(name).to_numpy()
    return found


def joined_ranks(stored: Sequence[tuple[str, npt.NDArray[np.uint32]]]) -> list[npt.NDArray[np.int64]]:
    """Ranks of the documents of several shards: the order they had in their artifact (named with each), artifacts one after another."""
    import numpy as np

    found: list[npt.NDArray[np.int64]] = []
    first = 0
    for ref in dict.fromkeys(name for name, _ in stored):
        parts = [ranks for name, ranks in stored if name == ref]
        joined = np.concatenate(parts)
        ranks = np.empty(len(joined), np.int64)
        ranks[np.argsort(joined, kind="stable")] = np.arange(first, first + len(joined))
        found += np.split(ranks, np.cumsum([len(part) for part in parts])[:-1])
        first += len(joined)
    return found


def lineage(artifact: Artifact | None) -> list[Artifact]:
    """The artifact and those it was made against, oldest first."""
    found: list[Artifact] = []
    while artifact is not None:
        found.insert(0, artifact)
        artifact = _ancestor(artifact, READ) if any(record.name == READ for record in artifact.inputs) else None
    return found


def check_comparable(old: Artifact, config: DedupConfig, revision: int) -> None:
    """The old index must hold what this run would compute."""
    if index_name(0) not in old.files:
        raise MsptError(f"{old.ref} holds no index: --{READ} wants an artifact that `mspt dedup` wrote", "name the dedup artifact that it was made from")
    if old.manifest["revision"] != revision:
        raise MsptError(f"{old.ref} was written by revision {old.manifest['revision']} of dedup, this is revision {revision}", "make it again: mspt dedup")
    for name in MUST_AGREE:
        theirs, ours = old.config.get(name), getattr(config, name)
        if theirs != ours:
            raise MsptError(f"{old.ref} was made with {name} = {theirs}, this run has {ours}: their keys differ", f"--{name} {theirs}")
