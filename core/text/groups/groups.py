"""--group-by, --order-by, --window: records of one entity, in the order of time, become one document for each window of it.

    phase 1, in each unit     record -> Grouping.row -> a Row of RunWriter (sort.py), or a Refusal: no-group-key, bad-order-value
    phase 2, for each bucket  merged(runs, bucket, ...) -> groups -> Group -> map_group -> the text of one document, or a Refusal: map, map-error

Which records make a group, and in which order they stand in it, depends on the records alone: ties of the order are broken by (source, ref), never by
which worker was first. Documents come in the order of (bucket, entity, window), and the number of buckets is a constant.

Accounting. Records are counted until they are grouped, groups from then on, and nothing disappears at the seam:

    records in   = records refused in phase 1 + records in groups      (Tally.check)
    groups       = documents out + groups rejected
    so in = out + rejected, the identity that every stage keeps, holds for    in = records refused + groups,    out = documents,
    rejected = records refused + groups rejected; the stats hold `records` and `groups` too.

By source, a refused record counts for its own source, a group for the source of its first record.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import orjson

from mspt.core.errors import MsptError
from mspt.core.text.groups.order import NO_WINDOW, Order, Unit, Window, label, read_order
from mspt.core.text.groups.sort import Row
from mspt.core.text.map_loading import kind_of
from mspt.core.text.mapping import MapFunction, Mapped, MapResult, Refusal, call_map, plain, plain_leaf
from mspt.core.text.readers.fields import find, scalar

MAX_GROUP_RECORDS = 100_000
MAX_GROUP_BYTES = 16 * 2**20  # of JSON in one group, as much as a document may have: parsed, that takes at most 22 times as much (a list of [] or {})
MAX_ENTITY = 1000  # characters: it becomes a part of a ref
NOT_IN_REFS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029%#]|!(?=/)")
NO_ORDER = Order(0, 0, False)


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """How records are grouped. order_by "": by (source, ref), as they stand in their files."""

    group_by: str
    order_by: str = ""
    window: Window = NO_WINDOW
    order_unit: Unit = "s"
    max_records: int = MAX_GROUP_RECORDS

    @classmethod
    def of(cls, group_by: str, order_by: str, window: str, order_unit: Unit, max_records: int) -> Grouping | None:
        """From the settings; None where nothing is grouped. MsptError for settings that need one another."""
        if not group_by:
            given = {"--order-by": order_by, "--window": window}
            if useless := [flag for flag, value in given.items() if value]:
                raise MsptError(f"{useless[0]} without --group-by", "--group-by names the field that holds the entity: an account, a user, a device")
            return None
        if window and not order_by:
            raise MsptError(f"--window {window} without --order-by", "--order-by names the field that holds the time")
        return cls(group_by=group_by, order_by=order_by, window=Window.parse(window), order_unit=order_unit, max_records=max_records)

    def row(self, fields: Mapping[str, Any], source: str, ref: str) -> Row | Refusal:
        """What is sorted of a record. Rules of a Refusal: no-group-key, bad-order-value, bad-fields."""
        entity = _entity(find(fields, self.group_by))
        if isinstance(entity, Refusal):
            return Refusal(entity.rule, f"{self.group_by}: {entity.detail}")
        order: Order | str = NO_ORDER
        if self.order_by:
            order = read_order(find(fields, self.order_by), self.window, self.order_unit)
        if isinstance(order, str):
            return Refusal("bad-order-value", f"{self.order_by}: {scalar(order)}")
        try:
            packed = _dump(fields)
        except ValueError as error:
            return Refusal("bad-fields", str(error))
        leaf, number = _place(ref)
        return entity, order.whole, order.billionths, scalar(source), scalar(leaf), number, order.is_time, packed


def _entity(value: Any) -> str | Refusal:
    """An entity's name: a text without outer blanks, or a number as digits (1.0 is 1)."""
    if value is None:
        return Refusal("no-group-key", "there is no value")
    if isinstance(value, bool | dict | list):
        return Refusal("no-group-key", f"a {kind_of(value)} names no entity")
    if isinstance(value, float):
        value = int(value) if value.is_integer() else value if isfinite(value) else ""  # NaN is how tables write that there is nothing
    try:
        name = scalar(str(plain(value))).strip()
    except ValueError as error:
        return Refusal("no-group-key", str(error))
    if not name:
        return Refusal("no-group-key", "it is empty")
    return name if len(name) <= MAX_ENTITY else Refusal("no-group-key", f"{len(name)} characters; at most {MAX_ENTITY} name an entity")


def _place(ref: str) -> tuple[str, int]:
    """A ref without its number, and the number: #9 comes before #10."""
    leaf, sign, number = ref.rpartition("#")
    return (leaf, int(number)) if sign and number.isdecimal() and number.isascii() and len(number) <= 18 else (ref, -1)


