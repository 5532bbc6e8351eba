"""The records of a leaf: lines of JSONL, one HTML page, one plain text (or, if it is huge, its pieces).

A record's ref is its leaf's ref, "#" and a number: the line of JSONL, the piece of plain text, 0 of a page; counted from 0, so that a record
is found again in its file. What is no record is a Problem: bad-line (not a JSON object), no-text, line-too-long, too-large, unread-type,
empty-file.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from mspt.core.text.charsets import byte_order_mark, unicode_by_pattern
from mspt.core.text.containers import Leaf, Problem
from mspt.core.text.decode import REPLACEMENT, Decoded, decode
from mspt.core.text.sniff import EMPTY, HEAD_BYTES, HTML, JSONL, TEXT
from mspt.core.text.streams import ByteStream

SURROGATE = re.compile("[\ud800-\udfff]")
MAX_BAD_LINE_ROWS = 100  # of one file; what lies beyond is counted in one more row
MAX_SHOWN_BYTES = 64 * 1024  # of a bad line that its row keeps
MAX_META_CHARACTERS = 1000  # of a field taken over because all fields are ("*"): texts in other languages, raw HTML stay out
ALL_FIELDS = "*"


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Which fields of a JSON object hold what. "a.b" is field b of the object a, unless a field is called "a.b".

    meta: names, or "*" for every other short field that is text, number or boolean.
    """

    text: str = "text"
    url: str = "url"
    title: str = "title"
    meta: tuple[str, ...] = (ALL_FIELDS,)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How records are cut. max_document_bytes bounds memory: longer lines and pages are rejected, longer plain texts are cut into pieces."""

    fields: Fields = Fields()
    max_document_bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True)
class Record:
    """One document before extraction: decoded text (with its markup, if `markup`)."""

    ref: str
    decoded: Decoded
    markup: bool = False
    url: str = ""
    title: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


def records(leaf: Leaf, options: Options = Options()) -> Iterator[Record | Problem]:
    """Records and problems of one leaf, in order."""
    if leaf.type == JSONL:
        yield from _json_records(leaf, options)
    elif leaf.type == HTML:
        yield from _page(leaf, options)
    elif leaf.type == TEXT:
        yield from _texts(leaf, options)
    elif leaf.type == EMPTY:
        yield Problem(leaf.ref, "empty-file", "no bytes")
    else:
        leaf.stream.drain()
        yield Problem(leaf.ref, "unread-type", leaf.type.name, leaf.stream.position)


# --- HTML and plain text -----------------------------------------------------------------------------------------------


def _page(leaf: Leaf, options: Options) -> Iterator[Record | Problem]:
    data = leaf.stream.read(options.max_document_bytes + 1)
    if len(data) > options.max_document_bytes:
        leaf.stream.drain()
        yield Problem(leaf.ref, "too-large", "page", leaf.stream.position, options.max_document_bytes)
    else:
        yield Record(f"{leaf.ref}#0", decode(data, markup=True), markup=True)


def _texts(leaf: Leaf, options: Options) -> Iterator[Record]:
    """One record; more where the text is larger than max_document_bytes: pieces that end at a blank line or a line end."""
    encoding, number = "", 0
    while data := leaf.stream.read(options.max_document_bytes):
        if len(data) == options.max_document_bytes and leaf.stream.peek(1):
            encoding = encoding or decode(data).encoding
            piece = _cut(data, encoding)
            leaf.stream.push_back(data[len(piece) :])
            data = piece
        yield Record(f"{leaf.ref}#{number}", decode(data, preferred=encoding))
        number += 1


def _cut(data: bytes, encoding: str) -> bytes:
    """A beginning of `data` that ends at a blank line in its second half, else at a line end there, else at a whole character."""
    width = {"utf-16": 2, "utf-32": 4}.get(encoding[:6], 1)
    line_end = "\n".encode(encoding)
    for separator in (line_end * 2, line_end):
        end = data.rfind(separator, len(data) // 2)
        while end >= 0 and end % width:  # a newline's bytes across two characters
            end = data.rfind(separator, len(data) // 2, end + len(separator) - 1)
        if end >= 0:
            return data[: end + len(separator)]
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    decoder.decode(data)
    pending = decoder.getstate()[0]
    return data[: len(data) - len(pending)] or data


# --- JSONL -------------------------------------------------------------------------------------------------------------


def lines(stream: ByteStream, max_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Lines without their ends, and their lengths; of a line over `max_bytes` only the first MAX_SHOWN_BYTES."""
    kept: list[bytes] = []
    length = 0
    for chunk in stream.chunks():
        first, *rest = chunk.split(b"\n")
        for following in (*rest, None):
            if length <= max_bytes:
                kept.append(first)
            length += len(first)
            if following is None:
                break
            yield _line(kept, length, max_bytes), length
            kept, length, first = [], 0, following
    if length:
        yield _line(kept, length, max_bytes), length


def _line(kept: list[bytes], length: int, max_bytes: int) -> bytes:
    line = kept[0] if len(kept) == 1 else b"".join(kept)
    return line if length <= max_bytes else line[:MAX_SHOWN_BYTES]


