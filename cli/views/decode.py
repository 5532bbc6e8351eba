"""One row of an artifact: a document, or a training row decoded to its text and traced back to its documents and raw files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views.excerpt import excerpt
from mspt.cli.views.render import count, grid, heading, number, present, redacted, table, terminal, text
from mspt.cli.views.rows import find_documents, open_rows, unreadable
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
    lines, file, place = provenance(artifact, row, split)
    inputs, labels, ids = read_row(artifact, file, place)
    documents = trace(artifact, [line["id"] for line in lines])
    decoded = decode_segments(artifact, ids, lines)
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
    place = redacted(" ".join(str(document[name]) for name in ("ref", "url") if document.get(name))) if document else "its document is not here any more"
    return [
        Rule(text(title), align="left", style="dim"),
        text(f"  {line['id']}  {place}", "dim"),
        Padding(excerpt(segment.text, (), PIECE_CHARACTERS, styled=terminal()), (0, 0, 0, 2)),
    ]


def provenance(artifact: Artifact, row: int, split: str) -> tuple[list[dict[str, Any]], str, int]:
    """(lines of rows-*.parquet about one row, by slot; the MindRecord file that holds it; its place there). Other files are not read."""
    import pyarrow.parquet as pq

    names = sorted(name for name in artifact.files if name.startswith(f"rows-{split}-") and name.endswith(".parquet"))
    if not names:
        have = sorted({name.split("-")[1] for name in artifact.files if name.startswith("rows-")})
        other = f"--split {' or '.join(have)}" if have else "its documents lie in .bin/.idx by source (--format megatron): mspt trace ID finds one"
        raise MsptError(f"{artifact.ref} has no {split} rows", other)
    last = -1
    for name in names:
        first, end = _row_range(artifact, name)
        last = max(last, end)
        if first <= row <= end:
            found = pq.read_table(artifact.checked(name), filters=[("row", "==", row)], partitioning=None).to_pylist()
            file = name.removeprefix("rows-").removesuffix(".parquet") + ".mindrecord"
            return sorted(found, key=lambda line: line["slot"]), file, row - first
    raise MsptError(f"{artifact.ref} has no {split} row {row:,}", f"its rows are 0 to {last:,}")


def _row_range(artifact: Artifact, name: str) -> tuple[int, int]:
    """(first, last) row of a file, from its footer. CheckFailed names a file that has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(artifact.root / name)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(artifact.ref, name, error) from None
    column = metadata.schema.to_arrow_schema().names.index("row")
    found = [metadata.row_group(i).column(column).statistics for i in range(metadata.num_row_groups)]
    return min(s.min for s in found), max(s.max for s in found)


def read_row(artifact: Artifact, file: str, place: int) -> tuple[list[int], list[int], list[int]]:
    """(input_ids, labels, ids of the text) of one row, by position and not by skipping. Legacy rows have no labels: they are the inputs shifted; in mlm rows,
    which leave some labels out, the text is in the inputs. The file's bytes are checked first: MindSpore answers a damaged one with a page of its own calls.
    """
    import mindspore.dataset as ds

    from mspt.core.tokens.mindrecord import database

    path = artifact.checked(file)
    artifact.checked(database(path).name)
    data = ds.MindDataset([str(path)], sampler=ds.SubsetSampler([place]), num_parallel_workers=1)
    found = next(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    inputs = found["input_ids"].tolist()
    labels = found["labels"].tolist() if "labels" in found else inputs[1:]
    return inputs if "labels" in found else inputs[:-1], labels, inputs if "attention_mask" in found else labels


def decode_segments(artifact: Artifact, ids: Sequence[int], lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The text of each segment, without the end of the document."""
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES, load

    for name in TOKENIZER_FILES:
        if name in artifact.files:
            artifact.checked(name)
    tokenizer = load(artifact.root)
    pieces = [[i for i in ids[line["start"] : line["end"]] if i >= 0] for line in lines]
    return [tokenizer.decode(piece[:-1] if piece and piece[-1] == tokenizer.eos_id else piece) for piece in pieces]


def trace(artifact: Artifact, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The documents of a row, from the nearest docs that the artifact was made of: where in the raw files they came from."""
    home = Lineage(Store(artifact.root.parent.parent))
    docs = next((found for record in artifact.inputs if record.kind == "docs" and (found := home.find(record)[0]) is not None), None)
    return find_documents(docs, ids, ["source", "ref", "url", "title"]) if docs is not None else {}
