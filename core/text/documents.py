"""The columns of documents, of rejected documents and of removed parts.

A document row says where it came from (`source`, `ref`), what it holds (`text`, `spans`) and what was found about it. Nothing disappears
without a row in `rejected/` (whole documents) or `removed/` (parts of a document that stays). Lengths and positions count code points.
"""

from __future__ import annotations

import pyarrow as pa
import xxhash

SPAN = pa.struct([("tag", pa.string()), ("start", pa.int32()), ("end", pa.int32())])

DOCS = pa.schema(
    [
        ("id", pa.string()),  # 32 hex digits, see document_id
        ("text", pa.string()),
        ("source", pa.string()),
        ("ref", pa.string()),  # through containers: crawl.tar!/b.zip!/c.html#0
        ("url", pa.string()),
        ("title", pa.string()),
        ("date", pa.string()),  # of publication, ISO 8601 with no more than is stated
        ("encoding", pa.string()),
        ("lang", pa.string()),  # BCP 47: zh-Hans, zh-Hant, en, ...; zxx none; und undecided
        ("lang_confidence", pa.float32()),
        ("form", pa.string()),  # prose, code, markup, table, verse
        ("programming_language", pa.string()),
        ("spans", pa.list_(SPAN)),  # structure kept from markup, sorted by (start, -end)
        ("meta", pa.string()),  # JSON object
    ]
)

REJECTED = pa.schema(
    [
        ("id", pa.string()),
        ("ref", pa.string()),
        ("source", pa.string()),
        ("url", pa.string()),
        ("meta", pa.string()),  # of the record, as in DOCS; clean only
        ("stage", pa.string()),
        ("rule", pa.string()),
        ("value", pa.float64()),
        ("threshold", pa.float64()),
        ("detail", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("excerpt", pa.string()),
        ("text", pa.string()),  # at most MAX_REJECTED_BYTES, for sample, diff and scorers
        ("survivor", pa.string()),  # duplicates: the id that was kept
        ("similarity", pa.float64()),  # duplicates: exact Jaccard with the survivor
    ]
)
REMOVED = REJECTED  # the same columns: start and end say which part of which document

MAX_REJECTED_BYTES = 64 * 1024
MAX_EXCERPT_CHARACTERS = 200


def document_id(source: str, ref: str) -> str:
    """128-bit hash of where a document came from, as 32 hex digits: the same on every machine and in every run."""
    return xxhash.xxh3_128_hexdigest(f"{source}\0{ref}".encode("utf-8", "surrogatepass"))


def clip(text: str, max_bytes: int = MAX_REJECTED_BYTES) -> str:
    """The longest prefix of `text` that takes at most `max_bytes` in UTF-8, never half a character."""
    raw = text.encode("utf-8", "replace")
    return raw[:max_bytes].decode("utf-8", "ignore") if len(raw) > max_bytes else text
