"""What every reader gives: items of a leaf, in order, each of them read only when somebody wants it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from mspt.core.text.containers.walk import Problem
from mspt.core.text.decoding.decode import Decoded

ALL_FIELDS = "*"


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Which fields (of a JSON object) or columns (of CSV and Parquet) hold what. "a.b" is field b of the object a, unless a field is called "a.b".

    meta: names, or "*" for every other short field that is text, number or boolean. source: the field that names the source ("" : none does).
    pages: whether a text that is a whole web page is one. keep: whether Record.fields holds all of them, for `--map`; a record may then be without text.
    """

    text: str = "text"
    url: str = "url"
    title: str = "title"
    meta: tuple[str, ...] = (ALL_FIELDS,)
    source: str = ""
    pages: bool = True
    keep: bool = False


@dataclass(frozen=True, kw_only=True)
class Options:
    """How records are cut. max_document_bytes bounds memory: longer lines and pages are rejected, longer plain texts are cut into pieces.

    max_expansion: how many times its stored size the body of an HTTP response, or the text column of a row group of Parquet, may have.
    scratch: where a Parquet file that lies inside a container is kept while it is read (None: the system's temporary folder).
    """

    fields: Fields = Fields()
    max_document_bytes: int = 16 * 1024 * 1024
    max_expansion: float = 200.0
    scratch: Path | None = None


@dataclass(frozen=True)
class Record:
    """One document before extraction: decoded text (with its markup, if `markup`).

    source: what its own field says ("" where there is none); in_field: its markup was found in a field; fields: all fields, only with Fields.keep.
    """

    ref: str
    decoded: Decoded
    markup: bool = False
    url: str = ""
    title: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    in_field: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """A record, or what is wrong in its place, that stands at byte `at` of its leaf.

    `read` does the work (parse, decode) and may be called once, before the next item is asked for; an item that nobody reads costs next to
    nothing, which is what lets several workers share one huge file.
    """

    at: int
    read: Callable[[], Record | Problem]


def meta_json(meta: Mapping[str, Any]) -> str:
    """`meta` as one JSON text: sorted keys, no blanks; "" when there is nothing."""
    if not meta:
        return ""
    try:
        return orjson.dumps(meta, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # lone surrogates, integers beyond 64 bits: json writes them as escapes and digits
        return json.dumps(meta, sort_keys=True, separators=(",", ":"))
