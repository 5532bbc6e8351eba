"""`mspt trace`: where a document went. Every finished version that holds it, by an id (or its first characters), a URL, a ref or a record's own id (meta.id);
or what dropped it and why.

    docs        its row, live or not; its row in rejected/, with rule and survivor; parts of it in removed/
    tokens      source and sequence
    mindrecord  split, row, positions; or that it was not drawn

`mspt show REF --row N` goes the other way. Reads ids first, a shard at a time, and other columns only where one matches; text shards that versions share are
read once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views.duplicates import MIN_PREFIX
from mspt.cli.views.render import count, number, present, redacted, table, text
from mspt.cli.views.workspace import list_entries
from mspt.core.artifact import Artifact
from mspt.core.errors import CheckFailed, MsptError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import RenderableType

    from mspt.core.shards import Docs

MAX_ROWS = 1000  # training rows of one artifact that are listed; all are counted
PREFIX = f"[0-9a-f]{{{MIN_PREFIX},31}}"  # the beginning of an id, as other views show it
MAX_SHOWN = 8  # of them on the screen
_NAMES = ("id", "ref", "url", "meta")


@dataclass(frozen=True)
class Finding:
    """One place. `facts` are its columns; `number` how many there are like it (training rows)."""

    ref: str
    kind: str
    what: str  # document, rejected, removed, tokens, row, not drawn
    facts: dict[str, Any]
    number: int = 1

    def plain(self) -> dict[str, Any]:
        return {"artifact": self.ref, "kind": self.kind, "what": self.what, **{name: _clean(value) for name, value in self.facts.items()}}


def _clean(value: Any) -> Any:
    return redacted(value) if isinstance(value, str) else value


@dataclass
class Search:
    """What is looked for, and the ids that it turned out to mean."""

    query: str
    by_prefix: bool = False  # the query is the beginning of an id
    ids: set[str] = field(default_factory=set)
    seen: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # matches in a text shard, by inode

    def matches(self, table_: pa.Table) -> list[int]:
        """Rows whose id, ref, url or meta.id is the query, or whose id begins with it (`by_prefix`), or is known already."""
        import pyarrow as pa
        import pyarrow.compute as pc

        mask = self.known(table_.column("id"))
        if self.by_prefix:
            return pc.indices_nonzero(_whole(mask)).to_pylist()  # type: ignore[no-any-return]
        for name in ("ref", "url"):
            if name in table_.column_names:
                mask = pc.or_(mask, pc.fill_null(pc.equal(table_.column(name), self.query), False))
        rows = set(pc.indices_nonzero(_whole(mask)).to_pylist())
        if "meta" in table_.column_names:
            quoted = json.dumps(self.query, ensure_ascii=False)[1:-1]
            likely = pc.indices_nonzero(_whole(pc.fill_null(pc.match_substring(table_.column("meta"), quoted), False))).to_pylist()
            metas = table_.column("meta").take(pa.array(likely, pa.int64())).to_pylist()
            rows |= {row for row, meta in zip(likely, metas, strict=True) if _own_id(meta) == self.query}
        return sorted(rows)

    def known(self, ids: Any) -> Any:
        """Of each id, whether it is one of those that are looked for."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.by_prefix:
            return pc.fill_null(pc.starts_with(ids, self.query), False)
        return pc.is_in(ids, value_set=pa.array([*self.ids, self.query], pa.string()))

    def learn(self, rows: Sequence[dict[str, Any]]) -> None:
        self.ids |= {row["id"] for row in rows if row.get("id")}


def _whole(mask: Any) -> Any:
    return mask.combine_chunks() if hasattr(mask, "combine_chunks") else mask


def _own_id(meta: str | None) -> str | None:
    """The record's own id in a meta column."""
    try:
        value = json.loads(meta or "{}")
    except ValueError:
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return None if found is None else str(found)


# --- documents ---------------------------------------------------------------------------------------------------------


