"""WARC 0.17 to 1.1, WET and ARC: a response, resource or conversion is a record, "#" and its number in the file, counted from 0.

Every other record is a Problem: not-content (warcinfo, request, metadata, a DNS answer), revisit, http-status (other than 200), bad-record,
truncated, too-large, unsupported (in segments). What a payload is, its bytes say; it is one document, so that JSON of many objects is unread-type.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from fastwarc.warc import ArchiveIterator, HeaderMap, WarcRecord

from mspt.core.text.containers.sniff import ARC, CSV, EMPTY, HEAD_BYTES, HTML, JSON, JSONL, MARKDOWN, TEXT, TSV, sniff
from mspt.core.text.containers.streams import FAULTS, ByteStream
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.decoding.decode import decode
from mspt.core.text.readers import json_values, jsonl
from mspt.core.text.readers.fields import MAX_DETAIL, meta_of, shown
from mspt.core.text.readers.http_body import undo_codings
from mspt.core.text.readers.record import Item, Options, Record
from mspt.core.text.readers.warc_frames import ARC_FORMAT, WARC_FORMAT, Frame, frames

ARC_HEADER = re.compile(rb"([^\r\n]*?) ([\d.:a-fA-F-]{1,45}) (\d{8,17}) ([^\r\n]*?) ?-?\d{1,18}\r?\n")
CHARSET = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE)
CONTENT = ("response", "resource", "conversion")
HTTP_BLOCK = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%b"


@dataclass(frozen=True)
class Capture:
    """What a record of an archive says about its block. kind: the WARC-Type; content_type: of the block, of a response that of its payload."""

    kind: str
    content_type: str
    url: str
    meta: Mapping[str, Any]
    block: bytes
    is_segment: bool = False


def items(leaf: Leaf, options: Options) -> Iterator[Item]:
    """One item for each record of the file, and for each stretch of it that is none."""
    form = ARC_FORMAT if leaf.type == ARC else WARC_FORMAT
    for number, frame in enumerate(frames(leaf.stream, form, options.max_document_bytes)):
        yield Item(frame.at, functools.partial(_read, f"{leaf.ref}#{number}", frame, leaf.type == ARC, options))


def _read(ref: str, frame: Frame, is_arc: bool, options: Options) -> Record | Problem:
    shows = shown(frame.header + frame.block)
    if frame.fault:
        limit = options.max_document_bytes if frame.fault == "too-large" else 0
        return Problem(ref, frame.fault, frame.detail, frame.value, limit, shows)
    try:
        capture = _of_arc(frame) if is_arc else _of_warc(frame)
        found = _document(ref, capture, options)
    except FAULTS as error:  # FastWARC says OSError for whatever it cannot read
        return Problem(ref, "bad-record", f"{error}"[:MAX_DETAIL], text=shows)
    return found if isinstance(found, Record) or found.text else replace(found, text=shows)


def _of_warc(frame: Frame) -> Capture:
    length = WARC_FORMAT.length.search(frame.header)
    assert length is not None
    header = b"%b%d%b" % (frame.header[: length.start(1)], len(frame.block), frame.header[length.end(1) :])
    headers = _record(header).headers
    names = {"id": "WARC-Record-ID", "date": "WARC-Date", "ip": "WARC-IP-Address"}
    return Capture(
        _value(headers, "WARC-Type").lower(),
        _value(headers, "Content-Type"),
        _value(headers, "WARC-Target-URI").strip("<>"),
        {name: _value(headers, header) for name, header in names.items() if header in headers},
        frame.block,
        "WARC-Segment-Number" in headers,
    )


def _value(headers: HeaderMap, name: str) -> str:
    return headers.get(name) or ""


def _of_arc(frame: Frame) -> Capture:
    found = ARC_HEADER.match(frame.header)
    if found is None:
        raise ValueError("not a line of an ARC")
    url, ip, date, content_type = (part.decode("utf-8", "replace") for part in found.groups())
    kind = "arc header" if url.startswith("filedesc:") else "response"
    return Capture(kind, content_type.split(" ")[0], url, {"date": date, "ip": ip}, frame.block)


def _record(data: bytes) -> WarcRecord:
    return next(ArchiveIterator(io.BytesIO(data), parse_http=False, quirks_mode=True, stream_detect=False))


def _document(ref: str, capture: Capture, options: Options) -> Record | Problem:
    if capture.kind == "revisit":
        return Problem(ref, "revisit", f"as before: {capture.url}"[:MAX_DETAIL])
    if capture.kind not in CONTENT or capture.content_type.startswith("text/dns"):
        return Problem(ref, "not-content", capture.content_type if capture.kind in CONTENT else capture.kind)
    if capture.is_segment:
        return Problem(ref, "unsupported", "a record in segments")
    if not capture.block.startswith(b"HTTP/"):
        return _payload(ref, capture, capture.block, "", options)
    response = _record(HTTP_BLOCK % (len(capture.block), capture.block))
    response.parse_http(quirks_mode=True)
    headers = response.http_headers
    status = headers.status_code if headers is not None else None
    if headers is None or status != 200:
        line = capture.block.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        return Problem(ref, "http-status", line[:MAX_DETAIL], status or 0, 200)
    body = response.reader.read() if response.reader else b""
    body, fault = undo_codings(body, _value(headers, "Transfer-Encoding"), _value(headers, "Content-Encoding"), options.max_document_bytes)
    return _payload(ref, replace(capture, content_type=_value(headers, "Content-Type")), body, fault, options)


def _payload(ref: str, capture: Capture, body: bytes, fault: str, options: Options) -> Record | Problem:
    """The document in a body. fault: what kept its codings from being undone, of which the part before it is read."""
    if len(body) > options.max_document_bytes:
        return Problem(ref, "too-large", "bytes of the payload", len(body), options.max_document_bytes)
    kind = TEXT if capture.kind == "conversion" and body else sniff(body[:HEAD_BYTES])
    meta = meta_of(capture.meta | {"fault": fault} if fault else capture.meta, options.fields)  # type: ignore[operator]
    if kind in (JSON, JSONL):
        return _object(ref, capture, Leaf(ref, kind, ByteStream([body])), meta, options)
    if kind not in (HTML, TEXT, MARKDOWN, CSV, TSV):
        detail = f"{kind.name} ({fault})" if fault else kind.name
        return Problem(ref, "empty-file" if kind == EMPTY else "unread-type", detail[:MAX_DETAIL], len(body))
    declared = CHARSET.search(capture.content_type)
    decoded = decode(body, markup=kind == HTML, declared=declared[1] if declared else "")
    return Record(ref, decoded, kind == HTML, capture.url, meta=meta, fields=_fields(capture, options))


def _object(ref: str, capture: Capture, leaf: Leaf, meta: Mapping[str, Any], options: Options) -> Record | Problem:
    reader = jsonl.items if leaf.type == JSONL else json_values.items
    found = [item.read() for item in islice(reader(leaf, options), 2)]
    if len(found) != 1:
        return Problem(ref, "unread-type", f"{leaf.type.name} of many objects", leaf.stream.position)
    if isinstance(found[0], Problem):
        return replace(found[0], ref=ref)
    return replace(found[0], ref=ref, url=found[0].url or capture.url, meta={**meta, **found[0].meta})


def _fields(capture: Capture, options: Options) -> Mapping[str, Any]:
    return {**capture.meta, "url": capture.url, "type": capture.content_type} if options.fields.keep else {}
