"""What is measured of the text of documents, once: the columns that weights and limits are worked out from, without a look at the text again.

| column               | what                                                                                        |
|----------------------|---------------------------------------------------------------------------------------------|
| quality              | by the scorer, 0 to 1                                                                        |
| characters           | code points of the text                                                                      |
| entropy              | of its characters, bits per character                                                        |
| stop_word_share      | function words per word; null of fewer than 50 words                                         |
| domain               | by the domain model: news, code, encyclopaedia, forum, literature, documentation, other      |
| domain_confidence    | the probability that the model gives to its first choice                                     |
| perplexity           | by the reference, of the document; null where it does not know the language                  |
| paragraph_perplexity | of its worst paragraph                                                                       |
| relative_perplexity  | perplexity of the words that the reference knows over theirs one by one                      |

The domain where a model is given, perplexity where a reference is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mspt.core.quality.domains import DomainModel
    from mspt.core.quality.perplexity import Reference

ALWAYS = pa.schema([("quality", pa.float32()), ("characters", pa.int64()), ("entropy", pa.float32()), ("stop_word_share", pa.float32())])
BY_DOMAIN = pa.schema([("domain", pa.string()), ("domain_confidence", pa.float32())])
BY_REFERENCE = pa.schema([("perplexity", pa.float32()), ("paragraph_perplexity", pa.float32()), ("relative_perplexity", pa.float32())])


def signal_names(*, with_reference: bool, with_domain: bool) -> list[str]:
    return [*ALWAYS.names, *(BY_DOMAIN.names if with_domain else []), *(BY_REFERENCE.names if with_reference else [])]


def measure(live: pa.Table, quality: NDArray[np.float32], reference: Reference | None, domains: DomainModel | None = None) -> pa.Table:
    """One row for each row of `live` (text, lang, form)."""
    from mspt.core.quality.statistics import entropy, stop_word_share  # kernels, which judging does not need

    texts = live.column("text")
    rows = list(zip(texts.to_pylist(), live.column("lang").to_pylist(), live.column("form").to_pylist(), strict=True))
    columns = {
        "quality": pa.array(quality, pa.float32()),
        "characters": pc.cast(pc.fill_null(pc.utf8_length(texts), 0), pa.int64()),
        "entropy": pa.array([entropy(text or "") for text, _, _ in rows], pa.float32()),
        "stop_word_share": pa.array([stop_word_share(text or "", form) for text, _, form in rows], pa.float32()),
    }
    if domains is not None:
        names, confidence = domains.label(texts)
        columns |= {"domain": pa.array(names, pa.string()), "domain_confidence": pa.array(confidence, pa.float32())}
    if reference is not None:
        found = [reference.measure(text or "", lang) for text, lang, _ in rows]
        columns |= {name: pa.array([row[i] for row in found], pa.float32()) for i, name in enumerate(BY_REFERENCE.names)}
    return pa.table(columns)


def row_aligned(measured: pa.Table, live: NDArray[np.bool_]) -> pa.Table:
    """The rows of `measured` in the places where `live` is true, nulls in the others."""
    place = pa.array(np.cumsum(live) - 1, mask=~live)
    return pa.table({name: measured.column(name).take(place) for name in measured.column_names})


def perplexities(tables: Iterable[pa.Table]) -> dict[str, NDArray[np.float32]]:
    """By language, of the live documents that have one. Tables of lang, keep, perplexity."""
    found: dict[str, list[NDArray[np.float32]]] = {}
    for table in tables:
        measured = table.filter(pc.and_(table.column("keep"), pc.is_valid(table.column("perplexity"))))
        languages = pc.fill_null(measured.column("lang"), "").combine_chunks().dictionary_encode()
        values, codes = measured.column("perplexity").to_numpy(), languages.indices.to_numpy()
        for code, lang in enumerate(languages.dictionary.to_pylist()):
            found.setdefault(lang, []).append(values[codes == code])
    return {lang: np.concatenate(parts) for lang, parts in sorted(found.items())}
