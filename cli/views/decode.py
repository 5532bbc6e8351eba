"""One row of an artifact: a document, or a training row decoded to its text and traced back to its documents and raw files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views.excerpt import excerpt
from mspt.cli.views.render import count, grid, heading, number, present, redacted, table, terminal, text
from mspt.cli.views.rows import find_documents, open_rows
from mspt.cli.views.sample import plain_row
from mspt.cli.views.workspace import Lineage
from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError
from mspt.core.store import Partial, Store

if TYPE_CHECKING:
    from rich.console import RenderableType

DOCUMENT_CHARACTERS = 3000
PIECE_CHARACTERS = 240
MAX_SPANS = 12


def show_row(shared: Context, target: Artifact | Partial, row: int, split: str) -> None:
    if isinstance(target, Artifact) and target.kind == "mindrecord":
        show_training_row(shared, target, row, split)
    else:
        show_document(shared, target, row)


# --- a document --------------------------------------------------------------------------------------------------------


def show_document(shared: Context, target: Artifact | Partial, row: int) -> None:
    """A row of the docs shards by its number over all of them, live or not: every column, then the text."""
    rows = open_rows(target, "documents")
    first = 0
    for part in range(rows.num_parts):
        size = rows.read(part, ["id"]).num_rows
        if row < first + size:
            found = rows.read(part, None).slice(row - first, 1).to_pylist()[0]
            break
        first += size
    else:
        raise MsptError(f"{rows.ref} has {first:,} rows, numbered from 0", f"the last one is --row {first - 1}" if first else "")
    value = {"ref": rows.ref, "row": row, "document": plain_row(found)}
    facts = [(name, number(v, name)) for name, v in found.items() if name not in ("text", "spans") and v not in (None, "")]
    content = found.get("text") or ""
    blocks: list[RenderableType] = [text(f"{rows.ref}, row {row:,}", "bold"), grid(facts)]
    spans = found.get("spans") or []
    if spans:
        lines = [[s["tag"], s["start"], s["end"], redacted(content[s["start"] : s["end"]][:60])] for s in spans[:MAX_SPANS]]
        more = f" (the first {MAX_SPANS} of {len(spans)})" if len(spans) > MAX_SPANS else ""
        blocks += [heading(f"structure{more}"), table(["tag", "start", "end", "text"], lines, right=["start", "end"])]
    blocks += [heading(f"text, {len(content):,} characters"), excerpt(content, (), 0 if shared.console.level > 0 else DOCUMENT_CHARACTERS, styled=terminal())]
    present(shared.console, value, *blocks)


# --- a training row ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Segment:
    """What one document gave to a row."""

    line: Mapping[str, Any]  # of rows-*.parquet
    text: str
    document: Mapping[str, Any] | None


def show_training_row(shared: Context, artifact: Artifact, row: int, split: str) -> None:
    """A packed row: its segments, each with document, source, raw file and text."""
    lines = provenance(artifact, row, split)
    inputs, labels = read_row(artifact, row, split)
    documents = trace(artifact, [line["id"] for line in lines])
    decoded = decode_segments(artifact, labels, lines)
    segments = [Segment(line, content, documents.get(line["id"])) for line, content in zip(lines, decoded, strict=True)]
    used = sum(line["end"] - line["start"] for line in lines)
    head = f"{artifact.ref}, {split} row {row:,}: {len(inputs):,} positions, {count(len(segments), 'document')}, {len(inputs) - used:,} padding"
    blocks: list[RenderableType] = [text(head, "bold")]
    for segment in segments:
        blocks += _segment(segment)
    value = {"ref": artifact.ref, "split": split, "row": row, "positions": len(inputs), "padding": len(inputs) - used,
             "segments": [{**s.line, "text": redacted(s.text), "document": plain_row(s.document) if s.document else None} for s in segments],
             "input_ids": inputs, "labels": labels}  # fmt: skip
    present(shared.console, value, *blocks)


def _segment(segment: Segment) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.rule import Rule

    line, document = segment.line, segment.document
    whole = f"from token {line['document_offset']:,}" if line["document_offset"] else "from its start"
    title = f"[{line['start']}, {line['end']})  {line['source']}  {line['end'] - line['start']:,} tokens, {line['num_bytes']:,} bytes, {whole}"
    place = redacted(document.get("url") or document.get("ref") or "") if document else "its document is not here any more"
    return [
        Rule(text(title), align="left", style="dim"),
        text(f"  {line['id']}  {place}", "dim"),
        Padding(excerpt(segment.text, (), PIECE_CHARACTERS, styled=terminal()), (0, 0, 0, 2)),
    ]


def split_files(artifact: Artifact, split: str) -> list[Path]:
    """The MindRecord files of a split in order."""
    names = sorted(name for name in artifact.files if Path(name).name.startswith(f"{split}-") and name.endswith(".mindrecord"))
    if not names:
        have = sorted({Path(name).name.partition("-")[0] for name in artifact.files if name.endswith(".mindrecord")})
        raise MsptError(f"{artifact.ref} has no {split} rows", f"--split {' or '.join(have) or '?'}")
    return [artifact.root / name for name in names]


def provenance(artifact: Artifact, row: int, split: str) -> list[dict[str, Any]]:
    """Lines of rows-*.parquet about one row, by slot."""
    import pyarrow.parquet as pq

    names = sorted(name for name in artifact.files if Path(name).name.startswith(f"rows-{split}") and name.endswith(".parquet"))
    found: list[dict[str, Any]] = []
    last = -1
    for name in names:
        table_ = pq.read_table(artifact.root / name, filters=[("row", "==", row)], partitioning=None)
        found += table_.to_pylist()
        last = max([last, *(g for g in [_last_row(artifact.root / name)] if g is not None)])
    if not found:
        split_files(artifact, split)  # says which splits there are
        raise MsptError(f"{artifact.ref} has no {split} row {row:,}", f"its rows are 0 to {last:,}")
    return sorted(found, key=lambda line: line["slot"])


def _last_row(path: Path) -> int | None:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    value = pc.max(pq.read_table(path, columns=["row"], partitioning=None).column("row")).as_py()
    return None if value is None else int(value)


def read_row(artifact: Artifact, row: int, split: str) -> tuple[list[int], list[int]]:
    """(input_ids, labels) of one row, by position and not by skipping."""
    import mindspore.dataset as ds

    files = [str(path) for path in split_files(artifact, split)]
    data = ds.MindDataset(files, columns_list=["input_ids", "labels"], sampler=ds.SubsetSampler([row]), num_parallel_workers=1)
    inputs, labels = next(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    return inputs.tolist(), labels.tolist()


def decode_segments(artifact: Artifact, labels: Sequence[int], lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The text of each segment: its labels without the end of the document."""
    from mspt.core.tokens.tokenizer import load

    tokenizer = load(artifact.root)
    pieces = [[i for i in labels[line["start"] : line["end"]] if i >= 0] for line in lines]
    return [tokenizer.decode(piece[:-1] if piece and piece[-1] == tokenizer.eos_id else piece) for piece in pieces]


def trace(artifact: Artifact, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The documents of a row, from the nearest docs that the artifact was made of: where in the raw files they came from."""
    home = Lineage(Store(artifact.root.parent.parent))
    docs = next((found for record in artifact.inputs if record.kind == "docs" and (found := home.find(record)[0]) is not None), None)
    return find_documents(docs, ids, ["source", "ref", "url", "title"]) if docs is not None else {}
