"""Edits and spans move together: checked against a model that follows every single character."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.spans import Edit, Span, edit, sort_spans


def test_a_replacement_moves_what_stands_behind_it() -> None:
    text, spans = edit("one two three", [Span("a", 0, 3), Span("b", 4, 7), Span("c", 8, 13)], [Edit(4, 7, "2")])
    assert text == "one 2 three"
    assert spans == (Span("a", 0, 3), Span("b", 4, 5), Span("c", 6, 11))


def test_a_border_inside_an_edit_moves_behind_the_replacement() -> None:
    # "e" + combining acute becomes one letter although a span ends between the two: the letter belongs to the first span.
    assert edit("e\u0301x", [Span("a", 0, 1), Span("b", 1, 3)], [Edit(0, 2, "é")]) == ("éx", (Span("a", 0, 1), Span("b", 1, 2)))


def test_text_inserted_at_a_border_stays_outside() -> None:
    assert edit("ab", [Span("a", 0, 1), Span("b", 1, 2)], [Edit(1, 1, "--")]) == ("a--b", (Span("a", 0, 1), Span("b", 3, 4)))


def test_an_emptied_span_is_dropped_and_the_outer_one_stays() -> None:
    assert edit("abcd", [Span("li", 0, 4), Span("p", 1, 3)], [Edit(1, 3, "")]) == ("ad", (Span("li", 0, 2),))


@pytest.mark.parametrize("edits", [[Edit(2, 4, ""), Edit(3, 5, "")], [Edit(4, 5, ""), Edit(0, 1, "")], [Edit(3, 2, "")], [Edit(0, 9, "")], [Edit(-1, 0, "")]])
def test_edits_that_cannot_be_applied_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="edits"):
        edit("abcdef", [], edits)


def test_the_order_of_spans_puts_the_outer_first() -> None:
    assert sort_spans([Span("p", 5, 7), Span("p", 0, 2), Span("li", 0, 9)]) == (Span("li", 0, 9), Span("p", 0, 2), Span("p", 5, 7))


@st.composite
def edited_texts(draw: st.DrawFn) -> tuple[str, list[Span], list[Edit]]:
    text = draw(st.text("abc", max_size=20))
    borders = st.integers(0, len(text))
    spans = [Span(str(number), *sorted(pair)) for number, pair in enumerate(draw(st.lists(st.tuples(borders, borders), max_size=6)))]
    cuts = sorted(draw(st.lists(borders, max_size=8)))
    edits = [Edit(start, end, draw(st.text("XY", max_size=3))) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    return text, sort_spans(spans), edits  # type: ignore[return-value]


@settings(max_examples=200, deadline=None)
@given(edited_texts())
def test_a_span_keeps_exactly_its_untouched_characters(case: tuple[str, list[Span], list[Edit]]) -> None:
    text, spans, edits = case
    touched = {position for one in edits for position in range(one.start, one.end)}
    # The model: the new text as origins, None for what came from a replacement.
    origins: list[int | None] = []
    pending = list(edits)
    for position in range(len(text) + 1):
        while pending and pending[0].start == position:
            origins += [None] * len(pending.pop(0).replacement)
        if position < len(text) and position not in touched:
            origins.append(position)
    after, moved = edit(text, spans, edits)
    assert len(after) == len(origins)
    assert all(origin is None or after[place] == text[origin] for place, origin in enumerate(origins))
    found = {span.tag: [origin for origin in origins[span.start : span.end] if origin is not None] for span in moved}
    for tag, start, end in spans:
        assert found.get(tag, []) == [position for position in range(start, end) if position not in touched]
    assert list(moved) == list(sort_spans(moved))


@settings(max_examples=200, deadline=None)
@given(edited_texts())
def test_neighbours_never_overlap_and_inner_stays_inside(case: tuple[str, list[Span], list[Edit]]) -> None:
    text, spans, edits = case
    before = {span.tag: span for span in spans}
    moved = edit(text, spans, edits)[1]
    for one in moved:
        for two in moved:
            if before[one.tag].end <= before[two.tag].start:
                assert one.end <= two.start
            if before[one.tag].start <= before[two.tag].start and before[two.tag].end <= before[one.tag].end:
                assert one.start <= two.start
                assert two.end <= one.end
