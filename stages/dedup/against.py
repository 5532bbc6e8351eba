"""Old documents: those that earlier dedup artifacts kept, from the index that each of them holds.

`--against dedup@v2` counts v2 and whatever v2 was itself made against, the oldest first: each artifact's index has its own documents only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    from mspt.core.shards import Docs
    from mspt.stages.dedup import DedupConfig
    from mspt.stages.dedup.corpus import Shard

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
    from mspt.stages.dedup.corpus import Shard

    found: list[Shard] = []
    start = 0
    for old in lineage(artifact):
        check_comparable(old, config, revision)
        docs = open_docs(old)
        for number in range(docs.num_shards):
            path = _of_live(docs, number, old.checked(index_name(number)), scratch / f"{len(found):05d}.npy")
            end = start + len(Runs.map(path)[0])
            found.append(Shard(docs, number, RunFile(path, start), end))
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


def lineage(artifact: Artifact | None) -> list[Artifact]:
    """The artifact and those it was made against, oldest first."""
    from mspt.core.store import Store

    found: list[Artifact] = []
    while artifact is not None:
        found.insert(0, artifact)
        record = next((record for record in artifact.inputs if record.name == READ), None)
        if record is None:
            break
        before = Store(artifact.root.parents[1]).resolve(record.ref)
        if before.fingerprint != record.fingerprint:
            raise MsptError(f"{artifact.ref} was made against {record.ref}, and that is another one now", "keep artifacts together with their ancestors")
        artifact = before
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