def _dump(fields: Mapping[str, Any]) -> bytes:
    try:
        return bytes(memoryview(orjson.dumps(dict(fields), default=plain_leaf)))  # copied: what orjson returns keeps 4 kB for 111 bytes
    except orjson.JSONEncodeError:  # lone surrogates, depth, integers beyond 64 bits (read back as floats, as they are from any line of JSON)
        return json.dumps(plain(fields), separators=(",", ":")).encode()


def _load(packed: bytes) -> Any:
    try:
        return orjson.loads(packed)
    except orjson.JSONDecodeError:
        return json.loads(packed)


# --- groups ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Records (all their fields) of one entity inside one window, in order, and beside each its order as it was understood ("" without one).

    start, end: of the window, the end not in it; without windows, of the first and the last record. source: of the first record.
    part: counted from 1, where a window holds more records or bytes than a group may; is_cut: another part follows.
    """

    entity: str
    start: str
    end: str
    records: list[dict[str, Any]]
    order: list[str]
    source: str
    has_window: bool = True
    part: int = 1
    is_cut: bool = False

    @property
    def ref(self) -> str:
        """'<entity>@<start of the window>', '...~2' for its second part. No two groups have the same: what is escaped is so as in a URL."""
        name = NOT_IN_REFS.sub(_escape, self.entity)
        return f"{name}@{self.start if self.has_window else 'all'}" + (f"~{self.part}" if self.part > 1 else "")

    @property
    def meta(self) -> dict[str, Any]:
        """`meta` of the document, unless the map function gives another."""
        told = {"group": self.entity, "start": self.start, "end": self.end, "records": len(self.records)}
        return {name: value for name, value in told.items() if value} | ({"part": self.part} if self.part > 1 or self.is_cut else {})

    def as_given(self) -> dict[str, Any]:
        """What the map function gets. It may change it: the lists are copies, for they are counted again; the records are nobody else's."""
        told = {name: getattr(self, name) for name in ("start", "end", "source", "ref", "part")}
        return {"group": self.entity, "records": [*self.records], "order": [*self.order]} | told


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def groups(rows: Iterable[Row], grouping: Grouping, max_bytes: int = MAX_GROUP_BYTES) -> Iterator[Group]:
    """The groups of sorted rows, in order. One group is in memory at a time: max_records and max_bytes bound it."""
    start_of = grouping.window.start_of
    for (entity, start), members in itertools.groupby(rows, key=lambda row: (row[0], start_of(row[1]))):
        part: list[Row] = []
        number, size = 1, 0
        for row in members:
            if part and (len(part) >= grouping.max_records or size + len(row[7]) > max_bytes):
                yield _group(entity, start, part, grouping, number, is_cut=True)
                part, number, size = [], number + 1, 0
            part.append(row)
            size += len(row[7])
        yield _group(entity, start, part, grouping, number, is_cut=False)


def _group(entity: str, start: int, rows: list[Row], grouping: Grouping, part: int, *, is_cut: bool) -> Group:
    window = grouping.window
    order = [label(row[1], row[2], row[6]) if grouping.order_by else "" for row in rows]
    span = (label(start, 0, window.is_time), label(start + window.size, 0, window.is_time)) if window.size else (order[0], order[-1])
    return Group(entity, *span, [_load(row[7]) for row in rows], order, rows[0][3], bool(window.size), part, is_cut)


def map_group(group: Group, function: MapFunction | None, text_field: str = "text") -> MapResult:
    """The one document of a group: what the map function makes of it, else the texts of its records, one a line."""
    if function is not None:
        return call_map(function, group.as_given())
    texts = (find(record, text_field) for record in group.records)
    return Mapped(text="\n".join(scalar(text) for text in texts if isinstance(text, str) and text))


@dataclass
class Tally:
    """What became of the records, of one unit or of all: JSON-able by plain(), added up by add()."""

    records: int = 0  # all that came in, problems in the place of records included
    refused: int = 0  # of them, before they were grouped: a row of rejected/ each
    grouped: int = 0  # in groups
    groups: int = 0
    cut: int = 0  # groups behind which another part of the same window follows
    by_source: dict[str, int] = field(default_factory=dict)  # groups

    def count(self, group: Group) -> None:
        self.groups += 1
        self.grouped += len(group.records)
        self.cut += group.is_cut
        self.by_source[group.source] = self.by_source.get(group.source, 0) + 1

    def add(self, plain_tally: Mapping[str, Any]) -> None:
        for name, value in plain_tally.items():
            if name == "by_source":
                for source, count in value.items():
                    self.by_source[source] = self.by_source.get(source, 0) + count
            else:
                setattr(self, name, getattr(self, name) + value)

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def check(self) -> None:
        """Over all units and buckets: every record was refused or is in a group."""
        if self.records != self.refused + self.grouped:
            raise RuntimeError(f"records are missing: in {self.records} != refused {self.refused} + grouped {self.grouped}")
