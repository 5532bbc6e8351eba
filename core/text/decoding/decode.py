"""Bytes to text: which encoding, and what it cost.

In this order: a byte order mark; the pattern of UTF-16/32 without one; strict UTF-8 (hardly any other text is valid UTF-8 by accident, so it
overrules a declaration); escapes that switch character sets; then all readings compete, a declared one with a head start (`readings`). Bad bytes become
U+FFFD and cost only themselves (`mending`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from mspt.core.text.decoding.charsets import (
    CONTROLS,
    MULTI_BYTE,
    byte_order_mark,
    codec_of,
    control_share,
    declared_charset,
    dialects_of,
    num_controls,
    unicode_by_pattern,
)
from mspt.core.text.decoding.escaped import is_escaped, read_escaped, unescape
from mspt.core.text.decoding.likelihood import likelihood
from mspt.core.text.decoding.mending import REPLACEMENT, join_surrogates, read_damaged, read_wide
from mspt.core.text.decoding.readings import ASCII, READINGS, WIDE_UNITS, compete, count_high

Evidence = Literal["mark", "pattern", "utf-8", "declared", "guess"]

DECLARED_BITS, TRANSPORT_BITS = 30.0, 40.0  # head starts of what the page and what its transport declare
LOW_BITS = 20.0  # lead below which the answer is of low confidence: a million to one
NO_TEXT_BITS, NO_TEXT_BYTES = 7.5, 64  # a byte of evidence, of at least so many: noise has 7.3 to 8
MAX_CONTROLS = 0.05  # of the bytes, NULs included (but long runs of them, which crashed writers leave): programs have .1 and more
MIN_CONTROLS = 4  # that tell UTF-16 without a NUL by themselves; of fewer, wrong bytes in another encoding, the competition judges
MAX_REPLACED = 0.01  # of the characters, for an encoding that is only continued
MAX_MARKED_REPLACED = 0.05  # of the characters behind a byte order mark
MAX_ESCAPED_HIGH = 0.01  # of the bytes, that may be wrong in an encoding of ASCII bytes only
AMBIGUOUS_BYTES = 16  # so few bytes may be valid UTF-8 by accident: 2-byte sequences are 14 % of GB2312's characters

NUL_RUN = re.compile(rb"\0{16,}")
_NO_CONTROLS = bytes.maketrans(b"\0" + CONTROLS, b"\xff" * (1 + len(CONTROLS)))


@dataclass(frozen=True)
class Decoded:
    """Text, the codec that read it, and what said so. replaced: U+FFFD in it; bad_lines: lines that have one.

    low_confidence: the encoding is guessed, and some other makes a different text of the same bytes that is not even a million times less likely
    (LOW_BITS): mostly a few words, where a reader could not be sure either.
    """

    text: str
    encoding: str
    evidence: Evidence
    replaced: int = 0
    bad_lines: int = 0
    low_confidence: bool = False

    @property
    def replaced_ratio(self) -> float:
        return self.replaced / max(1, len(self.text))


def decode(data: bytes, *, markup: bool = False, preferred: str = "", declared: str = "") -> Decoded:
    """The text of `data`. Never raises: what no encoding explains has a high replaced_ratio.

    markup: look for a declared charset in the first 32 KiB. declared: a charset named outside the bytes, as by an HTTP header; any label, ignored if unknown.
    As in browsers, a mark comes before it, and it before what the page declares. preferred: the codec of the part of the same file before this one, which
    is taken if it fits.
    """
    if found := byte_order_mark(data):
        mark, codec = found
        marked = _finish(*_read(data[len(mark) :], codec), "mark")
        if marked.replaced_ratio <= MAX_MARKED_REPLACED:
            return marked
        data = data[len(mark) :]  # a mark glued to something else
    if preferred:
        continued = _finish(*_read(data, preferred), "declared")
        if continued.replaced <= max(1, MAX_REPLACED * len(continued.text)):
            return continued
    if b"\0" in data and (codec := unicode_by_pattern(data) or ""):
        return _finish(*_read(data, codec), "pattern")
    starts = _head_starts(data, markup, declared)
    if (text := _strict(data, "utf-8")) is not None:
        return _valid_utf8(data, text, starts)
    if num_controls(data) >= MIN_CONTROLS and (codec := unicode_by_pattern(data) or ""):
        return _finish(*_read(data, codec), "pattern")
    return _legacy(data, starts)


def _head_starts(data: bytes, markup: bool, declared: str) -> dict[str, float]:
    """Bits by declared codec."""
    page, transport = declared_charset(data) if markup else None, codec_of(declared)
    starts = {codec: bits for codec, bits in ((page, DECLARED_BITS), (transport, TRANSPORT_BITS)) if codec}
    return {codec: bits for codec, bits in starts.items() if not is_escaped(codec)}  # those are told by their escapes


# --- Reading by a known codec ------------------------------------------------------------------------------------------


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError):
        return None


def _read(data: bytes, codec: str, *others: str) -> tuple[str, str]:
    """Text and codec: by `codec`, by another dialect of it, or by one of `others`, whichever reads all of it; if several do, the most likely text."""
    if escaped := read_escaped(data, codec):
        return escaped
    if codec.startswith(("utf-16", "utf-32")):
        return read_wide(data, codec), codec
    if codec == "utf-8":
        return join_surrogates(data).decode("utf-8", "replace"), codec
    names = [dialect for name in (codec, *others) for dialect in dialects_of(name)]
    read = [(text, name) for name in names if (text := _strict(data, name)) is not None]
    if not read:
        read = [(read_damaged(data, name) if name in MULTI_BYTE else data.decode(name, "replace"), name) for name in names]
    text, name = read[0]
    if any(other != text for other, _ in read):
        text, name = min(read, key=lambda one: likelihood(one[0]).bits + READINGS.get(one[1], 0))
    return (read_damaged(data, name) if name in MULTI_BYTE else text), name


def _finish(text: str, codec: str, evidence: Evidence, low_confidence: bool = False) -> Decoded:
    replaced = text.count(REPLACEMENT)
    bad_lines = sum(REPLACEMENT in line for line in text.split("\n")) if replaced else 0
    return Decoded(text, codec, evidence, replaced, bad_lines, low_confidence)


# --- Which codec -------------------------------------------------------------------------------------------------------


def _valid_utf8(data: bytes, text: str, starts: dict[str, float]) -> Decoded:
    if len(text) == len(data):
        if found := unescape(data):
            return _finish(*found, "guess")
    elif _is_ambiguous(data):
        verdict = compete(data, starts)
        if verdict.codec in starts and verdict.codec in MULTI_BYTE:
            return _finish(*_read(data, verdict.codec), "declared")
        return _finish(text, "utf-8", "utf-8", verdict.codec != "utf-8" or verdict.lead < LOW_BITS)
    return _finish(text, "utf-8", "utf-8")


def _is_ambiguous(data: bytes) -> bool:
    """Whether valid UTF-8 is so short, and of 2-byte sequences only, that it may be something else."""
    high = data.translate(None, ASCII)
    return len(high) <= AMBIGUOUS_BYTES and not any(byte >= 0xE0 for byte in high)


def _legacy(data: bytes, starts: dict[str, float]) -> Decoded:
    if count_high(data) <= max(1, MAX_ESCAPED_HIGH * len(data)) and (found := unescape(data)):
        return _finish(*found, "guess")
    verdict = compete(data, starts)
    if (verdict.bits_per_byte > NO_TEXT_BITS and count_high(data) >= NO_TEXT_BYTES) or (_is_binary(data) and verdict.codec not in WIDE_UNITS):
        return _finish(data.translate(_NO_CONTROLS).decode("ascii", "replace"), "ascii", "guess")
    evidence: Evidence = "declared" if verdict.codec in starts else "utf-8" if verdict.codec == "utf-8" else "guess"
    others = verdict.others if evidence == "guess" else ()
    return _finish(*_read(data, verdict.codec, *others), evidence, evidence == "guess" and verdict.lead < LOW_BITS)


def _is_binary(data: bytes) -> bool:
    bare = NUL_RUN.sub(b"", data)
    return control_share(bare) + bare.count(0) / max(1, len(bare)) > MAX_CONTROLS
