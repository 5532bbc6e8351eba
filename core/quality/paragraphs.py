"""Paragraphs (lines) whose perplexity is beyond the limits, cut out of documents that stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from mspt.core.quality.alphabet import holds_symbols
from mspt.core.quality.perplexity import Limits, Reference, Violation
from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS, REMOVED, clip
from mspt.core.text.spans import Edit, Span, edit

IDENTITY = ("id", "ref", "source", "url")


class Cut(NamedTuple):
    """A line of a text, [start, end) with the line end that goes with it, and why."""

    start: int
    end: int
    violation: Violation


def find_cuts(text: str, lang: str | None, reference: Reference, limits: Limits) -> list[Cut]:
    """The lines to cut, in order; none where nothing would be left."""
    values = iter(reference.paragraphs(text, lang))
    found, left, position = [], False, 0
    for line in text.split("\n"):
        start, end = position, position + len(line)
        position = end + 1
        if not holds_symbols(line):
            continue
        violation = limits.judge(next(values), lang)
        left = left or violation is None
        if violation is not None:
            # With the line end behind it; of the last line, with the one before it.
            found.append(Cut(start, end + 1, violation) if position <= len(text) else Cut(max(0, start - 1), end, violation))
    return list(_apart(found)) if left else []


def _apart(cuts: list[Cut]) -> Iterator[Cut]:
    """Without overlap: the last line's cut does not begin before the end of the one before it."""
    end = 0
    for cut in cuts:
        yield cut._replace(start=max(end, cut.start))
        end = cut.end


def cut_paragraphs(table: pa.Table, rows: list[int], reference: Reference, limits: Limits, stage: str) -> tuple[pa.Table, pa.Table] | None:
    """A text shard without the paragraphs of `rows` that are beyond the limits, and a row for each of these; None where there is none."""
    texts, spans = table.column("text").to_pylist(), table.column("spans").to_pylist()
    languages, known = table.column("lang").to_pylist(), table.select([name for name in IDENTITY if name in table.column_names])
    removed: list[dict[str, Any]] = []
    for row in rows:
        text = texts[row] or ""
        cuts = find_cuts(text, languages[row], reference, limits)
        if cuts:
            removed += [{**known.slice(row, 1).to_pylist()[0], "stage": stage, **part} for part in _parts(text, cuts)]
            before = [Span(**span) for span in spans[row] or ()]
            texts[row], after = edit(text, before, [Edit(cut.start, cut.end, "") for cut in cuts])
            spans[row] = [span._asdict() for span in after]
    if not removed:
        return None
    schema = table.schema.remove_metadata()
    columns = {"text": pa.array(texts, schema.field("text").type), "spans": pa.array(spans, schema.field("spans").type)}
    changed = pa.table([columns.get(name, table.column(name)) for name in table.column_names], schema=schema)
    return changed, pa.Table.from_pylist(removed, REMOVED)


def _parts(text: str, cuts: list[Cut]) -> Iterator[dict[str, Any]]:
    """start and end: the place where the part would stand in the text as it is now."""
    gone = 0
    for start, end, violation in cuts:
        part, place = text[start:end], start - gone
        gone += end - start
        yield {
            "rule": violation.rule, "value": violation.value, "threshold": violation.threshold, "detail": violation.detail,
            "start": place, "end": place, "excerpt": part[:MAX_EXCERPT_CHARACTERS], "text": clip(part),
        }  # fmt: skip
