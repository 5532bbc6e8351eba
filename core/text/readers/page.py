"""HTML and XHTML: a file is one page, "#0"."""

from __future__ import annotations

from collections.abc import Iterator

from mspt.core.text.containers.walk import Leaf, Problem
from mspt.core.text.decoding.decode import decode
from mspt.core.text.readers.record import Item, Options, Record


def items(leaf: Leaf, options: Options) -> Iterator[Item]:
    """The page as it stands, markup and all; too-large beyond max_document_bytes."""

    def read() -> Record | Problem:
        data = leaf.stream.read(options.max_document_bytes + 1)
        if len(data) <= options.max_document_bytes:
            return Record(f"{leaf.ref}#0", decode(data, markup=True), markup=True)
        leaf.stream.drain()
        return Problem(leaf.ref, "too-large", "bytes of the page", leaf.stream.position, options.max_document_bytes)

    yield Item(leaf.stream.position, read)
