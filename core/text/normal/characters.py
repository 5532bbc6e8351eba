"""Characters that are written in one way: line ends, composed characters, half-width letters and digits, nothing invisible. Steps of `normalize`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import numpy as np

from mspt.core.text.normal.classes import (
    FULL_WIDTH,
    FULL_WIDTHS,
    INVISIBLE,
    INVISIBLES,
    LINE_END,
    LINE_ENDS,
    MAY_COMPOSE,
    META_SPACE,
    META_SPACES,
    PRIVATE_USE,
    class_table,
)  # fmt: skip
from mspt.core.text.normal.document import Document
from mspt.core.text.script import PRIVATE_RANGES, code_points
from mspt.core.text.spans import Edit

HALF_WIDTH_DISTANCE = 0xFEE0
# Scripts whose letters join: Arabic to Samaritan and Arabic Extended, Indic, Tibetan, Myanmar, Khmer, Mongolian, Javanese and Meetei, Arabic
# presentation forms, Brahmic scripts of the supplementary plane. There ZWNJ and ZWJ choose the letter's form.
JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua980-\uabff\ufb50-\ufdff\ufe70-\ufefe\U00010a00-\U00011fff]")
HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
MONGOLIAN = re.compile("[\u1820-\u18aa]")
EMOJI = re.compile("[\xa9\xae\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]")


def line_ends(document: Document, found: int) -> Iterator[Edit]:
    if found & LINE_END:
        for match in re.finditer(f"\r\n|[{LINE_ENDS}]", document.text):
            yield Edit(match.start(), match.end(), "\n")


def invisible(document: Document, found: int) -> Iterator[Edit]:
    if not found & INVISIBLE:
        return
    text = document.text
    for run in re.finditer(f"[{INVISIBLES}]+", text):
        before = text[run.start() - 1 : run.start()]
        for position in range(*run.span()):
            if _is_needed(text[position], before, text[position + 1 : position + 2]):
                before = text[position]
            else:
                yield Edit(position, position + 1, "")


def _is_needed(character: str, before: str, after: str) -> bool:
    """Whether an invisible character means something between `before` (the last one kept) and `after`."""
    if character == "\u200c":
        return bool(JOINING.match(before) and JOINING.match(after))
    if character == "\u200d":
        emoji = (EMOJI.match(before) or before == "\ufe0f") and EMOJI.match(after)
        return bool(JOINING.match(before) or emoji)
    if "\ufe00" <= character <= "\ufe0f":  # digits, # and * take them in keycaps
        return bool(HAN.match(before) or EMOJI.match(before) or JOINING.match(before) or (before in set("0123456789#*") and after == "\u20e3"))
    if "\U000e0100" <= character <= "\U000e01ef":  # ideographic variation sequences
        return bool(HAN.match(before))
    if "\U000e0020" <= character <= "\U000e007f":  # flags of regions are a black flag and tags
        return before == "\U0001f3f4" or "\U000e0020" <= before <= "\U000e007e"
    return "\u180b" <= character <= "\u180f" and bool(MONGOLIAN.match(before))


def private_use(document: Document, found: int) -> Iterator[Edit]:
    if found & PRIVATE_USE:
        charset = "".join(f"{chr(first)}-{chr(last)}" for first, last in PRIVATE_RANGES)
        for match in re.finditer(f"[{charset}]+", document.text):
            yield Edit(match.start(), match.end(), "")


def meta_space(document: Document, found: int) -> Iterator[Edit]:
    if found & META_SPACE:
        for match in re.finditer(META_SPACES, document.text):
            yield Edit(match.start(), match.end(), "_")


def half_width(document: Document, found: int) -> Iterator[Edit]:
    if found & FULL_WIDTH:
        matches = re.finditer(f"[{FULL_WIDTHS}]", document.text)
        yield from document.outside_code(Edit(one.start(), one.end(), chr(ord(one[0]) - HALF_WIDTH_DISTANCE)) for one in matches)


def compose(document: Document, found: int) -> Iterator[Edit]:
    # Half-width letters may have met a mark; the class of the mark is MAY_COMPOSE, so the raw text's classes suffice.
    if found & MAY_COMPOSE and not unicodedata.is_normalized("NFC", document.text):
        for start, end in _clusters(document.text):
            composed = unicodedata.normalize("NFC", document.text[start:end])
            if composed != document.text[start:end]:
                yield Edit(start, end, composed)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Stretches outside of which NFC changes nothing: each a starter and the marks behind it, or what may change by itself."""
    may_compose = np.flatnonzero(class_table().take(code_points(text)) & MAY_COMPOSE).tolist()
    start, end = 0, 0
    for position in may_compose:
        if _joins_backwards(text[position]):
            if position != end:
                yield start, end
                start = max(0, position - 1)
        else:
            yield start, end
            start = position
        end = position + 1
    yield start, end


def _joins_backwards(character: str) -> bool:
    """Whether NFC may join a character to the one before it: marks, and vowels and finals of Hangul (all second halves of Unicode 14)."""
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"
