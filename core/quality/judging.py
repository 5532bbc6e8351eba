"""What follows from the signals of documents (signals.py) and a person's settings: which are dropped, their weights, their buckets of perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mspt.core.expression import Expression
from mspt.core.quality.perplexity import Buckets, Limits, Violation, percentiles
from mspt.core.quality.signals import row_aligned
from mspt.core.quality.weights import Coefficients, weights
from mspt.core.text.documents import MAX_EXCERPT_CHARACTERS, REJECTED, clip

LOW_QUALITY = "low-quality"


@dataclass(frozen=True)
class Settings:
    """buckets: None where no perplexity is measured; expression: None for the default formula."""

    coefficients: Coefficients = field(default_factory=Coefficients)
    expression: Expression | None = None
    min_quality: float | None = None
    limits: Limits = field(default_factory=Limits)
    buckets: Buckets | None = None

    @property
    def drops(self) -> bool:
        """Whether any document may be dropped."""
        return self.min_quality is not None or not self.limits.empty

    @property
    def columns(self) -> list[str]:
        """Columns beside the signals that judging reads."""
        return list(dict.fromkeys(["ref", "lang", "repeat_ratio", *(self.expression.columns if self.expression else ())]))

    def with_percentiles(self, perplexities: dict[str, NDArray[np.float32]], share: float | None) -> Settings:
        """With the buckets of each language, and percentile `share` (0 to 100) of it as a limit. perplexities: of all documents, by language."""
        limits = self.limits
        if share is not None:
            limits = replace(limits, most_by_percentile=percentiles(perplexities, share / 100), percentile=share)
        return replace(self, limits=limits, buckets=Buckets.of(perplexities))


@dataclass(frozen=True)
class Judgement:
    """Of each row: its columns, and why it is dropped (None: it stays)."""

    columns: pa.Table  # weight, and perplexity_bucket where perplexity is measured
    violations: list[Violation | None]

    @property
    def kept(self) -> pa.Array:
        return pa.array([violation is None for violation in self.violations], pa.bool_())


def judge(live: pa.Table, settings: Settings) -> Judgement:
    """live: signals and Settings.columns of live documents."""
    languages = live.column("lang").to_pylist()
    found, relative = (live.column(name).to_pylist() if name in live.column_names else [None] * live.num_rows for name in ("perplexity", "relative_perplexity"))
    columns = {"weight": weights(live, settings.expression, settings.coefficients)}
    if settings.buckets is not None:
        names = [settings.buckets.name(value, lang) for value, lang in zip(found, languages, strict=True)]
        columns["perplexity_bucket"] = pa.array(names, pa.string())
    # As float32, which the column holds: a document of exactly that quality stays.
    least = None if settings.min_quality is None else pa.scalar(settings.min_quality, pa.float32()).as_py()
    rows = zip(live.column("quality").to_pylist(), found, relative, languages, strict=True)
    return Judgement(pa.table(columns), [_low(quality, least, settings) or settings.limits.judge(value, lang, own) for quality, value, own, lang in rows])


def _low(quality: float, least: float | None, settings: Settings) -> Violation | None:
    if least is not None and settings.min_quality is not None and not quality >= least:
        return Violation(LOW_QUALITY, quality, settings.min_quality)
    return None


def rows_to_cut(table: pa.Table, judgement: Judgement, settings: Settings) -> list[int]:
    """Rows of `table` (all documents of a shard, with signals and keep) that stay and may hold a paragraph beyond the limits. The worst paragraph says so;
    where low perplexity is a rule, any may."""
    live = np.flatnonzero(table.column("keep").to_numpy())
    stays = live[judgement.kept.to_numpy(zero_copy_only=False)].tolist()
    worst, languages = table.column("paragraph_perplexity").to_pylist(), table.column("lang").to_pylist()
    slack = 1 - 1e-6  # the column holds 32 bits
    return [
        row
        for row in stays
        if worst[row] is not None and (not settings.limits.least.empty or settings.limits.judge(worst[row] / slack, languages[row]) is not None)
    ]


# --- what is written ---------------------------------------------------------------------------------------------------


def layer(live: pa.Table, signals: Sequence[str], judgement: Judgement, keep: NDArray[np.bool_], settings: Settings) -> pa.Table:
    """The row-aligned columns of a shard: null for documents that were dropped before (`keep` false). `keep` itself only where any may be dropped."""
    columns = live.select(list(signals))
    for name in judgement.columns.column_names:
        columns = columns.append_column(name, judgement.columns.column(name))
    if not settings.drops:
        return row_aligned(columns, keep)
    aligned = row_aligned(columns.append_column("keep", judgement.kept), keep)
    return aligned.set_column(aligned.num_columns - 1, "keep", pc.fill_null(aligned.column("keep"), False))


def rejection_rows(live: pa.Table, judgement: Judgement, stage: str) -> pa.Table:
    """A row for each document that is dropped. live: id, ref, source, text."""
    dropped = live.select(["id", "ref", "source", "text"]).filter(pc.invert(judgement.kept)).to_pylist()
    rows = []
    for document, found in zip(dropped, (v for v in judgement.violations if v is not None), strict=True):
        text = document["text"] or ""
        rows.append(
            {**document, "stage": stage, "rule": found.rule, "value": found.value, "threshold": found.threshold, "detail": found.detail,
             "excerpt": text[:MAX_EXCERPT_CHARACTERS], "text": clip(text)}
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=REJECTED)


def tally(live: pa.Table, judgement: Judgement) -> dict[str, Any]:
    """`sources`: {in, rejected} by source; `rules`: documents by rule; `sizes`: by source and language, documents and characters of what stays."""
    sources: dict[str, dict[str, int]] = {}
    rules: dict[str, int] = {}
    sizes: dict[str, dict[str, list[int]]] = {}
    columns = [live.column(name).to_pylist() for name in ("source", "lang", "characters")]
    for source, lang, characters, violation in zip(*columns, judgement.violations, strict=True):
        counts = sources.setdefault(source, {"in": 0, "rejected": 0})
        counts["in"] += 1
        if violation is not None:
            counts["rejected"] += 1
            rules[violation.rule] = rules.get(violation.rule, 0) + 1
        else:
            size = sizes.setdefault(source, {}).setdefault(lang or "", [0, 0])
            size[0] += 1
            size[1] += characters
    return {"sources": sources, "rules": rules, "sizes": sizes}
