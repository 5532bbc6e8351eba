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
SHOWN_ID = 10  # characters of an id in tables: enough for --cluster among millions
OWN = ("documents", "characters", "levels", "sources", "cluster_sizes", "largest_clusters", "decontamination", "remarks")


def report(stats: Mapping[str, Any]) -> tuple[list[RenderableType], dict[str, Any]]:
    """Blocks for `mspt show` of a dedup artifact, and the statistics that they do not show."""
    blocks = _removed(stats) + _clusters(stats) + _test_sets(stats.get("decontamination", []))
    if stats.get("remarks"):
        blocks += [heading("remarks"), *(text(f"- {redacted(remark)}", "yellow") for remark in stats["remarks"])]
    return blocks, {name: value for name, value in stats.items() if name not in OWN}


def _removed(stats: Mapping[str, Any]) -> list[RenderableType]:
    """What each level took of all, and of each source; where several took from it, their sum first."""
    columns = ["source", "removed by", "documents", "share", "characters", "share "]
    levels = [{"level": level, **row} for level, row in stats["levels"].items() if row["documents"] or row["characters"]]
    place = {level: number for number, level in enumerate(stats["levels"])}
    of_sources: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(stats["sources"], key=lambda row: place.get(row["level"], len(place))):
        of_sources.setdefault(row["source"], []).append(row)
    rows = _block("all sources" if len(of_sources) > 1 else next(iter(of_sources), "all"), levels)
    for source in sorted(of_sources) if len(of_sources) > 1 else []:
        rows += _block(redacted(source), of_sources[source])
    title = f"removed of {count(stats['documents'], 'document')}, {stats['characters']:,} characters"
    return [heading(title), table(columns, rows, right=columns[2:])] if rows else [heading(title), text("nothing")]


def _block(name: str, levels: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    names = ("documents", "document_share", "characters", "character_share")
    total = {key: sum(row[key] for row in levels) for key in names}
    lines = [{"level": "all levels", **total}, *levels] if len(levels) > 1 else levels
    return [["" if number else name, row["level"], *(_figure(row, key) for key in names)] for number, row in enumerate(lines)]


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
        [f"{cluster['documents']:,}", cluster["cluster"][:SHOWN_ID], redacted(cluster["source"]), _beginning(cluster["excerpt"])]
        for cluster in stats["largest_clusters"]
    ]
    columns = ["documents", "cluster", "source", "survivor begins"]
    example = text(f"--cluster {largest[0][1]} shows what differs", "dim")
    return [*blocks, heading("largest clusters"), table(columns, largest, right=columns[:1], clip=columns[3:]), example]


def _beginning(excerpt: str) -> str:
    shown = " ".join(redacted(excerpt).split())
    return shown or "(blank)"


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
        [f"{file['file']}#{example['item']}", example["document"][:SHOWN_ID], f"{example['units']:,}", _beginning(example["text"])]
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
        text(f"kept  {kept['source']}  {kept['ref']}  {count(len(kept['text'] or ''), 'character')}  in {kept['artifact']}{_since(kept)}"),
    ]
    plain = []
    for member in removed if everything else removed[:MAX_MEMBERS]:
        theirs = redacted(member["text"] or "")
        pieces = compare(ours, theirs)
        plain.append(_plain(member, theirs, pieces))
        where = f"{member['source']}  {member['ref']}"
        if all(piece.kind == "equal" for piece in pieces):
            blocks.append(text(f"same  {member['id']}  {where}  {_how(member)}"))
        else:
            blocks += [heading(f"removed  {member['id']}  {_how(member)}"), text(where), render(ours, theirs, pieces, styled=terminal())]
    if len(plain) < len(removed):
        blocks.append(text(f"\n{len(removed) - len(plain)} more: -v", "dim"))
    value = {"ref": artifact.ref, "cluster": survivor, "survivor": {**kept, "text": ours}, "removed": plain}
    present(shared.console, value, *blocks)


def _how(member: Mapping[str, Any]) -> str:
    return f"{member['rule']}, similarity {member['similarity']:.3f}"


def _since(kept: Mapping[str, Any]) -> str:
    cut = kept.get("cut_since", 0)
    return f"  ({cut:,} of them were cut by later levels)" if cut else ""


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
            return {**found[survivor], "artifact": place.ref, **_as_compared(place, survivor, found[survivor]["text"])}
        if record is not None and (older := _survivor(place, store, survivor)) is not None:
            return older
    return None


def _as_compared(artifact: Artifact, survivor: str, now: str | None) -> dict[str, Any]:
    """Where an artifact cut parts out of a survivor: the text that was compared, and how much of it was cut since."""
    from mspt.stages.dedup.against import texts_before

    if not artifact.manifest["counts"]["removed"]:
        return {}
    try:
        docs = texts_before(artifact)
    except MsptError:
        return {}
    for shard in range(docs.num_shards):
        ids = docs.read(shard, ["id"], check=False).column("id")
        place = ids.index(survivor).as_py()
        if place >= 0:
            text_then = docs.read(shard, ["text"], check=False).column("text")[place].as_py() or ""
            return {"text": text_then, "cut_since": len(text_then) - len(now or "")}
    return {}
