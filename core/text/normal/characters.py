"""Characters that are written in one way: line ends, composed characters, half-width letters and digits, nothing invisible. Steps of `normalize`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import numpy as np

from mspt.core.kernel import kernel
from mspt.core.text.normal.classes import FULL_WIDTH, INVISIBLE, LINE_END, MAY_COMPOSE, META_SPACE, PRIVATE_USE, Table, class_table
from mspt.core.text.normal.document import Document
from mspt.core.text.normal.rows import Rows, find_rows, put
from mspt.core.text.script import Codes
from mspt.core.text.spans import Edit

HALF_WIDTH_DISTANCE = 0xFEE0
CARRIAGE_RETURN, NEWLINE = np.uint32(0x0D), np.uint32(0x0A)
# Scripts whose letters join: Arabic to Samaritan and Arabic Extended, Indic, Tibetan, Myanmar, Khmer, Mongolian, Javanese and Meetei, Arabic
# presentation forms, Brahmic scripts of the supplementary plane. There ZWNJ and ZWJ choose the letter's form.
JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua980-\uabff\ufb50-\ufdff\ufe70-\ufefe\U00010a00-\U00011fff]")
HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
MONGOLIAN = re.compile("[\u1820-\u18aa]")
# What a printer or terminal was told: letters printed over themselves (bold) or over a line (underlined), the bullet of groff; colours, titles of windows.
OVERSTRUCK = r"([^\n\x08\x1b])\x08(?=\1)|[_+]\x08(?=[^\s\x08])|\x08_"
ESCAPED = r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78])"
OF_TERMINALS, OF_SCREENS = re.compile(f"{OVERSTRUCK}|{ESCAPED}"), re.compile(ESCAPED)
# Two in a row show the habit: x_\beta in JSON that was escaped once too little has one backspace, and is no underlined e.
HABIT = re.compile(r"(?:([^\n\x08])\x08\1|_\x08[^\s\x08])(?:([^\n\x08])\x08\2|_\x08[^\s\x08])")
EMOJI = re.compile("[\xa9\xae\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]")


def line_ends(document: Document) -> Rows:
    """CR LF, CR, NEL, LS, PS, VT and FF to LF."""
    return find_rows(_find_line_ends, document.codes, class_table())


@kernel
def _find_line_ends(rows: Rows, codes: Codes, table: Table) -> int:
    number = 0
    for i in range(len(codes)):
        if table[codes[i]] & LINE_END:
            is_pair = codes[i] == CARRIAGE_RETURN and i + 1 < len(codes) and codes[i + 1] == NEWLINE
            number = put(rows, number, i, i + 2 if is_pair else i + 1, NEWLINE, 1)
    return number


def meta_space(document: Document) -> Rows:
    """U+2581 to "_"."""
    return find_rows(_find_runs, document.codes, class_table(), META_SPACE, 1, ord("_"), 1)


def private_use(document: Document) -> Rows:
    """Private-use characters removed."""
    return find_rows(_find_runs, document.codes, class_table(), PRIVATE_USE, len(document.text), 0, 0)


@kernel
def _find_runs(rows: Rows, codes: Codes, table: Table, wanted: int, longest: int, character: int, times: int) -> int:
    """Runs of at most `longest` characters of the wanted class, each to become a character so many times."""
    number = i = 0
    while i < len(codes):
        start = i
        while i < len(codes) and i - start < longest and table[codes[i]] & wanted:
            i += 1
        if i > start:
            number = put(rows, number, start, i, character, times)
        i += i == start
    return number


def half_width(document: Document) -> Rows:
    """Full-width Latin letters and digits to half width, outside code."""
    return document.outside_code(find_rows(_find_full_width, document.codes, class_table()))


@kernel
def _find_full_width(rows: Rows, codes: Codes, table: Table) -> int:
    number = 0
    for i in range(len(codes)):
        if table[codes[i]] & FULL_WIDTH:
            number = put(rows, number, i, i + 1, codes[i] - HALF_WIDTH_DISTANCE, 1)
    return number


def invisible(document: Document) -> list[Edit]:
    """What shows nothing removed, but for joiners and selectors where a script needs them."""
    text, last, kept = document.text, -1, ""  # the last one that was seen, and kept before the next
    edits = _of_terminals(text)
    done = {place for one in edits for place in range(one.start, one.end)}
    for place in np.flatnonzero(class_table().take(document.codes) & INVISIBLE).tolist():
        before = kept if place == last + 1 else text[place - 1 : place]
        is_needed = _is_needed(text[place], before, text[place + 1 : place + 2])
        if not is_needed and place not in done:
            edits.append(Edit(place, place + 1, ""))
        last, kept = place, text[place] if is_needed else before
    return sorted(edits, key=lambda one: one.start) if done else edits


def _of_terminals(text: str) -> list[Edit]:
    """What only a printer or terminal understands, with the characters that belong to it."""
    if "\x08" not in text and "\x1b" not in text:
        return []
    pattern = OF_TERMINALS if "\x08" in text and HABIT.search(text) else OF_SCREENS
    return [Edit(found.start(), found.end(), "") for found in pattern.finditer(text)]


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


def compose(document: Document) -> list[Edit]:
    """NFC."""
    text = document.text
    if unicodedata.is_normalized("NFC", text):
        return []
    clusters = ((start, end, unicodedata.normalize("NFC", text[start:end])) for start, end in _clusters(document))
    return [Edit(start, end, composed) for start, end, composed in clusters if composed != text[start:end]]


def _clusters(document: Document) -> Iterator[tuple[int, int]]:
    """Stretches outside of which NFC changes nothing: each a starter and the marks behind it, or what may change by itself."""
    text = document.text
    may_compose = np.flatnonzero(class_table().take(document.codes) & MAY_COMPOSE).tolist()
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
