"""The work on one part of a unit: its records are cleaned one by one into docs, rejected and removed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mspt.core.raw import slug
from mspt.core.sample import position
from mspt.core.stage import DocumentStopped, RawFile, UnitOutput
from mspt.core.text.cleaning import Recipe, clean, refused
from mspt.core.text.containers import walk as containers
from mspt.core.text.containers.walk import Problem
from mspt.core.text.documents import document_id
from mspt.core.text.groups.groups import Grouping
from mspt.core.text.mapping import MapFunction, Mapped, apply_map, as_given, load_map
from mspt.core.text.outcomes import Document, Rejection
from mspt.core.text.readers.record import Options, Record
from mspt.core.text.source_census import SourceCensus
from mspt.stages.clean.cursor import Cursor, Found, LeafEnd, cursor_at
from mspt.stages.clean.rows import Writer
from mspt.stages.clean.tallies import Tallies

BAD_LINES = ("bad-line", "line-too-long")
ROW_TYPES = frozenset({"jsonl", "csv", "tsv"})  # each record stands on a line of its own


@dataclass(frozen=True)
class Mapping:
    """A user's function by its name, and the hash that its source had when the run began."""

    spec: str
    base: Path
    sha256: str

    def load(self) -> MapFunction:
        return load_map(self.spec, self.base, self.sha256)


@dataclass(frozen=True)
class Change:
    """The user's function as a step of `clean`."""

    function: MapFunction

    def __call__(self, record: Record) -> Record | Rejection:
        answer = apply_map(self.function, as_given(record))
        if isinstance(answer, Mapped):
            return answer.apply(record)
        return Rejection("map", answer.rule, detail=answer.detail, text=record.decoded.text)


@dataclass(frozen=True)
class Instructions:
    """What every unit does. part_bytes: how units are cut into parts (None: they are not).

    share: of the records (by the hash of their id); quota: records of each file that a sample of N documents takes, and file_share: of which
    files, by the hash of their path.
    """

    options: Options
    limits: containers.Limits
    recipe: Recipe
    part_bytes: int | None = None
    share: float = 1.0
    quota: int | None = None
    file_share: float = 1.0
    mapping: Mapping | None = None
    grouping: Grouping | None = None

    def bounds(self, part: int) -> tuple[int, int | None]:
        """Where a part begins and ends, in unpacked bytes of its unit."""
        return (part * self.part_bytes, (part + 1) * self.part_bytes) if self.part_bytes else (0, None)

    def loaded(self) -> Instructions:
        """With the user's function in the recipe: it is loaded here, in the worker."""
        return self if self.mapping is None else replace(self, recipe=replace(self.recipe, change=Change(self.mapping.load())))


def clean_unit(payload: tuple[Instructions, Sequence[RawFile]], out: UnitOutput) -> dict[str, Any]:
    """Cleans what of a unit lies in part `out.part`; returns the counts (Tallies.plain)."""
    instructions, files = payload
    cleaner = Cleaner(instructions.loaded(), out)
    read_part(cleaner, files, out)
    return cleaner.writer.close()


def read_part(reader: PartReader, files: Sequence[RawFile], out: UnitOutput) -> None:
    """Reads the part, and says of the files what is known of them by then."""
    instructions = reader.instructions
    start, _ = instructions.bounds(out.part)
    with cursor_at(start, files, instructions.options, instructions.limits, out.directory) as cursor:
        reader.read(cursor)
        for file in files:
            out.hashed(file, cursor.hashes.get((file.source, file.path), ""))
        out.more = cursor.has_more


@dataclass
class Stretch:
    """Bytes by encoding: from where a record begins to where the next one does."""

    source: str = ""
    encoding: str = ""
    at: int = 0
    is_first: bool = False  # of its leaf

    def begin(self, event: Found, found: Record | Problem) -> None:
        self.source, self.at = event.file.source, event.at
        self.encoding = found.decoded.encoding if isinstance(found, Record) else ""
        self.is_first = event.is_first

    def count(self, tallies: Tallies, at: int) -> None:
        if self.encoding:
            tallies.census_of(self.source).count_encoding(self.encoding, int(self.is_first), at - self.at)
        self.encoding = ""


