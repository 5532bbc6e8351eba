"""From the fields of an object or a row to a record: which of them is the text, the address, the title, the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mspt.core.text.containers.sniff import is_page
from mspt.core.text.containers.walk import Problem
from mspt.core.text.decoding.decode import Decoded
from mspt.core.text.decoding.mending import REPLACEMENT
from mspt.core.text.readers.record import ALL_FIELDS, Fields, Record, meta_json

MAX_META_CHARACTERS = 1000  # of a field taken over because all fields are ("*"): texts in other languages, raw HTML stay out
MAX_SHOWN_BYTES = 2 * 1024  # of a bad line that its row keeps: each of them has one
MAX_DETAIL = 200
NOTHING = Decoded("", "utf-8", "declared")


def record_of(ref: str, value: Mapping[str, Any], fields: Fields, decoded: Decoded | None, shown: str) -> Record | Problem:
    """The record of an object whose text is `decoded`; no-text where there is none, unless the fields are kept for their own sake."""
    if decoded is None and not fields.keep:
        return no_text(ref, fields.text, value, shown, url=_label(find(value, fields.url)), meta=meta_json(meta_of(value, fields)))
    holds_page = fields.pages and decoded is not None and is_page(decoded.text)
    return Record(
        ref,
        decoded or NOTHING,
        markup=holds_page,
        in_field=holds_page,
        url=_label(find(value, fields.url)),
        title=_label(find(value, fields.title)),
        meta=meta_of(value, fields),
        source=_label(find(value, fields.source)) if fields.source else "",
        fields=value if fields.keep else {},
    )


def no_text(ref: str, name: str, value: Mapping[str, Any], shown: str = "", *, url: str = "", meta: str = "") -> Problem:
    """What says that the field `name` is missing or no text, and which fields there are; url and meta as of a record."""
    found = find(value, name)
    if found is None and name in value:
        detail = f"field {name} is null"
    else:
        detail = f"no field {name}" if found is None else f"field {name} is {type(found).__name__}, not text"
    others = sorted(str(one) for one in value if one != name)
    there = scalar(f"{detail}; there are {', '.join(others)}" if others else detail)
    return Problem(ref, "no-text", there[:MAX_DETAIL], text=shown, url=url, meta=meta)


def find(value: Mapping[str, Any], name: str) -> Any:
    """The field `name`, or by its dotted path; None where there is none."""
    if name in value or "." not in name:
        return value.get(name)
    first, rest = name.split(".", 1)
    inner = value.get(first)
    return find(inner, rest) if isinstance(inner, dict) else None


def as_decoded(text: str, encoding: str) -> Decoded:
    """A text that its container has decoded already."""
    sound = scalar(text)
    replaced = sound.count(REPLACEMENT)
    return Decoded(sound, encoding, "declared", replaced, sum(REPLACEMENT in line for line in sound.split("\n")) if replaced else 0)


def scalar(text: str) -> str:
    """`text` without lone surrogates (which no encoding can hold): pairs are joined, single ones become U+FFFD."""
    try:
        text.encode()  # ten times as fast as a search for them
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def shown(data: bytes) -> str:
    """The beginning of what could not be read, for its row."""
    return data[:MAX_SHOWN_BYTES].decode("utf-8", "replace")


def meta_of(value: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """The fields that go into `meta`: those that are named, and with "*" the short ones that have no place of their own."""
    taken = {fields.text, fields.url, fields.title, fields.source}
    named = {name: find(value, name) for name in fields.meta if name != ALL_FIELDS}
    if ALL_FIELDS in fields.meta:
        named |= {name: item for name, item in value.items() if name not in taken and _is_short(item)}
    return {name: item for name, item in named.items() if item is not None}


def _label(value: Any) -> str:
    """An address, a title or a source as text; a number is one too."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)[:MAX_META_CHARACTERS]
    return scalar(value)[:MAX_META_CHARACTERS] if isinstance(value, str) else ""


def _is_short(item: Any) -> bool:
    return isinstance(item, bool | int | float) or (isinstance(item, str) and len(item) <= MAX_META_CHARACTERS)
