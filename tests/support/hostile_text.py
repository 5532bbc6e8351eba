"""Hostile texts, lines of JSON, pages and files that are none of them (see hostile.py)."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from support.hostile import Entry, page, prose

NUM_ATTRIBUTES = 1_000_000  # of one tag; for libxml2 they cost n^2 (40,000: 14 s)


def texts() -> Iterable[Entry]:
    yield from _encodings()
    yield from _lines()
    yield from _pages()
    yield from _formats()
    yield from _others()


def _encodings() -> Iterable[Entry]:
    text = prose(200, 14)
    utf8 = text.encode()
    yield Entry("text/nul-run.txt", utf8 + bytes(20) + prose(201).encode(), kept=["#0"])
    yield Entry("text/controls.txt", utf8 + b"\x01\x02\x7f\x1b[0m" + prose(202).encode(), kept=["#0"])
    yield Entry("text/odd-utf-16.txt", b"\xff\xfe" + text.encode("utf-16-le") + b"\x41", kept=["#0"])
    yield Entry("text/mark-before-gbk.txt", b"\xef\xbb\xbf" + text.encode("gbk"), kept=["#0"])
    yield Entry("text/two-marks.txt", b"\xef\xbb\xbf\xef\xbb\xbf" + utf8, kept=["#0"])
    yield Entry("text/mark-only.txt", b"\xef\xbb\xbf", rejected=[("#0", "too-short")])
    yield Entry("text/bad-bytes.txt", utf8[:-1] + b"\xff\xfe\n", kept=["#0"])
    yield Entry("text/surrogates.txt", utf8 + b"\xed\xa0\x80\n" + prose(203, 8).encode(), kept=["#0"])
    yield Entry("text/nul-only.txt", bytes(5000), rejected=[("", "unread-type")])
    yield Entry("text/blanks.txt", b" \t\r\n" * 10_000, rejected=[("#0", "too-short")])


def _lines() -> Iterable[Entry]:
    good = json.dumps({"text": prose(210)}).encode() + b"\n"
    yield Entry("json/nested.jsonl", good + b"[" * 1_000_000 + b"\n" + good, kept=["#0", "#2"], rejected=[("#1", "bad-line")])
    deep = b'{"text":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}\n"
    yield Entry("json/nested-objects.jsonl", good + deep + good, kept=["#0", "#2"], rejected=[("#1", "bad-line")])
    yield Entry("json/long-line.jsonl", _long_line, kept=["#0", "#2"], rejected=[("#1", "line-too-long")])
    yield Entry("json/surrogates.jsonl", b'{"text": "\\ud800' + json.dumps(prose(211, 14))[1:].encode() + b"}\n" + good, kept=["#0", "#1"])
    yield Entry("json/controls.jsonl", b'{"text": "\x00\x01' + prose(212).strip().encode() + b'"}\n' + good, kept=["#0", "#1"])
    same = b'{"text": "x", "text": ' + json.dumps(prose(213)).encode() + b"}\n"
    yield Entry("json/duplicate-keys.jsonl", same + good, kept=["#0", "#1"])
    number = b'{"n": 1e999999, "m": ' + b"9" * 1_000 + b', "text": ' + json.dumps(prose(214)).encode() + b"}\n"
    yield Entry("json/numbers.jsonl", good + number + good, kept=["#0", "#1", "#2"])
    yield Entry("json/nan.jsonl", b'{"n": NaN, "text": ' + json.dumps(prose(215)).encode() + b"}\n" + good, kept=["#0", "#1"])
    yield Entry("json/no-text.jsonl", good + b'{"text": {"a": 1}}\n{"text": 7}\n[1, 2]\n', kept=["#0"], rules=["no-text", "bad-line"])
    yield Entry("json/cut.jsonl", good * 2 + good[:40], kept=["#0", "#1"], rejected=[("#2", "bad-line")])
    fields = {f"field {number}": "x" for number in range(20_000)}
    yield Entry("json/many-fields.jsonl", json.dumps({"text": prose(216), **fields}).encode() + b"\n" + good, kept=["#0", "#1"])


def _long_line(place: Path) -> None:
    good = json.dumps({"text": prose(217)}).encode() + b"\n"
    with place.open("wb") as file:
        file.write(good + b'{"text": "')
        for _ in range(100):
            file.write(b"long " * 200_000)
        file.write(b'"}\n' + good)


def _pages() -> Iterable[Entry]:
    body = f"<h1>花园</h1><p>{prose(230)}</p><p>{prose(231)}</p>"
    yield Entry("html/nested.html", page(body + "<div>" * 100_000 + "x").encode(), kept=["#0"])
    yield Entry("html/nested-around.html", page("<div>" * 100_000 + body).encode(), rejected=[("#0", "no-content")])
    yield Entry("html/nested-tables.html", page(body + "<table><tr><td>" * 50_000).encode(), kept=["#0"])
    yield Entry("html/formatting.html", page(body + "<b><i><u>" * 20_000 + "x").encode(), kept=["#0"])
    yield Entry(
        "html/colspan.html", page(body + f'<table><tr><td colspan="1000000000" rowspan="1000000000">{prose(232)}</td></tr></table>').encode(), kept=["#0"]
    )
    yield Entry("html/comments.html", page(body + "<!--" * 40_000).encode(), kept=["#0"])
    yield Entry("html/attributes.html", page(f"<p {' '.join(map('a{}=1'.format, range(NUM_ATTRIBUTES)))}>x</p>{body}").encode(), kept=["#0"])
    yield Entry("html/one-line.html", page(f"<p>{prose(233).strip()}</p>" * 30_000).encode(), rejected=[("#0", "repeated-lines")])
    yield Entry("html/entities.html", page(body + "&lt;" * 300_000).encode(), rejected=[("#0", "symbols")])
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    doctype = f'<!DOCTYPE html [<!ENTITY l0 "ha">{laughs}<!ENTITY file SYSTEM "file:///etc/passwd">]>'
    yield Entry("html/laughs.html", f"{doctype}<html><body>&l11;&file;{body}</body></html>".encode(), kept=["#0"])
    yield Entry("html/laughs.xml", f'<?xml version="1.0"?>{doctype}<x>&l11;</x>'.encode(), rejected=[("#0", "too-short")])
    yield Entry("html/open-script.html", page(body + "<script>var a = '" + "<p>x" * 100_000).encode(), kept=["#0"])
    yield Entry("html/angles.html", page(body + "<" * 200_000).encode(), rejected=[("#0", "symbols")])
    yield Entry("html/declares-wrongly.html", page(body, '<meta charset="utf-7">').encode(), kept=["#0"])


def _formats() -> Iterable[Entry]:
    """Formats with a structure of their own, lying about it."""
    yield Entry("base64/gzip.txt", base64.encodebytes(gzip.compress(prose(250, 14).encode())), kept=["#0"])
    bomb = base64.encodebytes(gzip.compress(bytes(30_000_000)))
    yield Entry("base64/bomb.txt", bomb, rejected=[("", "expansion"), ("", "unread-type")])
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": [prose(251), prose(252)]}), buffer)
    table = buffer.getvalue()
    yield Entry("parquet/cut.parquet", table[:-30], rejected=[("", "corrupt")])
    yield Entry("parquet/footer.parquet", table[:-8] + b"\xff\xff\xff\x7f" + table[-4:], rejected=[("", "corrupt")])
    columns = "a,text\n" + f"1,{prose(253)}" + "," * 1_000_000 + f"\n3,{prose(254)}"
    yield Entry("csv/columns.csv", columns.encode(), kept=["#0", "#2"], rejected=[("#1", "too-short")])
    warc = _record(prose(255).encode()) + _record(prose(256).encode(), -5) + _record(prose(257).encode())
    yield Entry("warc/lengths.warc", warc, kept=["#0", "#2"], rejected=[("#1", "bad-record")])
    yield Entry("warc/endless.warc", _record(prose(258).encode()) + _record(b"x", 10**18), kept=["#0"], rejected=[("#1", "bad-record")])


def _record(body: bytes, length: int | None = None) -> bytes:
    """A record of WARC (ISO 28500) that holds extracted text."""
    head = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Date: 2020-01-01T00:00:00Z\r\nContent-Type: text/plain\r\n"
    return f"{head}Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body + b"\r\n\r\n"


def _others() -> Iterable[Entry]:
    unread = [("", "unread-type")]
    yield Entry("binary/elf.txt", b"\x7fELF" + bytes(500), rejected=unread)
    yield Entry("binary/png.txt", b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(500), rejected=unread)
    yield Entry("binary/random.txt", random.Random(2).randbytes(100_000), rejected=unread)
    yield Entry("binary/pdf.txt", b"%PDF-1.4\n" + prose(240).encode(), rejected=unread)
    yield Entry("binary/random.gz", b"\x1f\x8b\x08" + random.Random(3).randbytes(50_000), rules=["corrupt"])
    yield Entry("binary/zip.txt", b"PK\x03\x04" + random.Random(4).randbytes(50_000), rules=["corrupt", "encrypted", "truncated"])
    yield Entry("binary/7z.txt", b"7z\xbc\xaf\x27\x1c" + random.Random(5).randbytes(50_000), rejected=[("", "truncated")])
    yield Entry("binary/empty", b"", rejected=[("", "empty-file")])
