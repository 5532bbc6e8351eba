"""Bytes to text: which encoding, and what it cost.

In this order: a byte order mark; the pattern of UTF-16/32 without one; strict UTF-8 (hardly any other text is valid UTF-8 by accident, so it
overrules a declaration); UTF-8 with a few bad bytes; the declared charset, unless the bytes speak for a multi-byte encoding that it is not;
chardet on the parts of the whole document that are not ASCII, corrected where it overlooks Chinese. Bad bytes become U+FFFD and cost only themselves.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal

import chardet

from mspt.core.text.charsets import DIALECTS, MULTI_BYTE, SUPERSETS, byte_order_mark, declared_charset, unicode_by_pattern
from mspt.core.text.chinese import is_chinese

Evidence = Literal["mark", "pattern", "utf-8", "declared", "guess"]

REPLACEMENT = "\ufffd"
# Bytes of evidence for chardet: it is right on 60 of 60 Chinese chapters from 400 bytes up, at 4 ms for 1,000 and for 8,000 characters.
EVIDENCE_BYTES = 8 * 1024
# What is not ASCII, from and to a byte that never is the second half of a character (below 0x30, and 0x3A-0x3F), with up to 24 bytes of
# ASCII around it: single-byte encodings of Latin scripts are told by the words (French without its plain letters is taken for Cyrillic).
TOKEN = re.compile(rb"[\x20-\x7e]{0,24}[^\x00-\x2f\x3a-\x3f]*[\x80-\xff][^\x00-\x2f\x3a-\x3f]*[\x20-\x7e]{0,24}")
ESCAPES = re.compile(rb"\x1b\$|~\{[\x21-\x7e]{2}")  # ISO-2022 and HZ are ASCII bytes only
CHINESE_CODECS = ("gb18030", "big5hkscs")
ESCAPED = ("hz", "iso2022_jp_2", "iso2022_kr")
EAST_ASIAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
# Valid characters beyond ASCII per U+FFFD of damaged UTF-8. Read as UTF-8, GBK has at most .40 and EUC-JP .52 in running text, more in a few words.
SURE_VALID_PER_BAD, LIKELY_VALID_PER_BAD = 3, 1
MAX_REPLACED = 0.01  # of the characters, for an encoding that is only continued
MAX_CLEANED_SHARE = 0.05  # of the evidence that may be bad bytes of a multi-byte encoding
MIN_OVERRULING_BYTES = 40  # beyond ASCII in the evidence, from which on it may overrule a declaration
AMBIGUOUS_BYTES = 16  # so few bytes may be valid UTF-8 by accident: 2-byte sequences are 14 % of GB2312's characters
EBCDIC = ("cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140")  # chardet's last resort for anything odd

ASCII, HIGH = bytes(range(0x80)), bytes(range(0x80, 0x100))
CP1251_CAPITALS, MAC_CAPITALS = bytes(range(0xC0, 0xDF)), bytes(range(0x80, 0xA0))


@dataclass(frozen=True)
class Decoded:
    """Text, the codec that read it, and what said so. replaced: U+FFFD in it; bad_lines: lines that have one."""

    text: str
    encoding: str
    evidence: Evidence
    replaced: int = 0
    bad_lines: int = 0

    @property
    def replaced_ratio(self) -> float:
        return self.replaced / max(1, len(self.text))


def decode(data: bytes, *, markup: bool = False, preferred: str = "") -> Decoded:
    """The text of `data`. Never raises: what no encoding explains has a high replaced_ratio.

    markup: look for a declared charset in the first 32 KiB. preferred: the codec of the part of the same file before this one, which is
    taken if it fits.
    """
    if found := byte_order_mark(data):
        mark, codec = found
        marked = _finish(*_read(data[len(mark) :], codec), "mark")
        if marked.replaced_ratio <= MAX_CLEANED_SHARE:
            return marked
        data = data[len(mark) :]  # a mark glued to something else
    if preferred:
        continued = _finish(*_read(data, preferred), "declared")
        if continued.replaced <= max(1, MAX_REPLACED * len(continued.text)):
            return continued
    if b"\0" in data and (codec := unicode_by_pattern(data) or ""):
        return _finish(*_read(data, codec), "pattern")
    declared = (declared_charset(data) if markup else None) or ""
    if (text := _strict(data, "utf-8")) is not None:
        return _valid_utf8(data, text, declared)
    if codec := unicode_by_pattern(data) or "":
        return _finish(*_read(data, codec), "pattern")
    valid_per_bad = _valid_utf8_per_bad(data)
    if valid_per_bad >= SURE_VALID_PER_BAD:
        return _finish(*_read(data, "utf-8"), "utf-8")
    return _legacy(data, declared, valid_per_bad)


def evidence_of(data: bytes, size: int = EVIDENCE_BYTES) -> bytes:
    """About `size` bytes of the tokens that are not ASCII, spread over the whole of `data`, joined by blanks."""
    tokens = TOKEN.findall(data)
    total = sum(map(len, tokens))
    chosen, left = [], size
    for token in tokens[:: -(-total // size) or 1]:
        if len(token) > left:
            chosen.append(token[:left])  # a character cut in half may only stand at the very end
            break
        chosen.append(token)
        left -= len(token)
    return b" ".join(chosen)


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError):
        return None


def _read(data: bytes, codec: str) -> tuple[str, str]:
    """Text and codec, by the first dialect that reads everything, else by the one with the fewest bad bytes."""
    dialects = DIALECTS.get(codec, (codec,))
    for dialect in dialects:
        if (text := _strict(data, dialect)) is not None:
            return text, dialect
    return min(((data.decode(dialect, "replace"), dialect) for dialect in dialects), key=lambda found: found[0].count(REPLACEMENT))


def _finish(text: str, codec: str, evidence: Evidence) -> Decoded:
    replaced = text.count(REPLACEMENT)
    bad_lines = sum(REPLACEMENT in line for line in text.split("\n")) if replaced else 0
    return Decoded(text, codec, evidence, replaced, bad_lines)


def _valid_utf8(data: bytes, text: str, declared: str) -> Decoded:
    if len(text) == len(data):
        if codec := _escaped(data):
            return _finish(*_read(data, codec), "guess")
    elif declared in MULTI_BYTE and _is_ambiguous(data) and (other := _strict(data, declared)) is not None:
        return _finish(other, declared, "declared")
    return _finish(text, "utf-8", "utf-8")


def _escaped(data: bytes) -> str | None:
    """hz or an iso2022 codec, if these (nearly) ASCII bytes switch character sets."""
    if not (found := ESCAPES.search(data)):
        return None
    start = max(0, found.start() - EVIDENCE_BYTES // 2)
    sample = data[start : start + EVIDENCE_BYTES]
    codec = _chardet(sample.translate(None, HIGH))
    if codec and codec.startswith(("hz", "iso2022")):
        return codec
    wide = ((name, sample.decode(name, "replace")) for name in ESCAPED)  # one bad byte is enough for chardet to see none of them
    return next((name for name, text in wide if len(EAST_ASIAN.findall(text)) > text.count(REPLACEMENT)), None)


def _is_ambiguous(data: bytes) -> bool:
    """Whether valid UTF-8 is so short, and of 2-byte sequences only, that it may be something else."""
    high = data.translate(None, ASCII)
    return len(high) <= AMBIGUOUS_BYTES and not any(byte >= 0xE0 for byte in high)


def _valid_utf8_per_bad(data: bytes) -> float:
    text = data.decode("utf-8", "replace")
    bad = text.count(REPLACEMENT)
    return (len(text) - bad - (len(data) - _count_high(data))) / max(1, bad)


def _count(data: bytes, wanted: bytes) -> int:
    return len(data) - len(data.translate(None, wanted))


def _count_high(data: bytes) -> int:
    return _count(data, HIGH)


def _legacy(data: bytes, declared: str, valid_per_bad: float) -> Decoded:
    if _count_high(data) <= MAX_CLEANED_SHARE * len(data) and (codec := _escaped(data)):
        return _finish(*_read(data, codec), "guess")
    sample = evidence_of(data)
    guess = _guess(sample)
    if guess not in CHINESE_CODECS:
        guess = _as_chinese(data[:EVIDENCE_BYTES], sample) or guess
    if declared and (text := _strict(data, declared)) is not None and not _overrules(guess, declared, sample):
        return _finish(text, declared, "declared")
    if guess not in MULTI_BYTE and valid_per_bad >= LIKELY_VALID_PER_BAD:
        return _finish(*_read(data, "utf-8"), "utf-8")  # badly damaged; as Hebrew or Cyrillic it would pass for sound
    if guess is None:
        guess, evidence = (declared, "declared") if declared else ("cp1252", "guess")
        return _finish(*_read(data, guess), evidence)  # type: ignore[arg-type]
    return _finish(*_read(data, guess), "guess")


def _overrules(guess: str | None, declared: str, sample: bytes) -> bool:
    """Whether the bytes speak so clearly for a multi-byte encoding that a fitting declaration is wrong all the same."""
    if guess not in MULTI_BYTE or declared in DIALECTS.get(guess, (guess,)) or _count_high(sample) < MIN_OVERRULING_BYTES:
        return False
    return REPLACEMENT not in sample.decode(guess, "replace").rstrip(REPLACEMENT)


def _guess(sample: bytes) -> str | None:
    """chardet's codec for the evidence. chardet drops a multi-byte encoding for one invalid byte, so each is tried again without its bad bytes."""
    codec = _chardet(sample)
    if codec in MULTI_BYTE:
        return codec
    for candidate in ("gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949"):
        clean = sample.decode(candidate, "ignore").encode(candidate, "ignore")
        if 0 < len(sample) - len(clean) <= max(2, MAX_CLEANED_SHARE * len(sample)) and _chardet(clean) == candidate:
            return candidate
    return codec


def _as_chinese(head: bytes, sample: bytes) -> str | None:
    """The encoding that makes common Chinese of bytes which chardet takes for something else: few different characters, or UTF-16 without
    a single control or blank."""
    for codec in CHINESE_CODECS:
        text = sample.decode(codec, "replace").rstrip(REPLACEMENT)  # at its end a character may be cut
        if REPLACEMENT not in text and is_chinese(text):
            return codec
    return next((codec for codec in ("utf-16-le", "utf-16-be") if is_chinese(head[: len(head) // 2 * 2].decode(codec, "replace"))), None)


def _chardet(sample: bytes) -> str | None:
    found = chardet.detect(sample, compat_names=False, exclude_encodings=EBCDIC, no_match_encoding="ascii")
    if found["encoding"] in {None, "ascii", "utf-8"}:
        return None
    name = codecs.lookup(found["encoding"]).name
    if name == "mac-cyrillic" and _count(sample, CP1251_CAPITALS) >= _count(sample, MAC_CAPITALS):  # small letters are the same in both
        return "cp1251"
    return SUPERSETS.get(name, name)
