"""--map: a function of the user's own, called once for each record, or for each group of records (groups.py).

    def tidy(record):                                    # record["text"], record["fields"]["stars"], ...
        if not record["text"]:
            return Drop("no text")                       # or None: dropped without a reason
        return record["text"].strip()                    # or {"text": ..., "title": ..., "meta": {...}}: what changes

Whatever the function does to one record (raises, returns nonsense, changes what it was given) touches that record only. It must depend on its argument
alone: no counters, clocks, random numbers, nor the order of a set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from mspt.core.text.map_loading import MAX_DETAIL, MapFunction, describe, kind_of, load_map, map_identity
from mspt.core.text.readers.fields import as_decoded, scalar

if TYPE_CHECKING:
    from mspt.core.text.readers.record import Record

__all__ = ["Drop", "MapFunction", "MapResult", "Mapped", "Refusal", "apply_map", "as_given", "call_map", "load_map", "map_identity", "plain", "plain_leaf"]

MAX_DEPTH = 100  # of lists and objects in one another; Python's own limit (1,000 frames) would depend on who calls
KNOWN = {"text": str, "markup": bool, "url": str, "title": str, "meta": dict}


@dataclass(frozen=True)
class Drop:
    """What a map function returns for a record that is to be left out: a row of rejected/ under the rule `map`, with the reason."""

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason.strip() or len(self.reason) > MAX_DETAIL:
            raise ValueError(f"the reason of a Drop is a text of 1 to {MAX_DETAIL} characters")


@dataclass(frozen=True)
class Refusal:
    """Why a record goes no further: the rule, and what was found."""

    rule: str
    detail: str = ""


@dataclass(frozen=True)
class Mapped:
    """What the function changed; None: it left that as it was."""

    text: str | None = None
    markup: bool | None = None
    url: str | None = None
    title: str | None = None
    meta: Mapping[str, Any] | None = None

    def apply(self, record: Record) -> Record:
        """The record as the function wants it."""
        changes: dict[str, Any] = {name: value for name in ("markup", "url", "title", "meta") if (value := getattr(self, name)) is not None}
        if self.text is not None:
            changes["decoded"] = as_decoded(self.text, record.decoded.encoding)
        return replace(record, **changes)


MapResult = Mapped | Refusal


def as_given(record: Record) -> dict[str, Any]:
    """What the function of single records is given (apply_map copies it). The text is decoded, not extracted: HTML, where markup is true."""
    return {
        "text": record.decoded.text,
        "markup": record.markup,
        "url": record.url,
        "title": record.title,
        "meta": record.meta,
        "source": record.source,
        "ref": record.ref,
        "fields": record.fields,
    }


def apply_map(function: MapFunction, record: Mapping[str, Any]) -> MapResult:
    """The function's answer to a copy of `record`, plain JSON values all through. Rules of a Refusal: map (the function said so), map-error."""
    try:
        given = plain(record)
    except ValueError as error:
        return Refusal("map-error", f"the record cannot be handed over: {error}")
    return call_map(function, given)


def call_map(function: MapFunction, given: dict[str, Any]) -> MapResult:
    """As apply_map, for a record that was made for this call. What the user's code raises is an answer too, except that memory ended or ^C came."""
    try:
        return _judge(function(given))
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # even sys.exit() is a fault of that record
        return Refusal("map-error", describe(error, function.file))


def _judge(returned: Any) -> MapResult:
    if returned is None:
        return Refusal("map", "the function returned None")
    if isinstance(returned, Drop):
        return Refusal("map", scalar(returned.reason))
    if isinstance(returned, str):
        return Mapped(text=_sound(returned))
    if not isinstance(returned, dict):
        return Refusal("map-error", f"the function returned {kind_of(returned)}, not None, Drop, a text or a dict"[:MAX_DETAIL])
    if unknown := sorted(scalar(str(name)) for name in returned if name not in KNOWN):
        return Refusal("map-error", f"the function returned the key `{unknown[0][:50]}`; known are {', '.join(KNOWN)}")
    for name, value in returned.items():
        if not isinstance(value, KNOWN[name]):
            return Refusal("map-error", f"the function returned {kind_of(value)} as {name}, not {KNOWN[name].__name__}"[:MAX_DETAIL])
    try:
        changes: dict[str, Any] = {name: _sound(value) if isinstance(value, str) else plain(value) for name, value in returned.items()}
        return Mapped(**changes)
    except ValueError as error:
        return Refusal("map-error", f"the function returned {error}"[:MAX_DETAIL])


def _sound(text: str) -> str:
    """A plain str that UTF-8 can hold (subclasses may carry a whole parse tree along)."""
    return scalar(str.__str__(text))


# --- plain values ------------------------------------------------------------------------------------------------------


def plain(value: Any, depth: int = 0) -> Any:
    """A deep copy in JSON's types, which shares nothing that can be changed. Dates and times become ISO texts, decimals texts, bytes UTF-8, NaN None.

    ValueError for what JSON cannot hold (objects, keys that are no texts) and beyond MAX_DEPTH.
    """
    kind = type(value)
    if value is None or kind is str or kind is int or kind is bool:
        return value
    if kind is float:
        return value if isfinite(value) else None
    if depth >= MAX_DEPTH:
        raise ValueError(f"a value nested more than {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {_key(name): plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, depth + 1) for inner in value]
    return plain_leaf(value)


def plain_leaf(value: Any) -> Any:
    """A value of a type that JSON lacks, as columns of Parquet and the user's own dicts may have it."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    for kind in (str, int, float):  # subclasses
        if isinstance(value, kind):
            return plain(kind(value))
    raise ValueError(f"a value of type {kind_of(value)}, which JSON cannot hold")


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"a key that is {kind_of(name)}, not a text")
    return name