def _json_records(leaf: Leaf, options: Options) -> Iterator[Record | Problem]:
    bad = 0
    stream = _as_bytewise(leaf.stream)
    head = stream.peek(HEAD_BYTES)
    encoding = decode(head[: head.rfind(b"\n") + 1] or head).encoding
    for number, (line, length) in enumerate(lines(stream, options.max_document_bytes)):
        if not line.strip():
            continue
        found = _json_record(f"{leaf.ref}#{number}", line, length, encoding, options)
        if isinstance(found, Problem) and found.rule in ("bad-line", "line-too-long"):
            bad += 1
            if bad > MAX_BAD_LINE_ROWS:
                continue
        yield found
    if bad > MAX_BAD_LINE_ROWS:
        yield Problem(leaf.ref, "bad-lines", f"further bad lines after the first {MAX_BAD_LINE_ROWS}", bad - MAX_BAD_LINE_ROWS, MAX_BAD_LINE_ROWS)


def _as_bytewise(stream: ByteStream) -> ByteStream:
    """The stream in an encoding in which lines end with the byte 0x0A: UTF-16/32 become UTF-8, marks are dropped."""
    head = stream.peek(HEAD_BYTES)
    mark, codec = byte_order_mark(head) or (b"", unicode_by_pattern(head) or "")
    stream.read(len(mark))
    if not codec.startswith(("utf-16", "utf-32")):
        return stream
    decoder = codecs.getincrementaldecoder(codec)("replace")
    return ByteStream((decoder.decode(chunk).encode("utf-8", "replace") for chunk in stream.chunks()), under=stream)


def _json_record(ref: str, line: bytes, length: int, encoding: str, options: Options) -> Record | Problem:
    if length > options.max_document_bytes:
        return Problem(ref, "line-too-long", "bytes of the line", length, options.max_document_bytes, line.decode("utf-8", "replace"))
    value, encoding, reason = parse_json(line, encoding)
    shown = line[:MAX_SHOWN_BYTES].decode("utf-8", "replace")
    if not isinstance(value, dict):
        return Problem(ref, "bad-line", reason or f"a {type(value).__name__}, not an object", text=shown)
    fields = options.fields
    text = find(value, fields.text)
    if not isinstance(text, str):
        detail = f"no field {fields.text}" if text is None else f"field {fields.text} is {type(text).__name__}"
        return Problem(ref, "no-text", f"{detail}; there are {', '.join(sorted(map(str, value)))}"[:200], text=shown)
    url, title = find(value, fields.url), find(value, fields.title)
    return Record(ref, _as_decoded(text, encoding), url=_short(url), title=_short(title), meta=_meta(value, fields))


def parse_json(line: bytes, encoding: str = "utf-8") -> tuple[Any, str, str]:
    """(value, encoding, reason why there is none). Control bytes, NULs, bad bytes and lone surrogates inside strings are survived.

    encoding: what the rest of the file is in, tried first where the line is not UTF-8.
    """
    try:
        return orjson.loads(line), "utf-8", ""
    except orjson.JSONDecodeError:
        pass
    decoded = decode(line, preferred=encoding)
    try:
        return json.loads(decoded.text.strip("\0"), strict=False), decoded.encoding, ""
    except (ValueError, RecursionError) as error:
        return None, decoded.encoding, f"{type(error).__name__}: {error}"[:200]


def find(value: Mapping[str, Any], name: str) -> Any:
    """The field `name`, or by its dotted path; None where there is none."""
    if name in value or "." not in name:
        return value.get(name)
    first, rest = name.split(".", 1)
    inner = value.get(first)
    return find(inner, rest) if isinstance(inner, dict) else None


def _as_decoded(text: str, encoding: str) -> Decoded:
    sound = scalar(text)
    replaced = sound.count(REPLACEMENT)
    return Decoded(sound, encoding, "declared", replaced, sum(REPLACEMENT in line for line in sound.split("\n")) if replaced else 0)


def scalar(text: str) -> str:
    """`text` without lone surrogates (which no encoding can hold): pairs are joined, single ones become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if SURROGATE.search(text) else text


def _short(value: Any) -> str:
    return scalar(value)[:MAX_META_CHARACTERS] if isinstance(value, str) else ""


def _meta(value: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    taken = {fields.text, fields.url, fields.title}
    named = {name: find(value, name) for name in fields.meta if name != ALL_FIELDS}
    if ALL_FIELDS in fields.meta:
        named |= {name: item for name, item in value.items() if name not in taken and _is_short(item)}
    return {name: item for name, item in named.items() if item is not None}


def meta_json(meta: Mapping[str, Any]) -> str:
    """`meta` as one JSON text: sorted keys, no blanks; "" when there is nothing."""
    if not meta:
        return ""
    try:
        return orjson.dumps(meta, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # lone surrogates, integers beyond 64 bits: json writes them as escapes and digits
        return json.dumps(meta, sort_keys=True, separators=(",", ":"))


def _is_short(item: Any) -> bool:
    return isinstance(item, bool | int | float) or (isinstance(item, str) and len(item) <= MAX_META_CHARACTERS)
