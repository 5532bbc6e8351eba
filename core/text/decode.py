"""Bytes to text: which encoding, and what it cost.

In this order: a byte order mark; the pattern of UTF-16/32 without one; strict UTF-8 (hardly any other text is valid UTF-8 by accident, so it
overrules a declaration); then all readings compete: damaged UTF-8, the encodings of East Asia and of Cyrillic, what is declared, and chardet's guess for all
others. The one whose text is the most likely wins (`likelihood`), a declared one with a head start. The evidence is what is not ASCII in the whole
document. Bad bytes become U+FFFD and cost only themselves.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import chardet

from mspt.core.text.charsets import CONTROLS, MULTI_BYTE, SUPERSETS, byte_order_mark, codec_of, control_share, declared_charset, dialects_of, unicode_by_pattern
from mspt.core.text.escaped import is_escaped, read_escaped, unescape
from mspt.core.text.likelihood import IMPOSSIBLE, likelihood
from mspt.core.text.mending import REPLACEMENT, read_damaged, read_wide

Evidence = Literal["mark", "pattern", "utf-8", "declared", "guess"]

# Bytes of evidence: first few, then more if that leaves a doubt. Chinese in GBK is 2 bits a byte more likely than what else its bytes may be, so 1 KiB
# gives odds of 2 ** 1000; the larger sample decides between relatives that differ in a letter or two.
EVIDENCE_BYTES = (1024, 8 * 1024)
# What is not ASCII, inside a run that begins and ends at bytes which never are the second half of a character (below 0x30, and 0x3A-0x3F), with up
# to 24 bytes of ASCII around it: single-byte encodings of Latin scripts are told by the words (French without its plain letters is taken for Cyrillic).
RUN = re.compile(rb"[^\x00-\x2f\x3a-\x3f]+")
CONTEXT_BYTES = 24
PRINTABLE_HEAD, PRINTABLE_TAIL = re.compile(rb"[\x20-\x7e]*"), re.compile(rb"[\x20-\x7e]*\Z")
# The readings that always compete, and how many bits the rarer ones start behind.
READINGS = {
    "utf-8": 0.0, "gb18030": 0.0, "cp950": 1.0, "big5hkscs": 3.0, "cp932": 1.0, "shift_jis_2004": 4.0, "euc_jp": 1.0, "euc_jis_2004": 2.0, "cp949": 1.0,
    "johab": 6.0, "cp1251": 1.0, "kz1048": 3.0, "ptcp154": 4.0, "koi8-r": 1.0, "koi8-u": 2.0, "koi8-t": 4.0, "cp866": 2.0, "cp1125": 1.5,
    "iso8859-5": 3.0, "mac-cyrillic": 2.0, "cp855": 4.0, "cp1253": 4.0, "iso8859-7": 5.0, "cp737": 8.0, "cp1255": 4.0, "cp862": 8.0, "cp1256": 4.0,
    "cp874": 12.0,
}  # fmt: skip
WIDE_UNITS = {"utf-16-le": 12.0, "utf-16-be": 12.0}  # Chinese without a single ASCII character shows no pattern
# These too, but where one of them wins, chardet, which knows the words of 40 languages, may name another single-byte encoding.
LATIN = {"cp1252": 0.0, "cp1250": 3.0, "cp1254": 3.0, "cp1257": 3.0, "iso8859-2": 3.0, "mac-roman": 5.0, "cp850": 5.0, "cp852": 5.0}
MAX_WORSE = 1.03  # times the bits of the best Latin reading, that chardet's may have
DECLARED_BITS, TRANSPORT_BITS = 30.0, 40.0  # head starts of what the page and what its transport declare
DECLARED_SHARE = 0.1  # and of the bits of what is not ASCII, for an encoding that is not in READINGS, of which `likelihood` knows little
SURE_BITS = 60.0  # lead that ends the competition
LOW_BITS = 20.0  # lead below which the answer is of low confidence: a million to one
SOUND_BITS = 6.3  # a byte of evidence; sound text has 4 to 6
CLOSE_SHARE = 0.25  # of the bits of what is not ASCII: the lead of a sound text is .4
MAX_BAD_SHARE = 0.1  # of the characters, of a reading that is worth a look
NO_TEXT_BITS, NO_TEXT_BYTES = 7.5, 64  # a byte of evidence, of at least so many: noise has 7.3 to 8
MAX_CONTROLS = 0.05  # of the bytes, NULs included (but long runs of them, which crashed writers leave): programs have .1 and more
MAX_REPLACED = 0.01  # of the characters, for an encoding that is only continued
MAX_MARKED_REPLACED = 0.05  # of the characters behind a byte order mark
MAX_ESCAPED_HIGH = 0.01  # of the bytes, that may be wrong in an encoding of ASCII bytes only
AMBIGUOUS_BYTES = 16  # so few bytes may be valid UTF-8 by accident: 2-byte sequences are 14 % of GB2312's characters
EBCDIC = {"cp037": 0.0, "cp500": 1.0, "cp1140": 2.0, "cp273": 3.0, "cp1026": 5.0, "cp875": 5.0, "cp424": 5.0}  # readings where blanks are 0x40
EBCDIC_BLANK, MIN_EBCDIC_BLANKS = 0x40, 0.08  # of the bytes; "@" in ASCII text is rare, and so is a text without 0x20
SURROGATES = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")  # two halves of a character in UTF-8: what Java and Oracle write

NUL_RUN = re.compile(rb"\0{16,}")
ASCII, HIGH = bytes(range(0x80)), bytes(range(0x80, 0x100))
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


@dataclass(frozen=True)
class _Reading:
    """What one codec makes of the evidence; bits: its cost, the head start taken off; wide_bits: the part of what is not ASCII."""

    codec: str
    text: str
    bits: float
    wide_bits: float


@dataclass(frozen=True)
class _Verdict:
    codec: str
    others: tuple[str, ...]  # that make the same text of the evidence
    lead: float  # bits ahead of the next reading that gives another text
    bits_per_byte: float


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
    if codec := unicode_by_pattern(data) or "":
        return _finish(*_read(data, codec), "pattern")
    return _legacy(data, starts)


def evidence_of(data: bytes, size: int) -> bytes:
    """About `size` bytes of the tokens that are not ASCII, spread over the whole of `data`, joined by blanks."""
    if len(data) <= size:
        return data
    tokens = list(_tokens(data))
    total = sum(map(len, tokens))
    chosen, left = [], size
    for token in tokens[:: -(-total // size) or 1]:
        if len(token) > left:
            chosen.append(token[:left])  # a character cut in half may only stand at the very end
            break
        chosen.append(token)
        left -= len(token)
    return b" ".join(chosen)


def _tokens(data: bytes) -> Iterator[bytes]:
    """The stretches that hold bytes beyond ASCII, with their surroundings; linear in the data, however long its words are."""
    end = 0
    for run in RUN.finditer(data):
        word = run[0]
        if word.isascii():
            continue
        first = run.start() + len(word) - len(word.lstrip(ASCII))
        last = min(run.end(), run.start() + len(word.rstrip(ASCII)) + 1)  # with the second half that the last one may have
        before = PRINTABLE_TAIL.search(data[max(end, first - CONTEXT_BYTES) : first])
        after = PRINTABLE_HEAD.match(data, last, last + CONTEXT_BYTES)
        assert before is not None
        assert after is not None
        end = after.end()
        yield data[first - len(before[0]) : end]


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
        return SURROGATES.sub(_join, data).decode("utf-8", "replace"), codec
    names = [dialect for name in (codec, *others) for dialect in dialects_of(name)]
    read = [(text, name) for name in names if (text := _strict(data, name)) is not None]
    if not read:
        read = [(read_damaged(data, name) if name in MULTI_BYTE else data.decode(name, "replace"), name) for name in names]
    text, name = read[0]
    if any(other != text for other, _ in read):
        text, name = min(read, key=lambda one: likelihood(one[0]).bits + READINGS.get(one[1], 0))
    return (read_damaged(data, name) if name in MULTI_BYTE else text), name


def _join(pair: re.Match[bytes]) -> bytes:
    return pair[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16").encode()


def _finish(text: str, codec: str, evidence: Evidence, low_confidence: bool = False) -> Decoded:
    replaced = text.count(REPLACEMENT)
    bad_lines = sum(REPLACEMENT in line for line in text.split("\n")) if replaced else 0
    return Decoded(text, codec, evidence, replaced, bad_lines, low_confidence)


# --- Which codec -------------------------------------------------------------------------------------------------------


def _valid_utf8(data: bytes, text: str, starts: dict[str, float]) -> Decoded:
    if len(text) == len(data):
        if found := unescape(data):
            return _finish(*found, "guess")
        if _may_be_ebcdic(data[: EVIDENCE_BYTES[0]]):  # capitals and digits are high bytes there, Hebrew letters are not
            return _legacy(data, starts)
    elif _is_ambiguous(data):
        verdict = _compete(data, starts, EVIDENCE_BYTES[0])
        if verdict.codec in starts and verdict.codec in MULTI_BYTE:
            return _finish(*_read(data, verdict.codec), "declared")
        return _finish(text, "utf-8", "utf-8", verdict.codec != "utf-8" or verdict.lead < LOW_BITS)
    return _finish(text, "utf-8", "utf-8")


def _is_ambiguous(data: bytes) -> bool:
    """Whether valid UTF-8 is so short, and of 2-byte sequences only, that it may be something else."""
    high = data.translate(None, ASCII)
    return len(high) <= AMBIGUOUS_BYTES and not any(byte >= 0xE0 for byte in high)


def _legacy(data: bytes, starts: dict[str, float]) -> Decoded:
    if _count_high(data) <= max(1, MAX_ESCAPED_HIGH * len(data)) and (found := unescape(data)):
        return _finish(*found, "guess")
    for size in EVIDENCE_BYTES:
        verdict = _compete(data, starts, size)
        if verdict.lead >= SURE_BITS or size >= len(data):
            break
    if (verdict.bits_per_byte > NO_TEXT_BITS and _count_high(data) >= NO_TEXT_BYTES) or _is_binary(data):
        return _finish(data.translate(_NO_CONTROLS).decode("ascii", "replace"), "ascii", "guess")
    evidence: Evidence = "declared" if verdict.codec in starts else "utf-8" if verdict.codec == "utf-8" else "guess"
    others = verdict.others if evidence == "guess" else ()
    return _finish(*_read(data, verdict.codec, *others), evidence, evidence == "guess" and verdict.lead < LOW_BITS)


def _is_binary(data: bytes) -> bool:
    bare = NUL_RUN.sub(b"", data)
    return control_share(bare) + bare.count(0) / max(1, len(bare)) > MAX_CONTROLS


def _compete(data: bytes, starts: dict[str, float], size: int) -> _Verdict:
    sample = evidence_of(data, size)
    readings = [_reading(sample, codec, behind) for codec, behind in (READINGS | LATIN).items()]
    readings += [_reading(sample, codec, 0.0) for codec in starts if codec not in READINGS | LATIN]
    readings += [_wide_reading(data, len(sample), codec, behind) for codec, behind in WIDE_UNITS.items()]
    if _may_be_ebcdic(data[:size]):
        readings += [_reading(data[:size], codec, behind) for codec, behind in EBCDIC.items()]
    readings = _with_damage([_with_head_start(reading, starts) for reading in readings], sample)
    best = min(readings, key=lambda one: one.bits)
    if best.codec not in starts and (best.codec in LATIN or best.bits > SOUND_BITS * len(sample)) and (codec := _chardet(sample)) and codec not in READINGS:
        other = _reading(sample, codec, 0.0)
        if other.bits < best.bits * (MAX_WORSE if best.codec in LATIN else 1):
            best = other
    lead = min((one.bits for one in readings if one.text != best.text), default=float("inf")) - best.bits
    others = tuple(one.codec for one in readings if one.text == best.text and one.codec != best.codec)
    return _Verdict(best.codec, others, lead, likelihood(best.text).bits / max(1, len(sample)))


def _reading(sample: bytes, codec: str, behind: float) -> _Reading:
    text = sample.decode(codec, "replace")
    if text.endswith(REPLACEMENT) and codec in MULTI_BYTE:
        text = text[:-1]  # at its end a character may be cut
    if text.count(REPLACEMENT) > 2 + MAX_BAD_SHARE * len(text):
        return _Reading(codec, text, IMPOSSIBLE * len(text), 0.0)
    found = likelihood(text)
    return _Reading(codec, text, found.bits + behind, found.wide_bits)


def _wide_reading(data: bytes, size: int, codec: str, behind: float) -> _Reading:
    """UTF-16 of the beginning, its cost scaled to a sample of `size` bytes."""
    raw = data[: min(size, len(data)) // 2 * 2]
    text = raw.decode(codec, "replace")
    found, scale = likelihood(text), size / max(1, len(raw))
    return _Reading(codec, text, found.bits * scale + behind, found.wide_bits * scale)


def _with_damage(readings: list[_Reading], sample: bytes) -> list[_Reading]:
    """The readings in two-byte encodings that are not much worse than the best, as they are without what a wrong byte made of its line."""
    best = min(readings, key=lambda one: one.bits)
    limit = best.bits + CLOSE_SHARE * best.wide_bits
    return [_mended(one, sample) if one.codec in MULTI_BYTE and best.bits <= one.bits < limit else one for one in readings]


def _mended(reading: _Reading, sample: bytes) -> _Reading:
    text = read_damaged(sample, reading.codec)
    if text == reading.text:
        return reading
    found, naive = likelihood(text), likelihood(reading.text)
    return replace(reading, text=text, bits=reading.bits + found.bits - naive.bits, wide_bits=found.wide_bits)


def _with_head_start(reading: _Reading, starts: dict[str, float]) -> _Reading:
    family = [starts[codec] for codec in dialects_of(reading.codec) if codec in starts]
    if not family:
        return reading
    share = 0.0 if reading.codec in READINGS else DECLARED_SHARE
    return replace(reading, bits=reading.bits - share * reading.wide_bits - max(family))


def _may_be_ebcdic(data: bytes) -> bool:
    return data.count(EBCDIC_BLANK) >= max(1, MIN_EBCDIC_BLANKS * len(data)) and data.count(b" ") < data.count(EBCDIC_BLANK) / 10


def _count_high(data: bytes) -> int:
    return len(data) - len(data.translate(None, HIGH))


def _chardet(sample: bytes) -> str | None:
    found = chardet.detect(sample, compat_names=False, exclude_encodings=tuple(EBCDIC), no_match_encoding="ascii")
    if found["encoding"] in {None, "ascii", "utf-8"}:
        return None
    name = codecs.lookup(found["encoding"]).name
    return SUPERSETS.get(name, name)
