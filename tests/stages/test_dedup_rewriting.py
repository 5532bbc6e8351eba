"""Places of removed parts: where they would stand in the text that is left, through several levels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mspt.core.text.spans import Span
from mspt.stages.dedup.rewriting import Change

NOTHING = {"value": None, "threshold": None, "detail": None, "survivor": None}


@st.composite
def levels(draw):
    """A text of different characters, and sorted cuts for each of some levels that fit what is left by then."""
    left = draw(st.integers(1, 40))
    text, chosen = "".join(map(chr, range(0x4E00, 0x4E00 + left))), []
    for _ in range(draw(st.integers(1, 3))):
        borders = sorted(draw(st.sets(st.integers(0, left), max_size=6)))
        cuts = list(zip(borders[::2], borders[1::2], strict=False))
        chosen.append(cuts)
        left -= sum(end - start for start, end in cuts)
    return text, chosen


@given(levels())
def test_putting_the_parts_back_gives_the_text(drawn):
    """Each part stands at a place that has before it exactly those characters of the text that are left and came before it."""
    text, chosen = drawn
    change = Change(text, (Span("p", 0, len(text)),))
    for number, cuts in enumerate(chosen):
        change.apply(str(number), [{"start": start, "end": end, "rule": str(number), **NOTHING} for start, end in cuts])
    parts = change.parts()
    assert sorted(change.text + "".join(part["text"] for part in parts)) == list(text)
    for part in parts:
        assert part["start"] == part["end"] == sum(character < part["text"][0] for character in change.text)
    assert sum(change.characters.values()) == len(text) - len(change.text)
    assert change.spans == ((Span("p", 0, len(change.text)),) if change.text else ())