def in_docs(artifact: Artifact, search: Search) -> Iterator[Finding]:
    """Its rows, and what rejected/ and removed/ say of it."""
    from mspt.core.shards import open_docs

    docs = open_docs(artifact)
    first = 0
    for shard in range(docs.num_shards):
        for row in _matching_rows(docs, shard, search):
            facts = docs.read(shard, [c for c in ("id", "source", "ref", "url", "keep") if c in docs.columns()], check=False).slice(row, 1).to_pylist()[0]
            search.learn([facts])
            yield Finding(artifact.ref, artifact.kind, "document", {"row": first + row, **facts})
        first += docs.num_rows(shard)
    for kind in ("rejected", "removed"):
        for name in sorted(n for n in artifact.files if n.startswith(f"{kind}/") and n.endswith(".parquet")):
            for facts in _rejections(artifact.root / name, search):
                yield Finding(artifact.ref, artifact.kind, kind, facts)


def _matching_rows(docs: Docs, shard: int, search: Search) -> list[int]:
    stat = (docs.root / docs.text[shard].path).stat()
    key = (stat.st_dev, stat.st_ino)
    if key not in search.seen:
        columns = [c for c in _NAMES if c in docs.columns()]
        search.seen[key] = search.matches(docs.read(shard, columns, check=False))
    return search.seen[key]


def _rejections(path: Path, search: Search) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    names = pq.read_schema(path).names
    table_ = pq.read_table(path, columns=[n for n in _NAMES if n in names], partitioning=None)
    rows = search.matches(table_)
    if not rows:
        return []
    wanted = [
        n for n in ("id", "source", "ref", "url", "stage", "rule", "value", "threshold", "detail", "start", "end", "survivor", "similarity") if n in names
    ]
    found: list[dict[str, Any]] = pq.read_table(path, columns=wanted, partitioning=None).take(rows).to_pylist()
    search.learn(found)
    return [{name: value for name, value in row.items() if value not in (None, "")} for row in found]


# --- tokens and rows ---------------------------------------------------------------------------------------------------


def in_tokens(artifact: Artifact, search: Search) -> Iterator[Finding]:
    for facts in _by_id(artifact.root / "documents.parquet", search, MAX_ROWS)[0]:
        yield Finding(artifact.ref, artifact.kind, "tokens", facts)


def in_rows(artifact: Artifact, search: Search) -> Iterator[Finding]:
    """Training and validation rows, or sequences of a Megatron blend; where there are none, that it was not drawn."""
    found = False
    for name in sorted(n for n in artifact.files if n.startswith(("rows-", "sequences-")) and n.endswith(".parquet")):
        rows, total = _by_id(artifact.root / name, search, MAX_ROWS)
        split = name.split("-")[1]
        for facts in rows:
            yield Finding(artifact.ref, artifact.kind, "row", {"split": split, "file": name, **facts}, total)
        found |= bool(rows)
    if not found:
        yield Finding(artifact.ref, artifact.kind, "not drawn", {"id": sorted(search.ids)[0] if search.ids else search.query})


