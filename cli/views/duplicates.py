"""What dedup took: by level and source, clusters by size, test sets found; and one cluster with what differs between its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views.render import bar, count, heading, percent, present, redacted, table, terminal, text
from mspt.cli.views.rows import find_documents, open_rows
from mspt.cli.views.text_diff import Piece, compare, render
from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError
from mspt.core.store import Store

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_MEMBERS = 10  # removed documents of a cluster that are shown; -v and --json give all
MIN_PREFIX = 6  # characters of an id that name it
OWN = ("documents", "characters", "levels", "sources", "cluster_sizes", "largest_clusters", "decontamination", "remarks")


def report(stats: Mapping[str, Any]) -> tuple[list[RenderableType], dict[str, Any]]:
    """Blocks for `mspt show` of a dedup artifact, and the statistics that they do not show."""
    blocks = _removed(stats) + _clusters(stats) + _test_sets(stats.get("decontamination", []))
    if stats.get("remarks"):
        blocks += [heading("remarks"), *(text(f"- {redacted(remark)}", "yellow") for remark in stats["remarks"])]
    return blocks, {name: value for name, value in stats.items() if name not in OWN}


def _removed(stats: Mapping[str, Any]) -> list[RenderableType]:
    columns = ["source", "level", "documents", "share of documents", "characters", "share of characters"]
    lines = [{"source": "all", "level": level, **row} for level, row in stats["levels"].items()]
    lines += sorted(stats["sources"], key=lambda row: (row["source"], -row["characters"], row["level"]))
    names = ("documents", "document_share", "characters", "character_share")
    rows = [[redacted(row["source"]), row["level"], *(_figure(row, name) for name in names)] for row in lines]
    title = f"removed of {count(stats['documents'], 'document')}, {stats['characters']:,} characters"
    return [heading(title), table(columns, rows, right=columns[2:])]


def _figure(row: Mapping[str, Any], name: str) -> str:
    return percent(row[name]) if name.endswith("share") else f"{row[name]:,}"


def _clusters(stats: Mapping[str, Any]) -> list[RenderableType]:
    sizes: Mapping[str, int] = stats["cluster_sizes"]
    if not sizes:
        return [heading("clusters"), text("none: no document has a copy")]
    widest = max(sizes.values())
    histogram = [[size, f"{number:,}", bar(number / widest, 30)] for size, number in sizes.items()]
    blocks: list[RenderableType] = [heading("clusters by size (with the survivor)"), table(["documents", "clusters", ""], histogram, right=["clusters"])]
    largest = [
        [f"{cluster['documents']:,}", cluster["cluster"], redacted(cluster["source"]), " ".join(redacted(cluster["excerpt"]).split())]
        for cluster in stats["largest_clusters"]
    ]
    columns = ["documents", "cluster", "source", "survivor begins"]
    return [*blocks, heading("largest clusters"), table(columns, largest, right=columns[:1], clip=columns[3:])]


def _test_sets(files: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    if not files:
        return []
    columns = ["test set", "items", "found", "share", "too short", "whole only", "documents"]
    names = ("items", "items_found", "items_found_share", "items_too_short", "texts_whole_only", "documents")
    rows = [[file["file"], *(_figure(file, name) for name in names)] for file in files]
    blocks: list[RenderableType] = [heading("test sets"), table(columns, rows, right=columns[1:])]
    for file in files:
        for short in file.get("short", [])[:3]:
            blocks.append(text(f"not looked for, too short: {file['file']}#{short['item']}: {' '.join(redacted(short['text']).split())}", "dim"))
    examples = [
        [f"{file['file']}#{example['item']}", example["document"], f"{example['units']:,}", " ".join(redacted(example["text"]).split())]
        for file in files
        for example in file["examples"][:3]
    ]
    columns = ["item", "document", "units", "text that both have"]
    return [*blocks, table(columns, examples, right=columns[2:3], clip=columns[3:])] if examples else blocks


# --- one cluster -------------------------------------------------------------------------------------------------------


def show_cluster(shared: Context, artifact: Artifact, wanted: str) -> None:
    """`mspt show REF --cluster ID`: the survivor, and what differs in each document that was removed in its favour."""
    removed = _members(artifact, wanted)
    survivor = removed[0]["survivor"]
    kept = _survivor(artifact, shared.store, survivor)
    if kept is None:
        raise MsptError(f"{artifact.ref}: the survivor {survivor} is in no artifact that is here", "mspt verify says what is missing")
    ours = redacted(kept["text"] or "")
    everything = shared.console.level > 0 or shared.console.json
    blocks: list[RenderableType] = [
        text(f"{survivor}: {count(len(removed) + 1, 'document')}", "bold"),
        text(f"kept  {kept['source']}  {kept['ref']}  {len(kept['text'] or ''):,} characters  in {kept['artifact']}"),
    ]
    plain = []
    for member in removed if everything else removed[:MAX_MEMBERS]:
        theirs = redacted(member["text"] or "")
        pieces = compare(ours, theirs)
        plain.append(_plain(member, theirs, pieces))
        blocks += [
            heading(f"removed  {member['id']}  {member['rule']}, similarity {member['similarity']:.3f}"),
            text(f"{member['source']}  {member['ref']}"),
            render(ours, theirs, pieces, styled=terminal()) if any(piece.kind != "equal" for piece in pieces) else text("the same text"),
        ]
    if len(plain) < len(removed):
        blocks.append(text(f"\n{len(removed) - len(plain)} more: -v", "dim"))
    value = {"ref": artifact.ref, "cluster": survivor, "survivor": {**kept, "text": ours}, "removed": plain}
    present(shared.console, value, *blocks)


def _plain(member: Mapping[str, Any], theirs: str, pieces: Sequence[Piece]) -> dict[str, Any]:
    """diff: [kind, start, end in the survivor's text, start, end in this one], what is equal left out."""
    differences = [[piece.kind, piece.a_start, piece.a_end, piece.b_start, piece.b_end] for piece in pieces if piece.kind != "equal"]
    return {**{name: member[name] for name in ("id", "ref", "source", "rule", "similarity")}, "text": theirs, "diff": differences}


def _members(artifact: Artifact, wanted: str) -> list[dict[str, Any]]:
    """The removed documents of the cluster that holds a document; by id, or by its first characters. The most similar first."""
    import pyarrow.compute as pc

    rows = open_rows(artifact, "rejected")
    tables = [rows.read(part, ["id", "survivor"]) for part in range(rows.num_parts)]
    survivors: set[str] = set()
    for found in tables:
        for column in ("id", "survivor"):
            mask = pc.and_(pc.is_valid(found.column("survivor")), pc.starts_with(found.column(column), wanted))
            survivors |= set(found.filter(mask).column("survivor").to_pylist()) if len(wanted) >= MIN_PREFIX else set()
    if len(survivors) != 1:
        what = "no document of a cluster has this id" if not survivors else f"{len(survivors)} clusters begin so: {', '.join(sorted(survivors)[:3])}"
        raise MsptError(f"{artifact.ref}: --cluster {wanted}: {what}", f"mspt show {artifact.ref} lists clusters; {MIN_PREFIX} characters of an id are enough")
    survivor = survivors.pop()
    members = []
    for part, found in enumerate(tables):
        mask = pc.fill_null(pc.equal(found.column("survivor"), survivor), False)
        if pc.any(mask).as_py():
            members += rows.read(part, None).filter(mask).to_pylist()
    return sorted(members, key=lambda member: (-(member["similarity"] or 0.0), member["id"]))


def _survivor(artifact: Artifact, store: Store, survivor: str) -> dict[str, Any] | None:
    """The kept document: in this artifact, or in one that it was made against."""
    columns = ["text", "ref", "source"]
    for record in (None, *(record for record in artifact.inputs if record.name == "against")):
        place = artifact if record is None else store.resolve(record.ref)
        found = find_documents(place, [survivor], columns)
        if found:
            return {**found[survivor], "artifact": place.ref}
        if record is not None and (older := _survivor(place, store, survivor)) is not None:
            return older
    return None
