"""Numeric entities that are the bytes of UTF-8, one by one: &#228;&#184;&#173; for 中, as programs write that take bytes for characters."""

from __future__ import annotations

import re

from mspt.core.text.spans import Edit

OCTET = re.compile(r"&#(?:0?(1(?:2[89]|[3-9]\d)|2[0-4]\d|25[0-5])|[xX]0{0,2}([89a-fA-F][0-9a-fA-F]));")  # 128 to 255
OCTETS = re.compile(f"(?:{OCTET.pattern})+")
# Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, punctuation, symbols, kana, Han, Hangul, full-width forms, emoji.
IN_USE = re.compile(
    "[\xa0-\u02af\u0370-\u052f\u05d0-\u05ea\u0600-\u06ff\u0900-\u097f\u0e00-\u0e7f\u1e00-\u1eff\u2010-\u27bf\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3"
    "\uff00-\uffef\U0001f300-\U0001faff\U00020000-\U0003134f]+"
)


def octet_entities(text: str) -> list[Edit]:
    """Runs of such entities and the characters that they are; none where one of the text's entities from 128 to 255 is no part of a character that is in use:
    then they are characters (a French &#224;&#160;&#171; is valid UTF-8 too, and Samaritan)."""
    if "&#" not in text:
        return []
    edits = [Edit(*run.span(), _utf8(run[0])) for run in OCTETS.finditer(text)]
    return edits if all(IN_USE.fullmatch(one.replacement) for one in edits) else []


def _utf8(run: str) -> str:
    """What a run of entities stands for; "" where it is no UTF-8."""
    try:
        return bytes(int(hexadecimal, 16) if hexadecimal else int(decimal) for decimal, hexadecimal in OCTET.findall(run)).decode("utf-8")
    except UnicodeDecodeError:
        return ""
