"""What a unit writes: rows of docs, rejected and removed, in files as they fill up, and the counts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from mspt.core.shards import TARGET_BYTES, write_docs, write_table
from mspt.core.stage import UnitOutput
from mspt.core.text.documents import DOCS, MAX_EXCERPT_CHARACTERS, REJECTED, REMOVED, clip, document_id
from mspt.core.text.outcomes import Document, Part, Rejection
from mspt.core.text.readers.fields import scalar
from mspt.stages.clean.tallies import Tallies


@dataclass
class Shards:
    """Rows of one kind, written in files of TARGET_BYTES of text as they fill up: memory is bounded by one of them."""

    name: str
    schema: pa.Schema
    write: Callable[[Path, pa.Table], None]
    out: UnitOutput
    columns: list[list[Any]] = field(default_factory=list)
    text_bytes: int = 0
    number: int = 0

    def __post_init__(self) -> None:
        self.columns = [[] for _ in self.schema]

    def add(self, text: str, *row: Any) -> None:
        """One row, in the order of the schema; `text` is its large column."""
        for column, value in zip(self.columns, row, strict=True):
            column.append(value)
        self.text_bytes += len(text.encode("utf-8", "replace"))
        if self.text_bytes >= TARGET_BYTES:
            self.close()

    def close(self) -> None:
        """Writes what is left; nothing when there is nothing."""
        if self.columns[0]:
            arrays = [pa.array(column, field.type) for column, field in zip(self.columns, self.schema, strict=True)]
            self.write(self.out.path(f"{self.name}-{self.number:05d}.parquet"), pa.Table.from_arrays(arrays, schema=self.schema))
            self.number += 1
            self.__post_init__()
            self.text_bytes = 0


@dataclass
class Writer:
    """Takes the outcome of each record."""

    out: UnitOutput
    tallies: Tallies = field(default_factory=Tallies)

    def __post_init__(self) -> None:
        self.docs = Shards("docs", DOCS, write_docs, self.out)
        self.rejected = Shards("rejected", REJECTED, write_table, self.out)
        self.removed = Shards("removed", REMOVED, write_table, self.out)

    def add(self, source: str, ref: str, outcome: Document | Rejection) -> None:
        """A document, or why there is none."""
        if isinstance(outcome, Document):
            language, form = outcome.language, outcome.form
            head = (document_id(source, ref), outcome.text, source, ref, outcome.url, outcome.title, outcome.date, outcome.encoding)
            found = (language.tag, language.confidence, form.form, form.programming_language, [span._asdict() for span in outcome.spans], outcome.meta)
            self.docs.add(outcome.text, *head, *found)
        self.note(source, ref, outcome)

    def note(self, source: str, ref: str, outcome: Document | Rejection) -> None:
        """As `add`, for a document whose own row is written elsewhere."""
        identity = document_id(source, ref)
        if isinstance(outcome, Document):
            self._leave_out(identity, source, ref, outcome.left_out)
            self.tallies.count_document(source, outcome)
        else:
            self._reject(identity, source, ref, outcome)

    def close(self) -> dict[str, Any]:
        """Writes what is left; the counts (Tallies.plain)."""
        for shards in (self.docs, self.rejected, self.removed):
            shards.close()
        return self.tallies.plain()

    def _leave_out(self, identity: str, source: str, ref: str, parts: Iterable[Part]) -> None:
        for part in parts:
            place = (part.start, part.end, part.text[:MAX_EXCERPT_CHARACTERS], clip(part.text), None, None)
            self.removed.add(part.text, identity, ref, source, None, None, "clean", part.rule, None, None, scalar(part.detail), *place)

    def _reject(self, identity: str, source: str, ref: str, rejection: Rejection) -> None:
        text = clip(rejection.text)
        measured = (rejection.value, rejection.threshold) if rejection.value or rejection.threshold else (None, None)
        excerpt = rejection.text[rejection.start : rejection.end or None][:MAX_EXCERPT_CHARACTERS]
        head = (identity, ref, source, rejection.url, rejection.meta, "clean", rejection.rule)
        self.rejected.add(text, *head, *measured, scalar(rejection.detail), rejection.start, rejection.end, excerpt, text, None, None)
        self.tallies.count_rejection(source, rejection)
