"""Which encoding bytes are in: every encoding makes another text of them, and the most likely text wins (`likelihood`).

The evidence is what is not ASCII in the whole document, spread evenly: a head of ASCII hides nothing. What is declared has a head start of some bits; what
chardet names for a single-byte encoding of Latin letters, which it knows by the words of 40 languages, is preferred to our own choice among those.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import chardet

from mspt.core.text.decoding.charsets import MULTI_BYTE, SUPERSETS, dialects_of
from mspt.core.text.decoding.likelihood import IMPOSSIBLE, likelihood
from mspt.core.text.decoding.mending import REPLACEMENT, join_surrogates, read_damaged

# Bytes of evidence: first few, then more if that leaves a doubt. Chinese in GBK is 2 bits a byte more likely than what else its bytes may be, so 1 KiB
# gives odds of 2 ** 1000; the larger sample decides between relatives that differ in a letter or two.
EVIDENCE_BYTES = (1024, 8 * 1024)
# From the first to the last byte beyond ASCII between bytes which never are the second half of a character (below 0x30, and 0x3A-0x3F), with the second
# half that the last one may have, and with up to 24 bytes of ASCII around it: single-byte encodings of Latin scripts are told by the words (French without
# its plain letters is taken for Cyrillic).
RUN = re.compile(rb"[\x80-\xff](?:[^\x00-\x2f\x3a-\x3f]*[\x80-\xff])?(?:[^\x00-\x2f\x3a-\x3f])?")
CONTEXT_BYTES = 24
PRINTABLE_HEAD, PRINTABLE_TAIL = re.compile(rb"[\x20-\x7e]*"), re.compile(rb"[\x20-\x7e]*\Z")
# The readings that always compete, and how many bits the rarer ones start behind.
READINGS = {
    "utf-8": 0.0, "gb18030": 0.0, "cp950": 1.0, "big5hkscs": 3.0, "cp932": 1.0, "shift_jis_2004": 4.0, "euc_jp": 1.0, "euc_jis_2004": 2.0, "cp949": 1.0,
    "johab": 6.0, "cp1251": 1.0, "kz1048": 3.0, "ptcp154": 4.0, "koi8-r": 1.0, "koi8-u": 2.0, "koi8-t": 4.0, "cp866": 2.0, "cp1125": 1.5,
    "iso8859-5": 3.0, "mac-cyrillic": 2.0, "cp855": 4.0, "cp1253": 4.0, "iso8859-7": 5.0, "cp737": 8.0, "cp1255": 4.0, "cp862": 8.0, "cp1256": 4.0,
    "cp874": 12.0,
}  # fmt: skip
# Chinese without a single ASCII character shows no pattern. What else these make is no text: a rule of dashes or stars is letters of rare scripts.
WIDE_UNITS = {"utf-16-le": 12.0, "utf-16-be": 12.0}
EAST_ASIAN, MIN_EAST_ASIAN = re.compile("[\u2010-\u2026\u3001-\u3011\u3041-\u30fe\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e]"), 0.9  # of the characters
# These too, but where one of them wins, chardet, which knows the words of 40 languages, may name another single-byte encoding.
LATIN = {"cp1252": 0.0, "cp1250": 3.0, "cp1254": 3.0, "cp1257": 3.0, "iso8859-2": 3.0, "mac-roman": 5.0, "cp850": 5.0, "cp852": 5.0}
# Who writes Korean without a syllable of Hangul? Chinese in GBK, a line or two, may read as such.
KOREAN, HANJA_BITS, HANGUL, HAN = ("cp949", "johab"), 4.0, re.compile("[\uac00-\ud7a3]"), re.compile("[\u4e00-\u9fff]")
# And who writes Japanese in an encoding of Chinese? GBK has the kana where EUC-JP has them, so that a wrong byte or two may make it the better reading.
CHINESE, JAPANESE_BITS, KANA = ("gb18030", "cp950", "big5hkscs"), 20.0, re.compile("[\u3041-\u3093]")
MAX_WORSE = 1.03  # times the bits of the best Latin reading, that chardet's may have
DECLARED_SHARE = 0.1  # and of the bits of what is not ASCII, for an encoding that is not in READINGS, of which `likelihood` knows little
SURE_BITS = 60.0  # lead that ends the competition
SOUND_BITS = 6.3  # a byte of evidence; sound text has 4 to 6
CLOSE_SHARE = 0.25  # of the bits of what is not ASCII: the lead of a sound text is .4
MAX_BAD_SHARE = 0.1  # of the characters, of a reading that is worth a look
EBCDIC = {"cp037": 0.0, "cp500": 1.0, "cp1140": 2.0, "cp273": 3.0, "cp1026": 5.0, "cp875": 5.0, "cp424": 5.0}  # readings where blanks are 0x40
EBCDIC_BLANK, MIN_EBCDIC_BLANKS = 0x40, 0.08  # of the bytes; "@" in ASCII text is rare, and so is a text without 0x20

ASCII, HIGH = bytes(range(0x80)), bytes(range(0x80, 0x100))


@dataclass(frozen=True)
class _Reading:
    """What one codec makes of the evidence; bits: its cost, the head start taken off; wide_bits: the part of what is not ASCII."""

    codec: str
    text: str
    bits: float
    wide_bits: float


@dataclass(frozen=True)
class Verdict:
    """The codec whose text is the most likely."""

    codec: str
    others: tuple[str, ...]  # that make the same text of the evidence
    lead: float  # bits ahead of the next reading that gives another text
    bits_per_byte: float


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
        first, last = run.span()
        before = PRINTABLE_TAIL.search(data[max(end, first - CONTEXT_BYTES) : first])
        after = PRINTABLE_HEAD.match(data, last, last + CONTEXT_BYTES)
        assert before is not None
        assert after is not None
        end = after.end()
        yield data[first - len(before[0]) : end]


def compete(data: bytes, starts: Mapping[str, float]) -> Verdict:
    """The verdict by a small sample, or if that leaves a doubt by a larger one. starts: head starts of codecs, in bits."""
    for size in EVIDENCE_BYTES:
        verdict = _compete(data, starts, size)
        if verdict.lead >= SURE_BITS or size >= len(data):
            break
    return verdict


def count_high(data: bytes) -> int:
    """Bytes beyond ASCII."""
    return len(data) - len(data.translate(None, HIGH))


def _compete(data: bytes, starts: Mapping[str, float], size: int) -> Verdict:
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
    return Verdict(best.codec, others, lead, likelihood(best.text).bits / max(1, len(sample)))


def _reading(sample: bytes, codec: str, behind: float) -> _Reading:
    text = (join_surrogates(sample) if codec == "utf-8" else sample).decode(codec, "replace")
    if text.endswith(REPLACEMENT) and codec in MULTI_BYTE:
        text = text[:-1]  # at its end a character may be cut
    if text.count(REPLACEMENT) > 2 + MAX_BAD_SHARE * len(text):
        return _Reading(codec, text, IMPOSSIBLE * len(text), 0.0)
    found = likelihood(text)
    hanja = 0 if codec not in KOREAN or HANGUL.search(text) else len(HAN.findall(text))
    japanese = JAPANESE_BITS if codec in CHINESE and 2 * len(KANA.findall(text)) > len(HAN.findall(text)) else 0
    return _Reading(codec, text, found.bits + behind + HANJA_BITS * hanja + japanese, found.wide_bits)


def _wide_reading(data: bytes, size: int, codec: str, behind: float) -> _Reading:
    """UTF-16 of the beginning, its cost scaled to a sample of `size` bytes."""
    raw = data[: min(size, len(data)) // 2 * 2]
    text = raw.decode(codec, "replace")
    if len(EAST_ASIAN.findall(text)) < MIN_EAST_ASIAN * len(text):
        return _Reading(codec, text, IMPOSSIBLE * size, 0.0)
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


def _with_head_start(reading: _Reading, starts: Mapping[str, float]) -> _Reading:
    family = [starts[codec] for codec in dialects_of(reading.codec) if codec in starts]
    if not family:
        return reading
    share = 0.0 if reading.codec in READINGS else DECLARED_SHARE
    return replace(reading, bits=reading.bits - share * reading.wide_bits - max(family))


def _may_be_ebcdic(data: bytes) -> bool:
    blanks = data.count(EBCDIC_BLANK)
    return blanks >= max(1, MIN_EBCDIC_BLANKS * len(data)) and data.count(b" ") < blanks / 10 and count_high(data) >= len(data) / 2


def _chardet(sample: bytes) -> str | None:
    found = chardet.detect(sample, compat_names=False, exclude_encodings=tuple(EBCDIC), no_match_encoding="ascii")
    if found["encoding"] in {None, "ascii", "utf-8"}:
        return None
    name = codecs.lookup(found["encoding"]).name
    return SUPERSETS.get(name, name)
