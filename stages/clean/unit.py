"""The work on one unit: open its files, clean their records, write docs, rejected and removed rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from mspt.core.sample import position
from mspt.core.shards import TARGET_BYTES, write_docs, write_table
from mspt.core.stage import DocumentStopped, RawFile, UnitOutput
from mspt.core.text import containers
from mspt.core.text.cleaning import Document, Recipe, Rejection, clean
from mspt.core.text.containers import Leaf, Problem, walk
from mspt.core.text.documents import DOCS, MAX_EXCERPT_CHARACTERS, REJECTED, REMOVED, clip, document_id
from mspt.core.text.records import Options, Record, records
from mspt.core.text.streams import ByteStream, open_raw
from mspt.stages.clean.tallies import Tallies

BAD_LINES = ("bad-line", "line-too-long")


@dataclass(frozen=True)
class Instructions:
    """What every unit does. share: of the records (by the hash of their id); quota: records of each file that a sample of N documents takes, and
    file_share: of which files, by the hash of their path."""

    options: Options
    limits: containers.Limits
    recipe: Recipe
    share: float = 1.0
    quota: int | None = None
    file_share: float = 1.0


def clean_unit(payload: tuple[Instructions, Sequence[RawFile]], out: UnitOutput) -> dict[str, Any]:
    """Cleans the files of a unit in order; returns the counts (Tallies.plain)."""
    instructions, files = payload
    unit = Cleaner(instructions, out)
    for file in files:
        unit.read(file)
    for shards in (unit.docs, unit.rejected, unit.removed):
        shards.close()
    return unit.tallies.plain()


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
class Cleaner:
    """One unit in work."""

    instructions: Instructions
    out: UnitOutput
    tallies: Tallies = field(default_factory=Tallies)
    index: int = 0  # of the record in the unit: how the engine remembers which one killed a worker

    def __post_init__(self) -> None:
        self.docs = Shards("docs", DOCS, write_docs, self.out)
        self.rejected = Shards("rejected", REJECTED, write_table, self.out)
        self.removed = Shards("removed", REMOVED, write_table, self.out)

    def read(self, file: RawFile) -> None:
        """One raw file with all that lies in it; every record of it ends in a row of docs or rejected."""
        stream = open_raw(Path(file.location))
        assert stream.origin is not None
        chosen = self.instructions.file_share >= 1 or position(document_id(file.source, file.path)) < self.instructions.file_share
        raw, reported, left = stream.origin, 0, self.instructions.quota if chosen else 0
        with raw:
            for found in self._found(stream, file):
                if left == 0:
                    break
                if self._take(found, file.source):
                    left = left - 1 if left is not None else None
                self.out.advance(max(0, raw.tell() - reported))
                reported = max(reported, raw.tell())
            self.tallies.read_bytes += min(raw.tell(), file.bytes)
            self.out.hashed(file, raw.sha256())
        self.out.advance(max(0, file.bytes - reported))

    def _found(self, stream: ByteStream, file: RawFile) -> Iterator[Record | Problem]:
        """Records and problems of a file; the census counts its leaves on the way."""
        census = self.tallies.census_of(file.source)
        ref = file.path.replace("!/", "%21/")  # as for members of archives: "!/" is theirs
        for item in walk(stream, ref, self.instructions.limits, scratch=self.out.directory):
            if isinstance(item, Leaf):
                encoding = ""
                for found in records(item, self.instructions.options):
                    encoding = encoding or (found.decoded.encoding if isinstance(found, Record) else "")
                    _count_lines(census, item, found)
                    yield found
                item.stream.drain()
                census.count_file(item.type.name, item.stream.position, encoding)
            else:
                yield item

    def _take(self, found: Record | Problem, source: str) -> bool:
        """Cleans one record, or writes down a problem. False: it is not in the sample."""
        identity = document_id(source, found.ref)
        if self.instructions.share < 1 and position(identity) >= self.instructions.share:
            return False
        self.index += 1
        outcome = self._clean(found) if isinstance(found, Record) else _rejection(found)
        if isinstance(outcome, Document):
            self._keep(identity, source, found.ref, outcome)
        else:
            self._reject(identity, source, found.ref, outcome)
        return True

    def _clean(self, record: Record) -> Document | Rejection:
        try:
            outcome: Document | Rejection = self.out.guard(self.index, clean, record, self.instructions.recipe)
        except DocumentStopped as stop:
            return Rejection("extract" if record.markup else "rules", stop.rule, detail=stop.detail, text=record.decoded.text)
        return outcome

    def _keep(self, identity: str, source: str, ref: str, document: Document) -> None:
        language, form = document.language, document.form
        head = (identity, document.text, source, ref, document.url, document.title, document.encoding)
        found = (language.tag, language.confidence, form.form, form.programming_language, [span._asdict() for span in document.spans], document.meta)
        self.docs.add(document.text, *head, *found)
        for part in document.left_out:
            place = (part.start, part.end, document.text[part.start : part.end][:MAX_EXCERPT_CHARACTERS], "", None, None)
            self.removed.add("", identity, ref, source, "clean", part.rule, None, None, part.detail, *place)
        self.tallies.count_document(source, document)

    def _reject(self, identity: str, source: str, ref: str, rejection: Rejection) -> None:
        text = clip(rejection.text)
        measured = (rejection.value, rejection.threshold) if rejection.value or rejection.threshold else (None, None)
        excerpt = rejection.text[rejection.start : rejection.end or None][:MAX_EXCERPT_CHARACTERS]
        row = (identity, ref, source, "clean", rejection.rule, *measured, rejection.detail, rejection.start, rejection.end, excerpt, text, None, None)
        self.rejected.add(text, *row)
        self.tallies.count_rejection(source, rejection)


def _count_lines(census: Any, leaf: Leaf, found: Record | Problem) -> None:
    """Lines of text, and lines of JSONL, with those of them that are bad."""
    is_jsonl = leaf.type.name == "jsonl"
    if isinstance(found, Record):
        bad = found.decoded.bad_lines
        census.count_lines(1 if is_jsonl else found.decoded.text.count("\n") + 1, min(bad, 1) if is_jsonl else bad)
    elif is_jsonl:
        bad = int(found.value) if found.rule == "bad-lines" else int(found.rule in BAD_LINES)
        census.count_lines(max(1, bad), bad)


def _rejection(problem: Problem) -> Rejection:
    return Rejection("read", problem.rule, problem.value, problem.threshold, problem.detail, text=problem.text)
