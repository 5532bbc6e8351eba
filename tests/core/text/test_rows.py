"""Edits as rows give what edits as objects give."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.normal.document import Document, as_edits, num_changed
from mspt.core.text.spans import Span, edit


@st.composite
def rows_of(draw: st.DrawFn) -> tuple[str, np.ndarray, tuple[Span, ...]]:  # type: ignore[type-arg]
    text = draw(st.text(st.sampled_from("ab \n中\U0001f600"), max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=10)))
    rows = [(start, end, draw(st.sampled_from([10, 32, 0x4E2D])), draw(st.integers(0, 3))) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    borders = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    spans = (Span("p", *borders),) if borders[0] < borders[1] else ()
    return text, np.array(rows, np.int64).reshape(-1, 4), spans


@settings(deadline=None)
@given(rows_of())
def test_rows_do_what_edits_do(found: tuple[str, np.ndarray, tuple[Span, ...]]) -> None:  # type: ignore[type-arg]
    text, rows, spans = found
    edits = as_edits(rows)
    after = Document(text, spans).edited(rows)
    assert (after.text, after.spans) == edit(text, spans, edits)
    assert after.codes.tobytes() == after.text.encode("utf-32-le")
    assert num_changed(rows) == sum(max(1, one.end - one.start - len(one.replacement)) for one in edits)
    assert not after.codes.flags.writeable