@dataclass
class Quota:
    """How many records of a file a sample of N documents takes (None: all)."""

    instructions: Instructions
    left: int | None = None

    def open(self, file: RawFile) -> None:
        chosen = self.instructions.file_share >= 1 or position(document_id(file.source, file.path)) < self.instructions.file_share
        self.left = self.instructions.quota if chosen else 0

    @property
    def is_used(self) -> bool:
        return self.left == 0

    def use(self) -> None:
        if self.left is not None:
            self.left -= 1


class PartReader:
    """Reads one part of a unit and hands each record and problem to `take`, which says whether it counts for the quota of its file."""

    def __init__(self, instructions: Instructions, out: UnitOutput) -> None:
        self.instructions = instructions
        self.out = out
        self.writer = Writer(out)

    def take(self, found: Record | Problem, source: str, ref: str) -> bool:
        raise NotImplementedError

    def read(self, cursor: Cursor) -> None:
        """The part's records, in order; the census counts them on the way."""
        tallies, last = self.writer.tallies, Stretch()
        quota, open_file, reported, read = Quota(self.instructions), None, cursor.raw_position, cursor.raw_read
        for event in cursor.between(*self.instructions.bounds(self.out.part)):
            last.count(tallies, event.at)
            source = event.file.source
            if isinstance(event, LeafEnd):
                tallies.census_of(source).count_file(event.type, event.bytes)
                continue
            if event.file is not open_file:
                open_file = event.file
                quota.open(open_file)
            if quota.is_used:
                cursor.leave_file()
                continue
            found = event.item.read()
            last.begin(event, found)
            _count_lines(tallies.census_of(source), event.type, found)
            if self.take(found, *self._place(found, source)):
                quota.use()
            self.out.advance(max(0, cursor.raw_position - reported))
            reported = max(reported, cursor.raw_position)
        last.count(tallies, cursor.position)
        self.out.advance(max(0, cursor.raw_position - reported))
        tallies.read_bytes += cursor.raw_read - read

    def _place(self, found: Record | Problem, source: str) -> tuple[str, str]:
        """Source and ref. By --source-field one source may have records of several PATHs: their refs must differ."""
        if not self.instructions.options.fields.source:
            return source, found.ref
        named = found.source if isinstance(found, Record) else ""
        return slug(named) if named else source, f"{source}/{found.ref}"


class Cleaner(PartReader):
    """Each record becomes a row of docs or of rejected."""

    index = 0  # of the record in the part: how the engine remembers which one killed a worker

    def take(self, found: Record | Problem, source: str, ref: str) -> bool:
        if self.instructions.share < 1 and position(document_id(source, ref)) >= self.instructions.share:
            return False
        self.index += 1
        if isinstance(found, Record):
            stopped = refused(found, Rejection("extract" if found.markup else "rules", "", text=found.decoded.text))
            outcome = guarded(self.out, self.index, stopped, clean, replace(found, source=source, ref=ref), self.instructions.recipe)
        else:
            outcome = as_rejection(found)
        self.writer.add(source, ref, outcome)
        return True


def guarded(out: UnitOutput, index: int, stopped: Rejection, function: Callable[..., Document | Rejection], *args: Any) -> Document | Rejection:
    """`function(*args)`, or `stopped` with the limit that it ran over."""
    try:
        outcome: Document | Rejection = out.guard(index, function, *args)
    except DocumentStopped as stop:
        return replace(stopped, rule=stop.rule, detail=stop.detail)
    return outcome


def _count_lines(census: SourceCensus, type_name: str, found: Record | Problem) -> None:
    """Lines of text, and records that stand on lines of their own, with those of them that are bad."""
    if isinstance(found, Record):
        bad = found.decoded.bad_lines
        census.count_lines(1 if type_name in ROW_TYPES else found.decoded.text.count("\n") + 1, min(bad, 1) if type_name in ROW_TYPES else bad)
    elif type_name in ROW_TYPES:
        census.count_lines(1, int(found.rule in BAD_LINES))


def as_rejection(problem: Problem) -> Rejection:
    return Rejection("read", problem.rule, problem.value, problem.threshold, problem.detail, text=problem.text, url=problem.url, meta=problem.meta)