def _by_id(path: Path, search: Search, most: int) -> tuple[list[dict[str, Any]], int]:
    """Lines about the ids: the first `most`, and how many there are."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    found: list[dict[str, Any]] = []
    total = 0
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            places = pc.indices_nonzero(_whole(search.known(file.read_row_group(group, ["id"]).column("id"))))
            total += len(places)
            if len(places) and len(found) < most:
                found += file.read_row_group(group).take(places[: most - len(found)]).to_pylist()
    search.learn(found)
    return found, total


# --- the command -------------------------------------------------------------------------------------------------------


def find(artifacts: Sequence[Artifact], search: Search) -> Iterator[Finding]:
    """Docs first, since they tell what id a URL means; tokens know ids alone."""
    readers = {"docs": in_docs, "tokens": in_tokens, "mindrecord": in_rows}
    holders: set[str] = set()
    for kind, reader in readers.items():
        for artifact in artifacts:
            if artifact.kind == kind:
                findings = _read(reader, artifact, search)
                if findings and findings[0].what == "not drawn" and not holders & {r.ref for r in artifact.inputs}:
                    continue  # its tokens are of other documents
                if findings and kind == "tokens":
                    holders.add(artifact.ref)
                yield from findings


def _read(reader: Any, artifact: Artifact, search: Search) -> list[Finding]:
    import pyarrow as pa

    try:
        return list(reader(artifact, search))
    except (pa.ArrowInvalid, OSError) as error:
        raise CheckFailed(f"{artifact.ref} cannot be read: {str(error).splitlines()[0]}", f"`mspt verify {artifact.ref}` checks all its files") from None


def run(shared: Context, query: str, *, latest: bool) -> None:
    """`mspt trace ID|URL`."""
    entries = [e for e in list_entries(shared.store) if e.artifact is not None and e.state == "finished" and (e.is_latest or not latest)]
    artifacts = [e.artifact for e in entries if e.artifact is not None]
    if not query.strip():  # documents without a URL would all match
        raise MsptError("an empty name is nobody's", "give an id, a URL or a ref")
    search = Search(query)
    found = list(find(artifacts, search))
    if not found and re.fullmatch(PREFIX, query):  # only then: a record's own id may look the same
        search = Search(query, by_prefix=True)
        found = list(find(artifacts, search))
    if len(search.ids) > 1 and search.by_prefix:
        raise MsptError(f"{len(search.ids)} documents have ids that begin with {query}: {', '.join(sorted(search.ids)[:3])}", "give more of the id")
    if not found:
        raise MsptError(
            f"no finished version in {shared.workspace} holds a document with the id, URL, ref or meta.id {query!r}",
            "ids (six characters or more) and refs stand in `mspt sample REF` and `mspt show REF --row N`; a URL must be whole",
        )
    value = {"query": query, "ids": sorted(search.ids), "found": [finding.plain() for finding in found]}
    present(shared.console, value, *_blocks(query, search, found))


def _blocks(query: str, search: Search, found: Sequence[Finding]) -> list[RenderableType]:
    blocks: list[RenderableType] = [text(redacted(query), "bold")]
    if search.ids - {query}:
        blocks.append(text(f"id {', '.join(sorted(search.ids))}", "dim"))
    rows = []
    for ref in dict.fromkeys(finding.ref for finding in found):
        mine = [finding for finding in found if finding.ref == ref]
        rows += [[ref, _where(finding), _told(finding)] for finding in mine[:MAX_SHOWN]]
        total = sum({f.facts.get("file", i): f.number for i, f in enumerate(mine)}.values())
        if total > MAX_SHOWN:
            rows.append([ref, "...", f"{count(total, 'place')} in all (--json lists the first {MAX_ROWS:,} of a file)"])
    blocks.append(table(["artifact", "where", ""], rows, fold=[""]))
    first = next((f for f in found if f.what == "row" and "row" in f.facts), None)
    if first is not None:
        flag = "" if first.facts["split"] == "train" else f" --split {first.facts['split']}"
        blocks.append(text(f"look: mspt show {first.ref} --row {first.facts['row']}{flag}", "dim"))
    return blocks


def _where(finding: Finding) -> str:
    facts = finding.facts
    if finding.what == "row":
        return f"{facts['split']} row {facts['row']:,}" if "row" in facts else f"{facts['split']} sequence {facts['sequence']:,}"
    if finding.what == "document":
        return f"row {facts['row']:,}" + ("" if facts.get("keep", True) else ", not kept")
    return f"sequence {facts['sequence']:,}" if finding.what == "tokens" else finding.what


def _told(finding: Finding) -> str:
    """The rest in words."""
    facts = finding.facts
    if finding.what == "row" and "start" in facts:
        return f"positions [{facts['start']}, {facts['end']}) from token {facts['document_offset']:,} of the document, {facts['source']}"
    if finding.what in ("tokens", "row"):
        return f"{facts.get('source', '')} {facts['num_tokens']:,} tokens, {facts['num_bytes']:,} bytes".strip()
    if finding.what == "not drawn":
        return "left out by the mixture, or word for word a validation document"
    if finding.what == "document":
        return redacted(" ".join(str(facts[name]) for name in ("source", "ref", "url") if facts.get(name)))
    said = [str(facts.get("rule", "")), *(f"{n} {number(facts[n], n)}" for n in ("value", "threshold", "similarity") if n in facts)]
    said += [f"{n} {facts[n]}" for n in ("survivor", "detail") if facts.get(n)]
    if finding.what == "removed":
        said.append(f"characters [{facts.get('start')}, {facts.get('end')})")
    return redacted(", ".join(said))
