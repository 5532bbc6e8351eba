"""The items of a leaf, by its type.

| type                  | reader      | a record is                                   | its ref is the leaf's and |
|-----------------------|-------------|-----------------------------------------------|---------------------------|
| text, markdown        | text        | the file, or a piece of max_document_bytes    | #piece                    |
| html                  | page        | the page                                      | #0                        |
| jsonl                 | jsonl       | the object of a line                          | #line                     |
| json                  | json_values | an object, alone or in an array               | #place                    |
| csv, tsv              | table       | a row below the header                        | #row                      |
| parquet               | parquet     | a row                                         | #row                      |
| warc, arc             | warc        | a response, resource or conversion            | #record                   |

All count from 0. What gives no record is a Problem in its place: bad-line, line-too-long, no-text, too-large, corrupt, expansion, truncated,
bad-record, not-content, revisit, http-status, unsupported; of a whole file empty-file and unread-type (its type is the detail).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mspt.core.text.containers.sniff import ARC, CSV, EMPTY, HTML, JSON, JSONL, MARKDOWN, PARQUET, TEXT, TSV, WARC
from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.readers import json_values, jsonl, page, parquet, table, text, warc
from mspt.core.text.readers.record import Item, Options

READERS: dict[str, Callable[[Leaf, Options], Iterator[Item]]] = {
    TEXT.name: text.items,
    MARKDOWN.name: text.items,
    HTML.name: page.items,
    JSONL.name: jsonl.items,
    JSON.name: json_values.items,
    CSV.name: table.items,
    TSV.name: table.items,
    PARQUET.name: parquet.items,
    WARC.name: warc.items,
    ARC.name: warc.items,
}


DEFAULTS = Options()


def items(leaf: Leaf, options: Options = DEFAULTS) -> Iterator[Item]:
    """Items of one leaf, in order. Nothing raises for what the data is."""
    yield from READERS.get(leaf.type.name, _unread)(leaf, options)


def _unread(leaf: Leaf, options: Options) -> Iterator[Item]:
    def read() -> Problem:
        if leaf.type == EMPTY:
            return Problem(leaf.ref, "empty-file", "no bytes")
        leaf.stream.drain()
        return Problem(leaf.ref, "unread-type", leaf.type.name, leaf.stream.position)

    yield Item(leaf.stream.position, read)
