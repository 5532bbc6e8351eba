"""Spans of the documents as runs of tokens, for masked language models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mspt.core.errors import MsptError
from mspt.core.tokens.documents import Cursors, Documents
from mspt.core.tokens.masking import find_runs
from mspt.core.tokens.mlm import RunFile, RunWriter, parse_rates
from mspt.stages.pack_mindrecord.phases import parse_pairs

if TYPE_CHECKING:
    from mspt.core.shards import Docs
    from mspt.core.stage import Job
    from mspt.core.tokens.token_files import TokenFiles
    from mspt.core.tokens.tokenizer import Tokenizer
    from mspt.stages.pack_mindrecord import PackMindrecordConfig

# Elements that clean keeps as spans (core/text/spans.py); others of user's docs are numbered behind them.
TAGS = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "pre", "code", "math", "blockquote", "tr", "caption")


@dataclass(frozen=True)
class SpanRates:
    """Where the runs lie, and the rate of each tag, the last one without a tag."""

    runs: RunFile
    rates: tuple[int, ...]
    eos_id: int


def find_spans(job: Job[PackMindrecordConfig], documents: Documents, files: TokenFiles, tokenizer: Tokenizer) -> SpanRates:
    """One pass over the docs: the runs of every document that has spans. A text that its tokens do not spell has none; it is counted."""
    from mspt.core.shards import open_docs

    config, docs = job.config, open_docs(job.inputs["docs"])
    named = {name.lower(): rate for name, rate in parse_pairs("mask_rates", config.mask_rates)}
    if any(rate > 1 for rate in named.values()):
        raise MsptError(f"mask_rates: {max(named, key=lambda n: named[n])} = {max(named.values()):g}", "rates are between 0 and 1")
    tags = {tag: i for i, tag in enumerate(dict.fromkeys((*TAGS, *named)))}
    file = RunFile(job.scratch("plan") / "runs")
    writer, with_spans, unspelt = RunWriter(file, len(documents)), 0, 0
    for position, record, text, spans in documents_with_spans(documents, docs):
        ends = np.cumsum(tokenizer.token_bytes[files.read(int(record["source"]), int(record["start"]), int(record["tokens"]) - 1)], dtype=np.int64)
        if not len(ends) or ends[-1] != len(text.encode("utf-8", "surrogatepass")):
            unspelt += 1
            continue
        for tag, _, _ in spans:
            tags.setdefault(tag, len(tags))
        writer.add(position, find_runs(text, spans, ends, tags))
        with_spans += 1
    writer.close()
    job.stats["spans"] = {"documents": with_spans, "not_spelt_by_tokens": unspelt}
    return SpanRates(file, tuple(parse_rates(config.mask_rate, named, list(tags))), tokenizer.eos_id)


def documents_with_spans(documents: Documents, docs: Docs) -> Iterator[tuple[int, Any, str, Sequence[tuple[str, int, int]]]]:
    """(position, record, text, spans) of every live document that has any."""
    cursors = Cursors(documents)
    if "spans" not in docs.columns():
        return
    for live in docs.iterate_live(["id", "source", "text", "spans"]):
        for rows, first, records in cursors.take(live):
            spans = live.column("spans").take(rows).to_pylist()
            texts = live.column("text").take(rows)
            for i, found in enumerate(spans):
                if found:
                    yield first + i, records[i], texts[i].as_py(), [(s["tag"], s["start"], s["end"]) for s in found]
