"""Encodings that switch character sets by escapes and are ASCII bytes otherwise: ISO-2022 of Japan, Korea and China, HZ, UTF-7.

    ISO-2022-JP   ESC $ B  two bytes a character  ESC ( B
    ISO-2022-KR   ESC $ ) C once, then  SO  two bytes a character  SI            (ISO-2022-CN: ESC $ ) A)
    HZ            ~{ two bytes a character ~}
    UTF-7         +base64 of UTF-16-

What stands between the escapes is, with the high bit set, an 8-bit encoding that Python reads; so a wrong byte costs itself here too, and ISO-2022-CN,
which Python lacks, is read. All but ISO-2022-KR's designation ends with the line (RFC 1468, 1557, 1843, 1922), so a lost escape costs one line.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

from mspt.core.text.decoding.likelihood import likelihood
from mspt.core.text.decoding.mending import REPLACEMENT, read_damaged

SHIFT = re.compile(rb"\x1b(\$\(?[@ABCDOPQ]|\$\)[ACEG]|\$\*[HIJ]|\([ABHIJ]|\.[AF])|([\x0e\x0f])|\x1bN([\x20-\x7f\xa0-\xff])|(\n)")
# Pairs up to "~}" (the second byte of a pair may be "~", the first is below "{") or to the line's end; behind a lost byte "~" may be in a pair. Else
# "~~" is "~".
HZ_SHIFT = re.compile(rb"~\{((?:[^\n{-~][^\n])*[^\n{-~]?)(?:~\}|\}|)|~([~\n])")
UTF7_RUN = re.compile(rb"\+[A-Za-z0-9+/]{3,}-?")
BEFORE_RUN, BEHIND_RUN = re.compile(rb"[\x20-\x2a\x2c-\x7e]*\Z"), re.compile(rb"[\x20-\x2a\x2c-\x7e]*")
CONTEXT_BYTES = 24

# By the last two letters of the escape: the 8-bit codec, and a byte that stands before each of its pairs there.
SETS = {
    "@": ("euc_jp", b""), "B": ("euc_jp", b""), "D": ("euc_jp", b"\x8f"), "O": ("euc_jis_2004", b""), "Q": ("euc_jis_2004", b""),
    "P": ("euc_jis_2004", b"\x8f"), "A": ("gb18030", b""), "C": ("cp949", b""), "I": ("cp932", b""),
}  # fmt: skip
SECOND_SETS = {"A": "iso8859-1", "F": "iso8859-7"}  # behind ESC N
# The name by which the whole is known, by the designation that only it has; the first that occurs.
NAMES = (
    (b"$)C", "iso2022_kr"), (b"$)", "iso2022_cn"), (b"$(Q", "iso2022_jp_2004"), (b"$(P", "iso2022_jp_2004"), (b"$(O", "iso2022_jp_3"),
    (b"$A", "iso2022_jp_2"), (b"$(C", "iso2022_jp_2"), (b".", "iso2022_jp_2"), (b"$(D", "iso2022_jp_1"), (b"(I", "iso2022_jp_ext"),
)  # fmt: skip
DESIGNATED = {"iso2022_kr": "C", "iso2022_cn": "A"}
EVIDENCE_BYTES = 8 * 1024
MIN_GAIN = 10.0  # bits that the text must be better than the bytes as ASCII: a thousand to one, where escapes are well-formed anyway
MAX_WIDE_COST = 13.0  # bits a character beyond ASCII: base64 read as UTF-7 by chance makes 17


def unescape(data: bytes) -> tuple[str, str] | None:
    """Text and name of the encoding, if `data` (ASCII but for a few wrong bytes) switches character sets."""
    if b"\x1b$" in data and (name := _iso2022_name(data)) and _is_better(_around_shift(data, name), name):
        return read_escaped(data, name)
    if (start := data.find(b"~{")) >= 0 and _is_better(data[start : start + EVIDENCE_BYTES], "hz"):
        return read_escaped(data, "hz")
    if b"+" in data and _is_better(_utf7_runs(data), "utf-7"):
        return read_escaped(data, "utf-7")
    return None


def is_escaped(codec: str) -> bool:
    """Whether `codec` is one of those named above."""
    return codec.startswith("iso2022") or codec in ("hz", "utf-7")


def read_escaped(data: bytes, codec: str) -> tuple[str, str] | None:
    """Text and codec, or None if `codec` is none of those named above."""
    if codec.startswith("iso2022"):
        return "".join(_segments(data, DESIGNATED.get(codec, ""))), codec
    if codec == "hz":
        return "".join(_hz_segments(data)), codec
    return (data.decode("utf-7", "replace"), codec) if codec == "utf-7" else None


def _is_better(sample: bytes, name: str) -> bool:
    """Whether the text that `sample` stands for is plausible, and far more probable than the bytes as they are."""
    text, _ = read_escaped(sample, name) or ("", "")
    found = likelihood(text)
    plausible = found.wide and found.wide_bits <= MAX_WIDE_COST * found.wide
    return bool(plausible) and found.bits + MIN_GAIN < likelihood(sample.decode("latin-1")).bits


def _iso2022_name(data: bytes) -> str:
    designations = {match[1] for match in SHIFT.finditer(data) if match[1]}
    return next((name for mark, name in NAMES if any(one.startswith(mark) for one in designations)), "iso2022_jp")


def _around_shift(data: bytes, name: str) -> bytes:
    """From the first double-byte character on; what ISO-2022-KR and -CN designate before it, too."""
    start = data.find(b"\x1b$")
    if name not in ("iso2022_kr", "iso2022_cn"):
        return data[start : start + EVIDENCE_BYTES]
    shift = max(start, data.find(b"\x0e", start))
    return data[start : start + 4] + data[shift : shift + EVIDENCE_BYTES]


def _utf7_runs(data: bytes) -> bytes:
    runs, size, end = [], 0, 0
    for match in UTF7_RUN.finditer(data):
        before = BEFORE_RUN.search(data[max(end, match.start() - CONTEXT_BYTES) : match.start()])
        behind = BEHIND_RUN.match(data, match.end(), match.end() + CONTEXT_BYTES)
        assert before is not None
        assert behind is not None
        end = behind.end()
        runs.append(before[0] + data[match.start() : end])
        size += len(runs[-1])
        if size > EVIDENCE_BYTES:
            break
    return b"\n".join(runs)


def _segments(data: bytes, g1: str = "") -> Iterator[str]:
    """g1: the set that SO switches to before anything else is designated, in a later piece of a file."""
    g0, g2, shifted, start = "", "", False, 0
    for match in SHIFT.finditer(data):
        yield _segment(data[start : match.start()], g1 if shifted else g0)
        start = match.end()
        escape, shift, single, line_end = match.groups()
        if escape:
            kind, final = escape[:-1], escape[-1:].decode()
            if kind == b"$)":
                g1 = final
            elif kind == b".":
                g2 = final
            elif kind != b"$*":
                g0 = "" if kind == b"(" and final != "I" else final
        elif shift:
            shifted = shift == b"\x0e"
        elif single:
            yield bytes([single[0] | 0x80]).decode(SECOND_SETS.get(g2, "ascii"), "replace")
        elif line_end:
            g0, g2, shifted = "", "", False
            yield "\n"
    yield _segment(data[start:], g1 if shifted else g0)


def _segment(data: bytes, final: str) -> str:
    if not final or not data:
        return data.decode("ascii", "replace")
    if final not in SETS:
        return REPLACEMENT * (len(data) // 2)  # CNS 11643 and ISO-IR-165, of which Python has no tables
    codec, before = SETS[final]
    high = bytes(byte | 0x80 if byte > 0x20 else byte for byte in data)
    if before:
        high = b"".join(before + high[i : i + 2] for i in range(0, len(high), 2))
    try:
        return high.decode(codec)
    except UnicodeDecodeError:
        return read_damaged(high, codec)


def _hz_segments(data: bytes) -> Iterator[str]:
    start = 0
    for match in HZ_SHIFT.finditer(data):
        yield _segment(data[start : match.start()], "")
        yield _segment(match[1], "A") if match[1] is not None else match[2].replace(b"\n", b"").decode()  # "~" at a line's end only breaks the line of the file
        start = match.end()
    yield _segment(data[start:], "")


# --- ISO-2022-CN as a codec of Python, so that its name can stand where theirs do ------------------------------------------


class _IncrementalDecoder(codecs.BufferedIncrementalDecoder):
    def _buffer_decode(self, input: Any, errors: str, final: bool) -> tuple[str, int]:
        data = bytes(input)
        whole = len(data) if final else data.rfind(b"\n") + 1
        return "".join(_segments(data[:whole], DESIGNATED["iso2022_cn"])), whole


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != "iso2022_cn":
        return None
    return codecs.CodecInfo(codecs.lookup("ascii").encode, _decode_cn, incrementaldecoder=_IncrementalDecoder, name=name)


def _decode_cn(input: Any, errors: str = "strict", /) -> tuple[str, int]:
    data = bytes(input)
    return "".join(_segments(data)), len(data)


codecs.register(_find_codec)
